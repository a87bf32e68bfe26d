package server

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"lifeline/server/auth"
	"lifeline/server/config"
	"lifeline/server/session"
	"lifeline/store"
)

// TestTheDocumentedLimitsAreTheServers [P-4.4]: the table of docs/protocol.md says what the code does, as far as the
// codec's own test does not hold it.
func TestTheDocumentedLimitsAreTheServers(t *testing.T) {
	text, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		fmt.Sprintf("time to a complete, authenticated Connect | %d s", int(connectTimeout.Seconds())),
		fmt.Sprintf("time to a whole frame, once it has begun | %d min", int(frameTime.Minutes())),
		fmt.Sprintf("Sends without their answer | %d", maxSends),
		fmt.Sprintf("other requests without their answer | %d, of which one Pull", maxRequests),
		fmt.Sprintf("range of a Pull | %d", store.MaxHistory),
		fmt.Sprintf("entries pushed and not acknowledged | %d", config.Default().PushWindow),
		fmt.Sprintf("bytes of them the server keeps unsent before it waits | %d", session.OutboundHigh),
		fmt.Sprintf("token | %d bytes", auth.MaxTokenBytes),
	} {
		if !strings.Contains(string(text), "\n| "+row+" |") {
			t.Errorf("the document has no row %q", row)
		}
	}
}
