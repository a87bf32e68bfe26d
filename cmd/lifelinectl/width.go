package main

import (
	"strings"
	"unicode"
)

// wide lists what takes two columns of a terminal: scripts of East Asia, full-width forms, emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x231a, Hi: 0x231b, Stride: 1}, {Lo: 0x23e9, Hi: 0x23ec, Stride: 1},
		{Lo: 0x25fd, Hi: 0x25fe, Stride: 1}, {Lo: 0x2614, Hi: 0x2615, Stride: 1}, {Lo: 0x2648, Hi: 0x2653, Stride: 1},
		{Lo: 0x26a1, Hi: 0x26a1, Stride: 1}, {Lo: 0x26bd, Hi: 0x26be, Stride: 1}, {Lo: 0x2705, Hi: 0x2705, Stride: 1},
		{Lo: 0x274c, Hi: 0x274c, Stride: 1}, {Lo: 0x2753, Hi: 0x2755, Stride: 1}, {Lo: 0x2b50, Hi: 0x2b50, Stride: 1},
		{Lo: 0x2e80, Hi: 0x303e, Stride: 1}, {Lo: 0x3041, Hi: 0x33ff, Stride: 1}, {Lo: 0x3400, Hi: 0x4dbf, Stride: 1},
		{Lo: 0x4e00, Hi: 0xa4cf, Stride: 1}, {Lo: 0xa960, Hi: 0xa97c, Stride: 1}, {Lo: 0xac00, Hi: 0xd7a3, Stride: 1},
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1}, {Lo: 0xff01, Hi: 0xff60, Stride: 1},
		{Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1f004, Hi: 0x1f004, Stride: 1}, {Lo: 0x1f18e, Hi: 0x1f19a, Stride: 1}, {Lo: 0x1f200, Hi: 0x1f320, Stride: 1},
		{Lo: 0x1f32d, Hi: 0x1f64f, Stride: 1}, {Lo: 0x1f680, Hi: 0x1f6ff, Stride: 1}, {Lo: 0x1f7e0, Hi: 0x1f7eb, Stride: 1},
		{Lo: 0x1f900, Hi: 0x1f9ff, Stride: 1}, {Lo: 0x1fa70, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1},
	},
}

// runeWidth is how many columns of a terminal a rune takes.
func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

func textWidth(s string) (width int) {
	for _, r := range s {
		width += runeWidth(r)
	}
	return width
}

// fit cuts text that is wider than width columns, and says so.
func fit(text string, width int) string {
	if textWidth(text) <= width {
		return text
	}
	var b strings.Builder
	used := 0
	for _, r := range text {
		if used += runeWidth(r); used > width-1 {
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}

// wrap breaks text into lines of at most width columns: at its own line ends, between words, and within a word that is
// wider than a line.
func wrap(text string, width int) (lines []string) {
	width = max(width, 2)
	for paragraph := range strings.SplitSeq(text, "\n") {
		line, used := "", 0
		for _, word := range words(paragraph) {
			w := textWidth(word)
			if used > 0 && used+textWidth(strings.TrimRight(word, " ")) > width {
				lines = append(lines, strings.TrimRight(line, " "))
				line, used = "", 0
			}
			for textWidth(strings.TrimRight(word, " ")) > width {
				head := take(word, width)
				lines = append(lines, head)
				word = word[len(head):]
				w = textWidth(word)
			}
			line, used = line+word, used+w
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// words cuts text behind its spaces, and between characters of scripts that have none.
func words(text string) (out []string) {
	from := 0
	runes := []rune(text)
	for i, r := range runes {
		last := i == len(runes)-1
		switch {
		case last, r == ' ' && runes[i+1] != ' ', unicode.Is(wide, r), unicode.Is(wide, runes[i+1]) && r != ' ':
			out = append(out, string(runes[from:i+1]))
			from = i + 1
		}
	}
	return out
}

// take is the longest beginning of text that fits into width columns; at least one rune.
func take(text string, width int) string {
	used := 0
	for i, r := range text {
		if used += runeWidth(r); used > width && i > 0 {
			return text[:i]
		}
	}
	return text
}
