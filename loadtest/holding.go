package loadtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Holding is what it cost to hold the connections, from the moment when all were there to the end.
type Holding struct {
	Seconds     float64 `json:"seconds"`
	Pings       uint64  `json:"pings"`
	WireBytes   float64 `json:"wire_bytes_per_ping,omitempty"` // both ways, IP and TCP headers included; 0 if a connection was lost
	ServerCPU   float64 `json:"server_cpu_s,omitempty"`        // the rest only with Idle.Metrics
	ServerShare float64 `json:"server_core_percent,omitempty"` // of one core
	PingCPU     float64 `json:"server_cpu_ms_per_1000_pings,omitempty"`
}

// reading is what has been used at one moment.
type reading struct {
	at       int64 // on the run's clock
	pings    uint64
	lost     uint64
	wire     uint64  // bytes
	seconds  float64 // of the server's CPU
	measured bool
}

// read looks at the client's sockets, and at the server if it may. What it reads of a loop is of one moment there.
func (o *Idle) read(ctx context.Context, r *runner) (now reading, err error) {
	parts := make([]reading, len(r.engines))
	header := o.header()
	err = r.each(func(i int, l *loop) {
		parts[i] = reading{pings: l.counts.pings, lost: l.counts.lost.total(), wire: l.wire(header)}
	})
	if err != nil {
		return now, err
	}
	now.at = r.clock()
	for _, part := range parts {
		now.pings, now.lost, now.wire = now.pings+part.pings, now.lost+part.lost, now.wire+part.wire
	}
	if o.Metrics != "" {
		now.measured = true
		now.seconds, err = serverCPU(ctx, o.Metrics)
	}
	return now, err
}

func holding(from, to reading) *Holding {
	h := &Holding{Seconds: float64(to.at-from.at) / second, Pings: to.pings - from.pings}
	if h.Pings > 0 && to.lost == from.lost {
		h.WireBytes = float64(to.wire-from.wire) / float64(h.Pings)
	}
	if to.measured && h.Seconds > 0 {
		h.ServerCPU = to.seconds - from.seconds
		h.ServerShare = 100 * h.ServerCPU / h.Seconds
		if h.Pings > 0 {
			h.PingCPU = 1e6 * h.ServerCPU / float64(h.Pings)
		}
	}
	return h
}

// lines adds what was measured to a report for people.
func (h *Holding) lines(t *table) {
	t.line("held", "%.1f s, %.0f pings/s", h.Seconds, float64(h.Pings)/max(h.Seconds, 1e-9))
	if h.ServerCPU > 0 {
		t.line("server", "%.2f s of CPU, %.2f %% of a core", h.ServerCPU, h.ServerShare)
	}
	if h.PingCPU > 0 {
		t.line("1000 pings", "%.2f ms of the server's CPU, everything else it did included", h.PingCPU)
	}
	if h.WireBytes > 0 {
		t.line("a ping", "%.1f bytes on the wire, both ways", h.WireBytes)
	}
}

// Headers of a segment: TCP's with timestamps, which Linux sends, and IP's.
const (
	tcpHeader  = 32
	ipv4Header = 20
	ipv6Header = 40
)

func (o *Idle) header() uint64 {
	if strings.HasPrefix(o.Server, "tcp6") {
		return ipv6Header + tcpHeader
	}
	return ipv4Header + tcpHeader
}

// wire is how many bytes the loop's open connections have carried both ways, with header bytes for each segment.
func (l *loop) wire(header uint64) (bytes uint64) {
	for _, d := range l.devices {
		socket, ok := d.conn.(interface{ Fd() int })
		if !ok {
			continue
		}
		info, err := unix.GetsockoptTCPInfo(socket.Fd(), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			continue // it is closed, and counts as lost
		}
		bytes += info.Bytes_sent + info.Bytes_received + header*uint64(info.Segs_out+info.Segs_in)
	}
	return bytes
}

const (
	metricsPatience = 10 * time.Second
	cpuMetric       = "process_cpu_seconds_total"
)

// metricsFault says what is wrong with the address of a server's metrics.
func metricsFault(address string) error {
	if u, err := url.Parse(address); address != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("metrics is %q, expected http://host:port/metrics", address)
	}
	return nil
}

// serverCPU asks the server how much CPU it has used, in seconds.
func serverCPU(ctx context.Context, address string) (seconds float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, metricsPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, fmt.Errorf("ask for the server's metrics: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask for the server's metrics: %w", err)
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), cpuMetric+" "); ok {
			return strconv.ParseFloat(text, 64)
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("read the server's metrics: %w", err)
	}
	return 0, fmt.Errorf("%s has no %s: %s", address, cpuMetric, answer.Status)
}
