package commit

import (
	"errors"
	"testing"

	"lifeline/store"
	"lifeline/store/storetest"
)

// After a commit that failed nothing is known: nobody is told anything, once and for all.
func TestFailedCommitIsTheEnd(t *testing.T) {
	broken := errors.New("disk on fire")
	engine := newMemEngine()
	if err := WriteMeta(engine, Meta{Epoch: NewEpoch(), Boot: 1}); err != nil {
		t.Fatal(err)
	}
	fatal := make(chan error, 2)
	told := storetest.NewRecorder()
	s, err := Open(engine, Options{Sink: told, Fatal: func(err error) { fatal <- err }})
	if err != nil {
		t.Fatal(err)
	}
	send := func(client string) *store.Send {
		return &store.Send{Sender: "ann", SenderDevice: "phone", ToUser: "bob", ClientID: []byte(client)}
	}
	storetest.Call(s, send("before"))
	before := len(told.Trace())
	engine.mu.Lock()
	engine.failing = broken
	engine.mu.Unlock()
	told.Submit(s, send("lost"))
	told.Submit(s, &store.Members{Group: "tram", Version: 1, Add: []string{"ann"}})
	if err := <-fatal; !errors.Is(err, broken) {
		t.Errorf("ended by %v", err)
	}
	if err := s.Close(); !errors.Is(err, broken) {
		t.Errorf("closed with %v", err)
	}
	if r := s.Submit(send("after")); r != store.Closed {
		t.Errorf("a send after the end: %v", r)
	}
	if err := s.TrimInbox("ann", 1); err == nil {
		t.Error("a trim after the end succeeded")
	}
	for _, step := range told.Trace()[before:] {
		if step.Event != nil || step.Answer != nil {
			t.Errorf("told after the failure: %+v, %+v", step.Event, step.Answer)
		}
	}
	if len(fatal) > 0 {
		t.Errorf("ended twice: %v", <-fatal)
	}
}

// What is in an engine and makes no sense is refused, not overwritten.
func TestOpenRefuses(t *testing.T) {
	for name, prepare := range map[string]func(*memEngine){
		"nothing":           func(*memEngine) {},
		"a lost record":     func(m *memEngine) { m.put("\x00a", []byte{valueVersion, 1}) },
		"a damaged record":  func(m *memEngine) { m.put(string(metaKey()), []byte{valueVersion, 1}) },
		"another version":   func(m *memEngine) { m.put(string(metaKey()), []byte{valueVersion + 1}) },
		"more partitions":   func(m *memEngine) { m.put(string(metaKey()), append((&Meta{Boot: 1}).append(nil)[:18], 0x80, 1)) },
		"a bad obligation":  func(m *memEngine) { whole(m); m.put("\x00onobody", nil) },
		"a bad index":       func(m *memEngine) { whole(m); m.put("\x00a", []byte{9}) },
		"a closed database": func(m *memEngine) { whole(m); m.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			engine := newMemEngine()
			prepare(engine)
			before := len(engine.all())
			if s, err := Open(engine, Options{}); err == nil {
				s.Close()
				t.Error("it was opened")
			}
			if after := len(engine.all()); after != before {
				t.Errorf("%d keys became %d", before, after)
			}
		})
	}
}

func whole(m *memEngine) { WriteMeta(m, Meta{Epoch: NewEpoch(), Boot: 1}) }

// reads counts what is read of an engine.
type reads struct {
	*memEngine
	count int
}

func (r *reads) Get(dst, key []byte) ([]byte, bool, error) {
	r.count++
	return r.memEngine.Get(dst, key)
}

func (r *reads) Scan(from, to []byte, each func(key, value []byte) bool) error {
	r.count++
	return r.memEngine.Scan(from, to, func(key, value []byte) bool {
		r.count++
		return each(key, value)
	})
}

// Opening reads as much of a small store as of a large one.
func TestOpenReadsNoData(t *testing.T) {
	opening := func(messages int) int {
		s := open(t, newMemEngine(), storetest.Options{})
		for n := range messages {
			client := appendMessageKey(nil, 0, "", uint64(n))
			storetest.Call(s, &store.Send{Sender: "ann", SenderDevice: "phone", ToUser: string(rune('a' + n%26)), ClientID: client})
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		engine := &reads{memEngine: s.engine.clone()}
		again, err := Open(engine, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		return engine.count
	}
	if small, large := opening(10), opening(5000); small != large || small == 0 {
		t.Errorf("opening reads %d times with 10 messages, %d with 5,000", small, large)
	}
}
