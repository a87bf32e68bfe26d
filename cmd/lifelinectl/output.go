package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// output is how a command prints: text for people, json for programs, one value a line.
type output string

const (
	asText output = "text"
	asJSON output = "json"
)

func (o *output) flag(flags *pflag.FlagSet) {
	*o = asText
	flags.VarP(o, "output", "o", "text, or json with one value a line")
}

// String, Set and Type implement pflag.Value.
func (o *output) String() string { return string(*o) }
func (*output) Type() string     { return "format" }
func (o *output) Set(s string) error {
	if s != string(asText) && s != string(asJSON) {
		return fmt.Errorf("want text or json")
	}
	*o = output(s)
	return nil
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// oneLine makes text of a payload that cannot harm a terminal: what is not UTF-8, and characters that move the cursor or
// turn the direction of writing, become escapes. So a message is one line, whatever its sender put into it.
func oneLine(payload []byte) string {
	var b strings.Builder
	for len(payload) > 0 {
		r, n := utf8.DecodeRune(payload)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, payload[0])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteByte('\t')
		case unicode.IsControl(r) || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.Write(payload[:n])
		}
		payload = payload[n:]
	}
	return b.String()
}
