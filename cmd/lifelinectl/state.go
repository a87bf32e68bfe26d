package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lifeline/protocol/client"
	"lifeline/server/auth"
)

const noState = "none"

// openInbox opens the file that a device's position is kept in, and returns what closes it. Without a file the device
// logs in for the first time at every start.
func openInbox(around surroundings, file string, l *login) (inbox client.Inbox, done func() error, err error) {
	owner := l.name(around) + "/" + l.device
	if file == "" {
		if file, err = usualState(around, strings.Join(append(l.servers, owner), "\n")); err != nil {
			return nil, nil, err
		}
	}
	if file == noState {
		return new(client.MemoryInbox), func() error { return nil }, nil
	}
	f, err := client.OpenFileInbox(file, owner)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; --state takes another file, or %s", err, noState)
	}
	return f, f.Close, nil
}

// usualState is the file for a device of a server when none is named.
func usualState(around surroundings, key string) (string, error) {
	dir := around.variable("XDG_STATE_HOME")
	if dir == "" {
		home := around.variable("HOME")
		if home == "" {
			return "", usage(errors.New("there is no home directory to keep the position in: name a file with --state, or say --state " + noState))
		}
		dir = filepath.Join(home, ".local", "state")
	}
	dir = filepath.Join(dir, "lifelinectl")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("%w; --state takes another file, or %s", err, noState)
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(dir, "inbox-"+hex.EncodeToString(sum[:8])), nil
}

// name is the user that the login speaks for, as far as this side can tell.
func (l *login) name(around surroundings) string {
	if l.user != "" {
		return l.user
	}
	token := l.token
	if token == "" {
		token = around.variable("LIFELINE_TOKEN")
	}
	if user, ok := strings.CutPrefix(token, auth.DevelopmentPrefix); ok {
		return user
	}
	if parts := strings.Split(token, "."); len(parts) == 3 {
		var claims struct{ Sub string }
		text, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err == nil && json.Unmarshal(text, &claims) == nil && claims.Sub != "" {
			return claims.Sub
		}
	}
	return "?"
}
