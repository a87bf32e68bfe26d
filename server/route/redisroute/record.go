package redisroute

import (
	"strconv"
	"strings"
	"time"

	"lifeline/server/route"
)

// Keys. What is in braces decides the server of a Cluster: a bucket is on one.
const (
	routePrefix = "ll:route:"
	nodePrefix  = "ll:node:"
	kickPrefix  = "ll:kick:"
	nodesKey    = "ll:nodes"
)

func routeKey(user string) string {
	return routePrefix + "{" + strconv.Itoa(route.Bucket(user)) + "}:" + user
}

func generationKey(bucket int) string { return "ll:gen:{" + strconv.Itoa(bucket) + "}" }

// userOf returns the user of a route's key, "" if it is none.
func userOf(key string) string {
	rest, ok := strings.CutPrefix(key, routePrefix+"{")
	if !ok {
		return ""
	}
	_, user, _ := strings.Cut(rest, "}:")
	return user
}

// hex16 writes 16 digits, so that scripts compare numbers that a double cannot hold.
func hex16(n uint64) string { return string(appendHex16(nil, n)) }

func appendHex16(b []byte, n uint64) []byte {
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, "0123456789abcdef"[n>>shift&15])
	}
	return b
}

// recordName is how the record of a connection begins.
func recordName(k *route.Key) string { return string(appendName(nil, k.ConnID, k.Node, k.Incarnation)) }

func appendName(b []byte, conn uint64, node string, incarnation uint64) []byte {
	b = append(appendHex16(b, conn), '|')
	b = append(append(b, node...), '|')
	return append(appendHex16(b, incarnation), '|')
}

// recordHead is everything of a session's record but its times.
func recordHead(self *route.Self, s *route.Session) string {
	b := appendName(make([]byte, 0, 160), s.ConnID, self.Node, self.Incarnation)
	for _, n := range []uint64{s.Instance, s.Attempt, s.Order} {
		b = append(appendHex16(b, n), '|')
	}
	b = append(append(b, bit(s.Suspect)...), '|')
	return string(strconv.AppendUint(b, uint64(s.Platform), 10))
}

func parseHex16(s string) (uint64, error) { return strconv.ParseUint(s, 16, 64) }

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// fields of a record's value, as the prelude of the scripts has them.
const fields = 11

// parseRecord reads the value of a device's field. What is no record is of other software, and is passed over.
func parseRecord(user, device, value string) (route.Record, bool) {
	var parts [fields]string
	more := true
	for i := range parts {
		if !more {
			return route.Record{}, false
		}
		parts[i], value, more = strings.Cut(value, "|")
	}
	r := route.Record{User: user, Device: device, Node: parts[1], Suspect: parts[6] == "1"}
	ok := !more
	number := func(text string, base int) uint64 {
		n, err := strconv.ParseUint(text, base, 64)
		ok = ok && err == nil
		return n
	}
	at := func(text string) time.Time { return time.UnixMilli(int64(number(text, 10))) }
	r.ConnID, r.Incarnation, r.Instance = number(parts[0], 16), number(parts[2], 16), number(parts[3], 16)
	r.Attempt, r.Order, r.Platform = number(parts[4], 16), number(parts[5], 16), uint8(number(parts[7], 10))
	r.Since, r.LastSeen, r.Expiry = at(parts[8]), at(parts[9]), at(parts[10])
	return r, ok
}
