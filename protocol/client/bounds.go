package client

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// BoundsStore keeps what the client learns of the silence that networks bear: one value, a [ProberState] in JSON. Its
// methods are called by the loop and must not block for long. Errors are logged: losing the value costs some wake-ups.
type BoundsStore interface {
	// Load returns what Save stored last, nil if nothing.
	Load() ([]byte, error)
	// Save replaces the value, whole or not at all.
	Save(state []byte) error
}

// MemoryBounds is a BoundsStore for one process. Its zero value is empty.
type MemoryBounds struct {
	mu    sync.Mutex
	state []byte // Guarded by mu.
}

// Load implements [BoundsStore].
func (m *MemoryBounds) Load() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state, nil
}

// Save implements [BoundsStore].
func (m *MemoryBounds) Save(state []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = state
	return nil
}

// FileBounds is a BoundsStore in the file of that name, which a crash leaves as it was before a Save or after it. It
// belongs beside the files of [FileInbox] and [FileOutbox]; one client at a time may use it.
type FileBounds string

// Load implements [BoundsStore].
func (path FileBounds) Load() ([]byte, error) {
	state, err := os.ReadFile(string(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return state, err
}

// Save implements [BoundsStore].
func (path FileBounds) Save(state []byte) error {
	next := string(path) + journalSuffix
	f, err := writeDurably(next, state)
	if err != nil {
		return fmt.Errorf("write %s: %w", next, err)
	}
	_ = f.Close() // everything is on the disk
	if err := errors.Join(os.Rename(next, string(path)), syncDirectory(string(path))); err != nil {
		return fmt.Errorf("replace %s: %w", string(path), err)
	}
	return nil
}
