package config

import (
	"regexp"
	"time"

	"github.com/spf13/pflag"
)

// Routes says which online table the node shares with others. Without an address it is alone and needs none.
type Routes struct {
	Redis        []string      `yaml:"redis"`   // host:port of one server, of seeds of a Cluster, or of Sentinels
	Cluster      bool          `yaml:"cluster"` // a single address is a Cluster's
	Master       string        `yaml:"master"`  // the name by which Sentinels know the master
	Username     string        `yaml:"username"`
	PasswordFile string        `yaml:"password_file"` // holds the password alone
	TTL          time.Duration `yaml:"ttl"`           // of a route without a refresh
	Node         string        `yaml:"node"`          // this node's id; empty = one kept in the data directory
}

// Values of Config.Exclusive.
const (
	ExclusiveDevice   = "device"
	ExclusivePlatform = "platform"
)

// DefaultRouteTTL is refreshed when a third of it has passed.
const DefaultRouteTTL = time.Hour

// UserTimeout is TCP_USER_TIMEOUT of every client's socket. It ends a connection whose data nobody acknowledges, and is
// longer than any silence the session allows: the session decides, the kernel only cleans up behind a dead process of ours.
const UserTimeout = 2400 * time.Second

func (r *Routes) flags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&r.Redis, "redis", r.Redis, "host:port of the Redis with the online table that several nodes share; empty = this node is alone")
	fs.BoolVar(&r.Cluster, "redis-cluster", r.Cluster, "the one address given is a Redis Cluster's")
	fs.StringVar(&r.Master, "redis-master", r.Master, "name of the master; the addresses are Sentinels'")
	fs.StringVar(&r.Username, "redis-username", r.Username, "user of Redis")
	fs.StringVar(&r.PasswordFile, "redis-password-file", r.PasswordFile, "file that holds the password of Redis")
	fs.DurationVar(&r.TTL, "route-ttl", r.TTL, "life of a route in the table without a refresh")
	fs.StringVar(&r.Node, "node", r.Node, "this node's id in the table; empty = one kept in the data directory")
}

var nodeName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func (c Config) validateRoutes(fault func(string, ...any)) {
	if c.Exclusive != ExclusiveDevice && c.Exclusive != ExclusivePlatform {
		fault("exclusive is %q, expected device or platform", c.Exclusive)
	}
	for _, err := range c.Heartbeat.ValidateCoupling(c.Routes.TTL, UserTimeout) {
		fault("routes.ttl and heartbeat: %w", err)
	}
	r := c.Routes
	for i, address := range r.Redis {
		if err := checkAddress(address); err != nil {
			fault("routes.redis[%d] is %q: %w", i, address, err)
		}
	}
	if r.Node != "" && !nodeName.MatchString(r.Node) {
		fault("routes.node is %q, expected 1 to 64 letters, digits, '.', '-' or '_'", r.Node)
	}
	if r.Cluster && r.Master != "" {
		fault("routes.cluster and routes.master exclude each other: Sentinels are for a server that is no Cluster")
	}
	if len(r.Redis) == 0 && (r.Cluster || r.Master != "" || r.Username != "" || r.PasswordFile != "") {
		fault("routes.redis is empty, but other settings of Redis are not")
	}
}
