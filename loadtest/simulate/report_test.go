package simulate

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestFigure(t *testing.T) {
	for _, tt := range []struct {
		values       []float64
		mean, spread float64
	}{
		{[]float64{3}, 3, 0},
		{[]float64{2, 4}, 3, math.Sqrt2},
		{[]float64{1, 2, 3, 4, 5}, 3, math.Sqrt(2.5)},
	} {
		f := Figure{Values: tt.values}
		f.summarise()
		if math.Abs(f.Mean-tt.mean) > 1e-9 || math.Abs(f.Spread-tt.spread) > 1e-9 {
			t.Errorf("%v: %v ± %v, want %v ± %v", tt.values, f.Mean, f.Spread, tt.mean, tt.spread)
		}
	}
}

func TestPercentile(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, tt := range []struct {
		values []float64
		p      int
		want   float64
	}{
		{nil, 50, 0}, {[]float64{7}, 0, 7}, {[]float64{7}, 100, 7},
		{ten, 0, 1}, {ten, 10, 1}, {ten, 11, 2}, {ten, 50, 5}, {ten, 95, 10}, {ten, 100, 10},
	} {
		if got := percentile(tt.values, tt.p); got != tt.want {
			t.Errorf("%d %% of %v: %v, want %v", tt.p, tt.values, got, tt.want)
		}
	}
}

// A seed's phones become counts per phone and day, and shares of what could arrive.
func TestResultOfASeed(t *testing.T) {
	var r Result
	var pool gathered
	r.add([]tally{
		{wakeups: 100, breaks: 4, kills: 2, pushes: 30, late: 3, trials: 8, seen: []int64{1000, 3000}, closed: []int64{5000}},
		{wakeups: 300, pushes: 70, seen: []int64{2000}},
	}, 2, &pool)
	for _, tt := range []struct {
		what string
		f    Figure
		want float64
	}{
		{"wake-ups", r.Wakeups, 100}, {"breaks", r.Breaks, 1}, {"false kills", r.FalseKills, 0.5}, {"late", r.LatePushes, 0.03},
		{"trials", r.Trials, 2}, {"seen", r.SeenMean, 2}, {"seen, p95", r.SeenP95, 3}, {"closed", r.ClosedMean, 5}, {"closed, p95", r.ClosedP95, 5},
	} {
		if len(tt.f.Values) != 1 || tt.f.Values[0] != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, tt.f.Values, tt.want)
		}
	}
	if !reflect.DeepEqual(pool.wakeups, []float64{50, 150}) || len(pool.seen) != 3 {
		t.Errorf("gathered %+v", pool)
	}
}

func report(t *testing.T) Report {
	t.Helper()
	r, err := Run(Options{Clients: 8, Days: 2, Seeds: []uint64{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTable(t *testing.T) {
	f := func(mean, spread float64) Figure { return Figure{Mean: mean, Spread: spread} }
	r := Report{Results: []Result{{Algorithm: "a", Wakeups: f(2425, 3.14), Breaks: f(0.1, 0.01), FalseKills: f(43.7, 0.25), LatePushes: f(0.0005, 0.0001),
		SeenMean: f(29, 1), SeenP95: f(44, 1), ClosedMean: f(29, 1), ClosedP95: f(1044, 1)}}}
	const want = "" +
		"| algorithm |   wake-ups |  NAT breaks |    false kills |     late pushes | seen, mean |        p95 | closed, mean |          p95 |\n" +
		"|-----------|-----------:|------------:|---------------:|----------------:|-----------:|-----------:|-------------:|-------------:|\n" +
		"| a         | 2425 ± 3.1 | 0.10 ± 0.01 | 43.700 ± 0.250 | 0.050 % ± 0.010 | 29 s ± 1.0 | 44 s ± 1.0 |   29 s ± 1.0 | 1044 s ± 1.0 |\n"
	var got strings.Builder
	if err := r.WriteTable(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

func TestJSONHoldsEverything(t *testing.T) {
	r := report(t)
	var text bytes.Buffer
	if err := r.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var back Report
	decoder := json.NewDecoder(&text)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, r) {
		t.Error("what was read back is not what was written")
	}
}

// The page needs nothing from outside, names every algorithm, and its drawings are well-formed and stay on their plane.
func TestPage(t *testing.T) {
	r := report(t)
	var text strings.Builder
	if err := r.WriteHTML(&text); err != nil {
		t.Fatal(err)
	}
	page := text.String()
	for _, foreign := range []string{"http:", "https:", "src=", "href=", "@import", "url(", "<script"} {
		if strings.Contains(page, foreign) {
			t.Errorf("the page has %q", foreign)
		}
	}
	for _, result := range r.Results {
		if n := strings.Count(page, result.Algorithm); n < 6 { // a row, two legends, a dot, two curves
			t.Errorf("%s is named %d times", result.Algorithm, n)
		}
	}
	drawings := strings.SplitAfter(page, "</svg>")
	if len(drawings) != 4 {
		t.Fatalf("%d drawings, want 3", len(drawings)-1)
	}
	for _, drawing := range drawings[:3] {
		checkDrawing(t, drawing[strings.Index(drawing, "<svg"):])
	}
}

func checkDrawing(t *testing.T, drawing string) {
	t.Helper()
	points := 0
	for decoder := xml.NewDecoder(strings.NewReader(drawing)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, attribute := range element.Attr {
			switch attribute.Name.Local {
			case "points":
				for point := range strings.FieldsSeq(attribute.Value) {
					x, y, _ := strings.Cut(point, ",")
					onPlane(t, x, width)
					onPlane(t, y, height)
					points++
				}
			case "cx":
				onPlane(t, attribute.Value, width)
				points++
			case "cy":
				onPlane(t, attribute.Value, height)
			}
		}
	}
	if points < len(algorithms) {
		t.Errorf("only %d points", points)
	}
}

func onPlane(t *testing.T, text string, most float64) {
	t.Helper()
	if v, err := strconv.ParseFloat(text, 64); err != nil || v < 0 || v > most {
		t.Errorf("a point at %q of %v", text, most)
	}
}

func TestScale(t *testing.T) {
	for _, tt := range []struct {
		s       scale
		v, want float64
	}{
		{scale{from: 0, to: 200}, 50, 0.25},
		{scale{from: 0, to: 200}, -50, 0},
		{scale{from: 0, to: 200}, 500, 1},
		{scale{from: 1, to: 100, log: true}, 10, 0.5},
		{scale{from: 1, to: 100, log: true}, 0, 0},
	} {
		if got := tt.s.at(tt.v); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v at %v: %v, want %v", tt.v, tt.s, got, tt.want)
		}
	}
}

// A name goes to the left of its dot where another dot or the edge is on the right.
func TestNamesMakeRoom(t *testing.T) {
	x, y := scale{from: 0, to: planeWidth, format: "%.0f"}, scale{from: 0, to: planeHeight, format: "%.0f"}
	p := newPlot("test", x, y)
	p.dots([]dot{{"c0", "free", 10, 50}, {"c1", "blocked", 200, 100}, {"c2", "blocks", 250, 105}, {"c3", "edge", planeWidth - 20, 10}})
	for name, anchor := range map[string]string{"free": "start", "blocked": "end", "blocks": "start", "edge": "end"} {
		at := strings.Index(p.text.String(), ">"+name+"<")
		line := p.text.String()[strings.LastIndex(p.text.String()[:at], "\n")+1 : at]
		if !strings.Contains(line, `text-anchor="`+anchor+`"`) {
			t.Errorf("%s: %s, want %s", name, line, anchor)
		}
	}
}

// broken takes nothing.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWritersReportTheirErrors(t *testing.T) {
	r := report(t)
	for name, write := range map[string]func(io.Writer) error{"table": r.WriteTable, "JSON": r.WriteJSON, "HTML": r.WriteHTML} {
		if err := write(broken{}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
