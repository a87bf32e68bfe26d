package auth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

// Algorithms that a key may have, by their JWT names.
const (
	EdDSA = "EdDSA"
	HS256 = "HS256"
	ES256 = "ES256"
	RS256 = "RS256"
)

const (
	minSecretBytes = 32
	minRSABits     = 2048
)

// Algorithms lists what [ParseKey] takes.
func Algorithms() []string { return []string{EdDSA, HS256, ES256, RS256} }

// Key verifies tokens whose header names its ID as kid.
type Key struct {
	ID        string
	Algorithm string
	material  any
}

// ParseKey reads a key from a file's content. EdDSA, ES256 and RS256 take a public key in PEM ("BEGIN PUBLIC KEY");
// HS256 takes the secret itself, at least 32 bytes, without one trailing newline if there is one.
func ParseKey(id, algorithm string, content []byte) (Key, error) {
	if id == "" {
		return Key{}, errors.New("key has no kid")
	}
	if !slices.Contains(Algorithms(), algorithm) {
		return Key{}, fmt.Errorf("key %q: unknown algorithm %q, expected one of %v", id, algorithm, Algorithms())
	}
	var material any
	var err error
	if algorithm == HS256 {
		material, err = secret(content)
	} else {
		material, err = publicKey(algorithm, content)
	}
	if err != nil {
		return Key{}, fmt.Errorf("key %q (%s): %w", id, algorithm, err)
	}
	return Key{ID: id, Algorithm: algorithm, material: material}, nil
}

// secret refuses whatever looks like an asymmetric key: everybody knows a public key, so as a secret it protects nothing.
func secret(content []byte) ([]byte, error) {
	if block, _ := pem.Decode(content); block != nil || bytes.Contains(content, []byte("-----BEGIN")) {
		return nil, errors.New("holds a PEM block, expected a shared secret")
	}
	if _, err := x509.ParsePKIXPublicKey(content); err == nil {
		return nil, errors.New("holds a public key, expected a shared secret")
	}
	content = bytes.TrimSuffix(content, []byte("\n"))
	content = bytes.TrimSuffix(content, []byte("\r"))
	if len(content) < minSecretBytes {
		return nil, fmt.Errorf("secret has %d bytes, need at least %d", len(content), minSecretBytes)
	}
	return bytes.Clone(content), nil
}

func publicKey(algorithm string, content []byte) (any, error) {
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, errors.New("no PEM block, expected BEGIN PUBLIC KEY")
	}
	if block.Type != "PUBLIC KEY" {
		return nil, fmt.Errorf("PEM block is %q, expected PUBLIC KEY", block.Type)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse public key: %w", err)
	}
	switch key := parsed.(type) {
	case ed25519.PublicKey:
		if algorithm == EdDSA {
			return key, nil
		}
	case *ecdsa.PublicKey:
		if algorithm == ES256 && key.Curve == elliptic.P256() {
			return key, nil
		}
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); algorithm == RS256 && bits < minRSABits {
			return nil, fmt.Errorf("RSA key has %d bits, need at least %d", bits, minRSABits)
		}
		if algorithm == RS256 {
			return key, nil
		}
	}
	return nil, fmt.Errorf("a %T is no key for %s", parsed, algorithm)
}
