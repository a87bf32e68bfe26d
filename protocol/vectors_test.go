package protocol

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// vector is one case of the public conformance files. docs/protocol.md says how to read them.
type vector struct {
	name    string // file: name
	max     int
	wire    []byte
	text    string // decoded line, empty when outcome is set
	written bool   // the text's frame is written as exactly this wire
	outcome string // a word instead of a text
}

// vectors reads testdata/vectors.
func vectors(t testing.TB) []vector {
	t.Helper()
	files, err := filepath.Glob("testdata/vectors/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	var list []vector
	for _, file := range files {
		list = append(list, readVectors(t, file)...)
	}
	return list
}

func readVectors(t testing.TB, file string) []vector {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []vector
	var v vector
	scanner := bufio.NewScanner(bytes.NewReader(content))
	for number := 1; scanner.Scan(); number++ {
		line := scanner.Text()
		rest := strings.TrimSpace(line[min(1, len(line)):])
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '=':
			v = vector{name: filepath.Base(file) + ": " + rest, max: MaxLength}
		case line[0] == '@':
			if v.max, err = strconv.Atoi(strings.TrimPrefix(rest, "max ")); err != nil {
				t.Fatalf("%s:%d: %v", file, number, err)
			}
		case line[0] == '>' || line[0] == '~':
			v.text, v.written = rest, line[0] == '>'
			list = append(list, v)
		case line[0] == '!':
			v.outcome = rest
			list = append(list, v)
		default:
			digits, _, _ := strings.Cut(line, ";")
			part, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
			if err != nil {
				t.Fatalf("%s:%d: %v", file, number, err)
			}
			v.wire = append(v.wire, part...)
		}
	}
	return list
}

// frames are the vectors that decode, cut into header and body.
func frames(t testing.TB) (list []vector, types []Type, bodies [][]byte) {
	t.Helper()
	for _, v := range vectors(t) {
		if v.text == "" {
			continue
		}
		h, n, err := ReadHeader(v.wire, v.max)
		if err != nil || n == 0 || len(v.wire) != n+h.Body {
			t.Fatalf("%s: header %v, %d bytes of %d: %v", v.name, h, n, len(v.wire), err)
		}
		list, types, bodies = append(list, v), append(types, h.Type), append(bodies, v.wire[n:])
	}
	return list, types, bodies
}

// outcomes are the words of the conformance files for errors.
var outcomes = map[string]error{
	"zero-length": ErrZeroLength,
	"non-minimal": ErrNonMinimal,
	"overlong":    ErrOverlong,
	"too-large":   ErrTooLarge,
	"truncated":   ErrTruncated,
	"varint":      ErrVarint,
	"tag":         ErrTag,
	"utf8":        ErrUTF8,
	"id-length":   ErrIDLength,
	"code-range":  ErrCodeRange,
}

// [P-8.1]: a frame reads as its line, and the line's frame is written as these bytes.
func TestVectorsDecode(t *testing.T) {
	list, types, bodies := frames(t)
	for i, v := range list {
		f := New(types[i])
		if err := f.Parse(bodies[i]); err != nil {
			t.Errorf("%s: %v", v.name, err)
			continue
		}
		if got := string(f.AppendText(nil)); got != v.text {
			t.Errorf("%s:\n got %s\nwant %s", v.name, got, v.text)
		}
		if got := f.Append(nil); bytes.Equal(got, v.wire) != v.written {
			t.Errorf("%s: written as % x, want equal %v", v.name, got, v.written)
		}
	}
}

// [P-8.2]: bytes that are not a frame to obey have exactly the stated outcome.
func TestVectorsRefuse(t *testing.T) {
	for _, v := range vectors(t) {
		if v.text != "" {
			continue
		}
		var got string
		switch file, _, _ := strings.Cut(v.name, ":"); file {
		case "ids.txt":
			got = map[bool]string{true: "valid-id", false: "invalid-id"}[ValidID(v.wire)]
		case "foreign.txt":
			got = "lifeline"
			if code := Foreign(v.wire); code != 0 {
				got = code.String()
			}
		default:
			got = outcome(v)
		}
		if got != v.outcome {
			t.Errorf("%s: %s, want %s", v.name, got, v.outcome)
		}
	}
}

func outcome(v vector) string {
	h, n, err := ReadHeader(v.wire, v.max)
	switch {
	case err != nil:
		return errorWord(err)
	case n == 0:
		return "incomplete"
	case h.Type.Ignorable():
		return "ignorable"
	case h.Type.Node():
		return "node"
	}
	f := New(h.Type)
	if f == nil {
		return "unsupported"
	}
	if len(v.wire) != n+h.Body {
		return "the length does not count these bytes"
	}
	if err := f.Parse(v.wire[n:]); err != nil {
		return errorWord(err)
	}
	return string(f.AppendText(nil))
}

func errorWord(err error) string {
	for word, known := range outcomes {
		if err == known {
			return word
		}
	}
	return err.Error()
}

// Every field of every message occurs in the vectors, and so does every outcome.
func TestVectorsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range vectors(t) {
		seen[v.outcome] = true
		if v.written {
			name, _, _ := strings.Cut(v.text, " ")
			seen[name] = true
			for _, word := range strings.FieldsFunc(v.text, func(r rune) bool { return strings.ContainsRune(" {}[]", r) }) {
				field, _, _ := strings.Cut(word, "=")
				seen[name+" "+field] = true
			}
		}
	}
	for word := range outcomes {
		if !seen[word] {
			t.Errorf("no vector for %s", word)
		}
	}
	for _, typ := range defined() {
		for _, field := range fieldNames(descriptor(t, typ), nil) {
			if !seen[typ.String()+" "+field] {
				t.Errorf("no vector for %s %s", typ, field)
			}
		}
		if !seen[typ.String()] {
			t.Errorf("no vector for %s", typ)
		}
	}
}
