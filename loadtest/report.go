package loadtest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
)

// What can be wrong with a run, the worst first. A report's Fault is one of them, with what happened.
var (
	ErrWrong      = errors.New("the server broke a promise")
	ErrUnreached  = errors.New("the server could not be reached")
	ErrRefused    = errors.New("the server refused")
	ErrIncomplete = errors.New("the run is not whole")
)

// Latency is a distribution in milliseconds. The percentiles are rounded up by at most 0.8 %, the maximum is exact.
type Latency struct {
	Count uint64  `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

func (h *histogram) latency() Latency {
	ms := func(ns int64) float64 { return math.Round(float64(ns)/1000) / 1000 }
	return Latency{h.n, ms(h.quantile(0.5)), ms(h.quantile(0.9)), ms(h.quantile(0.99)), ms(h.quantile(0.999)), ms(h.max)}
}

// Connections is what became of the connections.
type Connections struct {
	Wanted    int    `json:"wanted"`
	Connected uint64 `json:"connected"`           // had a session, for however long
	Unreached Tally  `json:"unreached,omitempty"` // no TCP connection, by cause
	Refused   Tally  `json:"refused,omitempty"`   // ended before Connack, by code
	Lost      Tally  `json:"lost,omitempty"`      // ended although nobody asked for it, by code
}

// live is how many have a session.
func (c *Connections) live() uint64 { return c.Connected - c.Lost.total() }

// fault is what was wrong with the connections.
func (c *Connections) fault() error {
	switch {
	case c.Connected == 0 && len(c.Unreached) > 0:
		return fmt.Errorf("%w: %v", ErrUnreached, c.Unreached)
	case len(c.Refused) > 0:
		return fmt.Errorf("%w log-ins: %v", ErrRefused, c.Refused)
	case len(c.Unreached) > 0:
		return fmt.Errorf("%w: %d of %d connections were not made: %v", ErrIncomplete, c.Unreached.total(), c.Wanted, c.Unreached)
	case len(c.Lost) > 0:
		return fmt.Errorf("%w: connections were lost: %v", ErrIncomplete, c.Lost)
	}
	return nil
}

// IdleReport is the outcome of Idle.
type IdleReport struct {
	Scenario    string      `json:"scenario"`
	Rate        float64     `json:"rate"` // connections a second, 0: as fast as possible
	HoldS       float64     `json:"hold_s"`
	Connections Connections `json:"connections"`
	Connect     Latency     `json:"connect_ms"` // from when the dial was due to Connack
	Pings       uint64      `json:"pings"`
	Pongs       uint64      `json:"pongs"`
	Bytes       int         `json:"client_bytes_per_connection,omitempty"` // of this process
	Holding     *Holding    `json:"holding,omitempty"`                     // nil: the run did not come so far
	Machine     Machine     `json:"machine"`
}

// Fault is what was wrong, nil if nothing was.
func (r *IdleReport) Fault() error { return r.Connections.fault() }

// Text is the report for people.
func (r *IdleReport) Text() string {
	var t table
	t.line("connected", "%d of %d", r.Connections.Connected, r.Connections.Wanted)
	t.tally("not reached", r.Connections.Unreached)
	t.tally("refused", r.Connections.Refused)
	t.tally("lost", r.Connections.Lost)
	t.head("ms")
	t.latency("connect", &r.Connect)
	t.line("pings", "%d, answered %d", r.Pings, r.Pongs)
	if r.Bytes > 0 {
		t.line("client", "%d bytes per connection", r.Bytes)
	}
	if r.Holding != nil {
		r.Holding.lines(&t)
	}
	t.machine(&r.Machine)
	return t.String()
}

// ChatReport is the outcome of Chat.
type ChatReport struct {
	Scenario  string  `json:"scenario"`
	Pairs     int     `json:"pairs"`
	Window    int     `json:"window"`
	Devices   int     `json:"devices"`
	Size      int     `json:"size"`       // bytes of a payload
	Rate      float64 `json:"rate"`       // messages a second, 0: each when an answer comes
	WarmupS   float64 `json:"warmup_s"`   // not measured
	DurationS float64 `json:"duration_s"` // measured

	SendsPerSecond  float64  `json:"sends_per_second"`  // stored and answered
	PushesPerSecond float64  `json:"pushes_per_second"` // to the receivers' devices
	Sendack         Latency  `json:"sendack_ms"`
	Push            Latency  `json:"push_ms"`
	PushLater       *Latency `json:"push_later_ms,omitempty"` // to the last of the receiver's devices

	Faults
	Sent       uint64 `json:"sent"`
	Stored     uint64 `json:"stored"`
	Pushed     uint64 `json:"pushed"`
	Unanswered uint64 `json:"unanswered"` // Sends without their answer
	Unproven   uint64 `json:"unproven"`   // stored, not seen, and the device's connection was lost
	Failed     uint64 `json:"failed"`     // Sends refused for good
	Errors     Tally  `json:"errors,omitempty"`

	Connections Connections `json:"connections"`
	Connect     Latency     `json:"connect_ms"`
	ClientCPU   float64     `json:"client_cpu_us_per_message"` // of this process, for all devices of a message
	Machine     Machine     `json:"machine"`
}

// Fault is what was wrong, nil if nothing was.
func (r *ChatReport) Fault() error {
	if r.Wrong() {
		return fmt.Errorf("%w: %v", ErrWrong, &r.Faults)
	}
	if r.Failed > 0 {
		return fmt.Errorf("%w messages: %v", ErrRefused, r.Errors)
	}
	if err := r.Connections.fault(); err != nil {
		return err
	}
	if r.Unanswered+r.Unproven > 0 {
		return fmt.Errorf("%w: %d Sends have no answer, %d messages cannot be judged", ErrIncomplete, r.Unanswered, r.Unproven)
	}
	return nil
}

// Text is the report for people.
func (r *ChatReport) Text() string {
	var t table
	t.line("sends", "%.0f/s stored and answered", r.SendsPerSecond)
	t.line("pushes", "%.0f/s", r.PushesPerSecond)
	t.head("ms")
	t.latency("sendack", &r.Sendack)
	t.latency("push", &r.Push)
	if r.PushLater != nil {
		t.latency("push, later", r.PushLater)
	}
	t.latency("connect", &r.Connect)
	t.line("messages", "%d sent, %d stored, %d pushed", r.Sent, r.Stored, r.Pushed)
	t.line("verified", "%v", &r.Faults)
	if r.Unanswered+r.Unproven+r.Failed > 0 {
		t.line("open", "%d unanswered, %d unproven, %d refused for good", r.Unanswered, r.Unproven, r.Failed)
	}
	t.tally("errors", r.Errors)
	t.line("connected", "%d of %d", r.Connections.Connected, r.Connections.Wanted)
	t.tally("not reached", r.Connections.Unreached)
	t.tally("refused", r.Connections.Refused)
	t.tally("lost", r.Connections.Lost)
	t.line("client", "%.1f µs of CPU a message", r.ClientCPU)
	t.machine(&r.Machine)
	return t.String()
}

// table is text in columns.
type table struct {
	b    strings.Builder
	unit string // of latencies, until one is there
}

func (t *table) line(name, format string, args ...any) {
	fmt.Fprintf(&t.b, "%s\t"+format+"\n", append([]any{name}, args...)...)
}

func (t *table) tally(name string, counts Tally) {
	if len(counts) > 0 {
		t.line(name, "%v", counts)
	}
}

// head begins latencies in a unit.
func (t *table) head(unit string) { t.unit = unit }

// latency adds a line, if anything was measured.
func (t *table) latency(name string, l *Latency) {
	if l.Count == 0 {
		return
	}
	if t.unit != "" {
		t.line(t.unit, "p50\tp90\tp99\tp99.9\tmax")
		t.unit = ""
	}
	t.line(name, "%.2f\t%.2f\t%.2f\t%.2f\t%.2f", l.P50, l.P90, l.P99, l.P999, l.Max)
}

func (t *table) machine(m *Machine) {
	t.line("machine", "%d cores, GOMAXPROCS %d, GOGC %d, loops %d, %s, %s", m.Cores, m.GOMAXPROCS, m.GOGC, m.Loops, m.Go, m.Platform)
}

// String lines the columns up.
func (t *table) String() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = w.Write([]byte(t.b.String())) // a strings.Builder takes everything
	_ = w.Flush()
	return out.String()
}
