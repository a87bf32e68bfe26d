package main

import (
	"slices"
	"strings"
	"unicode"
)

const recallMost = 100 // entered lines that can be called back

// editor is the line that is being typed.
type editor struct {
	text []rune
	at   int // cursor: an index of text

	history []string // oldest first
	back    int      // how far the user went back in history; 0: not
	draft   []rune   // what was typed before that
}

// edit changes the line; what it does not know changes nothing.
func (e *editor) edit(k key) {
	switch k.code {
	case keyRune:
		e.text = slices.Insert(e.text, e.at, k.r)
		e.at++
	case keyBackspace:
		e.cut(max(0, e.at-1), e.at)
	case keyDelete, keyEOF:
		e.cut(e.at, min(len(e.text), e.at+1))
	case keyLeft:
		e.at = max(0, e.at-1)
	case keyRight:
		e.at = min(len(e.text), e.at+1)
	case keyHome:
		e.at = 0
	case keyEnd:
		e.at = len(e.text)
	case keyWordLeft:
		e.at = e.wordLeft()
	case keyWordRight:
		e.at = e.wordRight()
	case keyKillLine:
		e.cut(0, e.at)
	case keyKillRest:
		e.cut(e.at, len(e.text))
	case keyKillWord:
		e.cut(e.wordLeft(), e.at)
	case keyUp:
		e.recall(e.back + 1)
	case keyDown:
		e.recall(e.back - 1)
	}
}

func (e *editor) cut(from, to int) {
	e.text = slices.Delete(e.text, from, to)
	e.at = from
}

func (e *editor) wordLeft() int {
	at := e.at
	for at > 0 && unicode.IsSpace(e.text[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(e.text[at-1]) {
		at--
	}
	return at
}

func (e *editor) wordRight() int {
	at := e.at
	for at < len(e.text) && unicode.IsSpace(e.text[at]) {
		at++
	}
	for at < len(e.text) && !unicode.IsSpace(e.text[at]) {
		at++
	}
	return at
}

// recall shows the line that was entered so many lines ago, 0 for the one that is being typed.
func (e *editor) recall(back int) {
	if back < 0 || back > len(e.history) {
		return
	}
	if e.back == 0 {
		e.draft = e.text
	}
	e.back = back
	e.text = slices.Clone(e.draft)
	if back > 0 {
		e.text = []rune(e.history[len(e.history)-back])
	}
	e.at = len(e.text)
}

// enter returns the line and begins a new one.
func (e *editor) enter() string {
	line := string(e.text)
	if strings.TrimSpace(line) != "" {
		e.history = append(e.history, line)
		e.history = e.history[max(0, len(e.history)-recallMost):]
	}
	e.text, e.draft, e.at, e.back = nil, nil, 0, 0
	return line
}

// view is the part of the line around the cursor that fits into width columns, and the cursor's column in it.
func (e *editor) view(width int) (text string, column int) {
	width = max(width, 2)
	from := e.at
	for from > 0 && column+shownWidth(e.text[from-1]) < width {
		from--
		column += shownWidth(e.text[from])
	}
	var b strings.Builder
	used := 0
	for _, r := range e.text[from:] {
		if used += shownWidth(r); used > width-1 {
			break
		}
		b.WriteString(shown(r))
	}
	return b.String(), column
}

// shown is how the line shows a rune: a line end within the text is a sign.
func shown(r rune) string {
	if r == '\n' {
		return "⏎"
	}
	return oneLine([]byte(string(r)))
}

func shownWidth(r rune) int { return textWidth(shown(r)) }
