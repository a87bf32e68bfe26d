package redisroute

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lifeline/server/route"
)

// keepNodes is how long a node that was not seen stays in the list.
const keepNodes = 24 * time.Hour

// Outcomes of renew.lua.
const (
	leaseNew   = 1
	leaseHeld  = 2
	leaseTaken = 3
)

// exclusivePlatform is what a lease says of a node whose registrations displace by platform.
const exclusivePlatform = "platform"

// Renew implements [route.Table]. The lease comes first and the list of nodes second: one that is refused must not be
// listed, and nothing is registered before both are written.
func (t *Table) Renew(ctx context.Context, lease route.Lease, ttl time.Duration) (held bool, err error) {
	self := &t.opts.Self
	var generations strings.Builder
	if lease.Generations != (route.Generations{}) {
		for _, g := range lease.Generations {
			generations.WriteString(hex16(g))
		}
	}
	exclusive := "device"
	if self.ExclusivePlatform {
		exclusive = exclusivePlatform
	}
	got, err := t.write(ctx, 1, func(int) int { return leasePlace }, func(_ []int, _ time.Time, sent int64) *call {
		return &call{script: scriptRenew, keys: []string{nodePrefix + self.Node}, args: []any{hex16(self.Incarnation), self.Directory,
			ttl.Milliseconds(), sent, t.patience(),
			"epoch", lease.Epoch, "addresses", strings.Join(lease.Addresses, " "), "budget", lease.Budget,
			"state", int(lease.State), "ttl", self.TTL.Milliseconds(), "exclusive", exclusive, "generations", generations.String()}}
	})
	if err != nil {
		return false, err
	}
	if got[0] == leaseTaken {
		return false, route.ErrNodeTaken
	}
	if _, _, err := t.nodes(ctx, self.Node, "l"); err != nil {
		return false, err
	}
	return got[0] == leaseHeld, nil
}

// Release implements [route.Table].
func (t *Table) Release(ctx context.Context) error {
	c := &call{script: scriptRelease, keys: []string{nodePrefix + t.opts.Self.Node}, args: []any{hex16(t.opts.Self.Incarnation)}}
	if err := t.run(ctx, t.writer, []*call{c}); err != nil {
		return err
	}
	_, _, err := t.nodes(ctx, t.opts.Self.Node, "r")
	return err
}

// Leases implements [route.Table]. In most cases it is one round trip: the list of nodes and the leases of those that
// were in it last time.
func (t *Table) Leases(ctx context.Context) (route.Leases, error) {
	t.mu.Lock()
	expected := t.leased
	t.mu.Unlock()
	list := nodesCall("", 0, "")
	calls := []*call{list}
	for _, node := range expected {
		calls = append(calls, &call{script: scriptLease, keys: []string{nodePrefix + node}})
	}
	if err := t.run(ctx, t.writer, calls); err != nil {
		return route.Leases{}, err
	}
	known, leased, err := readNodes(list)
	if err != nil {
		return route.Leases{}, err
	}
	asked := make(map[string]bool, len(expected))
	for _, node := range expected {
		asked[node] = true
	}
	var more []*call
	for _, node := range leased {
		if !asked[node] {
			more = append(more, &call{script: scriptLease, keys: []string{nodePrefix + node}})
		}
	}
	if len(more) > 0 {
		if err := t.run(ctx, t.writer, more); err != nil {
			return route.Leases{}, err
		}
	}
	t.mu.Lock()
	t.leased = leased
	t.mu.Unlock()
	live, err := readLeases(append(calls[1:], more...))
	return route.Leases{Live: live, Known: known}, err
}

func nodesCall(node string, incarnation uint64, state string) *call {
	return &call{script: scriptNodes, keys: []string{nodesKey}, args: []any{node, hex16(incarnation), state, keepNodes.Milliseconds()}}
}

// nodes notes this node in the list.
func (t *Table) nodes(ctx context.Context, node, state string) ([]route.Sighting, []string, error) {
	c := nodesCall(node, t.opts.Self.Incarnation, state)
	if err := t.run(ctx, t.writer, []*call{c}); err != nil {
		return nil, nil, err
	}
	return readNodes(c)
}

// readNodes returns the list, and the names of the nodes that have not said goodbye.
func readNodes(c *call) (known []route.Sighting, leased []string, err error) {
	if len(c.reply) != 2 {
		return nil, nil, c.garbled()
	}
	now, ok := c.reply[0].(int64)
	pairs, err := textPairs(c.reply[1])
	if !ok || err != nil {
		return nil, nil, c.garbled()
	}
	for node, value := range pairs {
		parts := strings.Split(value, "|")
		if len(parts) != 3 {
			continue
		}
		incarnation, bad := parseHex16(parts[0])
		seen, worse := strconv.ParseInt(parts[1], 10, 64)
		if errors.Join(bad, worse) != nil {
			continue
		}
		s := route.Sighting{Node: node, Incarnation: incarnation, Released: parts[2] == "r",
			Age: max(time.Duration(now-seen)*time.Millisecond, 0)}
		if known = append(known, s); !s.Released {
			leased = append(leased, node)
		}
	}
	return known, leased, nil
}

func readLeases(calls []*call) ([]route.Lease, error) {
	var live []route.Lease
	for _, c := range calls {
		if len(c.reply) != 2 {
			return nil, c.garbled()
		}
		left, ok := c.reply[0].(int64)
		pairs, err := textPairs(c.reply[1])
		if !ok || err != nil {
			return nil, c.garbled()
		}
		if left < 0 || len(pairs) == 0 {
			continue
		}
		lease, err := parseLease(pairs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.keys[0], err)
		}
		lease.Node, lease.Left = strings.TrimPrefix(c.keys[0], nodePrefix), time.Duration(left)*time.Millisecond
		live = append(live, lease)
	}
	return live, nil
}

func parseLease(pairs map[string]string) (route.Lease, error) {
	l := route.Lease{Directory: pairs["directory"], Epoch: pairs["epoch"], Addresses: strings.Fields(pairs["addresses"]),
		ExclusivePlatform: pairs["exclusive"] == exclusivePlatform}
	var errs [4]error
	var state, ttl int
	l.Incarnation, errs[0] = parseHex16(pairs["incarnation"])
	l.Budget, errs[1] = strconv.Atoi(pairs["budget"])
	state, errs[2] = strconv.Atoi(pairs["state"])
	ttl, errs[3] = strconv.Atoi(pairs["ttl"])
	if err := errors.Join(errs[:]...); err != nil {
		return l, err
	}
	l.State, l.TTL = route.NodeState(state), time.Duration(ttl)*time.Millisecond
	generations := pairs["generations"]
	if len(generations) != 16*route.Buckets {
		return l, nil // none
	}
	for b := range l.Generations {
		n, err := parseHex16(generations[16*b : 16*b+16])
		if err != nil {
			return l, err
		}
		l.Generations[b] = n
	}
	return l, nil
}

func textPairs(v any) (map[string]string, error) {
	list, ok := v.([]any)
	if !ok || len(list)%2 != 0 {
		return nil, errors.New("no list of pairs")
	}
	pairs := make(map[string]string, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		name, ok := list[i].(string)
		value, too := list[i+1].(string)
		if !ok || !too {
			return nil, errors.New("no list of pairs of text")
		}
		pairs[name] = value
	}
	return pairs, nil
}
