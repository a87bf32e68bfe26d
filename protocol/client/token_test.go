package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lifeline/protocol"
)

func TestBadTokenIsRefreshed(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		expect[*protocol.Connect](l)
		l.close(protocol.CodeTokenExpired.Status())
		l = w.at(0)
		if f := expect[*protocol.Connect](l); string(f.Token) != "token 2" {
			t.Errorf("the second token is %s", f.Token)
		}
		l.close(protocol.CodeBadToken.Status())
		l = w.at(time.Second)
		l.begin(0)
		l.drop()
		w.within(0, time.Minute).resume(0)
		if want := []bool{false, true, true, false}; !slices.Equal(w.renewed, want) {
			t.Errorf("the callback was asked %v, want %v", w.renewed, want)
		}
	})
}

// The network changes while the app renews its token: whether the new one came is not known, so it is renewed.
func TestRefusedTokenIsRenewedAfterANetworkChange(t *testing.T) {
	adjust := func(w *world) {
		token := w.o.Token
		w.o.Token = func(ctx context.Context, renew bool) ([]byte, error) {
			out, err := token(ctx, renew)
			if renew && len(w.renewed) == 2 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return out, err
		}
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		expect[*protocol.Connect](l)
		l.close(protocol.CodeBadToken.Status())
		synctest.Wait()
		w.c.NetworkChanged(protocol.Network{})
		w.at(0).begin(0)
		if want := []bool{false, true, true}; !slices.Equal(w.renewed, want) {
			t.Errorf("the callback was asked %v, want %v", w.renewed, want)
		}
	})
}

func TestTokenThatCannotBeHad(t *testing.T) {
	var fail atomic.Bool
	adjust := func(w *world) {
		token := w.o.Token
		w.o.Token = func(ctx context.Context, renew bool) ([]byte, error) {
			out, err := token(ctx, renew)
			if fail.Load() {
				err = errNoRoute
			}
			return out, err
		}
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		expect[*protocol.Connect](l)
		fail.Store(true)
		l.close(protocol.CodeTokenExpired.Status())
		time.Sleep(500 * time.Millisecond)
		fail.Store(false)
		w.at(500 * time.Millisecond).begin(0)
		if want := []bool{false, true, true}; !slices.Equal(w.renewed, want) {
			t.Errorf("the callback was asked %v, want %v", w.renewed, want)
		}
		if !slices.Equal(w.dialled, []string{"tcp one:7400", "tcp one:7400"}) {
			t.Errorf("dialled %v: a missing token is not the host's fault", w.dialled)
		}
	})
}

// [P-6.30], by the server's clock [P-3.11].
func TestTokenIsRefreshedOnTheLine(t *testing.T) {
	play(t, nil, func(t *testing.T, w *world) {
		l := w.at(0)
		began := time.Now()
		const ahead = 3 * time.Hour // the server's clock
		expires := func(life time.Duration) uint64 { return uint64(time.Now().Add(ahead + life).UnixMilli()) }
		l.begin(0, func(f *protocol.Connack) {
			f.ServerTimeMs = uint64(began.Add(ahead).UnixMilli())
			f.TokenExpiryMs = expires(time.Hour)
		})
		f, at := expectAt[*protocol.Reauth](l)
		if string(f.Token) != "token 2" || at.Sub(began) != time.Hour-225*time.Second {
			t.Errorf("%s came after %v", f.Token, at.Sub(began))
		}
		began = time.Now()
		l.send(&protocol.Result{ID: f.ID, TokenExpiryMs: expires(10 * time.Minute)})
		f, at = expectAt[*protocol.Reauth](l)
		if string(f.Token) != "token 3" || at.Sub(began) != 10*time.Minute-90*time.Second {
			t.Errorf("%s came after %v", f.Token, at.Sub(began))
		}
		began = time.Now()
		l.send(&protocol.Error{ID: f.ID, FrameType: uint32(protocol.TypeReauth), Status: protocol.CodeBusy.Status()})
		if f, at = expectAt[*protocol.Reauth](l); at.Sub(began) != renewAgain {
			t.Errorf("after a refusal it came after %v", at.Sub(began))
		}
		l.send(&protocol.Result{ID: f.ID})
		l.quiet(4 * time.Hour)
		if want := []bool{false, true, true, true}; !slices.Equal(w.renewed, want) {
			t.Errorf("the callback was asked %v, want %v", w.renewed, want)
		}
	})
}

// A token that was refused, and there is no other: only the user can help.
func TestNoOtherToken(t *testing.T) {
	adjust := func(w *world) {
		w.o.Token = func(_ context.Context, renew bool) ([]byte, error) {
			if renew {
				return nil, fmt.Errorf("keychain: %w", ErrNoToken)
			}
			return []byte("t"), nil
		}
	}
	play(t, adjust, func(t *testing.T, w *world) {
		l := w.at(0)
		expect[*protocol.Connect](l)
		l.close(protocol.CodeBadToken.Status())
		err := w.result()
		refusal(t, err, protocol.CodeBadToken)
		if !errors.Is(err, ErrNoToken) {
			t.Errorf("Run returned %v", err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %q", err)
		}
	})
}

// The line that the fresh token was for is gone when the token comes: the next line has its own.
func TestTokenThatComesTooLate(t *testing.T) {
	var release chan struct{}
	adjust := func(w *world) {
		release = make(chan struct{})
		w.o.Token = func(_ context.Context, renew bool) ([]byte, error) {
			if renew {
				<-release
			}
			return []byte("t"), nil
		}
	}
	for _, online := range []bool{false, true} {
		play(t, adjust, func(t *testing.T, w *world) {
			l := w.at(0)
			l.begin(0, func(f *protocol.Connack) { f.TokenExpiryMs = f.ServerTimeMs + 60_000 })
			time.Sleep(time.Minute)
			l.drop()
			if online {
				l = w.at(time.Second)
				l.resume(0)
			}
			release <- struct{}{}
			synctest.Wait()
			if online {
				l.quiet(time.Minute)
			} else {
				w.at(time.Second).resume(0)
			}
		})
	}
}
