package server

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lifeline/server/route"
)

// TestEveryMetricIsDocumented holds docs/operations.md to what the node exports.
func TestEveryMetricIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(o *CoreOptions) {
		o.Routes = &RouteOptions{
			Self:  func() (route.Self, error) { return route.Self{Node: "a", Incarnation: 1, TTL: time.Hour}, nil },
			Table: func(self route.Self) (route.Table, error) { return route.NewMemory(nil).Table(self, nil), nil },
		}
	})
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
