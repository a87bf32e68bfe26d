package commit

import (
	"testing"

	"lifeline/store"
	"lifeline/store/storetest"
)

// opened is a store with its engine, so that a harness can reopen it.
type opened struct {
	*Store
	engine *memEngine
}

func open(tb testing.TB, engine *memEngine, o storetest.Options) *opened {
	tb.Helper()
	if _, ok, err := ReadMeta(engine); err != nil {
		tb.Fatal(err)
	} else if !ok {
		if err := WriteMeta(engine, Meta{Epoch: NewEpoch(), Boot: 1}); err != nil {
			tb.Fatal(err)
		}
	}
	s, err := Open(engine, Options{
		Sink: o.Sink, Now: o.Now, QueueCommands: o.Queue,
		Heads: 32, // so few that they are loaded again and again
		Fatal: func(err error) { tb.Errorf("the store ended: %v", err) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return &opened{s, engine}
}

var harness = storetest.Harness{
	Open: func(tb testing.TB, o storetest.Options) store.Store { return open(tb, newMemEngine(), o) },
	Trim: func(tb testing.TB, s store.Store, user string, upTo uint64) {
		if err := s.(*opened).TrimInbox(user, upTo); err != nil {
			tb.Fatal(err)
		}
	},
	TrimConversation: func(tb testing.TB, s store.Store, conversation string, upTo uint64) {
		if err := s.(*opened).TrimConversation(conversation, upTo); err != nil {
			tb.Fatal(err)
		}
	},
	Purge: func(tb testing.TB, s store.Store) {
		if err := s.(*opened).Purge(); err != nil {
			tb.Fatal(err)
		}
	},
	Reopen: func(tb testing.TB, s store.Store, o storetest.Options) store.Store {
		if err := s.Close(); err != nil {
			tb.Fatal(err)
		}
		return open(tb, s.(*opened).engine.clone(), o)
	},
}
