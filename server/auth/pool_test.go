package auth

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// verifierFunc lets a test decide each check.
type verifierFunc func(token string, now time.Time) (Identity, error)

func (f verifierFunc) Verify(token []byte, now time.Time) (Identity, error) {
	return f(string(token), now)
}

// desk collects answers.
type desk struct {
	mu      sync.Mutex
	answers []Answer
}

func (d *desk) Authenticated(a Answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answers = append(d.answers, a)
}

func TestPoolAnswersWithTheAskersNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		p := NewPool(Options{Verifier: Development{}, Workers: 2})
		defer p.Close()
		if !p.Submit(Job{Conn: 7, Tag: 9, Token: []byte("dev:alice"), Device: "phone", Reply: &d}) {
			t.Fatal("refused")
		}
		synctest.Wait()
		want := Answer{Conn: 7, Tag: 9, Identity: Identity{User: "alice", Development: true}}
		if len(d.answers) != 1 || d.answers[0] != want {
			t.Errorf("got %+v, want %+v", d.answers, want)
		}
	})
}

func TestPoolRefusesAndHidesTheIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		p := NewPool(Options{Workers: 1, Verifier: verifierFunc(func(string, time.Time) (Identity, error) {
			return Identity{User: "alice", Device: "phone"}, nil
		})})
		p.Submit(Job{Device: "desktop", Reply: &d})
		p.Close()
		if len(d.answers) != 1 || d.answers[0].Err != DeviceMismatch || d.answers[0].Identity != (Identity{}) {
			t.Errorf("got %+v", d.answers)
		}
	})
}

func TestPoolChecksAtTheTimeOfTheCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		var seen time.Time
		p := NewPool(Options{Workers: 1, Verifier: verifierFunc(func(_ string, now time.Time) (Identity, error) {
			seen = now
			return Identity{User: "alice"}, nil
		})})
		want := time.Now()
		p.Submit(Job{Reply: &d})
		p.Close()
		if !seen.Equal(want) {
			t.Errorf("checked at %v, want %v", seen, want)
		}
	})
}

func TestPoolIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, queue = 2, 3
		var d desk
		gate := make(chan struct{})
		p := NewPool(Options{Workers: workers, Queue: queue, Verifier: verifierFunc(func(token string, _ time.Time) (Identity, error) {
			<-gate
			return Identity{User: token}, nil
		})})
		submit := func(n int) bool { return p.Submit(Job{Token: fmt.Appendf(nil, "u%d", n), Reply: &d}) }
		for n := range workers {
			submit(n)
		}
		synctest.Wait()
		for n := range queue {
			if !submit(n) {
				t.Fatalf("job %d of %d did not fit", n, queue)
			}
		}
		if p.Depth() != queue {
			t.Errorf("depth %d, want %d", p.Depth(), queue)
		}
		if submit(99) {
			t.Error("a full queue took a job")
		}
		close(gate)
		p.Close()
		if len(d.answers) != workers+queue || p.Depth() != 0 {
			t.Errorf("%d answers, depth %d; want %d and 0", len(d.answers), p.Depth(), workers+queue)
		}
	})
}

func TestPoolSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		var log bytes.Buffer
		p := NewPool(Options{Workers: 1, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Verifier: verifierFunc(func(token string, _ time.Time) (Identity, error) {
				if token == "bomb" {
					panic("boom")
				}
				return Identity{User: token}, nil
			})})
		p.Submit(Job{Token: []byte("bomb"), Reply: &d})
		p.Submit(Job{Token: []byte("alice"), Reply: &d})
		p.Close()
		if len(d.answers) != 2 || RefusalOf(d.answers[0].Err) != Internal || d.answers[1].Identity.User != "alice" {
			t.Errorf("got %+v", d.answers)
		}
		if text := log.String(); !strings.Contains(text, "boom") || strings.Contains(text, "bomb") {
			t.Errorf("log %q: want the panic, without the token", text)
		}
	})
}

func TestPoolClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		p := NewPool(Options{Verifier: Development{}})
		p.Close()
		p.Close()
		if p.Submit(Job{Token: []byte("dev:alice"), Reply: &d}) {
			t.Error("a closed pool took a job")
		}
		if len(d.answers) != 0 {
			t.Errorf("got %+v", d.answers)
		}
	})
}

// Whatever races with Close is either refused or answered.
func TestPoolAnswersExactlyWhatItTook(t *testing.T) {
	var d desk
	p := NewPool(Options{Verifier: Development{}, Workers: 2, Queue: 8})
	var submitters sync.WaitGroup
	taken := make([]int, 4)
	for i := range taken {
		submitters.Go(func() {
			for range 500 {
				if p.Submit(Job{Token: []byte("dev:alice"), Reply: &d}) {
					taken[i]++
				}
			}
		})
	}
	p.Close()
	submitters.Wait()
	total := 0
	for _, n := range taken {
		total += n
	}
	if len(d.answers) != total {
		t.Errorf("%d answers for %d jobs", len(d.answers), total)
	}
}

func TestSubmitDoesNotAllocate(t *testing.T) {
	var d desk
	gate := make(chan struct{})
	p := NewPool(Options{Workers: 1, Queue: 1000, Verifier: verifierFunc(func(string, time.Time) (Identity, error) {
		<-gate
		return Identity{}, BadToken
	})})
	job := Job{Token: []byte("x"), Reply: &d}
	if n := testing.AllocsPerRun(100, func() { p.Submit(job) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	close(gate)
	p.Close()
}
