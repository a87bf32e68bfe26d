package client

import (
	"context"
	"fmt"
	"time"

	"lifeline/protocol"
)

// UserPresence is what the server says of a user at the moment of its answer. It is a hint: show none that is older than
// 120 s, store none, and let nothing depend on one [P-6.41].
type UserPresence struct {
	User     string
	State    protocol.PresenceState // Online, Offline, or PresenceUnknown: of that show nothing
	LastSeen time.Time              // only of one who is Offline; zero: not told
	Devices  []DevicePresence       // only of one who is Online; may be left out
}

// DevicePresence is a device that has a session.
type DevicePresence struct {
	Device   string
	Platform protocol.Platform
	Suspect  bool // a push alone may not reach it
}

// newUserPresence takes every state that it does not know for unknown [P-6.39], and of a state only what goes with it
// [P-6.38].
func newUserPresence(f *protocol.UserPresence) UserPresence {
	u := UserPresence{User: string(f.User), State: protocol.PresenceUnknown}
	switch f.State {
	case protocol.Online:
		u.State = f.State
		for _, d := range f.Devices {
			u.Devices = append(u.Devices, DevicePresence{Device: string(d.Device), Platform: d.Platform, Suspect: d.Suspect})
		}
	case protocol.Offline:
		u.State = f.State
		if f.LastSeenMs != 0 {
			u.LastSeen = unixMilli(f.LastSeenMs)
		}
	}
	return u
}

// inquiry is one question that the app waits for.
type inquiry struct {
	// Set at construction.
	users [][]byte   // each once
	done  chan error // gets one value

	// Owned by the loop.
	answers []UserPresence // of the first of users
}

func (q *inquiry) finish(err error) { q.done <- err }

// inquiries asks one question at a time, until all of its users are answered for.
type inquiries struct {
	requests[*inquiry]
	most   int   // bytes of a frame on this connection
	asked  int   // users in the unanswered request
	absent error // this connection's server has no presence [P-6.36]
}

// connected begins anew: answers of the connection before are old.
func (p *inquiries) connected(most int) {
	p.requests.connected()
	p.most, p.absent = most, nil
	if len(p.queue) > 0 {
		p.queue[0].answers = nil
	}
}

// next is whom to ask about now, nil for nobody. The caller then sets id.
func (p *inquiries) next(now time.Time) [][]byte {
	if p.absent != nil {
		p.finishAll(p.absent)
	}
	if !p.ready(now) {
		return nil
	}
	q := p.queue[0]
	users := inFrame(q.users[len(q.answers):], p.most)
	p.asked = len(users)
	return users
}

// inFrame is the first of users, as many as fit in a frame of so many bytes. A larger one would end the connection, again
// and again.
func inFrame(users [][]byte, most int) [][]byte {
	const around = 1 + 1 + 10 // the frame's type, and the request's id with its tag
	room := most - around
	for i, user := range users {
		if room -= 2 + len(user); room < 0 { // a tag and a length before each
			return users[:max(1, i)]
		}
	}
	return users
}

// answered takes a list, which answers for the first of the users asked about [P-6.37].
func (p *inquiries) answered(f *protocol.PresenceList) {
	q, ok := p.take(f.ID)
	if !ok {
		return
	}
	got := min(len(f.Users), p.asked)
	for i := range f.Users[:got] {
		q.answers = append(q.answers, newUserPresence(&f.Users[i]))
	}
	if got == 0 || got < p.asked && !f.More || len(q.answers) == len(q.users) {
		p.finish(nil)
	}
}

// refused takes a refusal: as the others, or of every question on this connection.
func (p *inquiries) refused(now time.Time, f *protocol.Error) {
	if p.id != 0 && f.ID == p.id && f.Status.Code == protocol.CodeUnsupported {
		p.absent = &RefusedError{Status: f.Status}
	}
	p.requests.refused(now, f)
}

// Presence asks who of some users is online, 1 to 200 of them, and returns each once, in their order. Any goroutine. It
// waits for a connection if there is none, and returns a [RefusedError] when the server refuses, for example with
// CodeUnsupported when it has no presence. Ask when a conversation is opened, and while it is in view once in 60 s.
func (c *Client) Presence(ctx context.Context, users []string) ([]UserPresence, error) {
	if len(users) == 0 || len(users) > protocol.MaxPresenceUsers {
		return nil, errUsers
	}
	q := &inquiry{done: make(chan error, 1)}
	named := make(map[string]bool, len(users))
	for _, user := range users {
		if !protocol.ValidID([]byte(user)) {
			return nil, fmt.Errorf("user %q: %w", user, errUserID)
		}
		if !named[user] {
			named[user] = true
			q.users = append(q.users, []byte(user))
		}
	}
	if !c.post(func(l *loop) { l.inquiries.queue = append(l.inquiries.queue, q) }) {
		return nil, ErrStopped
	}
	select {
	case err := <-q.done:
		if err != nil {
			return nil, err
		}
		return q.answers, nil
	case <-ctx.Done():
		c.post(func(l *loop) { l.inquiries.forget(q) })
		return nil, ctx.Err()
	}
}
