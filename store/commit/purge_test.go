package commit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lifeline/store"
	"lifeline/store/storetest"
)

// Client ids are deleted when the last of their day has expired, and never one that was used again since.
func TestPurge(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	s := open(t, newMemEngine(), storetest.Options{Now: func() time.Time { return now }})
	defer s.Close()
	send := func(client string) store.Answer {
		a := storetest.Call(s, &store.Send{Sender: "ann", SenderDevice: "phone", ToUser: "bob", ClientID: []byte(client)})
		if a.Refusal != store.None {
			t.Fatal(a.Refusal)
		}
		return a
	}
	counts := func() (dedups, days int) {
		for _, key := range s.engine.clone().all() {
			if _, rest, ok := splitOwner([]byte(key)); ok && key[1] == spaceConversation && rest[0] == tableDedup {
				dedups++
			}
			if key[1] == spaceExpiry {
				days++
			}
		}
		return dedups, days
	}
	check := func(when string, wantDedups, wantDays int) {
		t.Helper()
		if err := s.Purge(); err != nil {
			t.Fatal(err)
		}
		if dedups, days := counts(); dedups != wantDedups || days != wantDays {
			t.Errorf("%s: %d client ids of %d days, want %d, %d", when, dedups, days, wantDedups, wantDays)
		}
		if faults := verify(t, s.engine.clone(), now); len(faults) > 0 {
			t.Errorf("%s: %q", when, faults)
		}
	}
	const many = 2*maxPurge + 7
	for n := range many {
		send(fmt.Sprint("first day ", n))
	}
	first := send("again")
	check("at once", many+1, 1)
	now = now.Add(24 * time.Hour)
	send("second day")
	now = now.Add(6*24*time.Hour - time.Minute)
	check("a minute before seven days", many+2, 2)
	now = now.Add(time.Minute)
	check("after seven days, of which others of that day are not old", many+2, 2)
	second := send("again")
	if second.Seq == first.Seq {
		t.Error("the client id was not free after seven days")
	}
	now = now.Add(12 * time.Hour)
	check("the first day has expired", 2, 2)
	if a := send("again"); a != second {
		t.Errorf("what was used again was forgotten: %+v", a)
	}
	now = now.Add(30 * 24 * time.Hour)
	check("a month later", 0, 0)
}

// A clock that was years ahead for a moment must not keep the client ids of all the days that come after it.
func TestPurgeAfterAWrongClock(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	s := open(t, newMemEngine(), storetest.Options{Now: func() time.Time { return now }})
	defer s.Close()
	send := func(client string) {
		if a := storetest.Call(s, &store.Send{Sender: "ann", SenderDevice: "phone", ToUser: "bob", ClientID: []byte(client)}); a.Refusal != store.None {
			t.Fatal(a.Refusal)
		}
	}
	now = now.AddDate(10, 0, 0)
	send("ahead")
	now = now.AddDate(-10, 0, 0)
	for day := range 5 {
		send(fmt.Sprint("right ", day))
		now = now.AddDate(0, 0, 1)
	}
	now = now.AddDate(0, 0, -2)
	send("set back")
	now = now.AddDate(0, 1, 0)
	if err := s.Purge(); err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, key := range s.engine.clone().all() {
		if _, rest, ok := splitOwner([]byte(key)); ok && key[1] == spaceConversation && rest[0] == tableDedup {
			left++
		}
	}
	if faults := verify(t, s.engine.clone(), now); left != 1 || len(faults) > 0 {
		t.Errorf("%d client ids are left, want the one of the wrong time; %q", left, faults)
	}
}

// expiryScans keeps where the search for expired days began.
type expiryScans struct {
	*memEngine
	from []string
}

func (e *expiryScans) Scan(from, to []byte, each func(key, value []byte) bool) error {
	if len(from) > 1 && from[1] == spaceExpiry {
		e.from = append(e.from, string(from))
	}
	return e.memEngine.Scan(from, to, each)
}

// A search begins where the last one found something: a database walks over the keys that were deleted before it.
func TestPurgeGoesForward(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	engine := &expiryScans{memEngine: newMemEngine()}
	whole(engine.memEngine)
	s, err := Open(engine, Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := range 500 {
		storetest.Call(s, &store.Send{Sender: "ann", SenderDevice: "phone", ToUser: fmt.Sprint("user", n), ClientID: []byte("1")})
	}
	now = now.Add(30 * 24 * time.Hour)
	if err := s.Purge(); err != nil {
		t.Fatal(err)
	}
	again := 0
	for i, from := range engine.from[1:] {
		if from <= engine.from[i] {
			again++
		}
	}
	if len(engine.from) != 500+store.Partitions || again > 0 {
		t.Errorf("%d searches, of which %d began where another had", len(engine.from), again)
	}
}

// A clock that was far ahead while client ids were purged has cost them: a retry is stored again, and Verify tells of the
// first message.
func TestClockAheadWhilePurging(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	s := open(t, newMemEngine(), storetest.Options{Now: func() time.Time { return now }})
	defer s.Close()
	send := &store.Send{Sender: "ann", SenderDevice: "phone", ToUser: "bob", ClientID: []byte("1")}
	storetest.Call(s, send)
	now = now.Add(8*24*time.Hour + 12*time.Hour)
	if err := s.Purge(); err != nil {
		t.Fatal(err)
	}
	now = now.Add(-8*24*time.Hour - 12*time.Hour)
	if a := storetest.Call(s, send); a.Refusal != store.None || a.Seq != 2 {
		t.Errorf("the retry was answered %+v", a)
	}
	told := func(fault string) bool { return strings.Contains(fault, "message 1 of") }
	if faults := verify(t, s.engine.clone(), now); !slices.ContainsFunc(faults, told) {
		t.Errorf("%q", faults)
	}
}
