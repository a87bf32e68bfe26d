package redisroute

import (
	"context"
	"time"

	"lifeline/server/route"
)

// Lookup implements [route.Table]. For each bucket the hashes of its users are read, and then its generation with the
// server's time: what a generation proves was so when the records were read.
func (t *Table) Lookup(ctx context.Context, users []string) (route.Lookup, error) {
	l, err := t.lookup(ctx, users)
	if err != nil {
		return route.Lookup{}, err
	}
	unexpired := l.Records[:0]
	for _, r := range l.Records {
		if !l.Now.After(r.Expiry) {
			unexpired = append(unexpired, r)
		}
	}
	l.Records = unexpired
	return l, nil
}

// part is what is asked of one bucket.
type part struct {
	bucket     int
	users      []string
	hashes     []*call
	generation *call
}

// lookup returns expired records, too.
func (t *Table) lookup(ctx context.Context, users []string) (route.Lookup, error) {
	var l route.Lookup
	if len(users) > route.MaxBatch {
		return l, errBatch
	}
	parts := split(users)
	calls := make([]*call, 0, len(users)+len(parts))
	for i := range parts {
		calls = append(append(calls, parts[i].hashes...), parts[i].generation)
	}
	if err := t.run(ctx, t.reader, calls); err != nil {
		return l, err
	}
	for i := range parts {
		if err := parts[i].read(&l); err != nil {
			return l, err
		}
	}
	return l, nil
}

func split(users []string) []part {
	var parts []part
	var at [route.Buckets]int // part of a bucket, + 1
	for _, user := range users {
		b := route.Bucket(user)
		if at[b] == 0 {
			parts = append(parts, part{bucket: b, generation: &call{script: scriptGeneration, keys: []string{generationKey(b)}}})
			at[b] = len(parts)
		}
		p := &parts[at[b]-1]
		p.users = append(p.users, user)
		p.hashes = append(p.hashes, &call{keys: []string{routeKey(user)}})
	}
	return parts
}

// read adds a bucket's replies. Servers of a Cluster have clocks of their own: times are moved to the clock of the first
// part, so that ages stay what they are.
func (p *part) read(l *route.Lookup) error {
	told, generation, err := readGeneration(p.generation)
	if err != nil {
		return err
	}
	l.Generations[p.bucket] = generation
	now := time.UnixMilli(told)
	if l.Now.IsZero() {
		l.Now = now
	}
	shift := l.Now.Sub(now)
	for i, user := range p.users {
		pairs := p.hashes[i].reply
		for j := 0; j+1 < len(pairs); j += 2 {
			device, ok := pairs[j].(string)
			value, too := pairs[j+1].(string)
			r, fine := parseRecord(user, device, value)
			if !ok || !too || !fine {
				continue
			}
			r.Since, r.LastSeen, r.Expiry = r.Since.Add(shift), r.LastSeen.Add(shift), r.Expiry.Add(shift)
			l.Records = append(l.Records, r)
		}
	}
	return nil
}
