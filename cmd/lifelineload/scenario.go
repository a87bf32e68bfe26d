package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"lifeline/loadtest"
)

// scenario is what every scenario takes, and how each is run.
type scenario struct {
	around surroundings
	format string
}

func (s *scenario) flags(flags *pflag.FlagSet, t *loadtest.Target) {
	flags.StringVarP(&s.format, "output", "o", "text", "text, or json with one value")
	flags.StringVar(&t.Server, "server", s.around.server, "server's address; also LIFELINE_SERVER")
	flags.StringSliceVar(&t.Sources, "source", nil, "addresses of this machine to dial from, in turn; one serves about 28,000 connections")
	flags.IntVar(&t.Loops, "loops", 0, "event loops of the client; 0 = one for two cores")
}

// report is what a run brings.
type report interface {
	Text() string
	Fault() error
}

// run runs a scenario whose options are valid, prints its report, and returns what was wrong.
func (s *scenario) run(ctx context.Context, invalid error, do func(context.Context, func(loadtest.Progress)) (report, error)) error {
	if s.format != "text" && s.format != "json" {
		invalid = errors.Join(fmt.Errorf("output is %q, expected text or json", s.format), invalid)
	}
	if invalid != nil {
		return usage(invalid)
	}
	p := newProgress(s.around.stderr, time.Now())
	r, err := do(ctx, func(now loadtest.Progress) { p.show(time.Now(), now) })
	p.clear()
	if errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	if r == nil {
		return err
	}
	if printErr := s.print(r); printErr != nil {
		return errors.Join(printErr, err)
	}
	return errors.Join(r.Fault(), err)
}

func (s *scenario) print(r report) error {
	if s.format == "json" {
		return json.NewEncoder(s.around.stdout).Encode(r)
	}
	_, err := fmt.Fprint(s.around.stdout, r.Text())
	return err
}
