package pebblestore

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lifeline/store"
	"lifeline/store/storetest"
)

// BenchmarkBesideLargeGroup measures how long direct sends take, 64 callers one after another each, while messages to a
// group of 2,000 go out, and how long a group's message takes to be in the last inbox. Run it as -benchtime 100000x.
func BenchmarkBesideLargeGroup(b *testing.B) {
	for _, pace := range []time.Duration{0, time.Second, 100 * time.Millisecond} {
		name := "alone"
		if pace > 0 {
			name = fmt.Sprintf("a message every %v", pace)
		}
		b.Run(name, func(b *testing.B) { benchmarkBeside(b, pace) })
	}
}

func benchmarkBeside(b *testing.B, pace time.Duration) {
	arrivals := &arrivals{}
	o := diskOptions(b)
	o.Commit.Sink = arrivals
	s, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var crowd []string
	for i := range store.MaxMembers {
		crowd = append(crowd, fmt.Sprintf("fan-%06d", i))
	}
	storetest.Call(s, &store.Members{Group: "stadium", Version: 1, Add: crowd})
	for s.Load().Obligations > 0 {
		time.Sleep(time.Millisecond)
	}

	stop := make(chan struct{})
	var speaker sync.WaitGroup
	if pace > 0 {
		speaker.Go(func() { speak(b, s, crowd[0], pace, stop) })
	}
	took := make([][]time.Duration, 64)
	var left atomic.Int64
	left.Store(int64(b.N))
	var callers sync.WaitGroup
	b.ResetTimer()
	for i := range took {
		callers.Go(func() {
			c := newCaller(i)
			for left.Add(-1) >= 0 {
				began := time.Now()
				if a := c.send(s, make([]byte, 128)); a.Refusal != store.None {
					b.Error(a.Refusal)
					return
				}
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	callers.Wait()
	b.StopTimer()
	close(stop)
	speaker.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	at := func(part float64) float64 { return float64(all[int(part*float64(len(all)-1))].Microseconds()) / 1000 }
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
	b.ReportMetric(at(1), "max-ms")
	if n := arrivals.messages.Load(); n > 0 {
		b.ReportMetric(float64(n), "group-msgs")
		b.ReportMetric(float64(arrivals.total.Load())/float64(n)/1e6, "ms-to-last-inbox")
	}
}

// speak sends to the large group at a pace. The payload says when.
func speak(b *testing.B, s *Store, user string, pace time.Duration, stop <-chan struct{}) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		send := &store.Send{Sender: user, SenderDevice: "phone", ToGroup: "stadium", ClientID: fmt.Append(nil, n), Payload: fmt.Append(nil, time.Now().UnixNano())}
		if a := storetest.Call(s, send); a.Refusal != store.None {
			b.Error(a.Refusal)
		}
	}
}

// arrivals measures when the last entries of a group's messages are in.
type arrivals struct {
	entries         map[uint64]int // by Seq
	messages, total atomic.Int64
}

func (a *arrivals) Committed(batch []store.Event) {
	for _, e := range batch {
		if e.Message == nil || e.Message.Conversation != "stadium" {
			continue
		}
		if a.entries == nil {
			a.entries = map[uint64]int{}
		}
		if a.entries[e.Message.Seq] += len(e.To); a.entries[e.Message.Seq] == store.MaxMembers {
			var sent int64
			fmt.Sscan(string(e.Message.Payload), &sent)
			a.messages.Add(1)
			a.total.Add(time.Now().UnixNano() - sent)
		}
	}
}

// BenchmarkCatchUp measures how many users a second can read what waits for them, 20 or 1,000 entries, from a store of
// 200,000 messages, with two readers.
func BenchmarkCatchUp(b *testing.B) {
	const users, messages = 2000, 200_000
	s, err := Open(diskOptions(b))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	fill(b, s, users, messages)
	for _, waiting := range []uint64{20, 100} {
		b.Run(fmt.Sprintf("%d entries of several conversations", waiting), func(b *testing.B) { benchmarkCatchUp(b, s, users, waiting) })
	}
	fillOne(b, s, 1000)
	b.Run("1000 entries of one conversation", func(b *testing.B) { benchmarkCatchUp(b, s, 0, 1000) })
}

// fill sends messages between users, each to some of the others.
func fill(b *testing.B, s *Store, users, messages int) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(messages))
	var all sync.WaitGroup
	for i := range 256 {
		all.Go(func() {
			c := newCaller(i)
			for n := left.Add(-1); n >= 0; n = left.Add(-1) {
				c.user, c.peers = catchUpUser(int(n)%users), []string{catchUpUser(int(n*7+n/int64(users)) % users)}
				if a := c.send(s, make([]byte, 128)); a.Refusal != store.None {
					b.Error(a.Refusal)
				}
			}
		})
	}
	all.Wait()
}

// fillOne has user 0 get so many messages of one conversation.
func fillOne(b *testing.B, s *Store, messages int) {
	b.Helper()
	c := newCaller(0)
	c.user, c.peers = "friend", []string{catchUpUser(0)}
	for range messages {
		if a := c.send(s, make([]byte, 128)); a.Refusal != store.None {
			b.Fatal(a.Refusal)
		}
	}
}

func catchUpUser(i int) string { return fmt.Sprintf("user-%06d", i) }

// benchmarkCatchUp reads the last entries of user after user, as a session does: page after page.
func benchmarkCatchUp(b *testing.B, s *Store, users int, waiting uint64) {
	var next, entries atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				user := catchUpUser(int(n) % max(users, 1))
				start, err := s.Start(user, "phone")
				if err != nil {
					b.Error(err)
					return
				}
				for from := start.Head - min(start.Head, waiting) + 1; from <= start.Head; {
					page, err := s.Inbox(store.InboxRead{User: user, From: from, Max: store.MaxPageEntries, MaxBytes: store.MaxPageBytes})
					if err != nil || len(page.Entries) == 0 {
						b.Errorf("%d entries, %v", len(page.Entries), err)
						return
					}
					from += uint64(len(page.Entries))
					entries.Add(int64(len(page.Entries)))
				}
			}
		})
	}
	readers.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "users/s")
	b.ReportMetric(float64(entries.Load())/float64(b.N), "entries/user")
}
