package loadtest

import (
	"fmt"
	"strings"
	"testing"

	"lifeline/protocol"
)

// TestOutbox reads scripts. "send" gives as many messages as the window lets; "ok 1", "busy 1", "behind 1", "bad 1" answer
// request 1; "retry" sends again what is due; "wait" lets a second pass. What is sent is number/request.
func TestOutbox(t *testing.T) {
	for _, tt := range []struct {
		name   string
		window int
		script string
	}{
		{"the window", 2, `
			send → 1/1 2/2
			send →
			ok 1 →
			send → 3/3
			ok 2 →
			ok 3 →
			send → 4/4 5/5`},
		{"an answer out of order does not open the window", 2, `
			send → 1/1 2/2
			ok 2 →
			send →
			ok 1 →
			send → 3/3 4/4`},
		{"a refused message goes again, and what was behind it, in order", 3, `
			send → 1/1 2/2 3/3
			busy 1 →
			behind 2 →
			behind 3 →
			send →
			retry →
			wait →
			retry → 1/4 2/5 3/6
			send →
			ok 4 →
			send → 4/7`},
		{"what is answered while the refused waits", 3, `
			send → 1/1 2/2 3/3
			busy 2 →
			behind 3 →
			ok 1 →
			send →
			wait →
			retry → 2/4 3/5
			ok 4 →
			ok 5 →
			send → 4/6 5/7 6/8`},
		{"refused again", 1, `
			send → 1/1
			busy 1 →
			wait →
			retry → 1/2
			busy 2 →
			retry →
			wait →
			retry → 1/3
			ok 3 →
			send → 2/4`},
		{"refused for good: nothing more", 2, `
			send → 1/1 2/2
			bad 1 →
			ok 2 →
			send →
			wait →
			retry →`},
		{"an answer that nobody asked for", 1, `
			send → 1/1
			ok 7 → unasked
			ok 1 →
			ok 1 → unasked`},
	} {
		var now int64
		o := newOutbox()
		for line := range strings.Lines(strings.TrimSpace(tt.script)) {
			step, want, _ := strings.Cut(strings.TrimSpace(line), "→")
			if got := play(t, &o, &now, tt.window, strings.TrimSpace(step)); got != strings.TrimSpace(want) {
				t.Errorf("%s: %s: got %q, want %q", tt.name, step, got, strings.TrimSpace(want))
			}
		}
	}
}

func play(t *testing.T, o *outbox, now *int64, window int, step string) string {
	t.Helper()
	var said []string
	word, argument, _ := strings.Cut(step, " ")
	status := map[string]protocol.Code{"ok": 0, "busy": protocol.CodeBusy, "behind": protocol.CodeOutOfOrder, "bad": protocol.CodeNotMember}
	switch word {
	case "send":
		for o.room(window) {
			number, id := o.give(*now)
			said = append(said, fmt.Sprintf("%d/%d", number, id))
		}
	case "retry":
		for {
			number, id, _, ok := o.retry(*now)
			if !ok {
				break
			}
			said = append(said, fmt.Sprintf("%d/%d", number, id))
		}
	case "wait":
		*now += second
	default:
		code, ok := status[word]
		var id uint64
		if _, err := fmt.Sscan(argument, &id); err != nil || !ok {
			t.Fatalf("step %q: %v", step, err)
		}
		answer := protocol.Status{}
		if code != 0 {
			answer = code.Status()
		}
		if _, ok := o.answer(*now, 0.1, id, &answer); !ok {
			return "unasked"
		}
	}
	return strings.Join(said, " ")
}

// A retry counts from when the message was due first.
func TestARetryKeepsItsStamp(t *testing.T) {
	o := newOutbox()
	_, id := o.give(7)
	busy := protocol.CodeBusy.Status()
	o.answer(100, 0, id, &busy)
	_, id, stamp, ok := o.retry(100 + 500*millisecond)
	if !ok || stamp != 7 {
		t.Fatalf("retry: stamp %d, %v; want 7", stamp, ok)
	}
	if stamp, ok := o.answer(0, 0, id, &protocol.Status{}); !ok || stamp != 7 {
		t.Errorf("answer: stamp %d, %v; want 7", stamp, ok)
	}
}

func TestARetryWaitsAsTheServerSays(t *testing.T) {
	status := protocol.Status{Code: protocol.CodeBusy, Retry: protocol.RetryAfter, RetryMinMs: 100, RetryWindowMs: 200}
	for _, tt := range []struct {
		u    float64
		want int64
	}{{0, 100 * millisecond}, {0.5, 200 * millisecond}, {1, 300 * millisecond}} {
		o := newOutbox()
		_, id := o.give(0)
		o.answer(0, tt.u, id, &status)
		if _, _, _, ok := o.retry(tt.want - 1); ok {
			t.Errorf("u %v: again before %d", tt.u, tt.want)
		}
		if _, _, _, ok := o.retry(tt.want); !ok {
			t.Errorf("u %v: not again at %d", tt.u, tt.want)
		}
	}
}
