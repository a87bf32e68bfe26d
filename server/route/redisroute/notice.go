package redisroute

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"lifeline/server/route"
)

// On ll:kick:<node> goes, in text, one letter, the incarnation that is meant (16 hex digits), and
//
//	k: the ConnID that has lost its place (16 hex digits) and how (1 or 2); sent by register.lua
//	a: keys that are asked for: ConnID (16 hex digits), and the user and the device, each behind its length as a varint

// listenPatience is how long a silent line is believed; a ping then tests it for as long again.
const listenPatience = 5 * time.Second

// Notices implements [route.Table].
func (t *Table) Notices(ctx context.Context, ready func(), f func(route.Notice)) error {
	sub := t.reader.Subscribe(ctx, kickPrefix+t.opts.Self.Node)
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })() // a read does not end with its context
	pinged := false
	for {
		m, err := sub.ReceiveTimeout(ctx, listenPatience)
		var silence net.Error
		switch {
		case err == nil:
			pinged = false
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &silence) && silence.Timeout() && !pinged:
			if pinged = true; sub.Ping(ctx) == nil {
				continue
			}
			fallthrough
		default:
			return fmt.Errorf("listen: %w", err)
		}
		switch m := m.(type) {
		case *redis.Subscription:
			ready()
		case *redis.Message:
			if n, ok := parseNotice(m.Payload, t.opts.Self); ok {
				f(n)
			}
		}
	}
}

// Ask implements [route.Table].
func (t *Table) Ask(ctx context.Context, batch []route.Key) error {
	if len(batch) > route.MaxBatch {
		return errBatch
	}
	payload := append([]byte("a"), hex16(batch[0].Incarnation)...)
	for i := range batch {
		payload = append(payload, hex16(batch[i].ConnID)...)
		for _, id := range []string{batch[i].User, batch[i].Device} {
			payload = append(binary.AppendUvarint(payload, uint64(len(id))), id...)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, t.opts.Timeout)
	defer cancel()
	if err := t.writer.Publish(ctx, kickPrefix+batch[0].Node, payload).Err(); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	return nil
}

// parseNotice reads a message; one for another incarnation, or of other software, is none.
func parseNotice(payload string, self route.Self) (route.Notice, bool) {
	var n route.Notice
	if len(payload) < 17 {
		return n, false
	}
	incarnation, err := parseHex16(payload[1:17])
	if err != nil || incarnation != self.Incarnation {
		return n, false
	}
	kind, rest := payload[0], payload[17:]
	switch kind {
	case 'k':
		if len(rest) != 17 {
			return n, false
		}
		n.ConnID, err = parseHex16(rest[:16])
		n.Verdict = route.Verdict(rest[16] - '0')
		return n, err == nil && (n.Verdict == route.Superseded || n.Verdict == route.Displaced)
	case 'a':
		for rest != "" {
			var key route.Key
			var ok bool
			if key, rest, ok = parseAsked(rest, self); !ok {
				return n, false
			}
			n.Asked = append(n.Asked, key)
		}
	}
	return n, len(n.Asked) > 0
}

func parseAsked(text string, self route.Self) (key route.Key, rest string, ok bool) {
	if len(text) < 16 {
		return key, "", false
	}
	conn, err := parseHex16(text[:16])
	if err != nil {
		return key, "", false
	}
	rest = text[16:]
	var ids [2]string
	for i := range ids {
		n, size := binary.Uvarint([]byte(rest[:min(len(rest), binary.MaxVarintLen64)]))
		if size <= 0 || n > uint64(len(rest)-size) {
			return key, "", false
		}
		ids[i], rest = rest[size:size+int(n)], rest[size+int(n):]
	}
	return self.Key(ids[0], ids[1], conn), rest, true
}
