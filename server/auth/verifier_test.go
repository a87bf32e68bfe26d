package auth

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDevelopmentTokens(t *testing.T) {
	for _, tt := range []struct {
		token string
		user  string // empty = refused
	}{
		{"dev:alice", "alice"},
		{"dev:dev:alice", "dev:alice"},
		{"dev:" + strings.Repeat("u", 64), strings.Repeat("u", 64)},
		{"dev:日本", "日本"},
		{"dev:" + strings.Repeat("u", 65), ""},
		{"dev:", ""},
		{"alice", ""},
		{"DEV:alice", ""},
		{"", ""},
		{"dev:a\x1fb", ""},
		{"dev:a\x00", ""},
		{"dev:\xff", ""},
	} {
		id, err := Development{}.Verify([]byte(tt.token), time.Time{})
		if tt.user == "" {
			if RefusalOf(err) != BadToken || id != (Identity{}) {
				t.Errorf("%q: got %+v, %v; want BadToken", tt.token, id, err)
			}
			continue
		}
		if want := (Identity{User: tt.user, Development: true}); err != nil || id != want {
			t.Errorf("%q: got %+v, %v; want %+v", tt.token, id, err, want)
		}
	}
}

func TestDevelopmentVerifyAllocatesOnlyTheUser(t *testing.T) {
	token := []byte("dev:alice")
	if n := testing.AllocsPerRun(100, func() { _, _ = Development{}.Verify(token, time.Time{}) }); n > 1 {
		t.Errorf("%v allocations, want at most 1", n)
	}
}

func TestIdentityAllows(t *testing.T) {
	for _, tt := range []struct {
		bound, device string
		want          error
	}{
		{"", "phone", nil},
		{"phone", "phone", nil},
		{"phone", "desktop", DeviceMismatch},
		{"phone", "", DeviceMismatch},
		{"phone", "Phone", DeviceMismatch},
	} {
		if got := (Identity{Device: tt.bound}).Allows(tt.device); got != tt.want {
			t.Errorf("token for %q on %q: got %v, want %v", tt.bound, tt.device, got, tt.want)
		}
	}
}

func TestRefusalOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Refusal
	}{
		{nil, None},
		{BadToken, BadToken},
		{fmt.Errorf("%w: because", Expired), Expired},
		{fmt.Errorf("a: %w", fmt.Errorf("b: %w", DeviceMismatch)), DeviceMismatch},
		{errors.New("disk on fire"), Internal},
		{fmt.Errorf("%w", None), Internal},
	} {
		if got := RefusalOf(tt.err); got != tt.want {
			t.Errorf("RefusalOf(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestEveryRefusalHasItsOwnText(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Refusals() {
		text := r.Error()
		if text == "" || text == "unknown" || seen[text] {
			t.Errorf("refusal %d: text %q is empty or taken", r, text)
		}
		seen[text] = true
	}
	if got := Refusal(len(Refusals())).Error(); got != "unknown" {
		t.Errorf("value past the end reads %q", got)
	}
}
