package server

import (
	"bytes"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// TestEveryMetricIsDocumented holds docs/operations.md to what the node exports, and each name to its kind.
func TestEveryMetricIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics.ExposeMetadata(true)
	t.Cleanup(func() { metrics.ExposeMetadata(false) })
	r := newRig(t, sharing)
	var page bytes.Buffer
	r.core.opts.Metrics.WritePrometheus(&page)
	kinds := make(map[string]string)
	for line := range strings.Lines(page.String()) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(strings.TrimSpace(rest), " ")
			if kinds[name] != "" {
				t.Errorf("%s is declared twice", name)
			}
			kinds[name] = kind
		}
	}
	if kinds["lifeline_routes_repaired_total"] == "" || kinds["lifeline_connections"] == "" {
		t.Fatalf("only %d metrics are exported", len(kinds))
	}
	for _, full := range r.core.opts.Metrics.ListMetricNames() { // those too that have nothing to show yet
		if name, _, _ := strings.Cut(full, "{"); !strings.Contains(string(doc), "`"+name) {
			t.Errorf("%s is not in docs/operations.md", name)
		}
	}
	for name, kind := range kinds {
		row := regexp.MustCompile("(?m)^\\| [^|]*`" + name + "[`{][^|]*\\| " + kind + " \\|")
		if !row.Match(doc) {
			t.Errorf("docs/operations.md has no %s %s", kind, name)
		}
		if !strings.HasPrefix(name, "lifeline_") {
			t.Errorf("%s lacks the prefix", name)
		}
		if strings.HasSuffix(name, "_total") != (kind == "counter") {
			t.Errorf("%s is a %s", name, kind)
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
