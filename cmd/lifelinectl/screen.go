package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// screen is a terminal in raw mode: lines that scroll away, and below them a footer whose last line is being typed. The
// footer is drawn anew with every change; none of its lines is wider than the terminal, so it is known how many there are.
type screen struct {
	// Set at construction.
	w     io.Writer
	size  func() (width int)
	color bool

	out    bytes.Buffer // written at once, so that nothing flickers
	height int          // lines of the footer on the terminal
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
	s.height = len(footer) + 1
	_, _ = s.w.Write(s.out.Bytes()) // a terminal that is gone ends the input
}

// erase takes the footer from the terminal.
func (s *screen) erase() {
	if s.height > 1 {
		fmt.Fprintf(&s.out, "\x1b[%dA", s.height-1)
	}
	if s.height > 0 {
		s.out.WriteString("\r\x1b[J")
	}
	s.height = 0
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
