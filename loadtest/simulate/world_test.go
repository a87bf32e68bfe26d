package simulate

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

func worldOf(seed uint64) world { return newWorld(rand.New(rand.NewPCG(seed, 1)), 14) }

// A world is in order, ends where it should, and takes the phone to networks that exist.
func TestWorldIsWhole(t *testing.T) {
	for seed := range uint64(50) {
		w := worldOf(seed)
		net, front, count := gone, false, map[kind]int{}
		for i, e := range w.events {
			count[e.kind]++
			if i > 0 && e.at < w.events[i-1].at {
				t.Fatalf("seed %d: event %d comes before the one in front of it", seed, i)
			}
			if last := i == len(w.events)-1; last != (e.kind == ends) || last && e.at != 14*day {
				t.Fatalf("seed %d: event %d of %d is %d at %d", seed, i, len(w.events), e.kind, e.at)
			}
			switch e.kind {
			case toNetwork:
				if e.net < gone || e.net >= numNetworks {
					t.Fatalf("seed %d: network %d", seed, e.net)
				}
				if net < 0 && e.net < 0 && i > 0 {
					t.Fatalf("seed %d: from nowhere to nowhere", seed)
				}
				net = e.net
			case toFront, toBack:
				if front == (e.kind == toFront) {
					t.Fatalf("seed %d: opened or closed twice", seed)
				}
				front = e.kind == toFront
			}
		}
		for k := toNetwork; k < freezes; k++ {
			if count[k] < 14 {
				t.Errorf("seed %d: only %d events of kind %d in 14 days", seed, count[k], k)
			}
		}
	}
}

func TestWorldDependsOnItsSeedAlone(t *testing.T) {
	if a, b := worldOf(3), worldOf(3); !reflect.DeepEqual(a, b) {
		t.Error("the same seed makes two worlds")
	}
	if a, b := worldOf(3), worldOf(4); reflect.DeepEqual(a, b) {
		t.Error("two seeds make the same world")
	}
}

// The mix is what the tables say.
func TestMix(t *testing.T) {
	const n = 100_000
	r := rand.New(rand.NewPCG(1, 2))
	for name, bands := range map[string][]band{"wifi": wifiBands, "cellular": cellBands} {
		kinds, in := map[translation]float64{}, make([]float64, len(bands))
		for range n {
			m := newMapping(r, bands)
			kinds[m.kind]++
			for i, b := range bands {
				if minutes := float64(m.life) / minute; minutes >= b.from-0.001 && minutes < b.to {
					in[i]++
				}
			}
		}
		near := func(what string, got, want float64) {
			t.Helper()
			if got/n < want-0.01 || got/n > want+0.01 {
				t.Errorf("%s: %s %.3f, want %.3f", name, what, got/n, want)
			}
		}
		near("loose", kinds[loose], looseShare)
		near("strict", kinds[strict], strictShare)
		near("resets", kinds[resets], 1-looseShare-strictShare)
		total := 0.0
		for i, b := range bands {
			near("band", in[i], b.share)
			total += b.share
		}
		if total < 0.9999 || total > 1.0001 {
			t.Errorf("%s: the shares add up to %v", name, total)
		}
	}
}

func TestNetworkChangesOnce(t *testing.T) {
	n := network{before: mapping{life: hour}, after: mapping{life: minute}, changes: day}
	r := rand.New(rand.NewPCG(1, 2))
	for at, want := range map[int64]int64{0: hour, day - 1: hour, day: minute, 100 * day: minute} {
		got := n.mapping(r, at).life
		if float64(got) < float64(want)*(1-lifeJitter)-1 || float64(got) > float64(want)*(1+lifeJitter)+1 {
			t.Errorf("at %d: %d, want about %d", at, got, want)
		}
	}
}
