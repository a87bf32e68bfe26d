package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lifeline/server/auth"
)

func TestDevelopmentToken(t *testing.T) {
	for _, flag := range []string{"--sub", "--as"} {
		if code, stdout, _ := here(t, nil, "", "token", flag, "bob"); code != 0 || stdout != "dev:bob\n" {
			t.Errorf("%s: %d %q", flag, code, stdout)
		}
	}
	code, stdout, _ := here(t, nil, "", "token", "--sub", "bob", "-o", "json")
	got := parseLines[printedToken](t, stdout)
	if code != 0 || len(got) != 1 || got[0].Token != "dev:bob" || got[0].Sub != "bob" || got[0].Expires != nil {
		t.Errorf("%d %s", code, stdout)
	}
}

// What this command signs, the server's own check accepts.
func TestSignedTokens(t *testing.T) {
	for _, algorithm := range []string{auth.EdDSA, auth.HS256} {
		dir := t.TempDir()
		file := filepath.Join(dir, "2026.pem")
		code, stdout, stderr := here(t, nil, "", "token", "--new-key", file, "--algorithm", algorithm, "-o", "json")
		if code != 0 {
			t.Fatalf("%s: %d %s", algorithm, code, stderr)
		}
		key := parseLines[printedKey](t, stdout)[0]
		if key.Kid != "2026" || key.Algorithm != algorithm || key.Private != file {
			t.Errorf("%s: %+v", algorithm, key)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the private key's file is %v %v", algorithm, info, err)
		}
		if code, _, stderr := here(t, nil, "", "token", "--new-key", file); code != 1 || !strings.Contains(stderr, "exists") {
			t.Errorf("%s: a key was written over another: %d %s", algorithm, code, stderr)
		}
		verifier := verifier(t, &key)
		code, stdout, stderr = here(t, nil, "", "token", "--key", file, "--sub", "bob", "--device", "phone", "--ttl", "1h", "-o", "json")
		if code != 0 {
			t.Fatalf("%s: %d %s", algorithm, code, stderr)
		}
		token := parseLines[printedToken](t, stdout)[0]
		identity, err := verifier.Verify([]byte(token.Token), time.Now())
		if err != nil || identity.User != "bob" || identity.Device != "phone" || !identity.Expiry.Equal(*token.Expires) {
			t.Errorf("%s: %+v %v, printed %+v", algorithm, identity, err, token)
		}
		if _, err := verifier.Verify([]byte(token.Token), time.Now().Add(2*time.Hour)); err == nil {
			t.Errorf("%s: good for longer than an hour", algorithm)
		}
		_, stdout, _ = here(t, nil, "", "token", "--key", file, "--sub", "bob", "--audience", "other")
		if _, err := verifier.Verify([]byte(strings.TrimSpace(stdout)), time.Now()); err == nil {
			t.Errorf("%s: good for another audience", algorithm)
		}
	}
}

func verifier(t *testing.T, key *printedKey) auth.Verifier {
	t.Helper()
	content, err := os.ReadFile(key.Server)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := auth.ParseKey(key.Kid, key.Algorithm, content)
	if err != nil {
		t.Fatal(err)
	}
	v, err := auth.NewJWT("lifeline", []auth.Key{parsed})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestKeysThatCannotSign(t *testing.T) {
	dir := t.TempDir()
	pair := filepath.Join(dir, "k.pem")
	if code, stdout, _ := here(t, nil, "", "token", "--new-key", pair, "--kid", "mine"); code != 0 || stdout != "lifelined --auth-mode jwt --auth-key mine:EdDSA:"+pair+".pub\n" {
		t.Fatalf("%d %q", code, stdout)
	}
	short, rsa := filepath.Join(dir, "short"), filepath.Join(dir, "rsa")
	for file, content := range map[string]string{short: "secret", rsa: "-----BEGIN PRIVATE KEY-----\nMDEC\n-----END PRIVATE KEY-----\n"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{pair + ".pub": "PUBLIC KEY", short: "at least 32 bytes", rsa: "asn1", filepath.Join(dir, "none"): "no such file"} {
		if code, _, stderr := here(t, nil, "", "token", "--key", file, "--sub", "bob"); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d %q, want %q", file, code, stderr, want)
		}
	}
}

func TestWhoALoginIs(t *testing.T) {
	signer := &signer{kid: "k", audience: "a", ttl: time.Hour}
	var err error
	if signer.method, signer.key, err = privateKey([]byte(strings.Repeat("s", 32))); err != nil {
		t.Fatal(err)
	}
	signed, err := signer.sign("carol", "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		l    login
		env  string
		want string
	}{
		{login{user: "bob"}, "dev:alice", "bob"},
		{login{token: "dev:bob"}, "dev:alice", "bob"},
		{login{}, "dev:alice", "alice"},
		{login{token: signed}, "", "carol"},
		{login{token: "a.b.c"}, "", "?"},
		{login{token: "opaque"}, "", "?"},
	} {
		around := surroundings{environment: []string{"LIFELINE_TOKEN=" + tt.env}}
		if got := tt.l.name(around); got != tt.want {
			t.Errorf("%+v with %s: %s, want %s", tt.l, tt.env, got, tt.want)
		}
	}
}
