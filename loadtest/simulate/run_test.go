package simulate

import (
	"bytes"
	"strings"
	"testing"
)

var small = Options{Clients: 60, Days: 5, Seeds: []uint64{11, 12}}

func jsonOf(t *testing.T, o Options) string {
	t.Helper()
	report, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := report.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestRunDependsOnItsOptionsAlone(t *testing.T) {
	o := Options{Clients: 12, Days: 2, Seeds: []uint64{7}, Workers: 1}
	first := jsonOf(t, o)
	o.Workers = 5
	if jsonOf(t, o) != first {
		t.Error("the number of workers changes the result")
	}
	o.Seeds = []uint64{8}
	if jsonOf(t, o) == first {
		t.Error("the seed changes nothing")
	}
}

// The relations that the design rests on, with seeds that it was not tuned with. The factors leave room for so few phones
// and days.
func TestOrder(t *testing.T) {
	report, err := Run(small)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Result{}
	for _, r := range report.Results {
		by[r.Algorithm] = r
	}
	half, one, four, smart, own := by["fixed 30 s"], by["fixed 60 s"], by["fixed 4.5 min"], by["smart, client only"], by["this design"]
	less := func(what string, factor float64, a, b Figure) {
		t.Helper()
		for i := range a.Values {
			if a.Values[i]*factor >= b.Values[i] {
				t.Errorf("seed %d, %s: %.4f is not less than 1/%.1f of %.4f", report.Seeds[i], what, a.Values[i], factor, b.Values[i])
			}
		}
	}
	less("wake-ups, 60 s and 30 s", 1.5, one.Wakeups, half.Wakeups)
	less("wake-ups, 4.5 min and 60 s", 3, four.Wakeups, one.Wakeups)
	less("wake-ups, design and 4.5 min", 1.5, own.Wakeups, four.Wakeups)
	less("false kills, 60 s and 30 s", 1.5, one.FalseKills, half.FalseKills)
	less("false kills, 4.5 min and 60 s", 3, four.FalseKills, one.FalseKills)
	less("false kills, smart and 4.5 min", 2, smart.FalseKills, four.FalseKills)
	less("false kills, design and smart", 3, own.FalseKills, smart.FalseKills)
	less("breaks, design and 4.5 min", 3, own.Breaks, four.Breaks)
	less("breaks, design and smart", 5, own.Breaks, smart.Breaks)
	less("late pushes, design and 4.5 min", 5, own.LatePushes, four.LatePushes)
	less("late pushes, design and smart", 5, own.LatePushes, smart.LatePushes)
	less("seen, 60 s and 4.5 min", 3, one.SeenMean, four.SeenMean)
	less("seen, 4.5 min and design", 1, four.SeenMean, own.SeenMean)
	less("seen, design and smart", 1, own.SeenMean, smart.SeenMean)
}

func TestOptions(t *testing.T) {
	o := Options{}.withDefaults()
	if o.Clients != 1500 || o.Days != 14 || len(o.Seeds) != 5 || o.Workers < 1 {
		t.Errorf("defaults %+v", o)
	}
	_, err := Run(Options{Clients: -1, Days: 400, Workers: -1})
	if err == nil {
		t.Fatal("nonsense was simulated")
	}
	for _, want := range []string{"clients is -1", "days is 400", "workers is -1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}
