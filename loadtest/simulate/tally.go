package simulate

// tally is what one phone went through with one algorithm.
type tally struct {
	wakeups, breaks, kills, pushes, late, trials int
	seen, closed                                 []int64
}
