//go:build race

package servertest

// stallSessions is smaller under the race detector, which makes log-ins slow.
const stallSessions = 2000
