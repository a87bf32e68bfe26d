//go:build !race

package servertest

// stallSessions is how many sessions TestAStallHarmsNobody has.
const stallSessions = 15_000
