package redistest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy is a line to a server that can be slowed down and cut. Its methods may be called from any goroutine.
type Proxy struct {
	listener net.Listener
	target   string
	delay    atomic.Int64
	lines    sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
}

// StartProxy starts a line to a server's address. It ends with the test.
func StartProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{listener: l, target: target, conns: make(map[net.Conn]bool)}
	p.lines.Go(p.accept)
	tb.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.Cut()
		p.lines.Wait()
	})
	return p
}

// Addr is host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Slow delays each answer by d from now on.
func (p *Proxy) Slow(d time.Duration) { p.delay.Store(int64(d)) }

// Cut breaks the connections that are open. New ones work.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		if !p.keep(near, far) {
			return
		}
		p.lines.Go(func() { pass(far, near, func() {}) })
		p.lines.Go(func() { pass(near, far, p.wait) })
	}
}

// wait is what makes answers slow.
func (p *Proxy) wait() {
	if d := time.Duration(p.delay.Load()); d > 0 {
		<-time.After(d)
	}
}

func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.conns[c] = true; p.closed {
			_ = c.Close()
		}
	}
	return !p.closed
}

// pass copies until either side ends.
func pass(to, from net.Conn, wait func()) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		wait()
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
