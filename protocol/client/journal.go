package client

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// A journal is a file to which records are appended, each whole or not at all. It begins with magic, its kind and the
// length of its owner's name, one byte each, and that name. A record is
//
//	4 bytes  CRC-32C of everything behind them, little-endian
//	4 bytes  length of the content, little-endian
//	1 byte   1 if the append was to be durable, else 0
//	         the content
//
// What a crash leaves at the end of the file is cut off when the journal is opened. Damage before a record that was
// durable is no crash: such a file is refused.
type journal struct {
	// Set at construction.
	path   string
	header []byte

	file   *os.File
	size   int64
	failed error // the first fault behind which nobody knows what the file holds
}

const (
	journalMagic  = "LLJ1"
	recordHeader  = 9
	recordMost    = 128 << 10 // of the content
	journalSuffix = ".new"    // of a journal that is to take the place of the old one
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Faults of journals.
var (
	errLocked  = errors.New("another process uses it")
	errKind    = errors.New("it is not a file of this kind")
	errDamaged = errors.New("it is damaged before records that were stored safely")
)

// openJournal opens or creates a journal and gives every record to apply. owner keeps one device from using another's.
func openJournal(path string, kind byte, owner string, apply func(content []byte) error) (*journal, error) {
	if len(owner) > 255 {
		return nil, fmt.Errorf("open %s: the owner's name is longer than 255 bytes", path)
	}
	j := &journal{path: path, header: append([]byte(journalMagic), kind, byte(len(owner)))}
	j.header = append(j.header, owner...)
	if err := j.open(apply); err != nil {
		if j.file != nil {
			_ = j.file.Close()
		}
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return j, nil
}

func (j *journal) open(apply func([]byte) error) (err error) {
	if j.file, err = os.OpenFile(j.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return errors.Unwrap(err) // the caller names the file
	}
	if err := j.own(); err != nil {
		return err
	}
	content, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	if len(content) < len(j.header) && string(content) == string(j.header[:len(content)]) {
		return j.create()
	}
	if err := j.checkHeader(content); err != nil {
		return err
	}
	end, err := replay(content, len(j.header), apply)
	if err != nil {
		return err
	}
	j.size = int64(end)
	if end == len(content) {
		return nil
	}
	return errors.Join(j.file.Truncate(j.size), j.file.Sync())
}

// own locks the file, and makes sure that it is still the one of that name.
func (j *journal) own() error {
	if err := lockFile(j.file); err != nil {
		return err
	}
	mine, err1 := j.file.Stat()
	named, err2 := os.Stat(j.path)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if !os.SameFile(mine, named) {
		return errLocked
	}
	return nil
}

// create writes the header of a new file, or of one whose creation was cut short.
func (j *journal) create() error {
	if _, err := j.file.WriteAt(j.header, 0); err != nil {
		return err
	}
	j.size = int64(len(j.header))
	return errors.Join(j.file.Sync(), syncDirectory(j.path))
}

func (j *journal) checkHeader(content []byte) error {
	n := len(journalMagic) + 2
	if len(content) < n || string(content[:n-1]) != string(j.header[:n-1]) {
		return errKind
	}
	owner := content[n:min(n+int(content[n-1]), len(content))]
	if string(owner) != string(j.header[n:]) {
		return fmt.Errorf("it belongs to %q", owner)
	}
	return nil
}

// replay applies the records from at on and returns where the good ones end.
func replay(content []byte, at int, apply func([]byte) error) (end int, err error) {
	for at < len(content) {
		record, _, ok := parseRecord(content[at:])
		if !ok {
			if durableBehind(content[at+1:]) {
				return 0, errDamaged
			}
			return at, nil
		}
		if err := apply(record); err != nil {
			return 0, err
		}
		at += recordHeader + len(record)
	}
	return at, nil
}

func parseRecord(b []byte) (content []byte, durable, ok bool) {
	if len(b) < recordHeader {
		return nil, false, false
	}
	n := binary.LittleEndian.Uint32(b[4:])
	if n == 0 || n > recordMost || int(n) > len(b)-recordHeader {
		return nil, false, false
	}
	whole := b[:recordHeader+int(n)]
	if binary.LittleEndian.Uint32(whole) != crc32.Checksum(whole[4:], castagnoli) {
		return nil, false, false
	}
	return whole[recordHeader:], whole[8] == 1, true
}

// durableBehind tells whether a durable record begins anywhere in b.
func durableBehind(b []byte) bool {
	for ; len(b) >= recordHeader; b = b[1:] {
		if _, durable, ok := parseRecord(b); ok && durable {
			return true
		}
	}
	return false
}

func appendRecord(dst, content []byte, durable bool) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(content)))
	if durable {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	dst = append(dst, content...)
	binary.LittleEndian.PutUint32(dst[at:], crc32.Checksum(dst[at+4:], castagnoli))
	return dst
}

// append writes a record. A durable one is on the disk when append returns.
func (j *journal) append(content []byte, durable bool) error {
	if j.failed != nil {
		return j.failed
	}
	if len(content) == 0 || len(content) > recordMost {
		return fmt.Errorf("append to %s: a record of %d bytes, want 1 to %d", j.path, len(content), recordMost)
	}
	record := appendRecord(nil, content, durable)
	if _, err := j.file.WriteAt(record, j.size); err != nil {
		if cut := j.file.Truncate(j.size); cut != nil {
			j.failed = fmt.Errorf("append to %s: %w", j.path, errors.Join(err, cut))
		}
		return fmt.Errorf("append to %s: %w", j.path, err) // a full disk may have room later
	}
	j.size += int64(len(record))
	if !durable {
		return nil
	}
	if err := j.file.Sync(); err != nil {
		j.failed = fmt.Errorf("append to %s: %w", j.path, err)
	}
	return j.failed
}

// replace puts a new journal with these records in the place of the old one. A crash leaves either of them.
func (j *journal) replace(records [][]byte) error {
	if j.failed != nil {
		return j.failed
	}
	content := append([]byte(nil), j.header...)
	for _, r := range records {
		content = appendRecord(content, r, true)
	}
	next, err := writeDurably(j.path+journalSuffix, content)
	if err != nil {
		return fmt.Errorf("compact %s: %w", j.path, err) // the old one is as good as before
	}
	if err := errors.Join(os.Rename(j.path+journalSuffix, j.path), syncDirectory(j.path)); err != nil {
		_ = next.Close()
		j.failed = fmt.Errorf("compact %s: %w", j.path, err)
		return j.failed
	}
	_ = j.file.Close() // nothing of it is needed any more
	j.file, j.size = next, int64(len(content))
	return nil
}

// writeDurably returns the file, locked.
func writeDurably(path string, content []byte) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, lockFile(f), f.Sync()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (j *journal) close() error {
	if j.failed == nil {
		j.failed = fmt.Errorf("%s: %w", j.path, os.ErrClosed)
	}
	return j.file.Close()
}

func syncDirectory(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
