package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"lifeline/server/auth"
)

const (
	payloadCeiling = 60 << 10
	frameOverhead  = 2 << 10 // a frame is at most the largest payload and this
	idleMargin     = 30 * time.Second
	windowCeiling  = 1024
	hostsCeiling   = 8
	hostCeiling    = 253 // bytes of a name
)

// MaxFrame is the largest frame that the configured payload makes.
func (c Config) MaxFrame() int { return int(c.MaxPayload) + frameOverhead }

// Validate reports every fault of a resolved configuration at once.
func (c Config) Validate(m Machine) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }

	c.validateListeners(fault)
	c.validateHosts(fault)
	c.validateAuth(fault)
	c.validateHeartbeat(fault)
	c.validateRoutes(fault)
	if !slices.Contains([]string{StorePebble, StoreMemory}, c.Store) {
		fault("store is %q, expected pebble or memory", c.Store)
	}
	if c.Store == StorePebble && c.DataDir == "" {
		fault("data_dir is empty, and store pebble needs one")
	}
	if c.Loops < 1 || c.Loops > MaxLoops {
		fault("loops is %d, must be 0 to %d", c.Loops, MaxLoops)
	}
	switch room := m.Descriptors - DescriptorReserve; {
	case room < 1:
		fault("the descriptor limit is %d, and the node needs %d beside those of its connections: raise it (ulimit -n, LimitNOFILE)", m.Descriptors, DescriptorReserve)
	case c.MaxConnections < 1:
		fault("max_connections is %d, must be 0 or more", c.MaxConnections)
	case c.MaxConnections > room:
		fault("max_connections is %d and needs %d descriptors with the reserve of %d, but the limit is %d: raise it (ulimit -n, LimitNOFILE) or lower max_connections",
			c.MaxConnections, c.MaxConnections+DescriptorReserve, DescriptorReserve, m.Descriptors)
	}
	if c.MaxPayload < 1 || c.MaxPayload > payloadCeiling {
		fault("max_payload is %v, must be 1 to %v", c.MaxPayload, Size(payloadCeiling))
	}
	if c.MaxBodyBytes < Size(c.MaxFrame()) {
		fault("max_body_bytes is %v, less than one frame of %v (max_payload and %v)", c.MaxBodyBytes, Size(c.MaxFrame()), Size(frameOverhead))
	}
	if c.MaxOutboundBytes < Size(c.MaxFrame()) {
		fault("max_outbound_bytes is %v, less than one frame of %v (max_payload and %v)", c.MaxOutboundBytes, Size(c.MaxFrame()), Size(frameOverhead))
	}
	if c.PushWindow < 1 || c.PushWindow > windowCeiling {
		fault("push_window is %d, must be 1 to %d", c.PushWindow, windowCeiling)
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		fault("log.level is %q, expected debug, info, warn or error", c.Log.Level)
	}
	if !slices.Contains([]string{"text", "json"}, c.Log.Format) {
		fault("log.format is %q, expected text or json", c.Log.Format)
	}
	return errors.Join(faults...)
}

func (c Config) validateListeners(fault func(string, ...any)) {
	if len(c.Listen) == 0 {
		fault("listen is empty")
	}
	taken := map[string]string{} // host:port → who has it
	claim := func(address, name string) {
		if other, ok := taken[address]; ok && !strings.HasSuffix(address, ":0") {
			fault("%s and %s are both %s", other, name, address)
		}
		taken[address] = name
	}
	for i, listener := range c.Listen {
		name := fmt.Sprintf("listen[%d]", i)
		address, err := listenAddress(listener)
		if err != nil {
			fault("%s is %q: %w", name, listener, err)
			continue
		}
		claim(address, name)
	}
	if c.HTTP == "" {
		return
	}
	if err := checkAddress(c.HTTP); err != nil {
		fault("http is %q: %w", c.HTTP, err)
		return
	}
	claim(c.HTTP, "http")
}

// validateHosts keeps what every Connack and every Close carries small, and free of what no client can dial.
func (c Config) validateHosts(fault func(string, ...any)) {
	if len(c.Hosts) > hostsCeiling {
		fault("hosts has %d addresses, must be at most %d", len(c.Hosts), hostsCeiling)
	}
	for i, address := range c.Hosts {
		host, port, _ := net.SplitHostPort(address)
		err := checkAddress(address)
		if err == nil && (host == "" || len(host) > hostCeiling || port == "0") {
			err = fmt.Errorf("expected a host of 1 to %d bytes and a port of 1 to 65535", hostCeiling)
		}
		if err != nil {
			fault("hosts[%d] is %q: %w", i, address, err)
		}
	}
}

func (c Config) validateAuth(fault func(string, ...any)) {
	switch c.Auth.Mode {
	case AuthDevelopment:
		c.validateDevelopment(fault)
	case AuthJWT:
		c.validateJWT(fault)
	default:
		fault("auth.mode is %q, expected development or jwt", c.Auth.Mode)
	}
}

// validateDevelopment keeps tokens that prove nothing away from every network.
func (c Config) validateDevelopment(fault func(string, ...any)) {
	for i, listener := range c.Listen {
		if address, err := listenAddress(listener); err == nil && !Loopback(address) {
			fault("auth.mode is development, whose tokens prove nothing, but listen[%d] is %s, which is not loopback: use auth.mode jwt or a loopback address", i, listener)
		}
	}
	if len(c.Auth.Keys) > 0 {
		fault("auth.keys has %d keys, but auth.mode is development, which uses none", len(c.Auth.Keys))
	}
}

func (c Config) validateJWT(fault func(string, ...any)) {
	if c.Auth.Audience == "" {
		fault("auth.audience is empty, and auth.mode jwt needs one")
	}
	if len(c.Auth.Keys) == 0 {
		fault("auth.keys is empty, and auth.mode jwt needs a key")
	}
	kids := map[string]int{}
	for i, key := range c.Auth.Keys {
		if key.ID == "" || key.File == "" {
			fault("auth.keys[%d] needs kid and file", i)
		}
		if !slices.Contains(auth.Algorithms(), key.Algorithm) {
			fault("auth.keys[%d].algorithm is %q, expected one of %s", i, key.Algorithm, strings.Join(auth.Algorithms(), ", "))
		}
		if other, ok := kids[key.ID]; ok && key.ID != "" {
			fault("auth.keys[%d] and auth.keys[%d] both have kid %q", other, i, key.ID)
		}
		kids[key.ID] = i
	}
}

func (c Config) validateHeartbeat(fault func(string, ...any)) {
	for _, err := range c.Heartbeat.Validate() {
		fault("heartbeat.%w", err)
	}
	idle := c.Heartbeat.LoadBalancerIdle
	if idle < 0 {
		fault("heartbeat.load_balancer_idle is %v, must not be negative", idle)
	}
	for _, silence := range []struct {
		name string
		most time.Duration
	}{
		{"foreground.interval", c.Heartbeat.Foreground.Interval}, {"background.max", c.Heartbeat.Background.Max}, {"desktop", c.Heartbeat.Desktop},
	} {
		if idle > 0 && silence.most > idle-idleMargin {
			fault("heartbeat.%s is %v, but heartbeat.load_balancer_idle is %v and ends what is silent longer: keep them %v apart", silence.name, silence.most, idle, idleMargin)
		}
	}
}

// listenAddress returns the host:port of a listener.
func listenAddress(listener string) (string, error) {
	network, address, ok := strings.Cut(listener, "://")
	if !ok || network != "tcp4" && network != "tcp6" {
		return "", errors.New("expected tcp4://host:port or tcp6://host:port")
	}
	return address, checkAddress(address)
}

func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("expected host:port")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("port %q is not a number from 0 to 65535", port)
	}
	return nil
}

// Loopback says whether host:port can be reached from this machine only. A name other than localhost cannot be known to.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
