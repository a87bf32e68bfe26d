package liveness

import "time"

// Line is what a session remembers of its path, its app and its trials, in ten bytes without a pointer. The zero
// value is a session that was just heard. It is owned by the session's loop.
//
// Moments are kept as seconds modulo 2^16: what is older than 18 hours would read as younger, but nothing is. A path
// leaves Probing and Suspect within an hour or two, and an app is closed ten minutes after it was heard.
type Line struct {
	since, heard, echo uint16
	flags              uint16 // path 2 bits, five flags, passes 3, slot 6
	known              uint16 // low 10 bits, in steps of 4 s; used 4
}

const (
	linePath   = 0x3
	lineAgain  = 1 << 2
	lineEchoed = 1 << 3
	lineLags   = 1 << 4
	lineHeard  = 1 << 5
	lineMarked = 1 << 6

	passesAt, passesMask = 7, 0x7
	slotAt, slotMask     = 10, 0x3f
	usedAt, usedMask     = 10, 0xf
	lowMask              = 1<<10 - 1
	lowStep              = 4

	markPasses = 5 // a sweep passes once a second
)

// Path returns the path. now is the loop's time.
func (l *Line) Path(now Time) PathState {
	s := PathState{
		Path:   Path(l.flags & linePath),
		Again:  l.flags&lineAgain != 0,
		Echoed: l.flags&lineEchoed != 0,
		Echo:   int(l.echo),
	}
	if s.Suspicious() {
		s.Since = moment(l.since, now)
	}
	return s
}

// SetPath keeps a path that [NextPath] returned.
func (l *Line) SetPath(s PathState) {
	l.flags = l.flags&^linePath | uint16(s.Path)
	l.flag(lineAgain, s.Again)
	l.flag(lineEchoed, s.Echoed)
	l.echo = uint16(s.Echo)
	l.since = seconds(s.Since)
}

// App returns the judgement of the app. now is the loop's time.
func (l *Line) App(now Time) AppState {
	s := AppState{Lagging: l.flags&lineLags != 0}
	if l.flags&lineHeard != 0 {
		s.Heard = moment(l.heard, now)
	}
	return s
}

// SetApp keeps a judgement that [NextApp] returned.
func (l *Line) SetApp(s AppState) {
	l.flag(lineLags, s.Lagging)
	l.flag(lineHeard, s.Heard != 0)
	l.heard = seconds(s.Heard)
}

// Low returns the silence that the session's network bears, 0 = not known.
func (l *Line) Low() time.Duration { return time.Duration(l.known&lowMask) * lowStep * time.Second }

// SetLow keeps it, rounded down to four seconds.
func (l *Line) SetLow(d time.Duration) {
	steps := min(max(d/(lowStep*time.Second), 0), lowMask)
	l.known = l.known&^lowMask | uint16(steps)
}

// TakeEcho takes one trial from the budget and says whether there was one. Half of a day's number may be used at
// once, and the other half comes back evenly over the day, so no 24 hours see more than perDay. Slots are counted modulo
// 64, so what was used 64 slots ago (128 hours, of 24 a day) counts once more: a trial is refused that could be granted, and
// the client asks again after the next grant.
func (l *Line) TakeEcho(perDay int, now Time) bool {
	burst := perDay / 2
	if burst == 0 {
		return false
	}
	day := Time(24 * time.Hour / unit)
	slot := uint16(now/(day/Time(burst))) & slotMask
	passed := int(slot-l.flags>>slotAt) & slotMask
	used := max(int(l.known>>usedAt&usedMask)-passed, 0)
	ok := used < burst
	if ok {
		used++
	}
	l.flags = l.flags&^(slotMask<<slotAt) | slot<<slotAt
	l.known = l.known&^(usedMask<<usedAt) | uint16(used)<<usedAt
	return ok
}

// Wakeable says that a push alone may not reach the user: the notifier may wake the device.
func (l *Line) Wakeable() bool {
	return Path(l.flags&linePath) == PathSuspect || l.flags&lineLags != 0
}

// Mark is called once in each pass of the sweep. It says when the route is to be written: once Wakeable has differed
// for five passes from what the route says, so that a short doubt costs no write.
func (l *Line) Mark() (write bool) {
	passes := uint16(0)
	if l.Wakeable() != l.Marked() {
		passes = l.flags>>passesAt&passesMask + 1
	}
	if passes == markPasses {
		passes, write = 0, true
		l.flag(lineMarked, !l.Marked())
	}
	l.flags = l.flags&^(passesMask<<passesAt) | passes<<passesAt
	return write
}

// Marked is what the route says, or is about to.
func (l *Line) Marked() bool { return l.flags&lineMarked != 0 }

func (l *Line) flag(bit uint16, on bool) {
	if on {
		l.flags |= bit
	} else {
		l.flags &^= bit
	}
}

const second = Time(time.Second / unit)

// wholeSecond rounds up, so that nothing counted from there comes early.
func (t Time) wholeSecond() Time { return (t + second - 1) / second * second }

func seconds(t Time) uint16 { return uint16(t / second) }

// moment is the latest whole second not after now, rounded up, that s stands for.
func moment(s uint16, now Time) Time {
	latest := now.wholeSecond() / second
	return (latest - Time(uint16(latest)-s)) * second
}
