package commit

import (
	"bytes"
	"log/slog"
	"time"

	"lifeline/store"
)

const purgeEvery = time.Hour

// purge deletes the dedup rows that one expiry row names, and the row.
type purge struct {
	partition uint8
	key       []byte
	hashes    []byte
	done      chan struct{}
}

// Reply ends the wait for a step.
func (p *purge) Reply(store.Answer) { p.done <- struct{}{} }

// purge deletes no row that a later Send of the same client id has written again.
func (c *committer) purge(p *purge) error {
	c.answer(p, store.Answer{})
	b := c.batch
	for hashes := p.hashes; len(hashes) >= 16; hashes = hashes[16:] {
		hash := [16]byte(hashes[:16])
		if _, again := b.dedup[hash]; again {
			continue
		}
		c.key = appendDedupKey(c.key[:0], p.partition, &hash)
		found, err := c.get(c.key)
		var d dedup
		if found && err == nil {
			err = d.parse(c.value)
		}
		if err != nil {
			return keyError(c.key, err)
		}
		if found && d.expired(b.now) {
			k := len(b.arena)
			b.arena = append(b.arena, c.key...)
			b.delete(p.partition, k)
		}
	}
	k := len(b.arena)
	b.arena = append(b.arena, p.key...)
	b.delete(p.partition, k)
	return nil
}

// purgeForever deletes what has expired, now and then.
func (s *Store) purgeForever() {
	timer := time.NewTicker(purgeEvery)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-s.stop:
			return
		}
		if err := s.Purge(); err != nil {
			slog.Warn("could not delete expired client ids", "error", err)
		}
	}
}

// Purge deletes the dedup rows of the days that have expired. It returns when they are gone, and may take long.
func (s *Store) Purge() error {
	today := expiryDay(s.now().UnixMilli())
	const whole = uint32(dedupKept/dayMillis) + 1 // days until the last row of a day has expired
	if today < whole {
		return nil
	}
	for p := range uint8(store.Partitions) {
		if err := s.purgeBefore(p, today-whole+1); err != nil {
			return err
		}
	}
	return nil
}

// purgeBefore deletes the rows of one partition that are from before a day.
func (s *Store) purgeBefore(p uint8, day uint32) error {
	for {
		step := purge{partition: p, done: make(chan struct{}, 1)}
		var failed error
		err := s.engine.Scan(appendExpiryKey(nil, p, 0, 0), appendExpiryKey(nil, p, day, 0), func(key, value []byte) bool {
			step.key = bytes.Clone(key)
			step.hashes, failed = parseExpiry(bytes.Clone(value))
			return false
		})
		switch {
		case err != nil:
			return err
		case failed != nil:
			return keyError(step.key, failed)
		case step.key == nil:
			return nil
		}
		if err := s.do(&step, step.done); err != nil {
			return err
		}
	}
}
