package storetest

import (
	"slices"
	"testing"
	"time"

	"lifeline/store"
)

// Options is what a test asks of the store it opens.
type Options struct {
	Sink  store.Sink       // never nil
	Now   func() time.Time // the store's only clock: message times and the expiry of client ids
	Queue int              // commands that may wait; if zero, the store's default
}

// Harness says how to open the store under test and what else can be done to it. Only Open is required; the tests
// that need a capability are run when it is there.
type Harness struct {
	// Open opens a new, empty store. The test closes it.
	Open func(testing.TB, Options) store.Store

	// Trim deletes a user's inbox entries up to a position. When it returns, reads show it.
	Trim func(tb testing.TB, s store.Store, user string, upTo uint64)

	// TrimConversation deletes a conversation's messages up to a Seq. When it returns, reads show it.
	TrimConversation func(tb testing.TB, s store.Store, conversation string, upTo uint64)

	// Purge deletes the client ids that have expired.
	Purge func(testing.TB, store.Store)

	// Reopen closes s and opens its data again.
	Reopen func(testing.TB, store.Store, Options) store.Store

	// Crash opens what a power cut at some moment of the call would have left of s, without closing s first. It
	// abandons s, which may go on calling its sink and its repliers until Crash returns, and not after that.
	Crash func(testing.TB, store.Store, Options) store.Store

	// Rounds bounds how often a test of random things is repeated, for a store that is slow; if zero, nothing does.
	Rounds int

	// Model is the harness of the store to compare with in lock-step: memstore's. It must be able to trim if this
	// one is.
	Model *Harness
}

// ModelHarness makes the harness of memstore, which this package does not know: of a store that needs no directory and
// whose trims cannot fail.
func ModelHarness[S interface {
	store.Store
	Trim(user string, upTo uint64)
	TrimConversation(conversation string, upTo uint64)
}](open func(Options) S) Harness {
	return Harness{
		Open: func(_ testing.TB, o Options) store.Store { return open(o) },
		Trim: func(_ testing.TB, s store.Store, user string, upTo uint64) { s.(S).Trim(user, upTo) },
		TrimConversation: func(_ testing.TB, s store.Store, conversation string, upTo uint64) {
			s.(S).TrimConversation(conversation, upTo)
		},
	}
}

// test is one test of the suite.
type test struct {
	name  string
	needs func(Harness) bool // nil = nothing besides Open
	queue int                // commands that may wait; 0 = the store's default
	run   func(*rig)
}

// tests lists the suite, in the order of docs/store.md.
var tests = slices.Concat(admissionTests, appendTests, dedupTests, memberTests, largeGroupTests, readTests, concurrentReadTests,
	cursorTests, trimTests, restartTests, crashTests, lockstepTests)

// Run runs every test that the harness has the capabilities for.
func Run(t *testing.T, h Harness) {
	for _, test := range tests {
		if test.needs == nil || test.needs(h) {
			t.Run(test.name, func(t *testing.T) { test.execute(t, h) })
		}
	}
}

// execute runs a test on a new store and then holds all that was seen against the rules.
func (test test) execute(tb testing.TB, h Harness) {
	r := newRig(tb, h, newClock(), test.queue)
	test.run(r)
	r.verify()
}

// rounds is how often a test is repeated that would like to be so often.
func (h Harness) rounds(usual int) int {
	if h.Rounds > 0 {
		return min(h.Rounds, usual)
	}
	return usual
}

func hasModel(h Harness) bool         { return h.Model != nil }
func canTrim(h Harness) bool          { return h.Trim != nil && h.TrimConversation != nil }
func canReopen(h Harness) bool        { return h.Reopen != nil }
func canReopenAndTrim(h Harness) bool { return canReopen(h) && canTrim(h) }
func canCrash(h Harness) bool         { return h.Crash != nil }
func canCrashAndTrim(h Harness) bool  { return canCrash(h) && canTrim(h) }
