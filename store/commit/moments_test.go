package commit

import (
	"fmt"
	"slices"
	"testing"

	"lifeline/store"
	"lifeline/store/storetest"
)

// interrupted is an engine that does something before one of the calls of a reader.
type interrupted struct {
	*memEngine
	armed bool // only while nobody but the reader uses the engine
	left  int  // calls until then
	do    func()
}

func (i *interrupted) call() {
	if !i.armed {
		return
	}
	if i.left--; i.left == 0 {
		i.armed = false
		i.do()
		i.armed = true
	}
}

func (i *interrupted) Get(dst, key []byte) ([]byte, bool, error) {
	i.call()
	return i.memEngine.Get(dst, key)
}

func (i *interrupted) Scan(from, to []byte, each func(key, value []byte) bool) error {
	i.call()
	return i.memEngine.Scan(from, to, each)
}

// tram is a store with a group of which bob saw the messages 3 to 5 and not the later ones; cid never saw any.
func tram(t *testing.T) (*Store, *interrupted) {
	t.Helper()
	engine := &interrupted{memEngine: newMemEngine()}
	whole(engine.memEngine)
	s, err := Open(engine, Options{Fatal: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	do(t, s, &store.Members{Group: "tram", Version: 1, Add: []string{"ann"}}, tramSend(1), tramSend(2),
		&store.Members{Group: "tram", Version: 2, Add: []string{"bob"}}, tramSend(3), tramSend(4), tramSend(5),
		&store.Members{Group: "tram", Version: 3, Remove: []string{"bob"}}, tramSend(6))
	return s, engine
}

func tramSend(n int) store.Command {
	return &store.Send{Sender: "ann", SenderDevice: "phone", ToGroup: "tram", ClientID: fmt.Append(nil, n), Payload: fmt.Append(nil, n)}
}

func do(t *testing.T, s *Store, commands ...store.Command) {
	t.Helper()
	for _, c := range commands {
		if a := storetest.Call(s, c); a.Refusal != store.None {
			t.Fatalf("%+v: %v", c, a.Refusal)
		}
	}
}

// Whatever happens between two looks of a reader at the engine, the page is as it was at one moment.
func TestPagesAreOfOneMoment(t *testing.T) {
	type step func(s *Store) error
	command := func(c func() store.Command) step {
		return func(s *Store) error {
			if a := storetest.Call(s, c()); a.Refusal != store.None {
				return fmt.Errorf("%v", a.Refusal)
			}
			return nil
		}
	}
	join := func(user string, version uint64) step {
		return command(func() store.Command { return &store.Members{Group: "tram", Version: version, Add: []string{user}} })
	}
	leave := func(user string, version uint64) step {
		return command(func() store.Command { return &store.Members{Group: "tram", Version: version, Remove: []string{user}} })
	}
	send := func(n int) step { return command(func() store.Command { return tramSend(n) }) }
	scripts := map[string][]step{
		"a message":              {send(7)},
		"joins behind a message": {send(7), join("bob", 4), send(8)},
		"joins and leaves":       {join("bob", 4), send(7), leave("bob", 5), send(8)},
		"one who never was":      {send(7), join("cid", 4), send(8)},
		"trims":                  {func(s *Store) error { return s.TrimConversation("tram", 4) }},
		"trims all":              {func(s *Store) error { return s.TrimConversation("tram", 9) }, send(7)},
		"trims the inbox":        {func(s *Store) error { return s.TrimInbox("bob", 2) }},
		"trims all the inbox":    {func(s *Store) error { return s.TrimInbox("bob", 9) }, join("bob", 4)},
	}
	for _, user := range []string{"ann", "bob", "cid"} {
		reads := map[string]func(s *Store) (string, error){
			"history": func(s *Store) (string, error) {
				page, err := s.History(store.HistoryRead{User: user, Conversation: "tram", From: 2, To: 100, MaxBytes: 1000})
				return historyText(page), err
			},
			"inbox": func(s *Store) (string, error) {
				page, err := s.Inbox(store.InboxRead{User: user, From: 2, Max: 10, MaxBytes: 1000})
				return inboxText(page), err
			},
		}
		for what, read := range reads {
			for name, script := range scripts {
				momentOf(t, user+"'s "+what+", "+name, read, func(s *Store, seen func()) {
					for _, step := range script {
						if err := step(s); err != nil {
							t.Fatal(err)
						}
						seen()
					}
				})
			}
		}
	}
}

// momentOf plays a script before each look of a reader, and compares the page with those of all moments.
func momentOf(t *testing.T, what string, read func(*Store) (string, error), script func(s *Store, seen func())) {
	t.Helper()
	for call := 1; ; call++ {
		s, engine := tram(t)
		var moments []string
		see := func() {
			page, err := read(s)
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			moments = append(moments, page)
		}
		see()
		engine.left, engine.do = call, func() { script(s, see) }
		engine.armed = true
		page, err := read(s)
		engine.armed = false
		if err != nil || !slices.Contains(moments, page) {
			t.Errorf("%s, before look %d:\n  got %s, %v\nwant one of %q", what, call, page, err, moments)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if engine.left > 0 {
			return
		}
	}
}

func historyText(page store.HistoryPage) string {
	text := fmt.Sprintf("%v head %d first %d more %v gaps %v messages", page.Refusal, page.Head, page.FirstVisible, page.More, page.Gaps)
	for _, m := range page.Messages {
		text += fmt.Sprint(" ", m.Seq)
	}
	return text
}

func inboxText(page store.InboxPage) string {
	text := fmt.Sprintf("head %d trimmed %d entries", page.Head, page.Trimmed)
	for _, e := range page.Entries {
		text += fmt.Sprintf(" %d", e.Kind)
		if e.Message != nil {
			text += fmt.Sprint(":", e.Message.Seq)
		}
	}
	return text
}
