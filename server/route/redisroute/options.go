package redisroute

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lifeline/server/route"
)

// Options say where Redis is and who writes.
type Options struct {
	Self route.Self

	Addrs   []string // one server; several, or Cluster: seeds of a Cluster; with Master: Sentinels
	Cluster bool     // a single address is the seed of a Cluster
	Master  string   // the name by which Sentinels know the master

	Username, Password                 string
	SentinelUsername, SentinelPassword string
	DB                                 int // not in a Cluster
	TLS                                *tls.Config

	// Timeout is how long a call may take, all in all; if zero, 400 ms. It is also the age at which a command is refused
	// by its script.
	Timeout time.Duration
	Now     func() time.Time // with a monotonic reading; if nil, time.Now
}

var nodeName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Validate reports every fault.
func (o *Options) Validate() error {
	var faults []error
	if !nodeName.MatchString(o.Self.Node) {
		faults = append(faults, fmt.Errorf("node id %q is not 1 to 64 letters, digits, '.', '-' or '_'", o.Self.Node))
	}
	if o.Self.TTL < time.Millisecond {
		faults = append(faults, fmt.Errorf("the time to live of a route, %v, is less than a millisecond", o.Self.TTL))
	}
	if len(o.Addrs) == 0 {
		faults = append(faults, errors.New("no address of a Redis server"))
	}
	if o.Timeout < 0 {
		faults = append(faults, fmt.Errorf("the timeout %v is negative", o.Timeout))
	}
	if o.Master != "" && o.Cluster {
		faults = append(faults, errors.New("a master's name is for Sentinels, and a Cluster has none"))
	}
	if o.DB != 0 && o.Master == "" && (o.Cluster || len(o.Addrs) > 1) {
		faults = append(faults, errors.New("a Cluster has database 0 only"))
	}
	return errors.Join(faults...)
}

const (
	defaultTimeout = 400 * time.Millisecond
	writerPool     = 4 // one batch is under way at a time, and the cluster's map is read beside it
	readerPool     = 8
)

// client makes a client that never repeats a command by itself, gives up in time, and says no more at connection than it
// must. made counts connections.
//
// A Cluster's client follows redirections; it repeats after a broken connection, too, within the deadline: scripts may
// be run twice.
func (o *Options) client(pool int, made *atomic.Uint64) redis.UniversalClient {
	return redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs: o.Addrs, MasterName: o.Master, IsClusterMode: o.Cluster, DB: o.DB, TLSConfig: o.TLS,
		Username: o.Username, Password: o.Password,
		SentinelUsername: o.SentinelUsername, SentinelPassword: o.SentinelPassword,
		OnConnect: func(context.Context, *redis.Conn) error {
			made.Add(1)
			return nil
		},
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		MaxRetries:               -1, MaxRedirects: 2, DialerRetries: 1, FailingTimeoutSeconds: 1,
		ContextTimeoutEnabled: true,
		DialTimeout:           o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: o.Timeout,
		PoolSize: pool, PipelinePoolSize: -1, ConnMaxIdleTime: -1,
	})
}

// quiet keeps the client from writing to standard error: each of its failures is some call's error.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(quiet{}) }
