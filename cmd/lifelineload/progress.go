package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"lifeline/loadtest"
)

const (
	progressAfter = 2 * time.Second
	progressEvery = 200 * time.Millisecond
	barWidth      = 30
)

// progress is one line on a terminal that says how far a run has got. It appears after two seconds.
type progress struct {
	// Set at construction.
	w     io.Writer // nil: nobody looks
	began time.Time

	drawn time.Time // zero: nothing is on the screen
}

func newProgress(w io.Writer, now time.Time) *progress {
	p := &progress{began: now}
	if isTerminal(w) {
		p.w = w
	}
	return p
}

// show draws the line anew when it is time.
func (p *progress) show(now time.Time, at loadtest.Progress) {
	if p.w == nil || now.Sub(p.began) < progressAfter || now.Sub(p.drawn) < progressEvery {
		return
	}
	p.drawn = now
	fmt.Fprintf(p.w, "\r\x1b[K%s", line(now.Sub(p.began), at))
}

func line(took time.Duration, at loadtest.Progress) string {
	text := fmt.Sprintf("%s: %s, %v", at.Phase, at.Detail, took.Truncate(time.Second))
	if at.Part < 0 {
		return text
	}
	part := min(1, at.Part)
	full := int(part * barWidth)
	return fmt.Sprintf("[%s%s] %3.0f%%  %s", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), 100*part, text)
}

// clear makes room for what follows.
func (p *progress) clear() {
	if !p.drawn.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// isTerminal tells whether people look at w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
