package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lifeline/protocol"
)

const decodeMost = 64 << 20

func newDecode(around surroundings) *cobra.Command {
	var (
		format output
		raw    bool
		isHex  bool
	)
	cmd := &cobra.Command{
		Use:   "decode [FILE]",
		Short: "Print frames in their text form",
		Long: `decode reads frames, one behind the other, from a file or from standard input and prints each in its text form.

The input is raw bytes, or hexadecimal with any spaces and with comments from # or ; to the end of the line. Vectors of
frames, as in protocol/testdata, are read as they are. Which of them is guessed: --hex and --raw say it. Payloads and
tokens show as sizes. A frame that cannot be read ends the output with exit code 1.`,
		Example: `  echo "01 07  01 07" | lifelinectl decode
  lifelinectl decode protocol/testdata/vectors/ack.txt
  lifelinectl decode -o json frames.bin`,
		Args: exactly(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if raw && isHex {
				return usage(errors.New("--raw and --hex exclude each other"))
			}
			input, err := readInput(around, args)
			if err != nil {
				return err
			}
			if isHex || !raw && looksHex(input) {
				if input, err = fromHex(input); err != nil {
					return err
				}
			}
			return decode(around.stdout, format, input)
		},
	}
	format.flag(cmd.Flags())
	cmd.Flags().BoolVar(&raw, "raw", false, "the input is bytes")
	cmd.Flags().BoolVar(&isHex, "hex", false, "the input is hexadecimal")
	return cmd
}

func readInput(around surroundings, args []string) ([]byte, error) {
	in := around.stdin
	if len(args) > 0 && args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return nil, fmt.Errorf("%w; frames come from a file or from standard input", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	input, err := io.ReadAll(io.LimitReader(in, decodeMost+1))
	if err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	if len(input) > decodeMost {
		return nil, fmt.Errorf("the input is longer than %d bytes", decodeMost)
	}
	return input, nil
}

// looksHex tells whether the bytes are text. No frame begins with a hexadecimal digit and goes on like this: a type of
// 0x20 and above is not given.
func looksHex(input []byte) bool {
	for _, c := range withoutComments(input) {
		if !isSpace(c) && !isHexDigit(c) {
			return false
		}
	}
	return true
}

func fromHex(input []byte) ([]byte, error) {
	digits := bytes.Join(bytes.Fields(withoutComments(input)), nil)
	out := make([]byte, hex.DecodedLen(len(digits)))
	if _, err := hex.Decode(out, digits); err != nil {
		return nil, fmt.Errorf("read hexadecimal: %w", err)
	}
	return out, nil
}

// verdicts begin the lines of vectors that are not bytes: names, text, and what is to come of it.
const verdicts = "=>~!@"

// withoutComments leaves the digits: comments begin with # or ;.
func withoutComments(input []byte) []byte {
	var out []byte
	for line := range bytes.Lines(input) {
		if i := bytes.IndexAny(line, "#;"); i >= 0 {
			line = line[:i]
		}
		if len(line) > 0 && strings.IndexByte(verdicts, line[0]) >= 0 {
			line = nil
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func isHexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// printedFrame is a frame as JSON.
type printedFrame struct {
	Offset int    `json:"offset"`
	Length int    `json:"length"` // of the whole frame
	Type   string `json:"type"`
	Text   string `json:"text,omitempty"` // absent for a type without a body of ours
}

func decode(w io.Writer, format output, input []byte) (err error) {
	out := bufio.NewWriter(w)
	defer func() { err = errors.Join(err, out.Flush()) }()
	for at := 0; at < len(input); {
		h, n, err := protocol.ReadHeader(input[at:], protocol.MaxLength)
		switch {
		case err != nil:
			return fmt.Errorf("offset %d: %w", at, err)
		case n == 0 || len(input)-at-n < h.Body:
			return fmt.Errorf("offset %d: the input ends inside a frame", at)
		}
		printed := printedFrame{Offset: at, Length: n + h.Body, Type: h.Type.String()}
		if f := protocol.New(h.Type); f != nil {
			if err := f.Parse(input[at+n : at+n+h.Body]); err != nil {
				return fmt.Errorf("offset %d: %v: %w", at, h.Type, err)
			}
			printed.Text = string(f.AppendText(nil))
		}
		if err := printFrame(out, format, h, &printed); err != nil {
			return err
		}
		at += n + h.Body
	}
	return nil
}

func printFrame(w io.Writer, format output, h protocol.Header, f *printedFrame) error {
	if format == asJSON {
		return printJSON(w, f)
	}
	text := f.Text
	if text == "" {
		text = fmt.Sprintf("%s type=0x%02x body=<%d>", f.Type, uint8(h.Type), h.Body)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
