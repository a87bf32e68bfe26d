package servertest

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
	"lifeline/server"
	"lifeline/server/auth"
)

// dated accepts development tokens that end so long after a moment as stands behind an @; without one they never end.
type dated struct{ from time.Time }

// Verify implements auth.Verifier.
func (d dated) Verify(token []byte, now time.Time) (auth.Identity, error) {
	token, span, ends := bytes.Cut(token, []byte("@"))
	id, err := auth.Development{}.Verify(token, now)
	if ends && err == nil {
		var after time.Duration
		after, err = time.ParseDuration(string(span))
		id.Expiry = d.from.Add(after)
	}
	return id, err
}

// TestASessionEndsAMinuteAfterItsToken, and lives on with a fresh one [P-6.30]. All times are counted from the start.
func TestASessionEndsAMinuteAfterItsToken(t *testing.T) {
	type reauth struct {
		at    time.Duration
		token string
	}
	for _, tt := range []struct {
		name    string
		reauths []reauth
		ends    time.Duration // 0 = never
	}{
		{"no fresh token", nil, 160 * time.Second},
		{"in time", []reauth{{50 * time.Second, "dev:bob@300s"}}, 360 * time.Second},
		{"twice", []reauth{{50 * time.Second, "dev:bob@200s"}, {190 * time.Second, "dev:bob@300s"}}, 360 * time.Second},
		{"in the last moment of the minute", []reauth{{158 * time.Second, "dev:bob@300s"}}, 360 * time.Second},
		{"one that ends sooner", []reauth{{20 * time.Second, "dev:bob@30s"}}, 90 * time.Second},
		{"one that never ends", []reauth{{50 * time.Second, "dev:bob"}}, 0},
		{"another user's", []reauth{{50 * time.Second, "dev:eve@300s"}}, 160 * time.Second},
		{"a bad one", []reauth{{50 * time.Second, "bob@300s"}}, 160 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script(t, func(t *testing.T) {
				start := time.Now()
				n := Start(t, 1, func(o *server.CoreOptions) { o.Verifier = dated{start} })
				bob, _ := n.Login(0, Login{User: "bob", Device: "phone", Token: "dev:bob@100s", Activity: protocol.Background})
				until := func(at time.Duration) {
					t.Helper()
					for time.Since(start) < at {
						Idle(min(30*time.Second, at-time.Since(start)))
						bob.Send(&protocol.Ping{})
					}
					synctest.Wait()
					if n.Core.Sessions() != 1 {
						t.Fatalf("the session has ended %v after the start", time.Since(start))
					}
				}
				for i, r := range tt.reauths {
					until(r.at)
					bob.Pending()
					bob.Send(&protocol.Reauth{ID: uint64(i + 1), Token: []byte(r.token)})
					Expect[*protocol.Result](bob)
				}
				if tt.ends == 0 {
					until(time.Hour)
					return
				}
				until(tt.ends - time.Second)
				Idle(3 * time.Second)
				if n.Core.Sessions() != 0 {
					t.Errorf("the session goes on %v after the start", time.Since(start))
				}
				bob.ExpectClose(protocol.CodeTokenExpired)
				nothingLeft(t, n)
			})
		})
	}
}

// TestAFreshTokenSaysWhenItEnds, so that the client knows when to come with the next one.
func TestAFreshTokenSaysWhenItEnds(t *testing.T) {
	script(t, func(t *testing.T) {
		start := time.Now()
		n := Start(t, 1, func(o *server.CoreOptions) { o.Verifier = dated{start} })
		bob, hello := n.Login(0, Login{User: "bob", Device: "phone", Token: "dev:bob@100s"})
		got := []uint64{hello.TokenExpiryMs}
		for i, token := range []string{"dev:bob@300s", "dev:bob"} {
			bob.Send(&protocol.Reauth{ID: uint64(i + 1), Token: []byte(token)})
			got = append(got, Expect[*protocol.Result](bob).TokenExpiryMs)
		}
		want := []uint64{uint64(start.Add(100 * time.Second).UnixMilli()), uint64(start.Add(300 * time.Second).UnixMilli()), 0}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the tokens are said to end at %d, want %d", got, want)
		}
	})
}
