package pebblestore

import (
	"bytes"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lifeline/store/storetest"
)

// What operators watch is there, under one prefix, and counts.
func TestMetrics(t *testing.T) {
	fs := vfs.NewMem()
	fs.TestingSetDiskUsage(usage(50 << 30))
	options := testOptions(t, fs)
	options.Metrics = metrics.NewSet()
	s, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		storetest.Call(s, directSend(n))
	}
	s.disk.look()
	s.sample.take(s.db.Metrics())
	want := map[string]string{
		"fsync_seconds_count": "", "commit_seconds_count": "10", "batch_commands_count": "10", "batch_commands_sum": "10",
		"batch_keys_sum": "", "batch_bytes_total": "", "queue_commands": "0", "queue_bytes": "0", "obligations": "0", "cursors_waiting": "0",
		"l0_sublevels": "", "l0_files": "", "compaction_debt_bytes": "", "memtable_bytes": "", "disk_used_bytes": "", "wal_bytes_total": "",
		"cache_hits_total": "", "cache_misses_total": "", "background_errors_total": "0", "write_stalls_total": "0", "slow_writes_total": "",
		"write_stall_seconds_total": "0", "disk_free_bytes": "53687091200", "disk_full": "0",
	}
	// A batch is observed after its answers.
	poll(t, "the tenth batch", func() bool { return scrape(t, options.Metrics)["batch_keys_count"] == "10" })
	lines := scrape(t, options.Metrics)
	for name, want := range want {
		if got, ok := lines[name]; !ok || want != "" && got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"fsync_seconds_count", "batch_keys_sum", "batch_bytes_total", "wal_bytes_total", "memtable_bytes"} {
		if lines[name] == "0" {
			t.Errorf("%s counts nothing", name)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// scrape reads the metrics by what follows their prefix.
func scrape(t *testing.T, set *metrics.Set) map[string]string {
	var page bytes.Buffer
	set.WritePrometheus(&page)
	lines := map[string]string{}
	for line := range strings.Lines(page.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(name, prefix) {
			t.Errorf("%q is not ours", line)
		}
		lines[strings.TrimPrefix(name, prefix)] = value
	}
	return lines
}
