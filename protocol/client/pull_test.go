package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

// A refusal is obeyed by its class, also of a code that no client knows [P-5.1]: again at once, then by a back-off, or never.
func TestRefusalsOfRequests(t *testing.T) {
	for class, wants := range map[protocol.RetryClass]string{
		protocol.RetryUnspecified: "0s 1s 2s 4s 8s 15s 15s", protocol.RetryNow: "0s 1s 2s 4s 8s 15s 15s", protocol.RetryAfter: "0s 1s 2s 4s 8s 15s 15s",
		77: "0s 1s 2s 4s 8s 15s 15s", protocol.RetryFixRequest: "", protocol.RetryStop: "", protocol.RetryIgnore: "",
	} {
		play(t, nil, func(t *testing.T, w *world) {
			l := w.at(0)
			l.begin(0)
			ended := make(chan error, 1)
			go func() {
				_, err := w.c.Pull(t.Context(), "team", 1, 9)
				ended <- err
			}()
			f := expect[*protocol.Pull](l)
			refuse := func() {
				l.send(&protocol.Error{ID: f.ID, FrameType: uint32(protocol.TypePull), Status: protocol.Status{Code: 999, Retry: class}})
			}
			var waits []string
			for range strings.Fields(wants) {
				began := time.Now()
				refuse()
				var at time.Time
				f, at = expectAt[*protocol.Pull](l)
				waits = append(waits, at.Sub(began).String())
			}
			if got := strings.Join(waits, " "); got != wants {
				t.Errorf("class %d: again after %s, want %s", class, got, wants)
			}
			if wants == "" {
				refuse()
				refusal(t, <-ended, 999)
			}
		})
	}
}

// [P-6.20], [P-6.21]
func TestPull(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		l.begin(0)
		type result struct {
			history History
			err     error
		}
		results := make(chan result, 2)
		pull := func(ctx context.Context, from, to uint64) {
			history, err := w.c.Pull(ctx, "alice\x1fbob", from, to)
			results <- result{history, err}
		}
		go pull(t.Context(), 1, 9)
		f := expect[*protocol.Pull](l)
		if string(f.Conversation) != "alice\x1fbob" || f.FromSeq != 1 || f.ToSeq != 9 {
			t.Errorf("the client sent %s", f.AppendText(nil))
		}
		messages := func(from, to int) (out []protocol.Message) {
			for _, e := range push(uint64(from), numbered(from, to)...).Entries {
				out = append(out, e.Message)
			}
			return out
		}
		gap := protocol.Gap{FromSeq: 1, ToSeq: 2, Reason: protocol.GapTrimmed}

		// The first answer is full; the line breaks before the second, which the next line is asked for again.
		l.send(&protocol.Pulled{ID: f.ID, FirstVisible: 3, Head: 40, Gaps: []protocol.Gap{gap}, Messages: messages(3, 5), More: true})
		if f = expect[*protocol.Pull](l); f.FromSeq != 6 || f.ToSeq != 9 {
			t.Errorf("the client sent %s", f.AppendText(nil))
		}
		l.drop()
		l = w.within(0, time.Minute)
		l.resume(0)
		f = expect[*protocol.Pull](l)
		began := time.Now()
		l.send(&protocol.Error{ID: f.ID, FrameType: uint32(protocol.TypePull), Status: protocol.CodeBusy.Status()})
		f, at := expectAt[*protocol.Pull](l)
		if f.FromSeq != 6 || at.Sub(began) != 1500*time.Millisecond {
			t.Errorf("%s came after %v, want the hint's 1.5 s", f.AppendText(nil), at.Sub(began))
		}
		l.send(&protocol.Pulled{ID: f.ID, FirstVisible: 3, Head: 41, Gaps: []protocol.Gap{gap}, Messages: messages(6, 9)})
		r := <-results
		if r.err != nil || r.history.FirstVisible != 3 || r.history.Head != 41 || len(r.history.Gaps) != 1 || len(r.history.Messages) != 7 {
			t.Fatalf("got %+v %v", r.history, r.err)
		}
		for i, m := range r.history.Messages {
			if m.Seq != uint64(3+i) || string(m.Payload) != numbered(3, 9)[i] {
				t.Errorf("message %d is %d %s", i, m.Seq, m.Payload)
			}
		}

		// One at a time; a refusal for good ends only its own.
		ctx, cancel := context.WithCancel(t.Context())
		go pull(ctx, 1, 200)
		f = expect[*protocol.Pull](l)
		go pull(t.Context(), 20, 20)
		l.quiet(time.Minute)
		l.send(&protocol.Error{ID: f.ID, FrameType: uint32(protocol.TypePull), Status: protocol.CodeBadRange.Status()})
		r = <-results
		refusal(t, r.err, protocol.CodeBadRange)
		f = expect[*protocol.Pull](l)
		go pull(ctx, 30, 30)
		synctest.Wait()
		cancel()
		if r = <-results; !errors.Is(r.err, context.Canceled) {
			t.Errorf("a pull that nobody waits for: %v", r.err)
		}
		l.send(&protocol.Pulled{ID: f.ID, Head: 41})
		if r = <-results; r.err != nil || r.history.Head != 41 {
			t.Errorf("got %+v %v", r.history, r.err)
		}
		l.quiet(time.Minute)

		go pull(t.Context(), 1, 1)
		expect[*protocol.Pull](l)
		w.stop()
		if r = <-results; !errors.Is(r.err, ErrStopped) {
			t.Errorf("a pull that the end overtook: %v", r.err)
		}
	})
}
