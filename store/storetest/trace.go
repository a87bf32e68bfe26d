package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"lifeline/store"
)

// patience is how long a test waits for what must come. Inside a synctest bubble it costs nothing.
const patience = 2 * time.Minute

// Step is one thing seen of a store. Exactly one field is set.
type Step struct {
	Submitted *Submission
	Event     *store.Event
	Answer    *store.Answer
	Trimmed   *Trimming
	Reopened  bool // the store was closed and opened again
}

// Submission is a command and what Submit said to it.
type Submission struct {
	Command store.Command
	Tag     uint64 // of its Origin, unique in the trace
	Refusal store.Refusal
}

// Trimming is a user's inbox or a conversation that was trimmed.
type Trimming struct {
	User         string
	Conversation string
	UpTo         uint64
}

// Trace is what was seen of a store, in order. Events and answers are in the order in which the store's committer gave
// them; a Submission may stand after its answer.
type Trace []Step

// Recorder is a Sink and a Replier that writes a trace. It may be used by any goroutine.
type Recorder struct {
	// Guarded by mu.
	mu      sync.Mutex
	trace   Trace
	tag     uint64
	waiting map[uint64]chan store.Answer
	held    chan struct{} // nil = not held
}

// NewRecorder returns a recorder with an empty trace.
func NewRecorder() *Recorder { return &Recorder{waiting: map[uint64]chan store.Answer{}} }

// Trace returns what was recorded so far.
func (r *Recorder) Trace() Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trace[:len(r.trace):len(r.trace)]
}

// Hold makes Committed wait, so that the committer stands still.
func (r *Recorder) Hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = make(chan struct{})
}

// Release ends Hold, if there was one.
func (r *Recorder) Release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held != nil {
		close(r.held)
		r.held = nil
	}
}

// Committed records events.
func (r *Recorder) Committed(batch []store.Event) {
	r.mu.Lock()
	held := r.held
	r.mu.Unlock()
	if held != nil {
		<-held
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range batch {
		r.trace = append(r.trace, Step{Event: &e})
	}
}

// Reply records an answer and hands it to who waits for it.
func (r *Recorder) Reply(a store.Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, Step{Answer: &a})
	select {
	case r.waiting[a.Origin.Tag] <- a:
	default: // a second answer, which the trace tells
	}
}

// Trimmed records a trimming.
func (r *Recorder) Trimmed(t Trimming) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, Step{Trimmed: &t})
}

// Reopened records that the store was opened again.
func (r *Recorder) Reopened() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, Step{Reopened: true})
}

// Submit submits a command under a tag of its own. The answer comes on the channel, the refusal at admission too.
func (r *Recorder) Submit(s store.Store, c store.Command) <-chan store.Answer {
	r.mu.Lock()
	r.tag++
	tag := r.tag
	answer := make(chan store.Answer, 1)
	r.waiting[tag] = answer
	r.mu.Unlock()

	address(c, tag, r)
	refusal := s.Submit(c)

	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, Step{Submitted: &Submission{Command: c, Tag: tag, Refusal: refusal}})
	if refusal != store.None {
		answer <- store.Answer{Origin: store.Origin{Tag: tag}, Refusal: refusal}
	}
	return answer
}

// receive waits for one value. It may be called by any goroutine.
func receive[T any](from <-chan T) (value T, err error) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case value = <-from:
		return value, nil
	case <-timeout.C:
		return value, fmt.Errorf("nothing came within %v", patience)
	}
}

// await waits for one value, or ends the test.
func await[T any](tb testing.TB, from <-chan T) T {
	tb.Helper()
	value, err := receive(from)
	if err != nil {
		tb.Fatal(err)
	}
	return value
}

// address sets where a command's answer goes.
func address(c store.Command, tag uint64, to store.Replier) {
	switch c := c.(type) {
	case *store.Send:
		c.Origin.Tag, c.Reply = tag, to
	case *store.Members:
		c.Origin.Tag, c.Reply = tag, to
	case *store.Forget:
		c.Origin.Tag, c.Reply = tag, to
	}
}
