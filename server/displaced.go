package server

import (
	"sync"
	"time"
)

// displacedFor is how long a node remembers whom it displaced, and displacedMost how many.
const (
	displacedFor  = time.Minute
	displacedMost = 1 << 16
)

// displaced remembers the processes that were told to stop, for a client may have lost the frame that said so [P-6.4].
type displaced struct {
	mu    sync.Mutex
	since map[displacedKey]int64 // Guarded by mu.
	queue []displacedKey         // oldest first. Guarded by mu.
}

type displacedKey struct {
	user, device string
	instance     uint64
}

// displace remembers that winner's process has taken over from loser's, unless winner itself was displaced: then it
// reports false and nothing changes. One memory for all loops, so that of claims which cross each other in a circle one
// is left: A's newer socket, B, and A's older socket that comes last beat one another in turn.
func (d *displaced) displace(winner, loser displacedKey, now int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hasLocked(winner, now) {
		return false
	}
	d.rememberLocked(loser, now)
	return true
}

// remember notes a process that was displaced by one of another node.
func (d *displaced) remember(loser displacedKey, now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rememberLocked(loser, now)
}

func (d *displaced) rememberLocked(loser displacedKey, now int64) {
	if d.since == nil {
		d.since = make(map[displacedKey]int64)
	}
	for len(d.queue) > 0 && (len(d.queue) >= displacedMost || now-d.since[d.queue[0]] > int64(displacedFor)) {
		delete(d.since, d.queue[0])
		d.queue = d.queue[1:]
	}
	if _, ok := d.since[loser]; !ok {
		d.queue = append(d.queue, loser)
	}
	d.since[loser] = now
}

// has reports whether the process was displaced within the last minute.
func (d *displaced) has(k displacedKey, now int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hasLocked(k, now)
}

func (d *displaced) hasLocked(k displacedKey, now int64) bool {
	at, ok := d.since[k]
	return ok && now-at <= int64(displacedFor)
}
