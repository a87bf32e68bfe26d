package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Pebble takes the first damaged record of its manifest for the end of it, goes back to what the store was then, and
// deletes the tables that came later; and damage in the last 32 KiB of its log for the end of what was written. So both
// are looked through before Pebble opens them: a later record that proves that the damaged one was whole once makes it
// damage and not the end.

const (
	blockSize   = 32 << 10
	tableHeader = 7  // crc(4) length(2) type(1)
	logHeader   = 19 // the same, then log number(4) and synced offset(8)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// chunk is one piece of a record as it stands in a block.
type chunk struct {
	size   int
	begins bool   // a record
	log    uint32 // of a log: its number
	synced uint64 // of a log: so much of it was on disk before this was written
}

// parseChunk returns the chunk that a block's rest begins with.
func parseChunk(rest []byte) (c chunk, ok bool) {
	if len(rest) < tableHeader {
		return c, false
	}
	length, kind, header := int(binary.LittleEndian.Uint16(rest[4:])), rest[6], tableHeader
	switch {
	case kind >= 1 && kind <= 4:
		c.begins = kind <= 2
	case kind >= 9 && kind <= 12 && len(rest) >= logHeader:
		header = logHeader
		c.begins = kind <= 10
		c.log, c.synced = binary.LittleEndian.Uint32(rest[7:]), binary.LittleEndian.Uint64(rest[11:])
	default:
		return c, false
	}
	if c.size = header + length; c.size > len(rest) {
		return c, false
	}
	sum := crc32.Checksum(rest[6:c.size], castagnoli)
	return c, binary.LittleEndian.Uint32(rest) == (sum>>15|sum<<17)+0xa282ead8
}

// findDamage returns where a file is damaged although something behind it proves that it was whole; found is false for
// a file that only ends.
func findDamage(f io.Reader, proves func(c chunk, bad uint64) bool) (at uint64, found bool, err error) {
	block := make([]byte, blockSize)
	bad := false
	for start := uint64(0); ; start += blockSize {
		n, err := io.ReadFull(f, block)
		if err == io.EOF {
			return 0, false, nil
		}
		if err != nil && err != io.ErrUnexpectedEOF {
			return 0, false, err
		}
		for i := 0; i < n; {
			c, ok := parseChunk(block[i:n])
			switch {
			case ok && bad && proves(c, at):
				return at, true, nil
			case ok:
				i += c.size
			case bad:
				i++
			case len(block)-i < logHeader:
				i = n // too small for a chunk
			default:
				at, bad = start+uint64(i), true
				i++
			}
		}
	}
}

// refuseDamage looks through the manifest and the newest log.
func refuseDamage(fs vfs.FS, dir string) error {
	desc, err := pebble.Peek(dir, fs)
	if err != nil {
		return err
	}
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	if !desc.Exists { // Pebble would make a new store, and delete the tables
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, ".sst") }) {
			return errors.New("tables are there and no manifest; nothing was changed")
		}
		return nil
	}
	// An edit is synced before the next is begun.
	err = refuseFile(fs, desc.ManifestFilename, func(c chunk, _ uint64) bool { return c.begins })
	if err != nil {
		return err
	}
	logs := slices.DeleteFunc(names, func(name string) bool { _, ok := logNumber(name); return !ok })
	if len(logs) == 0 {
		return nil
	}
	newest := slices.MaxFunc(logs, func(a, b string) int {
		x, _ := logNumber(a)
		y, _ := logNumber(b)
		return int(int64(x) - int64(y))
	})
	number, _ := logNumber(newest)
	return refuseFile(fs, fs.PathJoin(dir, newest), func(c chunk, bad uint64) bool {
		return c.log == uint32(number) && c.synced > bad
	})
}

func logNumber(name string) (number uint64, ok bool) {
	_, err := fmt.Sscanf(name, "%d.log", &number)
	return number, err == nil && name == fmt.Sprintf("%06d.log", number)
}

func refuseFile(fs vfs.FS, name string, proves func(c chunk, bad uint64) bool) error {
	f, err := fs.Open(name)
	if err != nil {
		return err
	}
	at, found, err := findDamage(f, proves)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("look through %s: %w", name, err)
	}
	if found {
		return fmt.Errorf("%s is damaged at byte %d; nothing was changed", name, at)
	}
	return nil
}
