package client

import (
	"testing"
	"time"

	"lifeline/protocol"
)

const minute = time.Minute

func newHeartbeat(random float64) heartbeat {
	return heartbeat{random: always(random), prober: NewProber(ProberState{}, always(random))}
}

func granting(interval time.Duration) *protocol.Heartbeat {
	return &protocol.Heartbeat{IntervalS: uint32(interval / time.Second)}
}

// [P-6.22]
func TestPingComesInTheLastTenthOfTheSilence(t *testing.T) {
	for _, tt := range []struct {
		random float64
		want   time.Duration
	}{{0, 54 * time.Second}, {0.5, 57 * time.Second}, {1, 60 * time.Second}} {
		h := newHeartbeat(tt.random)
		h.start(epochTime, granting(minute))
		h.ask(epochTime)
		h.pong(epochTime)
		if got := h.due().Sub(epochTime); got != tt.want {
			t.Errorf("random %v: ping after %v, want %v", tt.random, got, tt.want)
		}
	}
}

// [P-6.22]
func TestFirstPingIsSpreadOverTheInterval(t *testing.T) {
	for _, tt := range []struct {
		random float64
		want   time.Duration
	}{{0, 0}, {0.25, 15 * time.Second}, {1, 60 * time.Second}} {
		h := newHeartbeat(tt.random)
		h.start(epochTime, granting(minute))
		if got := h.due().Sub(epochTime); got != tt.want {
			t.Errorf("random %v: first ping after %v, want %v", tt.random, got, tt.want)
		}
	}
}

func TestFramesSentPutThePingOff(t *testing.T) {
	h := newHeartbeat(1)
	h.start(epochTime, granting(minute))
	later := epochTime.Add(40 * time.Second)
	h.sent(later)
	if got := h.due(); !got.Equal(later.Add(minute)) {
		t.Errorf("ping at %v", got.Sub(epochTime))
	}
	if h.check(epochTime.Add(60*time.Second), epochTime) != beatRest {
		t.Error("it pings although a frame was sent")
	}
}

// [P-6.24]
func TestGrantIsObeyed(t *testing.T) {
	h := newHeartbeat(1)
	h.start(epochTime, granting(minute))
	h.take(granting(4 * minute))
	if got := h.due().Sub(epochTime); got != 4*minute {
		t.Errorf("ping after %v, want 4 minutes", got)
	}
	h.take(granting(0))
	if got := h.due().Sub(epochTime); got != unknownBeat {
		t.Errorf("ping after %v, want %v", got, unknownBeat)
	}
}

func TestPongTimeout(t *testing.T) {
	for _, tt := range []struct{ srtt, want time.Duration }{
		{0, 5 * time.Second},
		{100 * time.Millisecond, 5 * time.Second},
		{500 * time.Millisecond, 5 * time.Second},
		{time.Second, 7 * time.Second},
		{time.Minute, 10 * time.Second},
	} {
		h := heartbeat{srtt: tt.srtt}
		if got := h.timeout(); got != tt.want {
			t.Errorf("round trip %v: %v, want %v", tt.srtt, got, tt.want)
		}
	}
}

// The script of a line that dies: a ping, 5 s, one more, 7 s, the end.
func TestSilentLineIsGivenUp(t *testing.T) {
	h := newHeartbeat(1)
	h.start(epochTime, granting(minute))
	at := func(s int) time.Time { return epochTime.Add(time.Duration(s) * time.Second) }
	for _, step := range []struct {
		at   int
		want beat
	}{{59, beatRest}, {60, beatPing}, {64, beatRest}, {65, beatPing}, {71, beatRest}, {72, beatDead}} {
		got := h.check(at(step.at), epochTime)
		if got != step.want {
			t.Fatalf("at %d s: %v, want %v", step.at, got, step.want)
		}
		switch {
		case got == beatPing && h.owed == 0:
			h.ask(at(step.at))
		case got == beatPing:
			h.retry(at(step.at))
		}
	}
}

func TestBytesProveTheLine(t *testing.T) {
	h := newHeartbeat(1)
	h.start(epochTime, granting(minute))
	h.ask(epochTime)
	heard := epochTime.Add(4 * time.Second)
	if got := h.check(epochTime.Add(5*time.Second), heard); got != beatRest {
		t.Errorf("bytes came a second ago: %v", got)
	}
	if got := h.due(); !got.Equal(heard.Add(5 * time.Second)) {
		t.Errorf("the wait ends after %v, want 5 s after the last bytes", got.Sub(epochTime))
	}
	if got := h.check(epochTime.Add(9*time.Second), heard); got != beatPing {
		t.Errorf("5 s after the last bytes: %v", got)
	}
}

func TestRoundTrips(t *testing.T) {
	h := newHeartbeat(1)
	h.start(epochTime, granting(minute))
	trip := func(took time.Duration) {
		h.ask(epochTime)
		h.pong(epochTime.Add(took))
	}
	trip(800 * time.Millisecond)
	if h.srtt != 800*time.Millisecond {
		t.Errorf("the first sample gave %v", h.srtt)
	}
	trip(1600 * time.Millisecond)
	if h.srtt != 900*time.Millisecond {
		t.Errorf("an eighth of the second gave %v, want 900ms", h.srtt)
	}
	h.ask(epochTime)
	h.retry(epochTime.Add(5 * time.Second))
	h.pong(epochTime.Add(6 * time.Second))
	h.pong(epochTime.Add(6 * time.Second))
	h.ask(epochTime)
	h.ask(epochTime)
	h.pong(epochTime.Add(30 * time.Second))
	h.pong(epochTime.Add(30 * time.Second))
	if h.srtt != 900*time.Millisecond {
		t.Errorf("repeated or overlapping pings were measured: %v", h.srtt)
	}
	h.pong(epochTime)
	if h.owed != 0 {
		t.Errorf("a Pong that nobody asked for: %d are owed", h.owed)
	}
}
