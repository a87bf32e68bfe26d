package client

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lifeline/protocol"
)

// sends plays a sender against answers given by hand. Messages are named by one letter.
type sends struct {
	s   sender
	now time.Time
	ids map[string]uint64
	id  uint64
}

func newSends(names string, limit int) *sends {
	p := &sends{s: sender{random: always(1)}, now: epochTime, ids: map[string]uint64{}}
	for _, name := range strings.Split(names, "") {
		p.s.add(&Outgoing{ClientID: []byte(name), Created: epochTime})
	}
	p.s.connected(limit)
	return p
}

// flush sends what may be sent and names it; a message that skips the order has a ! behind it.
func (p *sends) flush() string {
	var out strings.Builder
	for m := p.s.next(p.now); m != nil; m = p.s.next(p.now) {
		p.id++
		p.s.sent(m, p.id)
		name := string(m.message.ClientID)
		p.ids[name] = p.id
		out.WriteString(name)
		if m.skipOrder {
			out.WriteString("!")
		}
	}
	return out.String()
}

// answer says what is final by it.
func (p *sends) answer(name string, status protocol.Status) string {
	m := p.s.answered(p.now, p.ids[name], &status)
	if m == nil {
		return ""
	}
	return string(m.ClientID)
}

var (
	stored     = protocol.Status{}
	busy       = protocol.Status{Code: protocol.CodeBusy, Retry: protocol.RetryAfter, RetryMinMs: 500, RetryWindowMs: 2000}
	outOfOrder = protocol.Status{Code: protocol.CodeOutOfOrder, Retry: protocol.RetryAfter}
	notMember  = protocol.Status{Code: protocol.CodeNotMember, Retry: protocol.RetryFixRequest}
)

func expectSends(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %q, want %q", what, got, want)
	}
}

func TestSendsArePipelinedUpToTheLimit(t *testing.T) {
	p := newSends("abcdef", 3)
	expectSends(t, "at first", p.flush(), "abc")
	expectSends(t, "stored", p.answer("b", stored), "b")
	expectSends(t, "then", p.flush(), "d")
	expectSends(t, "a second answer", p.answer("b", stored), "")
	expectSends(t, "then", p.flush(), "")
}

// [P-6.18]
func TestAfterARefusalEverythingWaitsAndGoesOnInOrder(t *testing.T) {
	p := newSends("abcdef", 4)
	expectSends(t, "at first", p.flush(), "abcd")
	p.answer("a", stored)
	p.answer("b", busy)
	expectSends(t, "while c and d are unanswered", p.flush(), "")
	p.answer("c", outOfOrder)
	p.answer("d", outOfOrder)
	expectSends(t, "while the server is busy", p.flush(), "")
	if due := p.s.due(true); !due.Equal(epochTime.Add(2500 * time.Millisecond)) {
		t.Errorf("due after %v, want the hint's 2.5 s", due.Sub(epochTime))
	}
	p.now = p.now.Add(2499 * time.Millisecond)
	expectSends(t, "a moment before", p.flush(), "")
	p.now = p.now.Add(time.Millisecond)
	expectSends(t, "then", p.flush(), "bcde")
}

// [P-6.18]
func TestFinalRefusalsHoldNobodyUp(t *testing.T) {
	p := newSends("abc", 2)
	p.flush()
	expectSends(t, "refused", p.answer("a", notMember), "a")
	expectSends(t, "then", p.flush(), "c")
}

// [P-4.4]
func TestNewConnectionSendsWhatIsUnansweredAgainInOrder(t *testing.T) {
	p := newSends("abcde", 3)
	p.flush()
	p.answer("b", stored)
	p.flush()
	p.s.connected(0)
	expectSends(t, "again", p.flush(), "acde")
	if p.s.limit != 64 {
		t.Errorf("without a limit of the server it is %d, want 64", p.s.limit)
	}
}

// The server waits for a message that was given up: the next one says that it knows [P-6.18].
func TestSkipOrder(t *testing.T) {
	p := newSends("ab", 4)
	p.flush()
	p.answer("a", busy)
	p.answer("b", outOfOrder)
	p.now = p.now.Add(expiry)
	expectSends(t, "given up", string(p.s.expired(p.now).ClientID), "a")
	p.s.queue[0].message.Created = p.now
	expectSends(t, "then", p.flush(), "b")
	p.answer("b", outOfOrder)
	expectSends(t, "then", p.flush(), "b!")
	expectSends(t, "stored", p.answer("b", stored), "b")
}

func TestRefusalsWithoutAHintAreNotAHotLoop(t *testing.T) {
	for _, status := range []protocol.Status{
		{Code: 999, Retry: protocol.RetryNow}, {Code: 999}, {Code: 999, Retry: protocol.RetryRefreshToken},
	} {
		p := newSends("a", 1)
		var waits []string
		for range 8 {
			p.flush()
			p.answer("a", status)
			wait := max(0, p.s.hold.Sub(p.now))
			waits = append(waits, fmt.Sprint(wait.Seconds()))
			p.now = p.now.Add(wait)
		}
		expectSends(t, status.Retry.String(), strings.Join(waits, " "), "0 2 4 8 16 30 30 30")
	}
}

// [P-6.16]
func TestExpiry(t *testing.T) {
	p := newSends("abc", 1)
	p.s.queue[2].message.Created = epochTime.Add(time.Hour)
	p.flush()
	if due := p.s.due(false); !due.Equal(epochTime.Add(expiry)) {
		t.Errorf("due after %v, want 6 days", due.Sub(epochTime))
	}
	p.now = epochTime.Add(expiry - time.Millisecond)
	if m := p.s.expired(p.now); m != nil {
		t.Errorf("%s expired before its time", m.ClientID)
	}
	p.now = epochTime.Add(expiry)
	var gone []string
	for m := p.s.expired(p.now); m != nil; m = p.s.expired(p.now) {
		gone = append(gone, string(m.ClientID))
	}
	expectSends(t, "expired: not a, which is in flight", strings.Join(gone, ""), "b")
	expectSends(t, "stored", p.answer("a", stored), "a")
	expectSends(t, "then", p.flush(), "c")
}

func TestOutgoingFaults(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    Outgoing
		want error
	}{
		{"to a user", Outgoing{ToUser: "bob"}, nil},
		{"to a group", Outgoing{ToGroup: "team", ClientID: make([]byte, 64), Payload: make([]byte, protocol.PayloadCeiling)}, nil},
		{"to nobody", Outgoing{}, errRecipient},
		{"to both", Outgoing{ToUser: "bob", ToGroup: "team"}, errRecipient},
		{"to no id", Outgoing{ToUser: "b\x1fob"}, errRecipientID},
		{"with a long id", Outgoing{ToUser: "bob", ClientID: make([]byte, 65)}, errClientID},
		{"with a long payload", Outgoing{ToUser: "bob", Payload: make([]byte, protocol.PayloadCeiling+1)}, errPayload},
	} {
		if got := tt.m.fault(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
