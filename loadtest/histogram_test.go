package loadtest

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestStepsOfAHistogram(t *testing.T) {
	for _, ns := range []int64{0, 1, 127, 128, 255, 256, 257, 1000, 65_535, 65_536, millisecond, second, 1<<highestBits - 1} {
		i := stepOf(ns)
		if top := topOf(i); top < ns || float64(top) > float64(ns)*(1+1.0/steps) {
			t.Errorf("%d is in a step up to %d", ns, top)
		}
	}
	for i := range len(new(histogram).counts) {
		if got := stepOf(topOf(i)); got != i {
			t.Fatalf("the top of step %d is in step %d", i, got)
		}
		if i > 0 && stepOf(topOf(i-1)+1) != i {
			t.Fatalf("what follows step %d is not in step %d", i-1, i)
		}
	}
}

func TestQuantiles(t *testing.T) {
	for _, tt := range []struct {
		name          string
		values        []int64
		p50, p99, max int64
	}{
		{"nothing", nil, 0, 0, 0},
		{"one", []int64{5}, 5, 5, 5},
		{"two", []int64{5, 9}, 5, 9, 9},
		{"a hundred", upTo(100), 50, 99, 100},
		{"two hundred", upTo(200), 100, 198, 200},
		{"never above the maximum", []int64{1_000_001}, 1_000_001, 1_000_001, 1_000_001},
		{"rounded up to the step", []int64{1_000_000, 9_000_000}, topOf(stepOf(1_000_000)), 9_000_000, 9_000_000},
		{"below zero", []int64{-5}, 0, 0, 0},
		{"beyond all steps", []int64{1 << 50}, 1<<highestBits - 1, 1<<highestBits - 1, 1<<highestBits - 1},
	} {
		var h histogram
		for _, v := range tt.values {
			h.record(v)
		}
		if p50, p99 := h.quantile(0.5), h.quantile(0.99); p50 != tt.p50 || p99 != tt.p99 || h.max != tt.max {
			t.Errorf("%s: p50 %d, p99 %d, max %d; want %d, %d, %d", tt.name, p50, p99, h.max, tt.p50, tt.p99, tt.max)
		}
	}
}

func upTo(n int64) (all []int64) {
	for v := int64(1); v <= n; v++ {
		all = append(all, v)
	}
	return all
}

func TestQuantilesOfManyAreNear(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var whole, half, other histogram
	var all []int64
	for i := range 10_000 {
		v := int64(random.ExpFloat64() * 20 * millisecond)
		all = append(all, v)
		whole.record(v)
		[]*histogram{&half, &other}[i%2].record(v)
	}
	half.merge(&other)
	if half != whole {
		t.Error("two halves merged are not the whole")
	}
	slices.Sort(all)
	for _, q := range []float64{0.001, 0.5, 0.9, 0.99, 0.999, 1} {
		want := all[max(0, int(q*float64(len(all)))-1)]
		if got := whole.quantile(q); got < want || float64(got) > float64(want)*(1+1.0/steps) {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
}
