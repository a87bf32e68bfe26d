package loadtest

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden reports")

var machine = Machine{Cores: 2, GOMAXPROCS: 2, GOGC: 100, Loops: 2, Go: "go1.26.8", Platform: "linux/amd64"}

// fullChat is a report with something in every field.
func fullChat() *ChatReport {
	r := &ChatReport{Scenario: "chat", Pairs: 256, Window: 4, Devices: 2, Size: 128, Rate: 15000, WarmupS: 2, DurationS: 15, Machine: machine}
	var f figures
	f.sent, f.stored, f.pushed, f.storedInSpan, f.pushedInSpan = 300_000, 299_999, 599_998, 270_000, 540_000
	for ms := range int64(1000) {
		f.sendack.record((ms + 1) * millisecond)
		f.push.record((ms + 2) * millisecond)
		f.pushLater.record((ms + 3) * millisecond)
	}
	r.fill(&f)
	r.Faults = Faults{Lost: 1, OutOfOrder: 2, StoredTwice: 3, Holes: 4, Damaged: 5, Duplicates: 6}
	r.Unanswered, r.Unproven, r.Failed, r.ClientCPU = 7, 8, 9, 11.5
	r.Errors = Tally{"BUSY": 3, "OUT_OF_ORDER": 12}
	r.Connections = Connections{Wanted: 768, Connected: 700, Unreached: Tally{"TIMEOUT": 60}, Refused: Tally{"BUSY": 8}, Lost: Tally{"EOF": 1}}
	r.Connect = Latency{Count: 700, P50: 1, P90: 2, P99: 3, P999: 4, Max: 5}
	return r
}

func fullIdle() *IdleReport {
	return &IdleReport{Scenario: "idle", Rate: 2000, HoldS: 60, Connect: Latency{Count: 14_990, P50: 0.5, P90: 1, P99: 2, P999: 3, Max: 4.125},
		Connections: Connections{Wanted: 15_000, Connected: 14_990, Unreached: Tally{"NO_FREE_PORT": 4}, Refused: Tally{"BUSY": 6}, Lost: Tally{"EOF": 2, "DRAINING": 3}},
		Pings:       90, Pongs: 89, Bytes: 850, Machine: machine,
		Holding: &Holding{Seconds: 60, Pings: 80, WireBytes: 160.25, ServerCPU: 0.3, ServerShare: 0.5, PingCPU: 3750}}
}

func TestReportsAsJSON(t *testing.T) {
	for name, r := range map[string]any{
		"chat.json":        fullChat(),
		"chat-before.json": &ChatReport{Scenario: "chat", Devices: 1},
		"idle.json":        fullIdle(),
	} {
		got, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, string(got)+"\n")
	}
}

func TestReportsAsText(t *testing.T) {
	golden(t, "chat.txt", fullChat().Text())
	golden(t, "idle.txt", fullIdle().Text())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// The worst fault is the one that is told.
func TestFaultsOfAReport(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(r *ChatReport)
		want error
		says string
	}{
		{"none", func(*ChatReport) {}, nil, ""},
		{"duplicates", func(r *ChatReport) { r.Duplicates = 5 }, nil, ""},
		{"refused for a while", func(r *ChatReport) { r.Errors = Tally{"BUSY": 5} }, nil, ""},
		{"lost", func(r *ChatReport) { r.Lost = 1; r.Failed = 1 }, ErrWrong, "1 lost"},
		{"out of order", func(r *ChatReport) { r.OutOfOrder = 1 }, ErrWrong, "1 out of order"},
		{"stored twice", func(r *ChatReport) { r.StoredTwice = 1 }, ErrWrong, "1 stored twice"},
		{"holes", func(r *ChatReport) { r.Holes = 1 }, ErrWrong, "1 holes"},
		{"damaged", func(r *ChatReport) { r.Damaged = 1 }, ErrWrong, "1 damaged"},
		{"refused for good", func(r *ChatReport) { r.Failed, r.Errors = 1, Tally{"NOT_MEMBER": 1} }, ErrRefused, "NOT_MEMBER 1"},
		{"log-ins refused", func(r *ChatReport) { r.Connections.Refused = Tally{"BAD_TOKEN": 2} }, ErrRefused, "BAD_TOKEN 2"},
		{"nobody there", func(r *ChatReport) { r.Connections = Connections{Wanted: 2, Unreached: Tally{"TIMEOUT": 2}} }, ErrUnreached, "TIMEOUT 2"},
		{"some not there", func(r *ChatReport) { r.Connections.Unreached = Tally{"TIMEOUT": 2} }, ErrIncomplete, "2 of 8 connections"},
		{"connections lost", func(r *ChatReport) { r.Connections.Lost = Tally{"EOF": 2} }, ErrIncomplete, "EOF 2"},
		{"no answer", func(r *ChatReport) { r.Unanswered = 3 }, ErrIncomplete, "3 Sends"},
		{"not to be judged", func(r *ChatReport) { r.Unproven = 3 }, ErrIncomplete, "3 messages"},
	} {
		r := &ChatReport{Connections: Connections{Wanted: 8, Connected: 8}}
		tt.set(r)
		err := r.Fault()
		if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %v, %q", tt.name, err, tt.want, tt.says)
		}
	}
}

// A run that measured nothing shows no columns for it.
func TestReportsOfNothing(t *testing.T) {
	nobody := Connections{Wanted: 5, Unreached: Tally{"NOBODY_LISTENS": 5}}
	for name, text := range map[string]string{
		"chat": (&ChatReport{Connections: nobody}).Text(),
		"idle": (&IdleReport{Connections: nobody}).Text(),
	} {
		if strings.Contains(text, "p50") || strings.Contains(text, "bytes") || !strings.Contains(text, "NOBODY_LISTENS 5") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
