package memstore_test

import (
	"testing"

	"lifeline/store/memstore"
	"lifeline/store/storetest"
)

// harness opens the model, which is also compared with itself.
var harness = storetest.ModelHarness(func(o storetest.Options) *memstore.Store {
	return memstore.New(memstore.Options{Sink: o.Sink, Now: o.Now, Queue: o.Queue})
})

func TestConformance(t *testing.T) {
	h := harness
	h.Model = &harness
	storetest.Run(t, h)
}
