package route

import (
	"slices"
	"time"
)

// Route splits members into those who are online and those who are not. A member is online if any of his records is
// open and at most ttl old; records of others are ignored. Empty ids are dropped, duplicates merged. Both results are
// sorted and never nil.
//
// It answers for users, not for devices: whoever delivers does so to all devices of an online user.
func Route(members []string, records []Record, now time.Time, ttl time.Duration) (online, offline []string) {
	online, offline, _ = RouteWithUnknown(members, records, func(string) bool { return true }, now, ttl)
	return online, offline
}

// RouteWithUnknown is [Route] with a third answer: a member without a live record is offline only if the records of his
// are proven to be all there are.
func RouteWithUnknown(members []string, records []Record, proven func(user string) bool, now time.Time, ttl time.Duration) (online, offline, unknown []string) {
	open := make(map[string]bool, len(members))
	for i := range records {
		if r := &records[i]; !r.Closed && now.Sub(r.LastSeen) <= ttl {
			open[r.User] = true
		}
	}
	online, offline, unknown = []string{}, []string{}, []string{}
	members = slices.Clone(members)
	slices.Sort(members)
	for _, user := range slices.Compact(members) {
		switch {
		case user == "":
		case open[user]:
			online = append(online, user)
		case proven(user):
			offline = append(offline, user)
		default:
			unknown = append(unknown, user)
		}
	}
	return online, offline, unknown
}
