package pebblestore

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestEveryMetricIsDocumented holds docs/store.md to what the store exports, and each name to its kind.
func TestEveryMetricIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/store.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics.ExposeMetadata(true)
	t.Cleanup(func() { metrics.ExposeMetadata(false) })
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
	var page bytes.Buffer
	o.Metrics.WritePrometheus(&page)
	for _, name := range names {
		row := regexp.MustCompile("(?m)^\\|.*`" + name + "`.*\\| (histograms?: )?[^|]*\\|$").FindSubmatch(doc)
		if row == nil {
			t.Errorf("%s is not in docs/store.md", name)
			continue
		}
		kind := "gauge" // as the page says of those that it calls neither
		switch {
		case len(row[1]) > 0:
			kind = "histogram"
		case strings.HasSuffix(name, "_total"):
			kind = "counter"
		}
		if want := "# TYPE " + name + " " + kind + "\n"; !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
