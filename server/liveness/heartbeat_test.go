package liveness

import (
	"strings"
	"testing"
	"time"
)

func TestGrant(t *testing.T) {
	p := DefaultPolicy()
	for _, tt := range []struct {
		request Request
		want    time.Duration
	}{
		{Request{}, 60 * sec},
		{Request{Background: true}, 240 * sec},
		{Request{Desktop: true}, 60 * sec},
		{Request{Desktop: true, Background: true}, 60 * sec},
	} {
		if got := p.Grant(tt.request); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.request, got, tt.want)
		}
	}
}

func TestLimit(t *testing.T) {
	for _, tt := range []struct{ interval, window, limit time.Duration }{
		{1 * sec, 15 * sec, 16 * sec},
		{60 * sec, 15 * sec, 75 * sec},
		{150 * sec, 15 * sec, 165 * sec},
		{151 * sec, 15100 * ms, 166100 * ms},
		{240 * sec, 24 * sec, 264 * sec},
		{900 * sec, 90 * sec, 990 * sec},
	} {
		if got := Window(tt.interval); got != tt.window {
			t.Errorf("Window(%v) = %v, want %v", tt.interval, got, tt.window)
		}
		if got := Limit(tt.interval); got != tt.limit {
			t.Errorf("Limit(%v) = %v, want %v", tt.interval, got, tt.limit)
		}
	}
}

func TestLongest(t *testing.T) {
	if got := DefaultPolicy().Longest(); got != 900*sec {
		t.Errorf("default: %v", got)
	}
	p := DefaultPolicy()
	p.Desktop = 1000 * sec
	if got := p.Longest(); got != 1000*sec {
		t.Errorf("long desktop: %v", got)
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Policy)
		want   []string
	}{
		{"default", func(*Policy) {}, nil},
		{"fixed", func(p *Policy) { p.Foreground = Range{60 * sec, 60 * sec, 60 * sec} }, nil},
		{"zero", func(p *Policy) { p.Desktop = 0 }, []string{"desktop is 0s"}},
		{"fraction", func(p *Policy) { p.Desktop = 1500 * ms }, []string{"desktop is 1.5s"}},
		{"too long", func(p *Policy) { p.Background.Max = time.Hour + sec }, []string{"background.max is 1h0m1s"}},
		{"below min", func(p *Policy) { p.Foreground.Interval = 29 * sec }, []string{"foreground.interval is 29s"}},
		{"above max", func(p *Policy) { p.Background.Interval = 901 * sec }, []string{"background.interval is 15m1s"}},
		{"all at once", func(p *Policy) { *p = Policy{} }, []string{
			"foreground.min", "foreground.interval", "foreground.max",
			"background.min", "background.interval", "background.max", "desktop",
		}},
	} {
		p := DefaultPolicy()
		tt.change(&p)
		faults := p.Validate()
		if len(faults) != len(tt.want) {
			t.Errorf("%s: %d faults %v, want %d", tt.name, len(faults), faults, len(tt.want))
			continue
		}
		for i, want := range tt.want {
			if !strings.HasPrefix(faults[i].Error(), want) {
				t.Errorf("%s: fault %q, want %q", tt.name, faults[i], want)
			}
		}
	}
}
