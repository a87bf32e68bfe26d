package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lifeline/protocol"
	"lifeline/protocol/client"
)

const (
	sendAhead    = 256 // lines given to the client and not answered yet
	complainMost = 10  // refused lines that are told one by one
)

func newSend(around surroundings) *cobra.Command {
	s := &send{around: around}
	cmd := &cobra.Command{
		Use:   "send [TEXT...]",
		Short: "Send messages: the arguments as one, or one for each line of standard input",
		Long: `send stores messages on the server, in order, each exactly once, and ends when the server has answered for the last one.

Without TEXT each line of standard input is a message. Sends are pipelined up to what the server allows. A lost connection
is made again and the lines go on with the same client ids, so none is stored twice. The exit code is 0 only if every
line was stored: 3 if the server refused one, or takes none for --timeout (its disk is full); 4 if it could not be reached for
that long, 1 if its answers stayed away.

Without --device the command is a device of its own, which the server forgets at the end.`,
		Example: `  lifelinectl send --as alice --to bob "dinner at eight?"
  seq 1 100000 | lifelinectl send --as alice --to bob
  lifelinectl send --as alice --group team -o json < notes.txt`,
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	s.format.flag(flags)
	s.login.flags(flags, around, "", "device to be; if empty, a new one for this command only")
	flags.StringVar(&s.to, "to", "", "user to send to")
	flags.StringVar(&s.group, "group", "", "group to send to")
	flags.BoolVar(&s.noNotify, "no-notify", false, "wake no device for these messages")
	flags.DurationVar(&s.timeout, "timeout", 30*time.Second, "give up when the server has answered nothing for this long")
	return cmd
}

// send is one run of the command. What its callback shares with it goes through answers.
type send struct {
	// Set by flags.
	around   surroundings
	login    login
	format   output
	to       string
	group    string
	noNotify bool
	timeout  time.Duration

	client   *client.Client
	lines    map[string]int // client id → line
	answers  chan client.Sent
	next     int // line
	stored   int
	refused  int
	read     int64 // bytes of input
	fault    error // first refusal
	unread   error // why the input ended early
	progress *progress
}

func (s *send) run(ctx context.Context, args []string) error {
	forget := s.login.device == ""
	if forget {
		s.login.device = newDevice("send")
	}
	if (s.to == "") == (s.group == "") {
		return usage(errors.New("say to whom: either --to USER or --group GROUP"))
	}
	if s.timeout <= 0 {
		return usage(errors.New("--timeout must be more than nothing"))
	}
	o, err := s.login.options(s.around)
	if err != nil {
		return err
	}
	s.lines, s.answers = map[string]int{}, make(chan client.Sent, sendAhead)
	o.MaxOutbox = sendAhead
	o.OnSent = func(sent client.Sent) { s.answers <- sent } // has room for all that may wait
	if s.client, err = client.New(o); err != nil {
		return usage(err)
	}
	ended := make(chan error, 1)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() { ended <- s.client.Run(running) }()
	err = s.drive(ctx, s.input(ctx, args), ended)
	reason := protocol.ByeQuit
	if forget {
		reason = protocol.ByeLogout
	}
	s.client.Leave(reason)
	stop()      // if it does not run yet
	_ = <-ended // within seconds; a logout that the server did not hear of is no failure of sending
	return err
}

// line is one message to send, or what ended the input.
type line struct {
	text []byte
	size int64 // bytes of input
	err  error
}

// input returns the messages, closed after the last.
func (s *send) input(ctx context.Context, args []string) <-chan line {
	lines := make(chan line)
	if len(args) > 0 {
		go func() {
			defer close(lines)
			lines <- line{text: []byte(strings.Join(args, " "))}
		}()
		s.progress = newProgress(s.around.stderr, time.Now(), 0)
		return lines
	}
	s.progress = newProgress(s.around.stderr, time.Now(), inputSize(s.around.stdin))
	go readLines(ctx, s.around.stdin, lines)
	return lines
}

func readLines(ctx context.Context, r io.Reader, lines chan<- line) {
	defer close(lines)
	in := bufio.NewScanner(r)
	in.Buffer(nil, protocol.PayloadCeiling+2)
	for {
		var l line
		if in.Scan() {
			l = line{text: append([]byte(nil), in.Bytes()...), size: int64(len(in.Bytes()) + 1)}
		} else if l.err = in.Err(); l.err == nil {
			return
		} else if errors.Is(l.err, bufio.ErrTooLong) {
			l.err = fmt.Errorf("it is longer than any server takes, which is %d bytes", protocol.PayloadCeiling)
		}
		select {
		case lines <- l:
		case <-ctx.Done():
			return
		}
		if l.err != nil {
			return
		}
	}
}

// drive feeds the client and takes its answers until every line is answered.
func (s *send) drive(ctx context.Context, lines <-chan line, ended chan error) error {
	heard := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	open := true
	for open || len(s.lines) > 0 {
		input := lines
		if len(s.lines) >= sendAhead || !open {
			input = nil
		}
		select {
		case l, ok := <-input:
			if len(s.lines) == 0 {
				heard = time.Now()
			}
			open = ok && l.err == nil
			if err := s.give(l, ok); err != nil {
				return err
			}
		case sent := <-s.answers:
			heard = time.Now()
			if err := s.answer(sent); err != nil {
				return err
			}
		case err := <-ended:
			ended <- nil
			return s.lost(err)
		case now := <-tick.C:
			s.progress.update(now, s.stored, s.read)
			if len(s.lines) > 0 && now.Sub(heard) > s.timeout {
				return s.gaveUp(s.client.Status())
			}
		case <-ctx.Done():
			return interrupted(fmt.Errorf("interrupted: %s", s.tally()))
		}
	}
	s.progress.finish(time.Now(), s.stored, s.read)
	if err := errors.Join(s.fault, s.unread); err != nil {
		return fmt.Errorf("%s: %w", s.tally(), err)
	}
	return nil
}

func (s *send) give(l line, ok bool) error {
	if !ok {
		return nil
	}
	s.next++
	if l.err != nil {
		s.unread = fmt.Errorf("line %d: %w", s.next, l.err)
		return nil
	}
	s.read += l.size
	id, err := s.client.Send(&client.Outgoing{ToUser: s.to, ToGroup: s.group, Payload: l.text, NoNotify: s.noNotify})
	if err != nil {
		return usage(fmt.Errorf("line %d: %w", s.next, err))
	}
	s.lines[string(id)] = s.next
	return nil
}

// printedSent is the outcome of a message as JSON.
type printedSent struct {
	Line     int           `json:"line"`
	ClientID string        `json:"client_id"`
	Seq      uint64        `json:"seq,omitempty"`
	ID       string        `json:"message_id,omitempty"`
	Time     *time.Time    `json:"time,omitempty"`
	Error    *printedError `json:"error,omitempty"`
}

// printedError is a refusal as JSON.
type printedError struct {
	Code   string `json:"code"`
	Retry  string `json:"retry"`
	Detail string `json:"detail,omitempty"`
}

func (s *send) answer(sent client.Sent) error {
	id := sent.Message.ClientID
	printed := printedSent{Line: s.lines[string(id)], ClientID: hex.EncodeToString(id)}
	delete(s.lines, string(id))
	if sent.Err == nil {
		s.stored++
		utc := sent.Time.UTC()
		printed.Seq, printed.ID, printed.Time = sent.Seq, sent.ID.String(), &utc
	} else {
		s.complain(printed.Line, sent.Err)
		printed.Error = errorAsJSON(sent.Err)
	}
	if s.format == asJSON {
		return printJSON(s.around.stdout, printed)
	}
	return nil
}

func (s *send) complain(line int, err error) {
	s.refused++
	if s.fault == nil {
		s.fault = err
	}
	if s.refused > complainMost {
		return
	}
	s.progress.clear()
	fmt.Fprintf(s.around.stderr, "lifelinectl: line %d was not stored: %v\n", line, err)
}

func errorAsJSON(err error) *printedError {
	refused := (*client.RefusedError)(nil)
	if !errors.As(err, &refused) {
		return &printedError{Code: "LOCAL", Retry: "stop", Detail: err.Error()}
	}
	status := &refused.Status
	return &printedError{Code: status.Code.String(), Retry: status.Retry.String(), Detail: string(status.Detail)}
}

// lost is what the end of the client means before the work is done.
func (s *send) lost(err error) error {
	if err == nil {
		err = client.ErrStopped
	}
	return fmt.Errorf("%s: %w", s.tally(), err)
}

func (s *send) gaveUp(status client.Status) error {
	switch {
	case status.Held != nil:
		return fmt.Errorf("%s: nothing was stored for %v: %w", s.tally(), s.timeout, status.Held)
	case status.State == client.Online:
		return fmt.Errorf("%s: the server has answered nothing for %v", s.tally(), s.timeout)
	}
	return fmt.Errorf("%s: %w", s.tally(), notReached(status.Cause, s.timeout))
}

func (s *send) tally() string {
	s.progress.clear()
	return fmt.Sprintf("%d stored, %d refused, %d unanswered", s.stored, s.refused, len(s.lines))
}

// newDevice makes up a device id.
func newDevice(prefix string) string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + "-" + hex.EncodeToString(b[:])
}
