package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/spf13/pflag"

	"lifeline/protocol/client"
	"lifeline/server/auth"
)

// signing is what the flags say about a key that signs tokens.
type signing struct {
	file     string
	kid      string
	audience string
	ttl      time.Duration
}

func (s *signing) flags(flags *pflag.FlagSet) {
	flags.StringVar(&s.file, "key", "", "file of a private key to sign a token with")
	flags.StringVar(&s.kid, "kid", "", "name of the key; if empty, its file's name without the ending")
	flags.StringVar(&s.audience, "audience", "lifeline", "audience of the signed token")
	flags.DurationVar(&s.ttl, "ttl", time.Hour, "life of the signed token")
}

// signer signs tokens.
type signer struct {
	method   jwt.SigningMethod
	key      any
	kid      string
	audience string
	ttl      time.Duration
}

const minSecretBytes = 32

// load reads the key file.
func (s *signing) load() (*signer, error) {
	if s.ttl <= 0 {
		return nil, usage(fmt.Errorf("--ttl %v: want more than nothing", s.ttl))
	}
	content, err := os.ReadFile(s.file)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	out := &signer{kid: s.kid, audience: s.audience, ttl: s.ttl}
	if out.kid == "" {
		out.kid = keyName(s.file)
	}
	if out.method, out.key, err = privateKey(content); err != nil {
		return nil, fmt.Errorf("key %s: %w", s.file, err)
	}
	return out, nil
}

func keyName(file string) string {
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func privateKey(content []byte) (jwt.SigningMethod, any, error) {
	block, _ := pem.Decode(content)
	if block == nil {
		secret := bytes.TrimSuffix(bytes.TrimSuffix(content, []byte("\n")), []byte("\r"))
		if len(secret) < minSecretBytes {
			return nil, nil, fmt.Errorf("a shared secret has at least %d bytes, and this has %d", minSecretBytes, len(secret))
		}
		return jwt.SigningMethodHS256, secret, nil
	}
	if block.Type != "PRIVATE KEY" {
		return nil, nil, fmt.Errorf("holds a %s, and a PRIVATE KEY is needed to sign", block.Type)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, err
	}
	ed, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, nil, fmt.Errorf("holds a %T, and only Ed25519 is signed with here", key)
	}
	return jwt.SigningMethodEdDSA, ed, nil
}

// sign makes a token for a user, and for one device if it is not empty.
func (s *signer) sign(user, device string, now time.Time) (string, error) {
	claims := jwt.MapClaims{"sub": user, "aud": s.audience, "iat": now.Unix(), "exp": now.Add(s.ttl).Unix()}
	if device != "" {
		claims["ll_device"] = device
	}
	token := jwt.NewWithClaims(s.method, claims)
	token.Header["kid"] = s.kid
	signed, err := token.SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return signed, nil
}

// tokens signs for a client. A token that the server does not want although most of its life is left is refused for what it
// says or for its signature, and another one would be no better.
func (s *signer) tokens(user string) func(context.Context, bool) ([]byte, error) {
	var mu sync.Mutex
	var signed time.Time // Guarded by mu.
	return func(_ context.Context, renew bool) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if renew && now.Sub(signed) < s.ttl/2 {
			return nil, client.ErrNoToken
		}
		signed = now
		token, err := s.sign(user, "", now)
		return []byte(token), err
	}
}

// printedKey is a new key as JSON.
type printedKey struct {
	Kid       string `json:"kid"`
	Algorithm string `json:"algorithm"`
	Private   string `json:"private"` // file that signs
	Server    string `json:"server"`  // file that the server gets
}

// makeKey writes a new key, and never over an old one.
func makeKey(around surroundings, format output, file, kid, algorithm string) error {
	if kid == "" {
		kid = keyName(file)
	}
	printed := printedKey{Kid: kid, Algorithm: algorithm, Private: file, Server: file}
	var err error
	switch algorithm {
	case auth.EdDSA:
		printed.Server = file + ".pub"
		err = makePair(printed.Private, printed.Server)
	case auth.HS256:
		secret := make([]byte, minSecretBytes)
		_, _ = rand.Read(secret) // never fails
		err = writeNew(file, []byte(hex.EncodeToString(secret)+"\n"), 0o600)
	default:
		return usage(fmt.Errorf("--algorithm %s: want EdDSA or HS256", algorithm))
	}
	if err != nil {
		return err
	}
	if format == asJSON {
		return printJSON(around.stdout, printed)
	}
	_, err = fmt.Fprintf(around.stdout, "lifelined --auth-mode jwt --auth-key %s:%s:%s\n", printed.Kid, printed.Algorithm, printed.Server)
	return err
}

func makePair(private, public string) error {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	pkcs8, err1 := x509.MarshalPKCS8PrivateKey(key)
	pkix, err2 := x509.MarshalPKIXPublicKey(pub)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("encode the key: %w", err)
	}
	if err := writeNew(private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600); err != nil {
		return err
	}
	return writeNew(public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix}), 0o644)
}

func writeNew(file string, content []byte, mode os.FileMode) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("write the key: %w", err)
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the key: %w", err)
	}
	return nil
}
