package servertest

import (
	"testing"
	"time"

	"lifeline/protocol"
)

// TestWhoVanishedIsOnlineUntilItIsNoticed [P-6.41]: presence is a hint. A line that breaks without a word counts for as
// long as the server doubts it, also when it is the only one and suspect [P-6.38]; then it is offline since the last word.
// Nobody is told who does not ask.
func TestWhoVanishedIsOnlineUntilItIsNoticed(t *testing.T) {
	script(t, func(t *testing.T) {
		n := Start(t, 1)
		ann, _ := n.Login(0, Login{User: "ann", Device: "phone"})
		bob, _ := n.Login(0, Login{User: "bob", Device: "phone"})
		bob.Ack(0)
		vanished := time.Now()
		suspect := false
		for time.Since(vanished) < 5*time.Minute {
			for _, f := range silentFor(ann, 10*time.Second) {
				t.Fatalf("unasked, ann is told %s", f.AppendText(nil))
			}
			seen := ann.ask("bob")[0]
			if bob.Ended() {
				if at := time.UnixMilli(int64(seen.LastSeenMs)); seen.State != protocol.Offline || len(seen.Devices) != 0 || at.Sub(vanished).Abs() > time.Second {
					t.Errorf("after the end: %+v, seen at %v, vanished at %v", seen, at, vanished)
				}
				if !suspect {
					t.Error("there was no doubt before the end")
				}
				return
			}
			if seen.State != protocol.Online || seen.LastSeenMs != 0 || len(seen.Devices) != 1 {
				t.Fatalf("after %v of silence: %+v", time.Since(vanished), seen)
			}
			suspect = suspect || seen.Devices[0].Suspect
		}
		t.Error("it was never noticed")
	})
}
