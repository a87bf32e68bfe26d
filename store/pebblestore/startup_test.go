package pebblestore

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"lifeline/store"
	"lifeline/store/storetest"
)

var benchEntries = flag.Int("entries", 10_000_000, "inbox entries of BenchmarkOpen's store")

// fillGroups sends messages to groups of 200 until so many entries are in inboxes.
func fillGroups(tb testing.TB, s *Store, entries int) {
	tb.Helper()
	const size = 200
	groups := max(1, entries/size/200)
	var next atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for n := int(next.Add(1)) - 1; n < groups; n = int(next.Add(1)) - 1 {
				group, members := fmt.Sprintf("group-%05d", n), make([]string, size)
				for i := range members {
					members[i] = fmt.Sprintf("user-%07d", n*size/4+i)
				}
				if a := storetest.Call(s, &store.Members{Group: group, Version: 1, Add: members}); a.Refusal != store.None {
					tb.Error(a.Refusal)
				}
				for m := range (entries/size + groups - 1) / groups {
					send := &store.Send{Sender: members[m%size], SenderDevice: "phone", ToGroup: group, ClientID: fmt.Append(nil, m), Payload: make([]byte, 64)}
					if a := storetest.Call(s, send); a.Refusal != store.None {
						tb.Error(a.Refusal)
					}
				}
			}
		})
	}
	all.Wait()
}

// heapAfter returns what is on the heap when do has returned and its garbage is gone.
func heapAfter(do func()) uint64 {
	do()
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// An open store takes as much memory with 200,000 entries as with 20,000.
func TestMemoryDoesNotGrowWithEntries(t *testing.T) {
	opened := func(entries int) uint64 {
		options := testOptions(t, vfs.Default)
		options.Dir = t.TempDir() + "/store"
		options.MemTableBytes = 8 << 20
		options.wrap = func(e store.Engine) store.Engine { return unsynced{e.(*engine)} }
		s, err := Open(options)
		if err != nil {
			t.Fatal(err)
		}
		fillGroups(t, s, entries)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		var again *Store
		before := heapAfter(func() {})
		after := heapAfter(func() {
			if again, err = Open(options); err != nil {
				t.Fatal(err)
			}
		})
		start, err := again.Start("user-0000000", "phone")
		if err != nil || start.Head == 0 {
			t.Errorf("%+v, %v", start, err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
		return after - min(before, after)
	}
	small, large := opened(20_000), opened(200_000)
	t.Logf("%d KiB with 20,000 entries, %d KiB with 200,000", small>>10, large>>10)
	if large > small+1<<20 {
		t.Errorf("%d KiB with 20,000 entries, %d KiB with 200,000", small>>10, large>>10)
	}
}

// unsynced commits without waiting for the disk: for filling.
type unsynced struct{ *engine }

func (u unsynced) Commit(_ context.Context, batch []store.PartitionOps) error {
	b := u.db.NewBatch()
	for _, p := range batch {
		for _, op := range p.Ops {
			if op.Delete {
				b.Delete(op.Key, nil)
			} else {
				b.Set(op.Key, op.Value, nil)
			}
		}
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return err
	}
	u.renew()
	return b.Close()
}

// BenchmarkOpen measures how long a store of many inbox entries takes to open, after a clean end and after a kill with its
// log as it was, and how much heap it has then. Run it as -benchtime 5x -entries 10000000.
func BenchmarkOpen(b *testing.B) {
	options := diskOptions(b)
	options.wrap = func(e store.Engine) store.Engine { return unsynced{e.(*engine)} }
	s, err := Open(options)
	if err != nil {
		b.Fatal(err)
	}
	fillGroups(b, s, *benchEntries)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run(fmt.Sprintf("closed with %d entries", *benchEntries), func(b *testing.B) {
		for range b.N {
			benchmarkOpen(b, options)
		}
	})
	round := 0
	b.Run(fmt.Sprintf("killed with %d entries", *benchEntries), func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			s, err := Open(options)
			if err != nil {
				b.Fatal(err)
			}
			round++
			for n := range 20_000 {
				storetest.Call(s, directSend(round*100_000+n))
			}
			killed := options
			killed.Dir = fmt.Sprintf("%s-killed-%d", options.Dir, round)
			if err := s.db.Checkpoint(killed.Dir); err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			benchmarkOpen(b, killed)
		}
	})
}

func benchmarkOpen(b *testing.B, options Options) {
	before := heapAfter(func() {})
	began := time.Now()
	s, err := Open(options)
	took := time.Since(began)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(took.Milliseconds()), "ms-last-open")
	b.ReportMetric(float64((heapAfter(func() {})-before)>>10), "KiB-heap")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
