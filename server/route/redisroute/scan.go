package redisroute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"lifeline/server/route"
)

// Scan implements [route.Table]. A step asks one server for keys and then looks their users up. Where the next step
// begins is the server's place among the masters and its cursor.
func (t *Table) Scan(ctx context.Context, at string) (route.Scanned, error) {
	server, cursor, err := parsePlace(at)
	if err != nil {
		return route.Scanned{}, err
	}
	short, cancel := context.WithTimeout(ctx, t.opts.Timeout)
	defer cancel()
	all, err := masters(short, t.writer)
	if err != nil {
		return route.Scanned{}, fmt.Errorf("scan: %w", err)
	}
	slices.SortFunc(all, func(a, b *redis.Client) int { return strings.Compare(a.Options().Addr, b.Options().Addr) })
	if server >= len(all) {
		return route.Scanned{}, nil // there were more when the walk began; the next one is whole
	}
	pipe := all[server].Pipeline()
	scan := pipe.Scan(short, cursor, routePrefix+"*", route.MaxBatch)
	size := pipe.DBSize(short)
	if _, err := pipe.Exec(short); err != nil {
		return route.Scanned{}, fmt.Errorf("scan: %w", err)
	}
	keys, cursor := scan.Val()
	if cursor == 0 {
		server++
	}
	s := route.Scanned{Size: int(size.Val()) * len(all)}
	if server < len(all) {
		s.Next = fmt.Sprintf("%d:%d", server, cursor)
	}
	return s, t.readKeys(ctx, keys, &s)
}

// readKeys adds the records of the users that have the keys.
func (t *Table) readKeys(ctx context.Context, keys []string, s *route.Scanned) error {
	var users []string
	for _, key := range keys {
		if user := userOf(key); user != "" {
			users = append(users, user)
		}
	}
	for batch := range slices.Chunk(users, route.MaxBatch) {
		l, err := t.lookup(ctx, batch)
		if err != nil {
			return fmt.Errorf("scan: %w", err)
		}
		if s.Now.IsZero() {
			s.Now = l.Now
		}
		for _, r := range l.Records {
			shift := s.Now.Sub(l.Now)
			r.Since, r.LastSeen, r.Expiry = r.Since.Add(shift), r.LastSeen.Add(shift), r.Expiry.Add(shift)
			s.Records = append(s.Records, r)
		}
	}
	return nil
}

func parsePlace(at string) (server int, cursor uint64, err error) {
	if at == "" {
		return 0, 0, nil
	}
	first, rest, _ := strings.Cut(at, ":")
	server, bad := strconv.Atoi(first)
	cursor, worse := strconv.ParseUint(rest, 10, 64)
	if err := errors.Join(bad, worse); err != nil {
		return 0, 0, fmt.Errorf("scan from %q: %w", at, err)
	}
	return server, cursor, nil
}
