package simulate

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// curve is one algorithm in a plot.
type curve struct {
	class string // of its colour
	name  string
	x     []float64 // percentiles 0 to 100
}

// scale places values on an axis.
type scale struct {
	from, to float64
	log      bool
	ticks    []float64
	label    string
	format   string
}

func (s scale) at(v float64) float64 {
	v = min(max(v, s.from), s.to)
	if s.log {
		return math.Log(v/s.from) / math.Log(s.to/s.from)
	}
	return (v - s.from) / (s.to - s.from)
}

// The plane of every plot.
const (
	width, height            = 720, 340
	left, right, top, bottom = 84, 24, 16, 52
	planeWidth, planeHeight  = width - left - right, height - top - bottom
	tickGap, labelGap        = 18, 42
	dotRadius                = 7
	nameWidth, nameHeight    = 130, 20
)

// plot draws in SVG.
type plot struct {
	text strings.Builder
	x, y scale
}

func newPlot(title string, x, y scale) *plot {
	p := &plot{x: x, y: y}
	p.addf(`<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, width, height, html.EscapeString(title))
	for _, v := range x.ticks {
		at := p.across(v)
		p.addf(`<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, at, top, at, top+planeHeight)
		p.addf(`<text class="tick" x="%.1f" y="%d" text-anchor="middle">%s</text>`, at, top+planeHeight+tickGap, fmt.Sprintf(x.format, v))
	}
	for _, v := range y.ticks {
		at := p.down(v)
		p.addf(`<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`, left, at, left+planeWidth, at)
		p.addf(`<text class="tick" x="%d" y="%.1f" text-anchor="end" dominant-baseline="middle">%s</text>`, left-8, at, fmt.Sprintf(y.format, v))
	}
	p.addf(`<text class="label" x="%d" y="%d" text-anchor="middle">%s</text>`, left+planeWidth/2, top+planeHeight+labelGap, html.EscapeString(x.label))
	p.addf(`<text class="label" transform="translate(16 %d) rotate(-90)" text-anchor="middle">%s</text>`, top+planeHeight/2, html.EscapeString(y.label))
	return p
}

func (p *plot) addf(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

func (p *plot) across(v float64) float64 { return left + planeWidth*p.x.at(v) }
func (p *plot) down(v float64) float64   { return top + planeHeight*(1-p.y.at(v)) }

// curve draws the share of values that do not exceed x.
func (p *plot) curve(c curve) {
	var points strings.Builder
	for share, x := range c.x {
		fmt.Fprintf(&points, "%.1f,%.1f ", p.across(x), p.down(float64(share)))
	}
	p.addf(`<polyline class="curve %s" points="%s"><title>%s</title></polyline>`, c.class, strings.TrimSpace(points.String()), html.EscapeString(c.name))
}

// dot is one algorithm at one point.
type dot struct {
	class, name string
	x, y        float64
}

// dots marks points and names each on its right, or on its left where another dot or the edge is in the way.
func (p *plot) dots(all []dot) {
	for _, d := range all {
		x, y := p.across(d.x), p.down(d.y)
		room := left + planeWidth - x
		for _, other := range all {
			if ahead := p.across(other.x) - x; ahead > 0 && math.Abs(p.down(other.y)-y) < nameHeight {
				room = min(room, ahead)
			}
		}
		at, anchor := x+dotRadius+6, "start"
		if room < nameWidth {
			at, anchor = x-dotRadius-6, "end"
		}
		p.addf(`<circle class="dot %s" cx="%.1f" cy="%.1f" r="%d"/>`, d.class, x, y, dotRadius)
		p.addf(`<text class="name" x="%.1f" y="%.1f" text-anchor="%s" dominant-baseline="middle">%s</text>`, at, y, anchor, html.EscapeString(d.name))
	}
}

func (p *plot) svg() template.HTML { return template.HTML(p.text.String() + "</svg>") }
