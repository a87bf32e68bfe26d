package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSimulateHeartbeat(t *testing.T) {
	page := filepath.Join(t.TempDir(), "heartbeat.html")
	args := []string{"simulate", "heartbeat", "--clients", "4", "--days", "2", "--seeds", "7,8", "--html", page}
	call := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := execute(t.Context(), surroundings{localServer, &out, &errs}, args)
		return code, out.String(), errs.String()
	}
	code, out, errs := call(args...)
	if code != 0 || strings.Count(out, "\n") < 6 {
		t.Fatalf("code %d: %s%s", code, out, errs)
	}
	if html, err := os.ReadFile(page); err != nil || !bytes.Contains(html, []byte("<svg")) {
		t.Errorf("the page: %v", err)
	}
	code, first, _ := call(append(args, "-o", "json")...)
	if code != 0 || !json.Valid([]byte(first)) {
		t.Fatalf("code %d: %s", code, first)
	}
	if _, second, _ := call(append(args, "-o", "json", "--workers", "1")...); second != first {
		t.Error("the same seeds gave other numbers")
	}
	for _, bad := range [][]string{{"simulate"}, {"simulate", "heartbeat", "--days", "-1"}, {"simulate", "heartbeat", "-o", "xml"},
		{"simulate", "heartbeat", "more"}} {
		if code, _, errs := call(bad...); code != exitUsage || errs == "" {
			t.Errorf("%v: code %d, %s", bad, code, errs)
		}
	}
	if code, _, _ := call("simulate", "heartbeat", "--clients", "1", "--days", "1", "--html", filepath.Join(page, "not-a-directory")); code != exitFailed {
		t.Errorf("a page that cannot be written: code %d", code)
	}
}
