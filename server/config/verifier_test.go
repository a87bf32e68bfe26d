package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"lifeline/server/auth"
)

func TestDevelopmentVerifier(t *testing.T) {
	v, err := Default().Auth.Verifier()
	if err != nil {
		t.Fatal(err)
	}
	if id, err := v.Verify([]byte("dev:alice"), time.Now()); err != nil || id.User != "alice" {
		t.Errorf("got %+v, %v", id, err)
	}
}

func TestVerifierReadsKeyFiles(t *testing.T) {
	secret := strings.Repeat("s", 32)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := Auth{Mode: AuthJWT, Audience: "lifeline", Keys: []Key{{"a", auth.HS256, file}}}.Verifier()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_900_000_000, 0)
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "alice", "aud": "lifeline", "exp": now.Unix() + 60})
	token.Header["kid"] = "a"
	signed, err := token.SignedString([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	if id, err := v.Verify([]byte(signed), now); err != nil || id.User != "alice" {
		t.Errorf("got %+v, %v", id, err)
	}
	if _, err := v.Verify([]byte("dev:alice"), now); auth.RefusalOf(err) != auth.BadToken {
		t.Errorf("a development token in jwt mode: %v", err)
	}
}

func TestVerifierReportsEveryFile(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Auth{Mode: AuthJWT, Audience: "lifeline", Keys: []Key{{"a", auth.EdDSA, "/does/not/exist"}, {"b", auth.EdDSA, empty}}}.Verifier()
	if err == nil || !strings.Contains(err.Error(), "/does/not/exist") || !strings.Contains(err.Error(), empty) {
		t.Errorf("got %v", err)
	}
}
