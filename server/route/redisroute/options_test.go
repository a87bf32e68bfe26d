package redisroute

import (
	"context"
	"strings"
	"testing"
	"time"

	"lifeline/server/route"
	"lifeline/server/route/redistest"
)

func TestValidate(t *testing.T) {
	good := Options{Self: route.Self{Node: "a-1.B_2", TTL: time.Hour}, Addrs: []string{"h:1"}}
	for _, tt := range []struct {
		name   string
		change func(*Options)
		want   []string
	}{
		{"good", func(*Options) {}, nil},
		{"everything wrong", func(o *Options) { *o = Options{Timeout: -1, Master: "m", Cluster: true} },
			[]string{"node id", "time to live", "no address", "negative", "master"}},
		{"a node id with a bar", func(o *Options) { o.Self.Node = "a|b" }, []string{"node id"}},
		{"a database in a Cluster", func(o *Options) { o.Cluster, o.DB = true, 1 }, []string{"database 0"}},
		{"a database behind Sentinels", func(o *Options) { o.Master, o.DB, o.Addrs = "m", 1, []string{"h:1", "h:2"} }, nil},
	} {
		o := good
		tt.change(&o)
		err := o.Validate()
		if (err == nil) != (len(tt.want) == 0) {
			t.Errorf("%s: got %v", tt.name, err)
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", tt.name, err, part)
			}
		}
		if table, newErr := New(o); (newErr == nil) != (err == nil) {
			t.Errorf("%s: New gives %v", tt.name, newErr)
		} else if table != nil {
			_ = table.Close()
		}
	}
}

// A connection costs one command, for it may be made in a storm; and every call gives up in time.
func TestConnectionSaysNoMoreThanItMust(t *testing.T) {
	server := redistest.Start(t)
	table := world{options: Options{Addrs: []string{server.Addr()}}}.Open(t, route.Self{Node: "a", TTL: time.Hour}, time.Now)
	before := table.Connections()
	if _, err := table.Generations(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := table.Connections(); n != before+1 {
		t.Errorf("%d connections were made", n-before)
	}
	for _, command := range []string{"cmdstat_client", "cmdstat_select", "cmdstat_auth"} {
		if stats := server.Do("INFO", "commandstats"); strings.Contains(stats, command) {
			t.Errorf("a connection has said %s", command)
		}
	}
}

// A server without the scripts is taught, and nothing is lost or done twice.
func TestScriptsAreTaught(t *testing.T) {
	server := redistest.Start(t)
	table := world{options: Options{Addrs: []string{server.Addr()}}}.Open(t, route.Self{Node: "a", Incarnation: 1, TTL: time.Hour}, time.Now)
	for _, want := range []route.Outcome{route.Created, route.Kept} {
		server.Do("SCRIPT", "FLUSH")
		s := route.Session{User: "alice", Device: "phone", ConnID: 1, Started: time.Now(), Seen: time.Now()}
		if o, err := table.Register(context.Background(), []route.Session{s}); err != nil || o[0] != want {
			t.Errorf("got %v, %v; want %v", o, err, want)
		}
	}
}

func TestDeadServerIsReportedSoon(t *testing.T) {
	server := redistest.Start(t)
	server.Kill()
	table := world{options: Options{Addrs: []string{server.Addr()}, Timeout: time.Minute}}.Open(t, route.Self{Node: "a", TTL: time.Hour}, time.Now)
	ctx, cancel := context.WithTimeout(context.Background(), unhurried)
	defer cancel()
	if _, err := table.Lookup(ctx, []string{"alice"}); err == nil || ctx.Err() != nil {
		t.Errorf("got %v, %v", err, ctx.Err())
	}
}
