package memstore

import (
	"slices"
	"strings"

	"lifeline/store"
)

// device is one device of a user.
type device struct{ user, device string }

// cursor is what a device has acknowledged. There is none before its first Ack with a Pos.
type cursor struct {
	pos      uint64
	platform uint8
	seen     int64 // Unix milliseconds, when its last session ended
}

// Ack moves a device's cursor forward.
func (s *Store) Ack(a store.Ack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := device{a.User, a.Device}
	c, exists := s.cursors[key]
	if s.closed || !exists && !a.HasPos {
		return
	}
	if a.HasPos {
		c.pos, c.platform = max(c.pos, a.Pos), a.Platform
	}
	if a.Leaving {
		c.seen = a.Seen
	}
	s.cursors[key] = c
}

func (s *Store) forget(c *store.Forget) store.Answer {
	if !store.ValidID(c.User) || !store.ValidID(c.Device) {
		return store.Answer{Origin: c.Origin, Refusal: store.InvalidID}
	}
	delete(s.cursors, device{c.User, c.Device})
	return store.Answer{Origin: c.Origin}
}

// Start reads what a new session of a device needs.
func (s *Store) Start(name, dev string) (store.Start, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.Start{}, errClosed
	}
	c, exists := s.cursors[device{name, dev}]
	start := store.Start{Cursor: c.pos, HasCursor: exists}
	if u := s.users[name]; u != nil {
		start.Head, start.Trimmed = u.head(), u.trimmed
	}
	return start, nil
}

// Devices lists the devices of a user that have a cursor, by device.
func (s *Store) Devices(name string) ([]store.Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	var list []store.Device
	for key, c := range s.cursors {
		if key.user == name {
			list = append(list, store.Device{Device: key.device, Platform: c.platform, Cursor: c.pos, Seen: c.seen})
		}
	}
	slices.SortFunc(list, func(a, b store.Device) int { return strings.Compare(a.Device, b.Device) })
	return list, nil
}
