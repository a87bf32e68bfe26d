package redisroute

import (
	"context"
	"time"

	"lifeline/server/route"
)

// Lookup implements [route.Table]: one script for each bucket concerned, at most 64 for 500 users.
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

// part is what one bucket's script is asked.
type part struct {
	bucket int
	users  []string
	call   *call
}

// lookup returns expired records, too.
func (t *Table) lookup(ctx context.Context, users []string) (route.Lookup, error) {
	var l route.Lookup
	if len(users) > route.MaxBatch {
		return l, errBatch
	}
	parts := split(users)
	calls := make([]*call, len(parts))
	for i := range parts {
		calls[i] = parts[i].call
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
			parts = append(parts, part{bucket: b, call: &call{script: scriptLookup, key: generationKey(b)}})
			at[b] = len(parts)
		}
		p := &parts[at[b]-1]
		p.users = append(p.users, user)
		p.call.more = append(p.call.more, routeKey(user))
	}
	return parts
}

// read adds a bucket's reply. Servers of a Cluster have clocks of their own: times are moved to the clock of the first
// part, so that ages stay what they are.
func (p *part) read(l *route.Lookup) error {
	reply := p.call.reply
	if len(reply) != 2+len(p.users) {
		return p.call.garbled()
	}
	told, ok := reply[0].(int64)
	generation, too := reply[1].(string)
	if !ok || !too {
		return p.call.garbled()
	}
	now := time.UnixMilli(told)
	if l.Now.IsZero() {
		l.Now = now
	}
	shift := l.Now.Sub(now)
	if generation != "" {
		n, err := parseHex16(generation)
		if err != nil {
			return p.call.garbled()
		}
		l.Generations[p.bucket] = n
	}
	for i, user := range p.users {
		pairs, ok := reply[2+i].([]any)
		if !ok || len(pairs)%2 != 0 {
			return p.call.garbled()
		}
		for j := 0; j < len(pairs); j += 2 {
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
