package server

import (
	"bytes"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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

// TestOneKindOfTroubleDoesNotHideAnother, and each is one line in ten seconds, however often it comes.
func TestOneKindOfTroubleDoesNotHideAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		r := newRig(t, func(o *CoreOptions) { o.Log = slog.New(slog.NewTextHandler(&lines, nil)) })
		complain := func(wantDisk, wantSockets int) {
			t.Helper()
			for range 100 {
				r.core.complain("the disk", errNoConnection)
				r.core.complain("the sockets", errNoConnection)
			}
			disk, sockets := strings.Count(lines.String(), "the disk"), strings.Count(lines.String(), "the sockets")
			if disk != wantDisk || sockets != wantSockets {
				t.Errorf("%d and %d lines, want %d and %d", disk, sockets, wantDisk, wantSockets)
			}
		}
		complain(1, 1)
		time.Sleep(complainEvery)
		complain(2, 2)
	})
}
