package pebblestore

import (
	"os"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestEveryMetricIsDocumented holds docs/store.md to what the store exports.
func TestEveryMetricIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/store.md")
	if err != nil {
		t.Fatal(err)
	}
	o := testOptions(t, vfs.NewMem())
	o.Metrics = metrics.NewSet()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	names := o.Metrics.ListMetricNames()
	if len(names) < 15 {
		t.Fatalf("only %d metrics are registered", len(names))
	}
	for _, full := range names {
		if name, _, _ := strings.Cut(full, "{"); !strings.Contains(string(doc), "`"+name+"`") {
			t.Errorf("%s is not in docs/store.md", name)
		}
	}
}
