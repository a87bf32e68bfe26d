package pebblestore

import (
	"testing"

	"lifeline/store"
	"lifeline/store/memstore"
	"lifeline/store/storetest"
)

// model is what the store is compared with in lock-step.
var model = storetest.Harness{
	Open: func(_ testing.TB, o storetest.Options) store.Store {
		return memstore.New(memstore.Options{Sink: o.Sink, Now: o.Now, Queue: o.Queue})
	},
	Trim: func(_ testing.TB, s store.Store, user string, upTo uint64) {
		s.(*memstore.Store).Trim(user, upTo)
	},
	TrimConversation: func(_ testing.TB, s store.Store, conversation string, upTo uint64) {
		s.(*memstore.Store).TrimConversation(conversation, upTo)
	},
}

func TestConformance(t *testing.T) {
	h := harness
	h.Model, h.Rounds = &model, conformanceRounds
	storetest.Run(t, h)
}
