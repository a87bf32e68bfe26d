package server

import (
	"context"
	"math/bits"
	"slices"
	"time"

	"lifeline/protocol"
	"lifeline/server/liveness"
	"lifeline/server/route"
	"lifeline/server/session"
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
	Suspect  bool
	Lagging  bool // only this node's own sessions say so
}

// Presence asks who is online: this node's own sessions, which it believes, and the shared table, if there is one, about
// those of other nodes. asker is the user who wants to know. When the table cannot be asked, a user with a session here is
// still online, and Devices are those that are here. It waits for loops, table and store, so it may be called from any
// goroutine that may wait.
func (c *Core) Presence(ctx context.Context, asker string, users []string) ([]Presence, error) {
	return c.presenceOf(ctx, users, func(user string) bool { return c.opts.MaySee == nil || c.opts.MaySee(asker, user) })
}

func (c *Core) presenceOf(ctx context.Context, users []string, maySee func(user string) bool) ([]Presence, error) {
	here, err := c.present(ctx, users)
	if err != nil {
		return nil, err
	}
	found := c.find(ctx, users)
	list := make([]Presence, 0, len(users))
	for _, u := range users {
		p := Presence{User: u}
		if maySee(u) {
			if p, err = c.presence(u, here[u], found); err != nil {
				return nil, err
			}
		}
		list = append(list, p)
	}
	return list, nil
}

// find asks the shared table. Without one, nobody is elsewhere, and that is proven.
func (c *Core) find(ctx context.Context, users []string) *route.Found {
	if c.routes == nil {
		return &route.Found{Now: time.Now()}
	}
	found := c.routes.Elsewhere(ctx, users)
	return &found
}

// presence decides for one user. Of a device that is here and elsewhere, what is here counts.
func (c *Core) presence(user string, here []PresentDevice, found *route.Found) (Presence, error) {
	p := Presence{User: user, State: Online, Devices: here}
	for i := range found.Records {
		r := &found.Records[i]
		same := func(d PresentDevice) bool { return d.Device == r.Device }
		if r.User == user && found.Live(r) && !slices.ContainsFunc(here, same) {
			p.Devices = append(p.Devices, PresentDevice{Device: r.Device, Platform: r.Platform, Suspect: r.Suspect})
		}
	}
	switch {
	case len(p.Devices) > 0:
		return p, nil
	case found.Proves(user):
		return c.absence(user)
	default:
		return Presence{User: user}, nil
	}
}

// absence is what is said of a user who has no session. One of whom the store has nothing does not exist, and of such
// nothing is said.
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

// present lists the devices of users that are connected to this node.
func (c *Core) present(ctx context.Context, users []string) (map[string][]PresentDevice, error) {
	byLoop := make([][]string, len(c.shards))
	for _, u := range users {
		for mask := c.dir.Loops(c.dir.Hash(u)); mask != 0; mask &= mask - 1 {
			loop := bits.TrailingZeros64(mask)
			byLoop[loop] = append(byLoop[loop], u)
		}
	}
	here := make(map[string][]PresentDevice)
	for loop, asked := range byLoop {
		if len(asked) == 0 {
			continue
		}
		sh, got := c.shards[loop], make(map[string][]PresentDevice)
		if !sh.call(ctx, func() bool { sh.present(asked, got); return true }) {
			return nil, ctx.Err()
		}
		for u, devices := range got {
			here[u] = append(here[u], devices...)
		}
	}
	return here, nil
}

// present adds this loop's sessions of users to got.
func (sh *Shard) present(users []string, got map[string][]PresentDevice) {
	now := sh.clock.Now()
	for _, u := range users {
		for s := sh.users.First(sh.core.dir.Hash(u)); s != nil; s = sh.users.Next(s) {
			if s.State == session.Active && sh.users.Is(s, u) {
				suspect := s.Line.Path(now).Path == liveness.PathSuspect || protocol.Activity(s.Activity) == protocol.Suspending
				got[u] = append(got[u], PresentDevice{Device: string(sh.users.Device(s)), Platform: s.Platform,
					Suspect: suspect, Lagging: s.Line.App(now).Lagging})
			}
		}
	}
}

// DeviceStates implements [route.DeviceStates]. It waits as Presence does.
func (c *Core) DeviceStates(ctx context.Context, user string, devices []string) (map[string]route.DeviceState, error) {
	here, err := c.present(ctx, []string{user})
	if err != nil {
		return nil, err
	}
	states := c.find(ctx, []string{user}).States(user, devices)
	for _, d := range here[user] {
		switch {
		case d.Suspect:
			states[d.Device] = route.DeviceSuspect
		case d.Lagging:
			states[d.Device] = route.DeviceLagging
		default:
			states[d.Device] = route.DeviceActive
		}
	}
	return states, nil
}

var _ route.DeviceStates = (*Core)(nil)
