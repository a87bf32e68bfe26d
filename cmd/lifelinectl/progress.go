package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

const (
	progressAfter = 2 * time.Second
	progressEvery = 200 * time.Millisecond
	barWidth      = 30
)

// progress is one line on a terminal that says how far the work has got. It appears after two seconds.
type progress struct {
	// Set at construction.
	w     io.Writer // nil: nobody looks
	began time.Time
	total int64 // bytes of input; 0: unknown

	drawn time.Time // zero: nothing is on the screen
}

func newProgress(w io.Writer, now time.Time, total int64) *progress {
	if !isTerminal(w) {
		w = nil
	}
	return &progress{w: w, began: now, total: total}
}

// update draws the line anew when it is time. read is how much of the input was taken.
func (p *progress) update(now time.Time, done int, read int64) {
	if p.w == nil || now.Sub(p.began) < progressAfter || now.Sub(p.drawn) < progressEvery {
		return
	}
	p.drawn = now
	fmt.Fprintf(p.w, "\r\x1b[K%s", p.line(now, done, read))
}

func (p *progress) line(now time.Time, done int, read int64) string {
	took := now.Sub(p.began)
	text := fmt.Sprintf("%d stored, %.0f/s, %v", done, float64(done)/took.Seconds(), took.Truncate(time.Second))
	if p.total <= 0 {
		return text
	}
	part := min(1, float64(read)/float64(p.total))
	full := int(part * barWidth)
	return fmt.Sprintf("[%s%s] %3.0f%%  %s", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), 100*part, text)
}

// finish draws the last state and leaves the line.
func (p *progress) finish(now time.Time, done int, read int64) {
	if p.w != nil && !p.drawn.IsZero() {
		fmt.Fprintf(p.w, "\r\x1b[K%s\n", p.line(now, done, read))
	}
}

// clear makes room for another line.
func (p *progress) clear() {
	if p.w != nil && !p.drawn.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = time.Time{}
	}
}

// isTerminal tells whether people look at w.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// inputSize is the size of a regular file, else 0.
func inputSize(r io.Reader) int64 {
	f, ok := r.(*os.File)
	if !ok {
		return 0
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}
