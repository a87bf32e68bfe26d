package auth

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"lifeline/protocol"
)

var noon = time.Unix(1_900_000_000, 0)

// sign makes a token as an identity provider would: the header's kid is the signer's unless header says otherwise.
func sign(tb testing.TB, s signer, header, body map[string]any) []byte {
	tb.Helper()
	token := jwt.NewWithClaims(jwt.GetSigningMethod(s.algorithm), jwt.MapClaims(body))
	token.Header["kid"] = s.kid
	maps.Copy(token.Header, header)
	signed, err := token.SignedString(s.private)
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(signed)
}

// with returns good claims, changed; a nil value removes a claim.
func with(changes map[string]any) map[string]any {
	body := map[string]any{"sub": "alice", "aud": "lifeline", "exp": noon.Add(time.Hour).Unix()}
	for k, v := range changes {
		body[k] = v
		if v == nil {
			delete(body, k)
		}
	}
	return body
}

func newVerifier(tb testing.TB, signers ...signer) *JWT {
	tb.Helper()
	var keys []Key
	for _, s := range signers {
		keys = append(keys, s.key(tb))
	}
	v, err := NewJWT("lifeline", keys)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestJWTAcceptsEachAlgorithm(t *testing.T) {
	var signers []signer
	for _, algorithm := range Algorithms() {
		signers = append(signers, newSigner(t, "key-"+algorithm, algorithm))
	}
	v := newVerifier(t, signers...)
	for _, s := range signers {
		token := sign(t, s, nil, with(map[string]any{"ll_device": "phone", "ll_rate": 7}))
		id, err := v.Verify(token, noon)
		want := Identity{User: "alice", Device: "phone", Expiry: noon.Add(time.Hour), Rate: 7}
		if err != nil || id != want {
			t.Errorf("%s: got %+v, %v; want %+v", s.algorithm, id, err, want)
		}
	}
}

func TestJWTClaims(t *testing.T) {
	s := newSigner(t, "k", EdDSA)
	v := newVerifier(t, s)
	at := func(d time.Duration) int64 { return noon.Add(d).Unix() }
	type m = map[string]any
	for _, tt := range []struct {
		name   string
		header m
		body   m
		want   Refusal
	}{
		{"good", nil, with(nil), None},
		{"audience in a list", nil, with(m{"aud": []string{"x", "lifeline"}}), None},
		{"expired within leeway", nil, with(m{"exp": at(-29 * time.Second)}), None},
		{"not yet, within leeway", nil, with(m{"nbf": at(29 * time.Second)}), None},
		{"at the leeway's end", nil, with(m{"exp": at(-30 * time.Second)}), Expired},
		{"expired", nil, with(m{"exp": at(-time.Hour)}), Expired},
		{"expired for another audience", nil, with(m{"exp": at(-time.Hour), "aud": "x"}), BadToken},
		{"expired without audience", nil, with(m{"exp": at(-time.Hour), "aud": nil}), BadToken},
		{"no expiry", nil, with(m{"exp": nil}), BadToken},
		{"expiry is text", nil, with(m{"exp": "tomorrow"}), BadToken},
		{"expiry beyond every calendar", nil, with(m{"exp": 9e18}), BadToken},
		{"not yet", nil, with(m{"nbf": at(time.Minute)}), BadToken},
		{"another audience", nil, with(m{"aud": "billing"}), BadToken},
		{"no audience", nil, with(m{"aud": nil}), BadToken},
		{"empty audience", nil, with(m{"aud": ""}), BadToken},
		{"no subject", nil, with(m{"sub": nil}), BadToken},
		{"subject too long", nil, with(m{"sub": strings.Repeat("u", 65)}), BadToken},
		{"subject with a separator", nil, with(m{"sub": "a\x1fb"}), BadToken},
		{"device invalid", nil, with(m{"ll_device": "a\nb"}), BadToken},
		{"rate negative", nil, with(m{"ll_rate": -1}), BadToken},
		{"rate fractional", nil, with(m{"ll_rate": 1.5}), BadToken},
		{"unknown kid", m{"kid": "other"}, with(nil), BadToken},
		{"kid is a number", m{"kid": 1}, with(nil), BadToken},
		{"critical header", m{"crit": []string{"b64"}, "b64": false}, with(nil), BadToken},
		{"too long", nil, with(m{"pad": strings.Repeat("p", MaxTokenBytes)}), BadToken},
	} {
		id, err := v.Verify(sign(t, s, tt.header, tt.body), noon)
		if got := RefusalOf(err); got != tt.want {
			t.Errorf("%s: got %v (%v), want %v", tt.name, got, err, tt.want)
		}
		if (id == Identity{}) != (tt.want != None) {
			t.Errorf("%s: identity %+v beside %v", tt.name, id, err)
		}
	}
}

func TestJWTRefusesMalformed(t *testing.T) {
	s := newSigner(t, "k", EdDSA)
	v := newVerifier(t, s)
	good := string(sign(t, s, nil, with(nil)))
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"empty":              "",
		"dots":               "..",
		"two parts":          parts[0] + "." + parts[1],
		"four parts":         good + ".x",
		"no signature":       parts[0] + "." + parts[1] + ".",
		"padded":             good + "=",
		"space":              good + " ",
		"development":        "dev:alice",
		"claims null":        resign(t, s, parts[0], "null"),
		"claims a list":      resign(t, s, parts[0], "[]"),
		"body swapped":       parts[0] + "." + encode(`{"sub":"bob","aud":"lifeline","exp":4000000000}`) + "." + parts[2],
		"signature too long": good + "AAAA",
	} {
		if _, err := v.Verify([]byte(token), noon); RefusalOf(err) != BadToken {
			t.Errorf("%s: got %v, want BadToken", name, err)
		}
	}
	for n := range len(good) {
		if _, err := v.Verify([]byte(good[:n]), noon); RefusalOf(err) != BadToken {
			t.Fatalf("first %d bytes: got %v, want BadToken", n, err)
		}
	}
}

// A server that holds a public key must never take a token whose HMAC was made with that public key's bytes.
func TestJWTAlgorithmConfusion(t *testing.T) {
	ed, hmac, rs := newSigner(t, "ed", EdDSA), newSigner(t, "hmac", HS256), newSigner(t, "rs", RS256)
	v := newVerifier(t, ed, hmac, rs)
	public := []byte(ed.private.(ed25519.PrivateKey).Public().(ed25519.PublicKey))
	for name, forger := range map[string]signer{
		"HMAC with the PEM file":        {kid: "ed", algorithm: HS256, private: ed.file},
		"HMAC with the raw public key":  {kid: "ed", algorithm: HS256, private: public},
		"HMAC with the RSA PEM file":    {kid: "rs", algorithm: HS256, private: rs.file},
		"the secret under another kid":  {kid: "ed", algorithm: HS256, private: hmac.private},
		"EdDSA under the secret's kid":  {kid: "hmac", algorithm: EdDSA, private: ed.private},
		"algorithm not configured":      {kid: "hmac", algorithm: "HS512", private: hmac.private},
		"none":                          {kid: "ed", algorithm: "none", private: jwt.UnsafeAllowNoneSignatureType},
		"the kid's neighbour, same alg": {kid: "ed", algorithm: EdDSA, private: newSigner(t, "x", EdDSA).private},
	} {
		if id, err := v.Verify(sign(t, forger, nil, with(nil)), noon); RefusalOf(err) != BadToken {
			t.Errorf("%s: accepted %+v, %v", name, id, err)
		}
	}
}

func TestJWTRotation(t *testing.T) {
	first, second := newSigner(t, "1", EdDSA), newSigner(t, "2", EdDSA)
	both, later := newVerifier(t, first, second), newVerifier(t, second)
	for _, s := range []signer{first, second} {
		if _, err := both.Verify(sign(t, s, nil, with(nil)), noon); err != nil {
			t.Errorf("both keys, token of %s: %v", s.kid, err)
		}
	}
	if _, err := later.Verify(sign(t, first, nil, with(nil)), noon); RefusalOf(err) != BadToken {
		t.Errorf("token of a removed key: %v", err)
	}
}

func TestNewJWTRefuses(t *testing.T) {
	key := newSigner(t, "k", EdDSA).key(t)
	for _, tt := range []struct {
		name, audience string
		keys           []Key
		want           string
	}{
		{"no audience", "", []Key{key}, "no audience"},
		{"no keys", "lifeline", nil, "no keys"},
		{"same kid twice", "lifeline", []Key{key, key}, "two keys"},
		{"zero key", "lifeline", []Key{{ID: "k", Algorithm: HS256}}, "not loaded"},
	} {
		if _, err := NewJWT(tt.audience, tt.keys); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// An error may reach a log: it must not carry the token.
func TestErrorsHoldNoToken(t *testing.T) {
	s := newSigner(t, "k", EdDSA)
	v := newVerifier(t, s)
	for _, body := range []map[string]any{
		with(map[string]any{"exp": noon.Add(-time.Hour).Unix()}), with(map[string]any{"aud": "x"}), with(map[string]any{"sub": ""}),
	} {
		token := string(sign(t, s, nil, body))
		_, err := v.Verify([]byte(token), noon)
		if err == nil {
			t.Fatalf("%v was accepted", body)
		}
		for _, part := range strings.Split(token, ".") {
			if strings.Contains(err.Error(), part) {
				t.Errorf("%q holds %q", err, part)
			}
		}
	}
}

func FuzzVerify(f *testing.F) {
	hmac, ed := newSigner(f, "h", HS256), newSigner(f, "e", EdDSA)
	v := newVerifier(f, hmac, ed)
	good := sign(f, hmac, nil, with(nil))
	f.Add(good)
	f.Add(sign(f, ed, nil, with(map[string]any{"ll_device": "phone"})))
	f.Add(good[:len(good)/2])
	f.Add([]byte("dev:alice"))
	f.Add([]byte("dev:"))
	f.Add([]byte(encode(`{"alg":"none","kid":"h"}`) + "." + encode(`{"sub":"a","aud":"lifeline","exp":4e9}`) + "."))
	f.Fuzz(func(t *testing.T, token []byte) {
		for _, verifier := range []Verifier{v, Development{}} {
			before := string(token)
			id, err := verifier.Verify(token, noon)
			if string(token) != before {
				t.Fatal("the token was changed")
			}
			if r := RefusalOf(err); r == Internal || (r == None) != (id != Identity{}) {
				t.Fatalf("%T: %+v, %v", verifier, id, err)
			}
			if err == nil && !protocol.ValidID([]byte(id.User)) {
				t.Fatalf("%T: user %q", verifier, id.User)
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	for _, algorithm := range Algorithms() {
		s := newSigner(b, "k", algorithm)
		v := newVerifier(b, s)
		token := sign(b, s, nil, with(nil))
		b.Run(algorithm, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Verify(token, noon); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func encode(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// resign signs any body, also one that is no JSON object.
func resign(tb testing.TB, s signer, header, body string) string {
	tb.Helper()
	if !json.Valid([]byte(body)) {
		tb.Fatalf("%q is no JSON", body)
	}
	text := header + "." + encode(body)
	signature, err := jwt.GetSigningMethod(s.algorithm).Sign(text, s.private)
	if err != nil {
		tb.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}
