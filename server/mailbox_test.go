package server

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lifeline/server/delivery"
	"lifeline/server/session"
)

// bell counts wakes. A loop that is woken runs once for each.
type bell struct {
	wakes  int
	broken bool
}

func (b *bell) wake() bool { b.wakes++; return !b.broken }

// boundMailbox is a mailbox whose loop has taken what the binding woke it for.
func boundMailbox(capacity int) (*mailbox, *bell) {
	m, b := &mailbox{capacity: capacity}, new(bell)
	m.bind(b.wake)
	m.recycle(m.take())
	b.wakes = 0
	return m, b
}

func item(user string, pos uint64) delivery.Item { return delivery.Item{User: user, Pos: pos} }

// described is what one burst brought.
func described(got mail) string {
	text := ""
	for _, a := range got.answers {
		text += fmt.Sprintf("a%d ", a.conn)
	}
	for _, it := range got.items {
		text += fmt.Sprintf("%s%d ", it.User, it.Pos)
	}
	if got.ticked {
		text += "tick "
	}
	return text + fmt.Sprint(got.overflow)
}

func TestMailboxKeepsTheOrderOfEachLane(t *testing.T) {
	m, _ := boundMailbox(10)
	m.post(answer{conn: 3})
	m.deliver([]delivery.Item{item("a", 1), item("b", 7)})
	m.post(answer{conn: 1})
	m.tick()
	m.deliver([]delivery.Item{item("a", 2)})
	m.post(answer{conn: 2})
	if answers, items, overflow := m.depth(); answers != 3 || items != 3 || overflow != 0 {
		t.Errorf("depth %d, %d, %d", answers, items, overflow)
	}
	if got, want := described(m.take()), "a3 a1 a2 a1 b7 a2 tick map[]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := described(m.take()); got != "map[]" {
		t.Errorf("taken twice: %s", got)
	}
	if answers, items, overflow := m.depth(); answers != 0 || items != 0 || overflow != 0 {
		t.Errorf("depth after take: %d, %d, %d", answers, items, overflow)
	}
}

func TestMailboxNeverRefusesAnswers(t *testing.T) {
	const n = 10_000
	m, _ := boundMailbox(1)
	m.deliver([]delivery.Item{item("a", 1), item("a", 2)})
	for i := range n {
		m.post(answer{conn: session.ConnID(i)})
	}
	got := m.take()
	if len(got.answers) != n {
		t.Fatalf("%d answers of %d", len(got.answers), n)
	}
	for i, a := range got.answers {
		if a.conn != session.ConnID(i) {
			t.Fatalf("answer %d is for %s", i, a.conn)
		}
	}
}

func TestMailboxOverflowKeepsTheNewestPosition(t *testing.T) {
	m, _ := boundMailbox(2)
	if n := m.deliver([]delivery.Item{item("a", 1), item("b", 5), item("a", 2), item("c", 9)}); n != 2 {
		t.Errorf("%d overflowed, want 2", n)
	}
	if n := m.deliver([]delivery.Item{item("a", 3), item("b", 6), item("a", 4)}); n != 3 {
		t.Errorf("%d overflowed, want 3", n)
	}
	// Two streams may bring a user's positions in any order; the newest counts.
	if n := m.deliver([]delivery.Item{item("c", 8)}); n != 1 {
		t.Errorf("%d overflowed, want 1", n)
	}
	if answers, items, overflow := m.depth(); answers != 0 || items != 2 || overflow != 3 {
		t.Errorf("depth %d, %d, %d", answers, items, overflow)
	}
	got := m.take()
	if want := "a1 b5 map[a:4 b:6 c:9]"; described(got) != want {
		t.Errorf("got %s, want %s", described(got), want)
	}
	m.recycle(got)
	if n := m.deliver([]delivery.Item{item("a", 5)}); n != 0 {
		t.Errorf("%d overflowed although the lane is empty again", n)
	}
	if got := described(m.take()); got != "a5 map[]" {
		t.Errorf("got %s: the overflow is not gone", got)
	}
}

// However many are posted, the lane and the map are bounded: by the capacity, and by the users present.
func TestMailboxIsBounded(t *testing.T) {
	m, _ := boundMailbox(100)
	for pos := range uint64(10_000) {
		m.deliver([]delivery.Item{item(fmt.Sprint("user-", pos%7), pos)})
	}
	if _, items, overflow := m.depth(); items != 100 || overflow != 7 {
		t.Errorf("%d items and %d users wait", items, overflow)
	}
	if got := cap(m.items); got > 200 {
		t.Errorf("the lane of 100 has room for %d", got)
	}
}

func TestMailboxWakesOncePerBurst(t *testing.T) {
	posts := map[string]func(*mailbox){
		"an answer":        func(m *mailbox) { m.post(answer{}) },
		"an item":          func(m *mailbox) { m.deliver([]delivery.Item{item("a", 1)}) },
		"an overflow only": func(m *mailbox) { m.capacity = 0; m.deliver([]delivery.Item{item("a", 1)}) },
		"a tick":           func(m *mailbox) { m.tick() },
	}
	for name, post := range posts {
		m, b := boundMailbox(10)
		for range 3 {
			post(m)
		}
		if b.wakes != 1 {
			t.Errorf("%s, three times: %d wakes", name, b.wakes)
		}
		for _, other := range posts {
			other(m)
		}
		if b.wakes != 1 {
			t.Errorf("%s, then all others: %d wakes", name, b.wakes)
		}
		m.recycle(m.take())
		if b.wakes != 1 {
			t.Errorf("%s: taking wakes", name)
		}
		post(m)
		if b.wakes != 2 {
			t.Errorf("%s after take: %d wakes, want a second one", name, b.wakes)
		}
	}
}

// A loop shows itself late: what was posted before is kept, and heard at the binding.
func TestMailboxBindWakesForWhatWaits(t *testing.T) {
	m, b := &mailbox{capacity: 1}, new(bell)
	m.post(answer{conn: 1})
	m.deliver([]delivery.Item{item("a", 1), item("a", 2)})
	m.tick()
	m.bind(b.wake)
	if b.wakes != 1 {
		t.Fatalf("%d wakes", b.wakes)
	}
	m.post(answer{conn: 2})
	if b.wakes != 1 {
		t.Errorf("%d wakes for one burst", b.wakes)
	}
	if got, want := described(m.take()), "a1 a2 a1 tick map[a:2]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	m.post(answer{conn: 3})
	if b.wakes != 2 {
		t.Errorf("%d wakes, want a second one", b.wakes)
	}
}

// What was handled must not stay in memory because its slice is used again.
func TestMailboxKeepsNoReferences(t *testing.T) {
	m, _ := boundMailbox(1000)
	burst := func(n int) {
		for range n {
			m.post(answer{any: new(int)})
			m.deliver([]delivery.Item{{User: "a", What: new(delivery.Encoded)}})
		}
	}
	for _, n := range []int{500, 3, 700} {
		burst(n)
		got := m.take()
		m.recycle(got)
		if m.spareAnswers == nil || m.spareItems == nil {
			t.Fatalf("after %d: nothing is kept for the next burst", n)
		}
		for i, a := range m.spareAnswers[:cap(m.spareAnswers)] {
			if !reflect.ValueOf(a).IsZero() {
				t.Fatalf("after %d: answer %d is still held", n, i)
			}
		}
		for i, it := range m.spareItems[:cap(m.spareItems)] {
			if it != (delivery.Item{}) {
				t.Fatalf("after %d: item %d is still held", n, i)
			}
		}
		m.recycle(m.take()) // the other pair of slices
	}
}

func TestMailboxLetsGoOfALargeBurst(t *testing.T) {
	m, _ := boundMailbox(10 * spareMost)
	for i := range uint64(2 * spareMost) {
		m.post(answer{})
		m.deliver([]delivery.Item{item("a", i)})
	}
	m.recycle(m.take())
	if cap(m.spareAnswers) > spareMost || cap(m.spareItems) > spareMost {
		t.Errorf("room for %d answers and %d items is kept", cap(m.spareAnswers), cap(m.spareItems))
	}
}

func TestMailboxMakesNoGarbage(t *testing.T) {
	m, _ := boundMailbox(100)
	items := []delivery.Item{item("a", 1), item("b", 2)}
	burst := func() {
		for range 10 {
			m.post(answer{conn: 1})
			m.deliver(items)
		}
		got := m.take()
		if len(got.answers) != 10 || len(got.items) != 20 {
			t.Fatal("something is lost")
		}
		m.recycle(got)
	}
	burst()
	burst()
	if allocs := testing.AllocsPerRun(100, burst); allocs != 0 {
		t.Errorf("%v allocations for a burst", allocs)
	}
}

// Many goroutines post while the loop takes. Nothing that was posted waits for a wake that never comes, no second wake is
// on its way while one is, each poster's order is kept, and of every user the newest position arrives.
func TestMailboxLosesNoWake(t *testing.T) {
	const posters, each = 8, 3000
	m := &mailbox{capacity: 64}
	wakes := make(chan struct{}, 1)
	var doubled atomic.Int32
	m.bind(func() bool {
		select {
		case wakes <- struct{}{}:
		default:
			doubled.Add(1)
		}
		return true
	})
	var posting sync.WaitGroup
	for p := range posters {
		user := fmt.Sprint("user-", p)
		posting.Go(func() {
			rng := rand.New(rand.NewPCG(15, uint64(p)))
			var batch []delivery.Item
			for i := range uint64(each) {
				m.post(answer{conn: session.ConnID(p), at: int64(i)})
				batch = append(batch, item(user, i+1))
				if rng.IntN(4) == 0 || i == each-1 {
					m.deliver(batch)
					batch = batch[:0]
				}
				if rng.IntN(64) == 0 {
					m.tick()
				}
			}
		})
	}
	answers := make([]int64, posters)
	heads := make(map[string]uint64)
	deadline := time.After(time.Minute)
	for arrived := 0; arrived < 2*posters; {
		select {
		case <-wakes:
		case <-deadline:
			a, i, o := m.depth()
			t.Fatalf("%d answers, %d items and %d users wait, and nothing wakes the loop", a, i, o)
		}
		got := m.take()
		for _, a := range got.answers {
			if a.at != answers[a.conn] {
				t.Fatalf("poster %d: answer %d came in place of %d", a.conn, a.at, answers[a.conn])
			}
			if answers[a.conn]++; answers[a.conn] == each {
				arrived++
			}
		}
		newest := make(map[string]uint64)
		for _, it := range got.items {
			if it.Pos <= max(heads[it.User], newest[it.User]) {
				t.Fatalf("%s: item %d came after %d", it.User, it.Pos, max(heads[it.User], newest[it.User]))
			}
			newest[it.User] = it.Pos
		}
		for user, pos := range got.overflow {
			if pos <= max(heads[user], newest[user]) {
				t.Fatalf("%s: overflow %d came after %d", user, pos, max(heads[user], newest[user]))
			}
			newest[user] = pos
		}
		for user, pos := range newest {
			if heads[user] = pos; pos == each {
				arrived++
			}
		}
		m.recycle(got)
	}
	posting.Wait()
	if n := doubled.Load(); n != 0 {
		t.Errorf("%d wakes came while another was on its way", n)
	}
}

// A wake that failed is tried again by the next post: a loop is never given up.
func TestAFailedWakeIsTriedAgain(t *testing.T) {
	m, b := boundMailbox(4)
	before := b.wakes
	b.broken = true
	m.tick()
	m.tick()
	b.broken = false
	m.tick()
	m.tick()
	if got := b.wakes - before; got != 3 {
		t.Fatalf("%d wakes for two that failed, one that did not and a post behind it, want 3", got)
	}
	if !m.take().ticked {
		t.Fatal("the tick is lost")
	}
}
