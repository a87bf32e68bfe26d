package redisroute

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// script is one Lua script with the prelude in front.
type script struct {
	name, text, sha string
}

var (
	scriptRegister   = newScript("register")
	scriptRemove     = newScript("remove")
	scriptRefresh    = newScript("refresh")
	scriptGeneration = newScript("generation")
	scriptRenew      = newScript("renew")
	scriptRelease    = newScript("release")
	scriptLease      = newScript("lease")
	scriptNodes      = newScript("nodes")

	scripts = []*script{scriptRegister, scriptRemove, scriptRefresh, scriptGeneration, scriptRenew,
		scriptRelease, scriptLease, scriptNodes}
)

func newScript(name string) *script {
	s := &script{name: name, text: source("prelude") + source(name)}
	sum := sha1.Sum([]byte(s.text)) // #nosec G401 -- the name Redis gives a script
	s.sha = hex.EncodeToString(sum[:])
	return s
}

func source(name string) string {
	text, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // not in the binary
	}
	return string(text)
}

// call is one script to run, with keys of one server, or one hash to read, and its answer.
type call struct {
	script *script // nil = read the hash
	keys   []string
	args   []any

	reply []any
	err   error
}

func (c *call) String() string {
	if c.script == nil {
		return "read " + c.keys[0]
	}
	return c.script.name
}

// run sends calls in one pipeline, which is one round trip to each server concerned; those of one key's server are run in
// order. A server that does not know a script, because it is new or was emptied, is taught all of them, and what it refused
// is sent again. It returns the first error.
func (t *Table) run(ctx context.Context, client redis.UniversalClient, calls []*call) error {
	if len(calls) == 0 {
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, t.opts.Timeout)
	defer cancel()
	again := send(ctx, client, calls)
	if len(again) > 0 {
		if err := teach(ctx, client); err != nil {
			return err
		}
		send(ctx, client, again)
	}
	for _, c := range calls {
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

// send returns the calls whose script the server does not know.
func send(ctx context.Context, client redis.UniversalClient, calls []*call) (unknown []*call) {
	pipe := client.Pipeline()
	commands := make([]*redis.Cmd, len(calls))
	for i, c := range calls {
		if c.script == nil {
			commands[i] = pipe.Do(ctx, "hgetall", c.keys[0])
		} else {
			commands[i] = pipe.EvalSha(ctx, c.script.sha, c.keys, c.args...)
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its error
	for i, c := range calls {
		var err error
		if c.reply, err = commands[i].Slice(); err == nil {
			c.err = nil
			continue
		}
		c.err = fmt.Errorf("%s: %w", c, err)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			unknown = append(unknown, c)
		}
	}
	return unknown
}

// teach loads every script on every master.
func teach(ctx context.Context, client redis.UniversalClient) error {
	load := func(ctx context.Context, client *redis.Client) error {
		pipe := client.Pipeline()
		for _, s := range scripts {
			pipe.ScriptLoad(ctx, s.text)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("load scripts: %w", err)
		}
		return nil
	}
	return eachMaster(ctx, client, load)
}

// eachMaster calls f with a client of each server that takes writes, concurrently in a Cluster.
func eachMaster(ctx context.Context, client redis.UniversalClient, f func(context.Context, *redis.Client) error) error {
	switch c := client.(type) {
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, f)
	case *redis.Client:
		return f(ctx, c)
	default:
		return fmt.Errorf("a client of type %T has no masters", client)
	}
}

// masters returns a client of each server that takes writes, in an order that lasts as long as the servers do.
func masters(ctx context.Context, client redis.UniversalClient) ([]*redis.Client, error) {
	var mu sync.Mutex
	var all []*redis.Client
	err := eachMaster(ctx, client, func(_ context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, c)
		return nil
	})
	if err == nil && len(all) == 0 {
		err = errors.New("the Cluster has no masters")
	}
	return all, err
}
