package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lifeline/protocol"
)

// Every vector of a frame decodes to the text that stands under it.
func TestDecodeVectors(t *testing.T) {
	for _, frame := range protocol.Types() {
		if protocol.New(frame) == nil {
			continue // reserved
		}
		file := filepath.Join("../../protocol/testdata/vectors", frame.String()+".txt")
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for line := range strings.Lines(string(content)) {
			if text, ok := strings.CutPrefix(line, "> "); ok {
				want = append(want, text)
			}
		}
		code, stdout, stderr := here(t, nil, "", "decode", file)
		if code != 0 || stdout != strings.Join(want, "") || len(want) == 0 {
			t.Errorf("%s: exit code %d\n%s%s", file, code, stdout, stderr)
		}
	}
}

func TestDecode(t *testing.T) {
	raw := string((&protocol.Ack{Pos: 7, HasPos: true}).Append((&protocol.Probe{}).Append(nil)))
	for _, tt := range []struct {
		name, input, args string
		code              int
		want, wantErr     string
	}{
		{"raw", raw, "", 0, "probe\nack pos=7\n", ""},
		{"hex", "01 07\n030d0807 # ack", "", 0, "probe\nack pos=7\n", ""},
		{"nothing", "", "", 0, "", ""},
		{"json", raw, "-o json", 0, `{"offset":0,"length":2,"type":"probe","text":"probe"}` + "\n" +
			`{"offset":2,"length":4,"type":"ack","text":"ack pos=7"}` + "\n", ""},
		{"a reserved type", "0110", "", 0, "read type=0x10 body=<0>\n", ""},
		{"an unknown type", "02ee00", "", 0, "unknown type=0xee body=<1>\n", ""},
		{"half a byte", "010", "", 1, "", "hexadecimal"},
		{"no hex", "hello", "--hex", 1, "", "hexadecimal"},
		{"half a frame", "01 07 05 0d 08", "", 1, "probe\n", "offset 2: the input ends inside a frame"},
		{"no frame", "01 07 00", "", 1, "probe\n", "offset 2: frame length is zero"},
		{"a bad body", "02 0d 08", "", 1, "", "offset 0: ack: body ends inside a field"},
	} {
		code, stdout, stderr := here(t, nil, tt.input, append([]string{"decode"}, strings.Fields(tt.args)...)...)
		if code != tt.code || stdout != tt.want || !strings.Contains(stderr, tt.wantErr) {
			t.Errorf("%s: %d %q %q, want %d %q %q", tt.name, code, stdout, stderr, tt.code, tt.want, tt.wantErr)
		}
	}
	if code, _, stderr := here(t, nil, "", "decode", filepath.Join(t.TempDir(), "none")); code != 1 || !strings.Contains(stderr, "no such file") {
		t.Errorf("a file that is not there: %d %q", code, stderr)
	}
}
