package commit

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/store"
	"lifeline/store/storetest"
)

// replies collects answers.
type replies struct{ answers chan store.Answer }

func (r replies) Reply(a store.Answer) { r.answers <- a }

// stadium is a store with a group of five, of which more than two at once, or three in a chunk, are too many.
func stadium(t *testing.T) *opened {
	t.Helper()
	engine := newMemEngine()
	if err := WriteMeta(engine, Meta{Epoch: NewEpoch(), Boot: 1}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(engine, Options{AtOnce: 2, Chunk: 3, QueueCommands: 100_000, Fatal: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	members := &store.Members{Group: "stadium", Version: 1, Add: []string{"a", "b", "c", "d", "e"}}
	if a := storetest.Call(s, members); a.Refusal != store.None {
		t.Fatal(a.Refusal)
	}
	return &opened{s, engine}
}

func toStadium(n int) *store.Send {
	return &store.Send{Sender: "a", SenderDevice: "phone", ToGroup: "stadium", ClientID: fmt.Append(nil, n)}
}

// A conversation that owes too much refuses more, keeps what it took, and takes again when it has paid.
func TestOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stadium(t)
		const sends = 2000
		r := replies{make(chan store.Answer, sends)}
		s.engine.mu.Lock() // the committer stands still, or it would pay as fast as they come
		for n := range sends {
			send := toStadium(n)
			send.Reply = r
			if refusal := s.Submit(send); refusal != store.None {
				t.Error(refusal)
			}
		}
		s.engine.mu.Unlock()
		var taken, overdue uint64
		for range sends {
			switch a := <-r.answers; a.Refusal {
			case store.None:
				if taken++; a.Seq != taken {
					t.Fatalf("message %d got Seq %d", taken, a.Seq)
				}
			case store.Overdue:
				overdue++
			default:
				t.Fatal(a.Refusal)
			}
		}
		if taken < maxOwedByConversation || overdue == 0 {
			t.Errorf("%d were taken, %d overdue", taken, overdue)
		}
		for s.Load().Obligations > 0 {
			time.Sleep(time.Millisecond) // virtual
		}
		if a := storetest.Call(s, toStadium(sends)); a.Refusal != store.None || a.Seq != taken+1 {
			t.Errorf("after all was paid: %+v", a)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if faults := verify(t, s.engine.clone(), time.Now()); len(faults) > 0 {
			t.Errorf("%q", faults)
		}
	})
}

// A node that owes too much refuses groups before their commands are queued; directs go on.
func TestNodeOwesTooMuch(t *testing.T) {
	s := stadium(t)
	defer s.Close()
	s.owed.total.Add(maxOwed)
	if a := storetest.Call(s, toStadium(0)); a.Refusal != store.Busy {
		t.Errorf("a send to a group: %v", a.Refusal)
	}
	if a := storetest.Call(s, &store.Members{Group: "tram", Version: 1}); a.Refusal != store.Busy {
		t.Errorf("a change of members: %v", a.Refusal)
	}
	direct := &store.Send{Sender: "a", SenderDevice: "phone", ToUser: "b", ClientID: []byte("1")}
	if a := storetest.Call(s, direct); a.Refusal != store.None {
		t.Errorf("a direct send: %v", a.Refusal)
	}
	s.owed.total.Add(-maxOwed)
	if a := storetest.Call(s, toStadium(0)); a.Refusal != store.None {
		t.Errorf("with little owed: %v", a.Refusal)
	}
}

// The queue is bounded in commands and in bytes, and takes a large command when it is empty.
func TestQueueBounds(t *testing.T) {
	q := newQueue(3, 100)
	for i, test := range []struct {
		bytes   int
		refusal store.Refusal
		want    store.Refusal
	}{
		{1000, store.None, store.None},
		{1, store.None, store.Busy}, // bytes
	} {
		if got := q.push(i, test.bytes, test.refusal); got != test.want {
			t.Errorf("push of %d bytes: %v, want %v", test.bytes, got, test.want)
		}
	}
	q.took(1, 1000)
	for range 3 {
		if got := q.push(0, 10, store.None); got != store.None {
			t.Error(got)
		}
	}
	if got := q.push(0, 10, store.None); got != store.Busy { // commands
		t.Error(got)
	}
	if got := q.pushOwn(0); got != store.None {
		t.Errorf("the store's own work: %v", got)
	}
	if commands, bytes := q.depth(); commands != 4 || bytes != 30 {
		t.Errorf("%d commands of %d bytes wait", commands, bytes)
	}
	if got := q.push(0, 10, store.StorageFull); got != store.StorageFull {
		t.Error(got)
	}
	q.close()
	if got := q.push(0, 10, store.StorageFull); got != store.Closed {
		t.Error(got)
	}
	if taken := q.take(nil); len(taken) != 5 {
		t.Errorf("%d commands were taken", len(taken))
	}
}

// measured is a store and the largest numbers of any one of its batches, to be read when it is closed.
func measured(t *testing.T) (*opened, *Batch) {
	t.Helper()
	engine, most := newMemEngine(), &Batch{}
	whole(engine)
	s, err := Open(engine, Options{QueueCommands: 100_000, Fatal: func(err error) { t.Error(err) }, Observe: func(b Batch) {
		most.Commands, most.Keys, most.Bytes = max(most.Commands, b.Commands), max(most.Keys, b.Keys), max(most.Bytes, b.Bytes)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return &opened{s, engine}, most
}

// However much waits, a batch takes no more commands when it has enough of them, of their keys or of their bytes.
func TestBatchBounds(t *testing.T) {
	members := make([]string, 150) // all written at once
	for i := range members {
		members[i] = fmt.Sprint("m", i)
	}
	const payload, overhead = 10_000, 10_000 // bytes of a send, and of its keys, its heads and all applied indexes
	for _, tt := range []struct {
		name     string
		group    string
		payload  int
		of       func(Batch) int
		min, max int
	}{
		{"commands", "", 1, func(b Batch) int { return b.Commands }, maxBatchCommands, maxBatchCommands},
		{"keys", "tram", 1, func(b Batch) int { return b.Keys }, maxBatchKeys, maxBatchKeys + 2*len(members) + 5 + store.Partitions},
		{"bytes", "", payload, func(b Batch) int { return b.Bytes }, maxBatchBytes, maxBatchBytes + payload + overhead},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, most := measured(t)
			storetest.Call(s, &store.Members{Group: "tram", Version: 1, Add: members})
			const sends = 600
			r := replies{make(chan store.Answer, sends)}
			s.engine.mu.Lock() // the committer stands still until all wait
			for n := range sends {
				send := &store.Send{Reply: r, Sender: "m1", SenderDevice: "phone", ToGroup: tt.group, ClientID: fmt.Append(nil, n), Payload: make([]byte, tt.payload)}
				if tt.group == "" {
					send.ToUser = "m2"
				}
				if refusal := s.Submit(send); refusal != store.None {
					t.Fatal(refusal)
				}
			}
			s.engine.mu.Unlock()
			for range sends {
				if a := <-r.answers; a.Refusal != store.None {
					t.Fatal(a.Refusal)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if got := tt.of(*most); got < tt.min || got > tt.max {
				t.Errorf("at most %d %s were in a batch, want %d to %d", got, tt.name, tt.min, tt.max)
			}
		})
	}
}

// The store's own work leaves nothing behind in the queue's account; or the bound in bytes would mean less with every step.
func TestOwnWorkDoesNotCount(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s := open(t, newMemEngine(), storetest.Options{Now: func() time.Time { return now }})
	defer s.Close()
	storetest.Call(s, &store.Send{Sender: "ann", SenderDevice: "phone", ToUser: "bob", ClientID: []byte("1")})
	now = now.Add(30 * 24 * time.Hour)
	for name, work := range map[string]func() error{
		"trim an inbox":        func() error { return s.TrimInbox("bob", 1) },
		"trim a conversation":  func() error { return s.TrimConversation(store.Direct("ann", "bob"), 1) },
		"purge the client ids": s.Purge,
	} {
		if err := work(); err != nil {
			t.Fatal(err)
		}
		if load := s.Load(); load.QueueCommands != 0 || load.QueueBytes != 0 {
			t.Errorf("%s: %d commands of %d bytes wait", name, load.QueueCommands, load.QueueBytes)
		}
	}
}

// What a large group owes is paid in every batch, but no more of it than a batch can bear while others wait.
func TestChunksAndCommandsShareBatches(t *testing.T) {
	engine := newMemEngine()
	if err := WriteMeta(engine, Meta{Epoch: NewEpoch(), Boot: 1}); err != nil {
		t.Fatal(err)
	}
	sink := &shares{}
	s, err := Open(engine, Options{Sink: sink, QueueCommands: 100_000, Fatal: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	var crowd []string
	for i := range store.MaxMembers {
		crowd = append(crowd, fmt.Sprintf("fan%04d", i))
	}
	for i := range 8 {
		storetest.Call(s, &store.Members{Group: fmt.Sprint("stadium", i), Version: 1, Add: crowd})
	}
	const sends = 20_000
	r := replies{make(chan store.Answer, sends)}
	engine.mu.Lock() // the committer stands still until all wait
	for n := range sends {
		send := &store.Send{Reply: r, Sender: crowd[n%100], SenderDevice: "phone", ToUser: crowd[n%77], ClientID: fmt.Append(nil, n)}
		if n%1000 == 0 {
			send.ToUser, send.ToGroup = "", fmt.Sprint("stadium", n/1000%8)
		}
		if refusal := s.Submit(send); refusal != store.None {
			t.Error(refusal)
		}
	}
	engine.mu.Unlock()
	for range sends {
		if a := <-r.answers; a.Refusal != store.None {
			t.Fatal(a.Refusal)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if sink.both == 0 || sink.most >= 2*paidBusy {
		t.Errorf("%d batches had both; at most %d entries of groups were beside directs", sink.both, sink.most)
	}
}

// shares counts the entries of groups in batches that have direct messages too.
type shares struct{ both, most int }

func (s *shares) Committed(batch []store.Event) {
	directs, owed := 0, 0
	for _, e := range batch {
		if e.Message == nil {
			continue
		}
		if _, _, direct := store.Peers(e.Message.Conversation); direct {
			directs++
		} else {
			owed += len(e.To)
		}
	}
	if directs > 0 && owed > 0 {
		s.both++
		s.most = max(s.most, owed)
	}
}
