package server

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/VictoriaMetrics/metrics"

	"lifeline/server/config"
	"lifeline/store"
	"lifeline/store/memstore"
)

// TestANodeHidesWhomItIsToldToHide: who may know of a user is the embedder's to say.
func TestANodeHidesWhomItIsToldToHide(t *testing.T) {
	cfg := config.Default()
	cfg.HTTP, cfg.Store, cfg.Loops, cfg.MaxConnections = "", config.StoreMemory, 1, 100
	n, err := New(Options{Config: cfg, Metrics: metrics.NewSet(), Log: slog.New(slog.DiscardHandler),
		MaySee: func(asker, user string) bool { return asker == "ann" },
		Open:   func(sink store.Sink) (store.Store, error) { return memstore.New(memstore.Options{Sink: sink}), nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.core.Close() })
	n.core.store.Ack(store.Ack{User: "hermit", Device: "phone", HasPos: true})
	for asker, want := range map[string]PresenceState{"ann": Offline, "bob": Unknown} {
		list, err := n.core.Presence(t.Context(), asker, []string{"hermit"})
		if err != nil || list[0].State != want {
			t.Errorf("%s is told %+v, %v; want %v", asker, list, err, want)
		}
	}
}

// TestTheConfigurationReachesTheCore: a setting that is read and checked and then forgotten would look as if it worked.
func TestTheConfigurationReachesTheCore(t *testing.T) {
	c := config.Default()
	c.Hosts, c.Loops, c.MaxConnections, c.MaxPayload, c.PushWindow = []string{"im.example.net:443"}, 3, 4, 5<<10, 6
	c.MaxBodyBytes, c.MaxOutboundBytes, c.Exclusive, c.Heartbeat.EchoesPerDay = 7<<20, 8<<20, config.ExclusivePlatform, 9
	n, err := New(Options{Config: c, Metrics: metrics.NewSet(), Log: slog.New(slog.DiscardHandler),
		Open: func(sink store.Sink) (store.Store, error) { return memstore.New(memstore.Options{Sink: sink}), nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.core.Close() })
	o := &n.core.opts
	got := fmt.Sprint(o.Hosts, o.Loops, o.MaxConnections, o.MaxPayload, o.PushWindow, o.MaxBodyBytes, o.MaxOutboundBytes,
		o.ExclusivePlatform, o.Heartbeat.EchoesPerDay)
	if want := fmt.Sprint(c.Hosts, 3, 4, 5<<10, 6, 7<<20, 8<<20, true, 9); got != want {
		t.Errorf("the core has %s, want %s", got, want)
	}
}
