package server

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"lifeline/protocol"
	"lifeline/server/session"
)

const (
	lookupWorkers = 4
	lookupQueue   = 1024
	lookupTimeout = 2 * time.Second // a table that answers later has not answered
)

// lookup is one Presence that is being answered. It holds copies only.
type lookup struct {
	shard *Shard
	conn  session.ConnID
	id    uint64
	asker string
	users []string
}

// presenceAnswer is what a lookup found. Frame is nil when it failed.
type presenceAnswer struct {
	id    uint64
	frame []byte
}

// lookups answers Presence on a bounded number of goroutines behind a bounded queue, because the shared table and the
// other loops must be waited for.
type lookups struct {
	core  *Core
	queue chan lookup
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu     sync.RWMutex
	closed bool // Guarded by mu.
}

func newLookups(c *Core) *lookups {
	ctx, stop := context.WithCancel(context.Background())
	l := &lookups{core: c, queue: make(chan lookup, lookupQueue), stop: stop}
	for range lookupWorkers {
		l.wg.Go(func() { l.work(ctx) })
	}
	return l
}

// submit queues a lookup and never blocks. False means that the queue is full or closed, and then no answer follows.
func (l *lookups) submit(q lookup) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return false
	}
	select {
	case l.queue <- q:
		return true
	default:
		return false
	}
}

func (l *lookups) depth() int { return len(l.queue) }

// close gives up what is being waited for.
func (l *lookups) close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.queue)
	}
	l.mu.Unlock()
	l.stop()
	l.wg.Wait()
}

func (l *lookups) work(ctx context.Context) {
	for q := range l.queue {
		q.shard.mail.post(answer{kind: answerPresence, conn: q.conn, any: l.answer(ctx, &q)})
	}
}

func (l *lookups) answer(ctx context.Context, q *lookup) (a *presenceAnswer) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			l.core.meter.panics.Inc()
			l.core.log.Error("a look-up panicked", "panic", v, "stack", string(debug.Stack()))
			a = &presenceAnswer{id: q.id}
		}
	}()
	list, err := l.core.Presence(ctx, q.asker, q.users)
	if err != nil {
		l.core.complain("presence could not be told", err)
		return &presenceAnswer{id: q.id}
	}
	return &presenceAnswer{id: q.id, frame: appendPresence(nil, l.core.opts.MaxPayload+protocol.FrameOverhead, q.id, list)}
}

// appendPresence appends a PresenceList of as many users as the frame holds [P-1.7], [P-6.37].
func appendPresence(dst []byte, most int, id uint64, list []Presence) []byte {
	b := protocol.BeginPresenceList(dst, most, id)
	var u protocol.UserPresence
	for i := range list {
		fillPresence(&u, &list[i])
		if !b.Add(&u) {
			return b.End(true)
		}
	}
	return b.End(false)
}

// presenceStates: what is not known, or is hidden, is never offline [P-6.38], [P-6.39], [P-6.40].
var presenceStates = [...]protocol.PresenceState{
	Unknown: protocol.PresenceUnknown,
	Online:  protocol.Online,
	Offline: protocol.Offline,
}

func fillPresence(dst *protocol.UserPresence, p *Presence) {
	*dst = protocol.UserPresence{User: []byte(p.User), State: presenceStates[p.State], Devices: dst.Devices[:0]}
	if !p.LastSeen.IsZero() {
		dst.LastSeenMs = uint64(p.LastSeen.UnixMilli())
	}
	for i := range p.Devices[:min(len(p.Devices), protocol.MaxPresenceDevices)] {
		d := &p.Devices[i]
		dst.Devices = append(dst.Devices, protocol.DevicePresence{Device: []byte(d.Device), Platform: protocol.Platform(d.Platform), Suspect: d.Suspect})
	}
}

// presence asks who is online.
func (sh *Shard) presence(s *session.Session, b []byte) {
	f := &sh.frames.users
	if err := f.Parse(b); err != nil {
		sh.refuseConn(s, protocol.CodeMalformed)
		return
	}
	users, code := askedUsers(f)
	if code != 0 {
		sh.refuse(s, f.ID, protocol.TypePresence, code)
		return
	}
	if !sh.takeRequest(s, f.ID, protocol.TypePresence) {
		return
	}
	q := lookup{shard: sh, conn: s.ID, id: f.ID, asker: string(sh.users.User(s)), users: users}
	if !sh.core.lookups.submit(q) {
		s.Requests--
		sh.refuse(s, f.ID, protocol.TypePresence, protocol.CodeBusy)
	}
}

// askedUsers returns each user once, in the order asked for [P-6.36], [P-6.37].
func askedUsers(f *protocol.Presence) ([]string, protocol.Code) {
	if len(f.Users) == 0 || len(f.Users) > protocol.MaxPresenceUsers {
		return nil, protocol.CodeBadRange
	}
	users := make([]string, 0, len(f.Users))
	seen := make(map[string]bool, len(f.Users))
	for _, u := range f.Users {
		if !protocol.ValidID(u) {
			return nil, protocol.CodeInvalidID
		}
		if id := string(u); !seen[id] {
			seen[id] = true
			users = append(users, id)
		}
	}
	return users, 0
}

// presenceFound answers a Presence.
func (sh *Shard) presenceFound(s *session.Session, a *presenceAnswer) {
	s.Requests--
	if a.frame == nil {
		sh.refuse(s, a.id, protocol.TypePresence, protocol.CodeBusy)
		return
	}
	sh.outFrames(s, a.frame)
	sh.wrote(s, protocol.TypePresenceList)
}
