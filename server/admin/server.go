package admin

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"lifeline/server/config"
)

const (
	maxConnections = 64 // counted in the descriptor reserve
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = 90 * time.Second // a CPU profile takes 30 s unless asked otherwise
	idleTimeout    = 60 * time.Second
	maxHeaderBytes = 16 << 10
)

// Options of a [Server].
type Options struct {
	Address string         // host:port; profiles are served only when it is loopback
	Sets    []*metrics.Set // written by /metrics, in this order
	Debug   http.Handler   // serves /debug/ beside the profiles, on loopback only; nil = none
	Ready   func() error   // asked by /readyz, from any goroutine; nil = ready
	Log     *slog.Logger
}

// Server is the HTTP listener.
type Server struct {
	// Set at construction.
	options  Options
	listener net.Listener
	http     *http.Server
	done     chan struct{} // closed when serving has ended
}

// New binds the address and serves until Close.
func New(o Options) (*Server, error) {
	listener, err := net.Listen("tcp", o.Address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("http on %s: another process listens there: stop it, or choose another address", o.Address)
	}
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	metrics.ExposeMetadata(true)
	s := &Server{options: o, listener: limit(listener, maxConnections), done: make(chan struct{})}
	s.http = &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	go s.serve()
	return s, nil
}

// Addr is the bound address.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close ends every connection at once. It is idempotent and waits until nothing is accepted any more.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

func (s *Server) serve() {
	defer close(s.done)
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		s.options.Log.Error("admin listener ended", "error", err)
	}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	if config.Loopback(s.options.Address) {
		mux.Handle("GET /debug/", asked(s.debug()))
	}
	return mux
}

func (s *Server) debug() http.Handler {
	mux := http.NewServeMux()
	if s.options.Debug != nil {
		mux.Handle("GET /debug/", s.options.Debug)
	}
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// asked refuses requests for a host that is not this machine's loopback by name or number. A page in a browser here may
// have given a name of its own to this address, and must not read frames.
func asked(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !config.Loopback(r.Host) && !config.Loopback(net.JoinHostPort(strings.Trim(r.Host, "[]"), "80")) {
			answer(w, http.StatusForbidden, "ask 127.0.0.1, [::1] or localhost, and by no other name")
			return
		}
		h.ServeHTTP(w, r)
	})
}

// metrics writes the sets, then the runtime's and the process's own. It never counts descriptors: that walks
// /proc/self/fd, which costs more than a second at a million connections.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	var page bytes.Buffer
	for _, set := range s.options.Sets {
		set.WritePrometheus(&page)
	}
	metrics.WriteProcessMetrics(&page)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(page.Bytes()) // the scraper has gone: nothing to do
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.options.Ready == nil {
		answer(w, http.StatusOK, "ok")
		return
	}
	if err := s.options.Ready(); err != nil {
		answer(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	answer(w, http.StatusOK, "ok")
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}
