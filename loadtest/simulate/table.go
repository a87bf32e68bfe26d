package simulate

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// WriteTable writes the figures as a Markdown table whose columns are aligned.
func (r Report) WriteTable(w io.Writer) error {
	rows := append([][]string{heads}, make([][]string, 0, len(r.Results))...)
	for _, result := range r.Results {
		row := []string{result.Algorithm}
		for _, c := range result.cells() {
			row = append(row, c.Value+" ± "+c.Spread)
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(heads))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for n, row := range rows {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				fmt.Fprintf(&text, "| %s%s ", cell, pad)
			} else {
				fmt.Fprintf(&text, "| %s%s ", pad, cell)
			}
		}
		text.WriteString("|\n")
		if n == 0 {
			text.WriteString("|" + strings.Repeat("-", widths[0]+2) + "|")
			for _, width := range widths[1:] {
				text.WriteString(strings.Repeat("-", width+1) + ":|")
			}
			text.WriteString("\n")
		}
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

var heads = []string{"algorithm", "wake-ups", "NAT breaks", "false kills", "late pushes", "seen, mean", "p95", "closed, mean", "p95"}

// cell is one figure as text.
type cell struct{ Value, Spread string }

// cells are a result's row behind its name.
func (r Result) cells() []cell {
	return []cell{
		r.Wakeups.cell(0, ""), r.Breaks.cell(2, ""), r.FalseKills.cell(3, ""), r.LatePushes.times(100).cell(3, " %"),
		r.SeenMean.cell(0, " s"), r.SeenP95.cell(0, " s"), r.ClosedMean.cell(0, " s"), r.ClosedP95.cell(0, " s"),
	}
}

func (f Figure) times(n float64) Figure { return Figure{Mean: f.Mean * n, Spread: f.Spread * n} }

func (f Figure) cell(digits int, unit string) cell {
	return cell{fmt.Sprintf("%.*f%s", digits, f.Mean, unit), fmt.Sprintf("%.*f", max(digits, 1), f.Spread)}
}
