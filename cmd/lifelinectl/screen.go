package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// screen is a terminal in raw mode: lines that scroll away, and below them a footer whose last line is being typed. The
// footer is drawn anew with every change. None of its lines is wider than the terminal, but a terminal that becomes narrower
// breaks them, so how many rows there are to erase is computed from what was drawn and the width of now.
type screen struct {
	// Set at construction.
	w     io.Writer
	size  func() (width int)
	color bool

	out    bytes.Buffer // written at once, so that nothing flickers
	drawn  bool         // there is a footer on the terminal
	widths []int        // of its lines above the one that is typed
	column int          // of the cursor, in the line that is typed
}

// Looks of text.
const (
	plain  = ""
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// paint gives text a look.
func (s *screen) paint(look, text string) string {
	if !s.color || look == plain || text == "" {
		return text
	}
	return "\x1b[" + look + "m" + text + "\x1b[0m"
}

var looks = regexp.MustCompile("\x1b\\[[0-9]*m")

// paintedWidth is textWidth of text that was given looks.
func paintedWidth(text string) int { return textWidth(looks.ReplaceAllString(text, "")) }

// draw prints lines above the footer, and the footer: what is in it, then the prompt with the typed text.
func (s *screen) draw(lines, footer []string, prompt string, e *editor) {
	s.out.Reset()
	s.erase()
	for _, line := range lines {
		s.out.WriteString(line + "\r\n")
	}
	for _, line := range footer {
		s.out.WriteString(line + "\r\n")
	}
	width := s.size()
	prompt = fit(prompt, max(2, width-8))
	text, column := e.view(width - textWidth(prompt))
	fmt.Fprintf(&s.out, "%s%s\r", s.paint(cyan, prompt), text)
	if right := textWidth(prompt) + column; right > 0 {
		fmt.Fprintf(&s.out, "\x1b[%dC", right)
	}
	s.drawn, s.column, s.widths = true, textWidth(prompt)+column, s.widths[:0]
	for _, line := range footer {
		s.widths = append(s.widths, paintedWidth(line))
	}
	_, _ = s.w.Write(s.out.Bytes()) // a terminal that is gone ends the input
}

// erase takes the footer from the terminal.
func (s *screen) erase() {
	if !s.drawn {
		return
	}
	s.drawn = false
	width := max(1, s.size())
	up := s.column / width
	for _, w := range s.widths {
		up += max(1, (w+width-1)/width)
	}
	if up > 0 {
		fmt.Fprintf(&s.out, "\x1b[%dA", up)
	}
	s.out.WriteString("\r\x1b[J")
}

// close leaves the terminal with the lines only.
func (s *screen) close() {
	s.out.Reset()
	s.erase()
	_, _ = s.w.Write(s.out.Bytes())
}

// safe is text that keeps its line ends and loses everything else that could harm a terminal.
func safe(payload []byte) string {
	var lines []string
	for line := range strings.SplitSeq(string(payload), "\n") {
		lines = append(lines, strings.ReplaceAll(oneLine([]byte(line)), "\t", "    "))
	}
	return strings.Join(lines, "\n")
}
