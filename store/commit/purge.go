package commit

import (
	"time"

	"lifeline/store"
)

const (
	purgeEvery = time.Hour
	maxPurge   = 500 // dedup rows that one step deletes
)

// purge deletes expired dedup rows of one conversation, and at last the key that says that it had some of a day.
type purge struct {
	conversation string
	hashes       [][16]byte
	day          uint32
	last         bool
	done         chan struct{}
}

// Reply ends the wait for a step.
func (p *purge) Reply(store.Answer) { p.done <- struct{}{} }

// purge deletes no row that a later Send of the same client id has written again.
func (c *committer) purge(p *purge) error {
	c.answer(p, store.Answer{})
	b, partition := c.batch, partitionOf(p.conversation)
	for i := range p.hashes {
		hash := &p.hashes[i]
		if _, again := c.unsettled(dedupKey{p.conversation, *hash}); again {
			continue
		}
		c.key = appendDedupKey(c.key[:0], partition, p.conversation, hash)
		var d dedup
		found, err := c.get(c.key)
		if found && err == nil {
			err = d.parse(c.value)
		}
		if err != nil {
			return keyError(c.key, err)
		}
		if found && d.expired(b.now) {
			k := len(b.arena)
			b.arena = append(b.arena, c.key...)
			b.delete(partition, k)
		}
	}
	if p.last {
		k := len(b.arena)
		b.arena = appendExpiryKey(b.arena, partition, p.day, p.conversation)
		b.delete(partition, k)
	}
	return nil
}

// purgeForever deletes what has expired, now and then.
func (s *Store) purgeForever() {
	ticker := time.NewTicker(purgeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.stop:
			return
		}
		if err := s.Purge(); err != nil {
			s.log.Warn("expired client ids could not be deleted", "error", err)
		}
	}
}

// Purge deletes the dedup rows of the days that have expired. It returns when they are gone, and may take long.
func (s *Store) Purge() error {
	now := s.now().UnixMilli()
	if now < dedupKept+dayMillis {
		return nil
	}
	before := dayOf(now - dedupKept) // the days before have expired whole
	for p := range uint8(store.Partitions) {
		from, to := appendExpiryKey(nil, p, 0, ""), appendExpiryKey(nil, p, before, "")
		for {
			day, found, err := s.expiredDay(from, to)
			if err != nil {
				return err
			}
			if !found {
				break
			}
			if err := s.purgeDay(day, now); err != nil {
				return err
			}
			from = appendExpiryKey(from[:0], p, day.day, day.conversation) // the keys before are deleted, and slow to pass
		}
	}
	return nil
}

// expiredDay finds the first conversation that has client ids of an expired day.
func (s *Store) expiredDay(from, to []byte) (first purge, found bool, err error) {
	err = s.engine.Scan(from, to, func(key, _ []byte) bool {
		first = purge{day: expiryDay(key), conversation: string(key[len(to):])}
		found = true
		return false
	})
	return first, found, err
}

// purgeDay deletes, step by step, every row of a conversation that has expired.
func (s *Store) purgeDay(p purge, now int64) error {
	partition := partitionOf(p.conversation)
	from := appendOwned(nil, partition, spaceConversation, p.conversation, tableDedup)
	to := appendOwned(nil, partition, spaceConversation, p.conversation, tableDedup+1)
	prefix := len(from)
	for !p.last {
		step := purge{conversation: p.conversation, day: p.day, last: true, done: make(chan struct{}, 1)}
		var failed error
		err := s.engine.Scan(from, to, func(key, value []byte) bool {
			if len(step.hashes) == maxPurge {
				step.last = false
				from = append(from[:0], key...)
				return false
			}
			var d dedup
			if failed = keyError(key, d.parse(value)); failed == nil && d.expired(now) {
				step.hashes = append(step.hashes, [16]byte(key[prefix:]))
			}
			return failed == nil
		})
		if err == nil {
			err = failed
		}
		if err == nil {
			err = s.do(&step, step.done)
		}
		if err != nil {
			return err
		}
		p.last = step.last
	}
	return nil
}
