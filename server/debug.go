package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"net/http"
	"strconv"
	"strings"
	"time"

	"lifeline/protocol"
	"lifeline/server/session"
	"lifeline/store"
)

// DeviceView is what an operator sees of one device of a user.
type DeviceView struct {
	Device   string       `json:"device"`
	Platform string       `json:"platform"`
	Cursor   *uint64      `json:"cursor"` // nil: the device has acknowledged nothing yet
	Lag      uint64       `json:"lag"`    // positions up to the head that are not acknowledged
	LastSeen *time.Time   `json:"last_seen"`
	Session  *SessionView `json:"session"` // nil: not connected
}

// SessionView is what an operator sees of a session.
type SessionView struct {
	ConnID   string `json:"conn_id"` // as Trace takes it
	State    string `json:"state"`
	Activity string `json:"activity"`
	Acked    uint64 `json:"acked"`
	Sent     uint64 `json:"sent"`
	Head     uint64 `json:"head"`
	Outbound int    `json:"outbound_bytes"`
}

// Devices lists a user's devices: those with a cursor and those connected. Any goroutine but a loop's.
func (c *Core) Devices(ctx context.Context, user string) ([]DeviceView, error) {
	stored, err := c.store.Devices(user)
	if err != nil {
		return nil, err
	}
	inbox, err := c.store.Inbox(store.InboxRead{User: user, From: 1})
	if err != nil {
		return nil, err
	}
	views := make([]DeviceView, 0, len(stored))
	for i := range stored {
		views = append(views, storedView(&stored[i], inbox.Head))
	}
	hash := c.dir.Hash(user)
	for mask := c.dir.Loops(hash); mask != 0; mask &= mask - 1 {
		sh := c.shards[bits.TrailingZeros64(mask)]
		var live []DeviceView
		if !sh.call(ctx, func() bool { live = sh.views(hash, user); return true }) {
			return nil, ctx.Err()
		}
		views = merge(views, live)
	}
	return views, nil
}

func storedView(d *store.Device, head uint64) DeviceView {
	v := DeviceView{Device: d.Device, Platform: protocol.Platform(d.Platform).String(), Cursor: &d.Cursor, Lag: head - min(head, d.Cursor)}
	if d.Seen != 0 {
		seen := time.UnixMilli(d.Seen).UTC()
		v.LastSeen = &seen
	}
	return v
}

// views shows this loop's sessions of a user.
func (sh *Shard) views(hash uint64, user string) (list []DeviceView) {
	for s := sh.users.First(hash); s != nil; s = sh.users.Next(s) {
		if !sh.users.Is(s, user) {
			continue
		}
		list = append(list, DeviceView{Device: string(sh.users.Device(s)), Platform: protocol.Platform(s.Platform).String(),
			Lag: s.Lag(), Session: &SessionView{ConnID: s.ID.String(), State: s.State.String(),
				Activity: protocol.Activity(s.Activity).String(), Acked: s.Acked, Sent: s.Sent, Head: s.Head, Outbound: sh.outbound(s)}})
	}
	return list
}

// merge adds the sessions of live to the devices of views.
func merge(views, live []DeviceView) []DeviceView {
next:
	for _, l := range live {
		for i := range views {
			if views[i].Device == l.Device {
				views[i].Session, views[i].Lag = l.Session, l.Lag
				continue next
			}
		}
		views = append(views, l)
	}
	return views
}

// debugHandler serves what lifelinectl asks for under /debug/. It is mounted only on loopback: it shows who is connected,
// and frames.
func (c *Core) debugHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/devices", c.serveDevices)
	mux.HandleFunc("GET /debug/trace", c.serveTrace)
	mux.HandleFunc("GET /debug/presence", c.servePresence)
	return mux
}

func (c *Core) serveDevices(w http.ResponseWriter, r *http.Request) {
	user := r.URL.Query().Get("user")
	if !store.ValidID(user) {
		http.Error(w, "user: want an id of 1 to 64 bytes without control characters", http.StatusBadRequest)
		return
	}
	views, err := c.Devices(r.Context(), user)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(views) // a client that has gone needs no answer
}

// presenceView is what an operator sees of a user's presence.
type presenceView struct {
	User     string       `json:"user"`
	State    string       `json:"state"` // online, offline or unknown
	LastSeen *time.Time   `json:"last_seen"`
	Devices  []deviceLine `json:"devices"`
}

type deviceLine struct {
	Device   string `json:"device"`
	Platform string `json:"platform"`
	Suspect  bool   `json:"suspect"`
	Lagging  bool   `json:"lagging"`
}

// servePresence answers for up to 200 users at a time. An operator may see everybody.
func (c *Core) servePresence(w http.ResponseWriter, r *http.Request) {
	f := protocol.Presence{}
	for _, u := range r.URL.Query()["user"] {
		f.Users = append(f.Users, []byte(u))
	}
	users, code := askedUsers(&f)
	if code != 0 {
		http.Error(w, fmt.Sprintf("user: %s Want 1 to %d ids, as user=a&user=b.", code.Sentence(), protocol.MaxPresenceUsers), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), lookupTimeout)
	defer cancel()
	list, err := c.presenceOf(ctx, users, func(string) bool { return true })
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	views := make([]presenceView, 0, len(list))
	for i := range list {
		views = append(views, viewPresence(&list[i]))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(views) // a client that has gone needs no answer
}

func viewPresence(p *Presence) presenceView {
	v := presenceView{User: p.User, State: presenceStates[p.State].String(), Devices: []deviceLine{}}
	if !p.LastSeen.IsZero() {
		at := p.LastSeen.UTC()
		v.LastSeen = &at
	}
	for _, d := range p.Devices {
		v.Devices = append(v.Devices, deviceLine{d.Device, protocol.Platform(d.Platform).String(), d.Suspect, d.Lagging})
	}
	return v
}

// traceFor bounds one trace, so that a forgotten one does not cost for ever.
const traceFor = time.Hour

func (c *Core) serveTrace(w http.ResponseWriter, r *http.Request) {
	id, err := parseConnID(r.URL.Query().Get("conn"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), traceFor)
	defer cancel()
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(traceFor))
	err = c.Trace(ctx, id, func(line []byte) error {
		if _, err := fmt.Fprintf(w, "%s %s\n", time.Now().UTC().Format("15:04:05.000"), line); err != nil {
			return err
		}
		return control.Flush()
	})
	if errors.Is(err, errNoConnection) {
		http.Error(w, err.Error(), http.StatusNotFound)
	}
}

// parseConnID reads a ConnID as String writes it: loop.slot.generation.
func parseConnID(text string) (session.ConnID, error) {
	parts := strings.Split(text, ".")
	if len(parts) == 3 {
		loop, err1 := strconv.ParseUint(parts[0], 10, 8)
		slot, err2 := strconv.ParseUint(parts[1], 10, 24)
		generation, err3 := strconv.ParseUint(parts[2], 10, 32)
		if errors.Join(err1, err2, err3) == nil {
			return session.NewConnID(int(loop), uint32(slot), uint32(generation)), nil
		}
	}
	return 0, fmt.Errorf("conn: %q is no ConnID: want loop.slot.generation, as /debug/devices shows it", text)
}
