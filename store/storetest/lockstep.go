package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"lifeline/store"
)

var lockstepTests = []test{
	{name: "Lockstep", needs: hasModel, run: testLockstep},
}

// Random commands do the same to a store and to the model. The random numbers are fixed, so a failure comes again.
func testLockstep(r *rig) {
	for seed := range uint64(r.rounds(8)) {
		l := newLockstep(r, seed)
		for range 120 {
			l.step()
		}
		l.finish()
	}
}

// lockstep drives a store and the model with the same random commands.
type lockstep struct {
	*rig    // the store under test
	model   *rig
	random  *rand.Rand
	seed    uint64
	users   []string
	crowd   []string
	groups  []string
	version map[string]uint64 // last version used, by group
	sent    []*store.Send
}

func newLockstep(r *rig, seed uint64) *lockstep {
	c := newClock()
	l := &lockstep{
		rig:     newRig(r, r.Harness, c, 0),
		model:   newRig(r, *r.Model, c, 0),
		random:  rand.New(rand.NewPCG(6, seed)),
		seed:    seed,
		users:   names("user", 8),
		crowd:   names("crowd", 300),
		groups:  []string{"tram", "bus", "ferry", "nowhere"},
		version: map[string]uint64{},
	}
	l.version["stadium"] = 1
	l.both(members("stadium", 1, slices.Concat(l.users[:4], l.crowd)...))
	l.wait(l.crowd)
	return l
}

func (l *lockstep) user() string  { return l.users[l.random.IntN(len(l.users))] }
func (l *lockstep) group() string { return l.groups[l.random.IntN(len(l.groups)-1)] }

// step does one random thing.
func (l *lockstep) step() {
	switch n := l.random.IntN(20); {
	case n < 12:
		burst := make([]store.Command, 1+l.random.IntN(20))
		for i := range burst {
			burst[i] = l.command()
		}
		l.both(burst...)
	case n < 14:
		l.ack()
	case n == 14:
		l.both(&store.Forget{User: l.user(), Device: l.device()})
	case n == 15:
		l.trims()
	case n == 16:
		l.time()
	case n == 17 && l.random.IntN(4) == 0:
		l.toStadium()
	case n == 17 && canReopen(l.Harness) && l.random.IntN(2) == 0:
		l.rig.reopen()
	default:
		l.reads()
	}
}

// time passes, or the clock is set back. A store that has deleted a client id does not find it again at an earlier time, so no
// seed has both.
func (l *lockstep) time() {
	passes := l.random.Int64N(int64(3 * day))
	if l.seed%2 == 0 {
		l.clock.advance(time.Duration(passes))
		if l.Purge != nil {
			l.Purge(l, l.store)
		}
		return
	}
	l.clock.advance(time.Duration(passes) - day)
}

func (l *lockstep) device() string { return []string{"phone", "desktop"}[l.random.IntN(2)] }

// command makes a random command that a burst may hold.
func (l *lockstep) command() store.Command {
	switch n := l.random.IntN(20); {
	case n < 7:
		return l.keep(l.rig.direct(l.user(), l.user(), l.payload()))
	case n < 13:
		return l.keep(l.rig.group(l.user(), l.groups[l.random.IntN(len(l.groups))], l.payload()))
	case n < 16 && len(l.sent) > 0:
		retry := again(l.sent[l.random.IntN(len(l.sent))])
		if l.random.IntN(3) == 0 {
			retry.Payload = []byte(l.payload())
		}
		return retry
	case n == 16:
		bad := l.rig.direct(l.user(), l.user(), l.payload())
		bad.SenderDevice = []string{"", "\n", strings.Repeat("x", 65)}[l.random.IntN(3)]
		return bad
	}
	return l.members()
}

func (l *lockstep) keep(s *store.Send) *store.Send {
	l.sent = append(l.sent, s)
	return again(s)
}

func (l *lockstep) payload() string {
	if l.random.IntN(20) == 0 {
		return strings.Repeat("x", l.random.IntN(store.MaxPayload+10))
	}
	return fmt.Sprint(l.random.IntN(4))
}

// members makes a change of a few users, sometimes of an old version.
func (l *lockstep) members() *store.Members {
	group := l.group()
	c := &store.Members{Group: group, Version: l.version[group]}
	if l.random.IntN(5) > 0 {
		l.version[group] += 1 + l.random.Uint64N(3)
		c.Version = l.version[group]
	}
	for range l.random.IntN(4) {
		c.Add = append(c.Add, l.user())
	}
	for range l.random.IntN(3) {
		c.Remove = append(c.Remove, l.user())
	}
	return c
}

// both carries out commands on the store and on the model, and compares their answers and heads.
func (l *lockstep) both(commands ...store.Command) {
	l.Helper()
	var got, want []<-chan store.Answer
	for _, c := range commands {
		got = append(got, l.submit(c))
		want = append(want, l.model.submit(twin(c)))
	}
	for i := range commands {
		g, w := await(l, got[i]), await(l, want[i])
		if g.Refusal != w.Refusal || g.Seq != w.Seq || g.Time != w.Time && w.Seq != 0 {
			l.Fatalf("seed %d: %+v\nwas answered %+v\n       model %+v", l.seed, commands[i], g, w)
		}
	}
	l.wait(l.users)
}

// wait until the store has filled the inboxes as far as the model.
func (l *lockstep) wait(users []string) {
	l.Helper()
	l.eventually(func() error {
		for _, user := range users {
			g, w := l.start(user, "phone"), l.model.start(user, "phone")
			if g.Head != w.Head || g.Trimmed != w.Trimmed {
				return fmt.Errorf("seed %d: %s has head %d, trimmed %d, model %d, %d", l.seed, user, g.Head, g.Trimmed, w.Head, w.Trimmed)
			}
		}
		return nil
	})
}

// toStadium uses the large group, alone, since its entries may come late and then take other positions. Nor are its
// messages among those that are sent again.
func (l *lockstep) toStadium() {
	l.Helper()
	l.version["stadium"]++
	somebody := l.crowd[l.random.IntN(len(l.crowd))]
	first := l.rig.group(l.user(), "stadium", l.payload())
	commands := []store.Command{
		first,
		members("stadium", l.version["stadium"], l.user(), "-"+l.user(), "-"+somebody),
		again(first),
		l.rig.group(l.user(), "stadium", l.payload()),
	}
	for _, c := range commands {
		l.both(c)
		l.wait(l.crowd)
	}
}

// ack acknowledges what the device may have been sent.
func (l *lockstep) ack() {
	l.Helper()
	user, device := l.user(), l.device()
	pos := l.random.Uint64N(l.model.start(user, device).Head + 1)
	l.rig.ack(user, device, pos)
	l.model.ack(user, device, pos)
	if l.random.IntN(4) == 0 {
		l.cursors()
	}
}

func (l *lockstep) cursors() {
	l.Helper()
	for _, user := range l.users {
		for _, device := range []string{"phone", "desktop"} {
			l.eventually(func() error {
				if g, w := l.start(user, device), l.model.start(user, device); g != w {
					return fmt.Errorf("seed %d: %s/%s: %+v, model %+v", l.seed, user, device, g, w)
				}
				return nil
			})
		}
	}
}

func (l *lockstep) trims() {
	if !canTrim(l.Harness) {
		return
	}
	user, conversation, upTo := l.user(), l.conversation(), l.random.Uint64N(30)
	for _, r := range []*rig{l.rig, l.model} {
		r.trim(user, upTo)
		r.trimConversation(conversation, upTo)
	}
}

func (l *lockstep) conversation() string {
	if l.random.IntN(2) == 0 {
		return l.group()
	}
	return store.Direct(l.user(), l.user())
}

// reads compares random pages.
func (l *lockstep) reads() {
	l.Helper()
	inbox := store.InboxRead{User: l.user(), From: l.random.Uint64N(200), Max: l.random.IntN(80), MaxBytes: l.random.IntN(store.MaxPageBytes)}
	if got, want := inboxText(l.inboxPage(inbox)), inboxText(l.model.inboxPage(inbox)); got != want {
		l.Fatalf("seed %d: inbox %+v:\n  got %s\nmodel %s", l.seed, inbox, got, want)
	}
	history := store.HistoryRead{User: l.user(), Conversation: l.conversation(), From: l.random.Uint64N(80), To: l.random.Uint64N(120), MaxBytes: l.random.IntN(store.MaxPageBytes)}
	if got, want := historyText(l.historyPage(history)), historyText(l.model.historyPage(history)); got != want {
		l.Fatalf("seed %d: history %+v:\n  got %s\nmodel %s", l.seed, history, got, want)
	}
}

func inboxText(page store.InboxPage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "head %d trimmed %d", page.Head, page.Trimmed)
	for _, e := range page.Entries {
		fmt.Fprintf(&b, ", %d: %s", e.Pos, text(e))
	}
	return b.String()
}

func historyText(page store.HistoryPage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v head %d first %d more %v", page.Refusal, page.Head, page.FirstVisible, page.More)
	for _, m := range page.Messages {
		fmt.Fprintf(&b, ", %d: %s %d bytes", m.Seq, m.Sender, len(m.Payload))
	}
	return b.String()
}

// finish compares everything and holds both against the rules.
func (l *lockstep) finish() {
	l.Helper()
	l.cursors()
	for _, user := range slices.Concat(l.users, l.crowd) {
		if got, want := l.inbox(user), l.model.inbox(user); !slices.Equal(got, want) {
			l.Fatalf("seed %d: inbox of %s:\n  got %q\nmodel %q", l.seed, user, got, want)
		}
	}
	l.rig.verify()
	l.model.verify()
	l.rig.close()
	l.model.close()
}

// twin copies a command, so that the model gets one of its own.
func twin(c store.Command) store.Command {
	switch c := c.(type) {
	case *store.Send:
		return again(c)
	case *store.Members:
		other := *c
		return &other
	case *store.Forget:
		other := *c
		return &other
	}
	return c
}
