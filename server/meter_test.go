package server

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEveryMetricIsDocumented holds docs/operations.md to what the node exports.
func TestEveryMetricIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, sharing)
	names := r.core.opts.Metrics.ListMetricNames()
	if !slices.Contains(names, "lifeline_routes_repaired_total") || !slices.Contains(names, "lifeline_connections") {
		t.Fatalf("only %d metrics are registered", len(names))
	}
	for _, full := range names {
		name, _, _ := strings.Cut(full, "{")
		if !strings.Contains(string(doc), "`"+name) {
			t.Errorf("%s is not in docs/operations.md", name)
		}
		if !strings.HasPrefix(name, "lifeline_") {
			t.Errorf("%s lacks the prefix", name)
		}
	}
}
