package simulate

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// WriteHTML writes one page that needs nothing else: the table and the plots.
func (r Report) WriteHTML(w io.Writer) error {
	type row struct {
		Class, Name string
		Cells       []cell
	}
	content := struct {
		Report
		Heads                []string
		Rows                 []row
		Trade, Wakeups, Seen template.HTML
		PhoneDays, Last      int
	}{Report: r, Heads: heads, Trade: r.tradePlot(), Wakeups: r.wakeupsPlot(), Seen: r.seenPlot(),
		PhoneDays: r.Clients * len(r.Seeds) * r.Days, Last: len(r.Results) - 1}
	for i, result := range r.Results {
		content.Rows = append(content.Rows, row{class(i), result.Algorithm, result.cells()})
	}
	if err := page.Execute(w, content); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

func class(i int) string { return fmt.Sprintf("c%d", i) }

var share = scale{from: 0, to: 100, ticks: []float64{0, 25, 50, 75, 100}, format: "%.0f %%"}

// leastLate stands for less on the logarithmic axis.
const leastLate = 0.001

func (r Report) tradePlot() template.HTML {
	p := newPlot("late pushes against wake-ups",
		scale{from: 20, to: 5000, log: true, ticks: []float64{20, 50, 100, 200, 500, 1000, 2000, 5000}, format: "%.0f", label: "wake-ups in background, per phone and day"},
		scale{from: leastLate, to: 10, log: true, ticks: []float64{0.001, 0.01, 0.1, 1, 10}, format: "%g %%", label: "pushes later than 10 s"})
	var dots []dot
	for i, result := range r.Results {
		dots = append(dots, dot{class(i), result.Algorithm, result.Wakeups.Mean, 100 * result.LatePushes.Mean})
	}
	p.dots(dots)
	return p.svg()
}

func (r Report) wakeupsPlot() template.HTML {
	share := share
	share.label = "of the phones"
	p := newPlot("distribution of wake-ups",
		scale{from: 50, to: 5000, log: true, ticks: []float64{50, 100, 200, 500, 1000, 2000, 5000}, format: "%.0f", label: "wake-ups in background per day, at most"}, share)
	for i, result := range r.Results {
		p.curve(curve{class(i), result.Algorithm, result.WakeupsOf})
	}
	return p.svg()
}

func (r Report) seenPlot() template.HTML {
	most := 60.0
	for _, result := range r.Results {
		most = max(most, result.SeenAfter[100])
	}
	x := scale{to: math.Ceil(most/200) * 200, format: "%.0f", label: "seconds until the server takes a phone that vanished for silent, at most"}
	for v := 0.0; v <= x.to; v += 200 {
		x.ticks = append(x.ticks, v)
	}
	share := share
	share.label = "of the phones that vanished"
	p := newPlot("distribution of detection times", x, share)
	for i, result := range r.Results {
		p.curve(curve{class(i), result.Algorithm, result.SeenAfter})
	}
	return p.svg()
}
