package pebblestore

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"lifeline/store"
	"lifeline/store/commit"
)

// look opens what is left and compares it with what was promised. Most are read once and looked at in memory, because
// with the race detector Pebble looks at its every read; to the end means: as a server would go on with it, until nothing
// is owed, and then once more.
func (c *crash) look(t *testing.T, toTheEnd bool) {
	options := crashOptions(t, c.fs)
	failed := make(chan struct{})
	options.Commit.Now = func() time.Time { return c.now }
	options.Commit.Fatal = func(err error) {
		t.Errorf("%d %% kept: the store ended: %v", c.percent, err)
		close(failed)
	}
	left, _ := c.verify(t)
	if !toTheEnd {
		s, err := commit.Open(left, options.Commit)
		if err != nil {
			t.Errorf("%d %% kept: %v", c.percent, err)
			return
		}
		c.lookInto(t, s, failed)
		s.Close()
		return
	}
	s, err := Open(options)
	if err != nil {
		t.Errorf("%d %% kept: %v", c.percent, err)
		return
	}
	c.lookInto(t, s.Store, failed)
	poll(t, "what is owed", func() bool { return s.Load().Obligations == 0 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, census := c.verify(t); census.Obligations > 0 {
		t.Errorf("%d %% kept: %d obligations were not paid", c.percent, census.Obligations)
	}
}

// verify holds every rule against what is left, and returns it.
func (c *crash) verify(t *testing.T) (left *memory, census commit.Census) {
	options := crashOptions(t, c.fs)
	err := Tool{Dir: options.Dir, FS: c.fs, Log: options.Log}.with(true, func(_ *directory, e *engine) error {
		left = copyOf(t, e)
		return nil
	})
	if err == nil {
		census, err = commit.Verify(left, c.now, func(fault string) { t.Errorf("%d %% kept: %s", c.percent, fault) })
	}
	if err != nil {
		t.Errorf("%d %% kept: %v", c.percent, err)
	}
	return left, census
}

// lookInto finds what was promised.
func (c *crash) lookInto(t *testing.T, s *commit.Store, failed <-chan struct{}) {
	c.lookForPromises(t, s, failed)
	for i := range crashedUsers {
		if start, err := s.Start(crashUser(i), "phone"); err != nil || start.Cursor > c.acked[crashUser(i)] {
			t.Errorf("%d %% kept: the cursor of %s is %d, acknowledged was %d, %v", c.percent, crashUser(i), start.Cursor, c.acked[crashUser(i)], err)
		}
	}
	for user := range c.forgot {
		if start, err := s.Start(user, "watch"); err != nil || start.HasCursor {
			t.Errorf("%d %% kept: the watch of %s was forgotten and has a cursor: %+v, %v", c.percent, user, start, err)
		}
	}
	if a, _ := call(s, &store.Members{Group: "tram", Version: c.version}, failed); a.Refusal != store.StaleVersion {
		t.Errorf("%d %% kept: the members' version %d is lost: %v", c.percent, c.version, a.Refusal)
	}
}

// lookForPromises finds every promised message at its Seq, and some by their client ids.
func (c *crash) lookForPromises(t *testing.T, s *commit.Store, failed <-chan struct{}) {
	conversations := map[string]map[uint64]*store.Message{}
	trimmed := map[string]uint64{}
	for n, p := range c.promised {
		name := p.send.Conversation()
		if conversations[name] == nil {
			conversations[name], trimmed[name] = readAll(t, s, p.send.Sender, name)
		}
		m := conversations[name][p.answer.Seq]
		if p.answer.Seq > trimmed[name] && (m == nil || m.ID != p.answer.MessageID || !bytes.Equal(m.Payload, p.send.Payload)) {
			t.Errorf("%d %% kept: message %d of %q was acknowledged and is lost: %v", c.percent, p.answer.Seq, name, m)
		}
		if n%17 == 0 && c.now.UnixMilli()-p.answer.Time < 7*24*time.Hour.Milliseconds() {
			retry := *p.send
			if a, _ := call(s, &retry, failed); a != p.answer {
				t.Errorf("%d %% kept: a retry was answered %+v, before the crash %+v", c.percent, a, p.answer)
			}
		}
	}
	if name := store.Direct(crashUser(0), crashUser(1)); conversations[name] != nil {
		head := trimmed[name] + uint64(len(conversations[name]))
		send := &store.Send{Sender: crashUser(0), SenderDevice: "new", ToUser: crashUser(1), ClientID: []byte("next")}
		if a, _ := call(s, send, failed); a.Refusal != store.None || a.Seq != head+1 {
			t.Errorf("%d %% kept: the next message was answered %+v, want Seq %d", c.percent, a, head+1)
		}
	}
}

// readAll reads the messages of a conversation as one of its first users, and how far it is trimmed.
func readAll(t *testing.T, s *commit.Store, user, name string) (messages map[uint64]*store.Message, trimmed uint64) {
	if !strings.Contains(name, "\x1f") {
		user = crashUser(0) // who never left
	}
	messages = map[uint64]*store.Message{}
	for from := uint64(1); ; {
		page, err := s.History(store.HistoryRead{User: user, Conversation: name, From: from, To: 1 << 40, MaxBytes: 1 << 20})
		if err != nil || page.Refusal != store.None {
			t.Errorf("history of %q: %v, %v", name, page.Refusal, err)
			return messages, trimmed
		}
		for _, gap := range page.Gaps {
			trimmed = max(trimmed, gap.To)
		}
		for _, m := range page.Messages {
			messages[m.Seq] = m
			from = m.Seq + 1
		}
		if !page.More {
			return messages, trimmed
		}
	}
}
