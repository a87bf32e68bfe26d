package simulate

import (
	"math/rand/v2"
	"slices"
)

// kind is what happens to a phone, whatever its algorithm.
type kind uint8

const (
	toNetwork kind = iota // it is on network net; -1 = a moment without coverage, -2 = off or far away for long
	toFront               // its user opens the app
	toBack
	pushed // the server has a message for it
	sends  // its user sends a message
	freezes
	thaws
	ends // of the simulation
)

const (
	noCoverage = -1
	gone       = -2
)

type event struct {
	at   int64
	kind kind
	net  int // of toNetwork
}

// A phone's life. Means, per day where it says so.
const (
	lifts        = 4.0         // moments without coverage
	liftMean     = 30 * second // but 5 s to 3 min
	absences     = 0.7         // battery empty, flight mode, a cellar: it vanishes without a word
	absenceLeast = 40 * minute
	absenceMost  = 6 * hour
	freezesDaily = 0.1 // the system stops the process; its kernel still answers
	freezeLeast  = 2 * minute
	freezeMost   = 30 * minute
	sessions     = 20.0 // times the app is opened
	sessionMean  = 8 * minute
	sessionSends = 2.0
	pushesFront  = 0.15 // per minute of a session
	pushesBack   = 40.0 // while it is awake
	pushesNight  = 3.0
	wakesAt      = 7 * hour
	sleepsAt     = 23 * hour
)

// world is the life of one phone.
type world struct {
	networks []network
	events   []event
	late     float64 // share of the alarms in background that come late
}

// Networks of a phone.
const (
	home = iota
	work
	cellular
	elsewhere
	numNetworks
)

func newWorld(r *rand.Rand, days int) world {
	w := world{networks: make([]network, numNetworks), late: lateShare}
	for i := range w.networks {
		bands := wifiBands
		if i == cellular {
			bands = cellBands
		}
		w.networks[i] = newNetwork(r, uint64(i)+1, bands)
	}
	end := int64(days) * day
	w.addNetworks(r, end)
	w.addSessions(r, end)
	w.addPushes(r, end)
	w.addFreezes(r, end)
	slices.SortStableFunc(w.events, func(a, b event) int { return int(a.at - b.at) })
	cut := slices.IndexFunc(w.events, func(e event) bool { return e.at >= end })
	if cut < 0 {
		cut = len(w.events)
	}
	w.events = append(w.events[:cut], event{end, ends, 0})
	return w
}

func (w *world) add(at int64, k kind, arg int) { w.events = append(w.events, event{at, k, arg}) }

func between(r *rand.Rand, from, to int64) int64 { return from + r.Int64N(to-from) }

// span is a time with something in it.
type span struct {
	from, to int64
	net      int
}

// addNetworks writes down where the phone is, with the moments and the hours that it is nowhere.
func (w *world) addNetworks(r *rand.Rand, end int64) {
	places := places(r, end)
	nowhere := append(
		spans(r, end, lifts, noCoverage, func() int64 { return min(max(int64(r.ExpFloat64()*liftMean), 5*second), 3*minute) }),
		spans(r, end, absences, gone, func() int64 { return between(r, absenceLeast, absenceMost) })...)
	slices.SortFunc(nowhere, func(a, b span) int { return int(a.from - b.from) })
	next := 0
	at := int64(-1)
	for _, s := range nowhere {
		if s.from <= at {
			continue // in another one
		}
		for ; next < len(places) && places[next].from < s.from; next++ {
			w.add(places[next].from, toNetwork, places[next].net)
		}
		w.add(s.from, toNetwork, s.net)
		for next < len(places) && places[next].from <= s.to {
			next++
		}
		w.add(s.to, toNetwork, places[next-1].net)
		at = s.to
	}
	for _, p := range places[next:] {
		w.add(p.from, toNetwork, p.net)
	}
}

// places is the day of someone who goes to work and out.
func places(r *rand.Rand, end int64) []span {
	places := []span{{net: home}}
	for d := int64(0); d < end; d += day {
		visit := func(from, to int64, net int) {
			places = append(places, span{from: d + from, net: cellular}, span{from: d + to, net: net})
		}
		leaves := between(r, 8*hour, 9*hour)
		arrives := leaves + between(r, 15*minute, hour)
		visit(leaves, arrives, work)
		lunch := between(r, 12*hour, 13*hour)
		visit(lunch, lunch+between(r, 10*minute, 40*minute), work)
		back := between(r, 17*hour, 18*hour)
		arrives = back + between(r, 15*minute, hour)
		visit(back, arrives, home)
		if r.Float64() < 0.4 {
			out := arrives + between(r, 20*minute, hour)
			there := out + between(r, 5*minute, 30*minute)
			visit(out, there, elsewhere)
			leaves = there + between(r, hour, 2*hour)
			visit(leaves, leaves+between(r, 5*minute, 30*minute), home)
		}
	}
	return places
}

// spans draws spans of a length, perDay of them.
func spans(r *rand.Rand, end int64, perDay float64, net int, length func() int64) []span {
	var all []span
	for at := int64(0); ; {
		at += int64(r.ExpFloat64() / perDay * day)
		if at >= end {
			return all
		}
		all = append(all, span{at, at + length(), net})
	}
}

// addSessions opens and closes the app between waking and sleeping.
func (w *world) addSessions(r *rand.Rand, end int64) {
	gap := float64(sleepsAt-wakesAt)/sessions - sessionMean
	for d := int64(0); d < end; d += day {
		at := d + wakesAt
		for {
			at += int64(r.ExpFloat64()*gap) + second
			to := at + int64(r.ExpFloat64()*sessionMean) + 5*second
			if to >= d+sleepsAt {
				break
			}
			w.add(at, toFront, 0)
			w.add(to, toBack, 0)
			for range poisson(r, sessionSends) {
				w.add(between(r, at, to), sends, 0)
			}
			for range poisson(r, pushesFront*float64(to-at)/minute) {
				w.add(between(r, at, to), pushed, 0)
			}
			at = to
		}
	}
}

func (w *world) addPushes(r *rand.Rand, end int64) {
	for d := int64(0); d < end; d += day {
		for range poisson(r, pushesBack) {
			w.add(d+between(r, wakesAt, sleepsAt), pushed, 0)
		}
		for range poisson(r, pushesNight) {
			w.add(d+(sleepsAt+r.Int64N(day-sleepsAt+wakesAt))%day, pushed, 0)
		}
	}
}

func (w *world) addFreezes(r *rand.Rand, end int64) {
	for _, s := range spans(r, end, freezesDaily, 0, func() int64 { return between(r, freezeLeast, freezeMost) }) {
		w.add(s.from, freezes, 0)
		w.add(s.to, thaws, 0)
	}
}

// poisson draws a number of events with a mean.
func poisson(r *rand.Rand, mean float64) int {
	n := 0
	for at := r.ExpFloat64(); at < mean; at += r.ExpFloat64() {
		n++
	}
	return n
}
