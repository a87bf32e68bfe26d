package server

import (
	"context"
	"math/bits"
	"slices"
	"time"

	"lifeline/server/route"
	"lifeline/store"
)

// Presence is what can be said of a user at one moment.
type Presence struct {
	User     string
	State    PresenceState
	LastSeen time.Time // when the last session ended, of a user who is offline; zero = not known, or not told
	Devices  []PresentDevice
}

// PresenceState is the answer for a user.
type PresenceState uint8

const (
	Unknown PresenceState = iota // could not be asked, or the asker may not know: never taken for offline
	Online
	Offline // and that is proven
)

// PresentDevice is one connected device.
type PresentDevice struct {
	Device   string
	Platform uint8
	Suspect  bool // a push alone may not reach it; of another node's session known some seconds later
	Lagging  bool // and that is because its app acknowledges nothing; only this node's own sessions say so
}

// Presence asks who is online [P-6.41]: this node's own sessions, which it believes, and the shared table, if there is
// one, about those of other nodes. asker is the user who wants to know. When the table cannot be asked, a user with a
// session here is still online, and Devices are those that are here. It waits for loops, table and store, so it may be
// called from any goroutine that may wait.
func (c *Core) Presence(ctx context.Context, asker string, users []string) ([]Presence, error) {
	return c.presenceOf(ctx, users, func(user string) bool { return c.opts.MaySee == nil || c.opts.MaySee(asker, user) })
}

func (c *Core) presenceOf(ctx context.Context, users []string, maySee func(user string) bool) ([]Presence, error) {
	seen, err := c.look(ctx, users, func(here []PresentDevice) bool { return len(here) > 0 })
	if err != nil {
		return nil, err
	}
	list := make([]Presence, 0, len(users))
	for _, u := range users {
		p := Presence{User: u}
		if maySee(u) {
			if p, err = c.presence(u, seen); err != nil {
				return nil, err
			}
		}
		list = append(list, p)
	}
	return list, nil
}

// sight is what was seen of some users.
type sight struct {
	here  map[string][]PresentDevice // on this node
	moved map[string]bool            // a loop should have known, and did not
	found *route.Found               // in the shared table
}

// look asks this node's loops and the table, and then the loops again of whom enough was not here: a phone that comes back
// on another connection may come to a loop that was asked already, or from a node whose record is gone when the table is
// read. Its new session is there before the old one ends, so that whoever is found nowhere has none.
func (c *Core) look(ctx context.Context, users []string, enough func(here []PresentDevice) bool) (*sight, error) {
	here, err := c.present(ctx, users)
	if err != nil {
		return nil, err
	}
	seen := &sight{here: here, moved: make(map[string]bool), found: c.find(ctx, users)}
	again, err := c.present(ctx, slices.DeleteFunc(slices.Clone(users), func(u string) bool { return enough(here[u]) }))
	for u, devices := range again {
		seen.moved[u] = len(devices) == 0
		here[u] = joined(devices, here[u])
	}
	return seen, err
}

// find asks the shared table. Without one, nobody is elsewhere, and that is proven.
func (c *Core) find(ctx context.Context, users []string) *route.Found {
	if c.routes == nil {
		return &route.Found{Now: time.Now()}
	}
	found := c.routes.Elsewhere(ctx, users)
	return &found
}

// proves reports whether a user of whom nothing was seen has no session. A record of this node's own may be that of a
// session which has gone elsewhere since the table was read.
func (v *sight) proves(user string) bool {
	own := slices.ContainsFunc(v.found.Own, func(r route.Record) bool { return r.User == user })
	return v.found.Proves(user) && !v.moved[user] && !own
}

// joined adds to devices those of more that are not among them.
func joined(devices, more []PresentDevice) []PresentDevice {
	for _, m := range more {
		if !slices.ContainsFunc(devices, func(d PresentDevice) bool { return d.Device == m.Device }) {
			devices = append(devices, m)
		}
	}
	return devices
}

// presence decides for one user. Of a device that is here and elsewhere, what is here counts.
func (c *Core) presence(user string, seen *sight) (Presence, error) {
	p := Presence{User: user, State: Online, Devices: seen.here[user]}
	for i := range seen.found.Records {
		if r := &seen.found.Records[i]; r.User == user && seen.found.Live(r) {
			p.Devices = joined(p.Devices, []PresentDevice{{Device: r.Device, Platform: r.Platform, Suspect: r.Suspect}})
		}
	}
	switch {
	case len(p.Devices) > 0:
		return p, nil
	case seen.proves(user):
		return c.absence(user)
	default:
		return Presence{User: user}, nil
	}
}

// absence is what is said of a user who has no session. One of whom the store has nothing does not exist, and of such
// nothing is said [P-6.40].
func (c *Core) absence(user string) (Presence, error) {
	p := Presence{User: user}
	inbox, err := c.store.Inbox(store.InboxRead{User: user, From: 1})
	if err != nil {
		return p, err
	}
	stored, err := c.store.Devices(user)
	if inbox.Head > 0 || len(stored) > 0 {
		p.State = Offline
	}
	for i := range stored {
		if at := time.UnixMilli(stored[i].Seen); stored[i].Seen != 0 && at.After(p.LastSeen) {
			p.LastSeen = at
		}
	}
	return p, err
}

// present lists the devices of users that are connected to this node, once each. A user whom no loop may have is not in
// the answer, and that is proof.
func (c *Core) present(ctx context.Context, users []string) (map[string][]PresentDevice, error) {
	here := make(map[string][]PresentDevice)
	byLoop := make([][]string, len(c.shards))
	for _, u := range users {
		for mask := c.dir.Loops(c.dir.Hash(u)); mask != 0; mask &= mask - 1 {
			loop := bits.TrailingZeros64(mask)
			byLoop[loop] = append(byLoop[loop], u)
			here[u] = nil
		}
	}
	for loop, asked := range byLoop {
		if len(asked) == 0 {
			continue
		}
		sh, got := c.shards[loop], make(map[string][]PresentDevice)
		if !sh.call(ctx, func() bool { sh.present(asked, got); return true }) {
			return nil, ctx.Err()
		}
		for u, devices := range got {
			here[u] = joined(here[u], devices)
		}
	}
	return here, nil
}

// present adds this loop's sessions of users to got, those too that are not active yet: each may have taken another's place.
func (sh *Shard) present(users []string, got map[string][]PresentDevice) {
	now := sh.clock.Now()
	for _, u := range users {
		for s := sh.users.First(sh.core.dir.Hash(u)); s != nil; s = sh.users.Next(s) {
			if sh.users.Is(s, u) {
				got[u] = append(got[u], PresentDevice{Device: string(sh.users.Device(s)), Platform: s.Platform,
					Suspect: s.Line.Wakeable() || suspending(s), Lagging: s.Line.App(now).Lagging})
			}
		}
	}
}

// DeviceStates implements [route.DeviceStates]. It waits as Presence does.
func (c *Core) DeviceStates(ctx context.Context, user string, devices []string) (map[string]route.DeviceState, error) {
	seen, err := c.look(ctx, []string{user}, func([]PresentDevice) bool { return false })
	if err != nil {
		return nil, err
	}
	states := seen.found.States(user, devices)
	for i := range seen.found.Own {
		if d := seen.found.Own[i].Device; states[d] == route.DeviceNone {
			states[d] = route.DeviceUnknown
		}
	}
	for _, d := range seen.here[user] {
		switch {
		case d.Lagging:
			states[d.Device] = route.DeviceLagging
		case d.Suspect:
			states[d.Device] = route.DeviceSuspect
		default:
			states[d.Device] = route.DeviceActive
		}
	}
	return states, nil
}

var _ route.DeviceStates = (*Core)(nil)
