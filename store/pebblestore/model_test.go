package pebblestore

import (
	"testing"

	"lifeline/store/memstore"
	"lifeline/store/storetest"
)

// model is what the store is compared with in lock-step.
var model = storetest.ModelHarness(func(o storetest.Options) *memstore.Store {
	return memstore.New(memstore.Options{Sink: o.Sink, Now: o.Now, Queue: o.Queue})
})

func TestConformance(t *testing.T) {
	h := harness
	h.Model, h.Rounds = &model, conformanceRounds
	storetest.Run(t, h)
}
