package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
)

// signer is one key pair as its owner holds it: what signs, and the file the server is given.
type signer struct {
	kid, algorithm string
	private        any
	file           []byte
}

func newSigner(tb testing.TB, kid, algorithm string) signer {
	tb.Helper()
	s := signer{kid: kid, algorithm: algorithm}
	var public any
	switch algorithm {
	case HS256:
		secret := []byte(strings.Repeat(kid+"-secret-", 8))
		s.private, s.file = secret, append(secret[:len(secret):len(secret)], '\n')
		return s
	case EdDSA:
		pub, priv, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			tb.Fatal(err)
		}
		public, s.private = pub, priv
	case ES256:
		public, s.private = newECDSA(tb, elliptic.P256())
	case RS256:
		public, s.private = newRSA(tb, 2048)
	}
	s.file = publicPEM(tb, public)
	return s
}

func (s signer) key(tb testing.TB) Key {
	tb.Helper()
	k, err := ParseKey(s.kid, s.algorithm, s.file)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func newECDSA(tb testing.TB, curve elliptic.Curve) (public, private any) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return &key.PublicKey, key
}

func newRSA(tb testing.TB, bits int) (public, private any) {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		tb.Fatal(err)
	}
	return &key.PublicKey, key
}

func publicDER(tb testing.TB, public any) []byte {
	tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		tb.Fatal(err)
	}
	return der
}

func publicPEM(tb testing.TB, public any) []byte {
	tb.Helper()
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER(tb, public)})
}

func privatePEM(tb testing.TB, private any) []byte {
	tb.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func TestParseKeyTakesEachAlgorithm(t *testing.T) {
	for _, algorithm := range Algorithms() {
		s := newSigner(t, "k1", algorithm)
		k, err := ParseKey("k1", algorithm, s.file)
		if err != nil || k.ID != "k1" || k.Algorithm != algorithm {
			t.Errorf("%s: got %+v, %v", algorithm, k, err)
		}
	}
}

func TestParseKeyRefuses(t *testing.T) {
	ed := newSigner(t, "ed", EdDSA)
	edPublic := ed.private.(ed25519.PrivateKey).Public()
	p256, _ := newECDSA(t, elliptic.P256())
	p384, _ := newECDSA(t, elliptic.P384())
	rsa1024, _ := newRSA(t, 1024)
	for _, tt := range []struct {
		name, kid, algorithm string
		file                 []byte
		want                 string
	}{
		{"no kid", "", EdDSA, ed.file, "no kid"},
		{"none", "k", "none", ed.file, "unknown algorithm"},
		{"RS512", "k", "RS512", ed.file, "unknown algorithm"},
		{"empty file", "k", EdDSA, nil, "no PEM block"},
		{"garbage", "k", EdDSA, []byte("hello"), "no PEM block"},
		{"private key", "k", EdDSA, privatePEM(t, ed.private), `"PRIVATE KEY"`},
		{"broken PEM body", "k", EdDSA, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte{1}}), "parse public key"},
		{"Ed25519 as ES256", "k", ES256, ed.file, "no key for ES256"},
		{"P-256 as EdDSA", "k", EdDSA, publicPEM(t, p256), "no key for EdDSA"},
		{"P-384 as ES256", "k", ES256, publicPEM(t, p384), "no key for ES256"},
		{"RSA as EdDSA", "k", EdDSA, publicPEM(t, rsa1024), "no key for EdDSA"},
		{"weak RSA", "k", RS256, publicPEM(t, rsa1024), "1024 bits"},
		{"short secret", "k", HS256, []byte(strings.Repeat("s", 31) + "\n"), "31 bytes"},
		{"public PEM as secret", "k", HS256, ed.file, "PEM block"},
		{"private PEM as secret", "k", HS256, privatePEM(t, ed.private), "PEM block"},
		{"damaged PEM as secret", "k", HS256, ed.file[:len(ed.file)-10], "PEM block"},
		{"public DER as secret", "k", HS256, publicDER(t, edPublic), "public key"},
	} {
		if _, err := ParseKey(tt.kid, tt.algorithm, tt.file); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

func TestSecretLosesOneNewline(t *testing.T) {
	want := strings.Repeat("s", 32)
	for _, ending := range []string{"", "\n", "\r\n"} {
		k, err := ParseKey("k", HS256, []byte(want+ending))
		if err != nil || string(k.material.([]byte)) != want {
			t.Errorf("ending %q: got %q, %v", ending, k.material, err)
		}
	}
	if k, err := ParseKey("k", HS256, []byte(want+"\n\n")); err != nil || string(k.material.([]byte)) != want+"\n" {
		t.Errorf("two newlines: got %q, %v", k.material, err)
	}
}
