package route

import (
	"slices"
	"time"
)

const (
	recentFor  = time.Minute
	recentMost = 10_000 // users
)

// recent keeps what look-ups said of other nodes' sessions, for when the table cannot be asked. Users are in two halves;
// when the younger one is full, the older one is dropped.
type recent struct {
	young, old map[string]recentUser
}

type recentUser struct {
	at      time.Time
	records []Record
}

func newRecent() recent {
	return recent{make(map[string]recentUser), make(map[string]recentUser)}
}

// forget drops users who are about to be told anew.
func (c *recent) forget(users []string) {
	for _, user := range users {
		delete(c.young, user)
		delete(c.old, user)
	}
	if len(c.young) >= recentMost/2 {
		c.young, c.old = make(map[string]recentUser), c.young
	}
}

func (c *recent) add(r Record, now time.Time) {
	u := c.young[r.User]
	u.at = now
	u.records = append(u.records, r)
	c.young[r.User] = u
}

// of returns the records of users that are less than recentFor old.
func (c *recent) of(users []string, now time.Time) []Record {
	var records []Record
	for _, user := range users {
		for _, half := range []map[string]recentUser{c.young, c.old} {
			if u := half[user]; now.Sub(u.at) < recentFor {
				records = slices.Concat(records, u.records)
			}
		}
	}
	return records
}
