package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"lifeline/protocol"
	"lifeline/protocol/client"
)

func newListen(around surroundings) *cobra.Command {
	l := &listen{around: around}
	cmd := &cobra.Command{
		Use:   "listen",
		Short: "Print the messages that a device receives, one a line",
		Long: `listen is a device of a user and prints every message that the user receives or sends, one a line, in the order of the
user's inbox. Line ends and control characters inside a message are printed as escapes; -o json has everything.

A new device begins with the messages after its first log-in. After that the device goes on where it stopped: its position
is kept in a file below ~/.local/state/lifelinectl (or XDG_STATE_HOME), one for each server, user and device, or in the
file that --state names; --state none keeps nothing. After a clean stop (SIGINT, SIGTERM, --count, --timeout) no message
is missing and none comes twice. A line is printed before its position is stored, so after kill -9 or a power failure the
last lines, at most 64, may come again; none is missing.`,
		Example: `  lifelinectl listen --as bob --device phone
  lifelinectl listen --as bob --device phone --count 10 --timeout 30s
  lifelinectl listen --as bob --device desktop --state ./desktop.inbox
  lifelinectl listen --as bob --device phone -o json | jq .text`,
		Args: exactly(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	l.format.flag(flags)
	l.login.flags(flags, around, "lifelinectl", "device to be")
	flags.StringVar(&l.state, "state", "", "file to keep the position in; none keeps nothing; if empty, one in the home directory")
	flags.IntVar(&l.count, "count", 0, "end after so many messages; if zero, never")
	flags.DurationVar(&l.timeout, "timeout", 0, "end after this time, with exit code 1 if --count was not reached, and 4 if the server was not")
	return cmd
}

// listen is one run of the command.
type listen struct {
	// Set by flags.
	around  surroundings
	login   login
	format  output
	count   int
	timeout time.Duration
	state   string

	client  *client.Client
	out     *bufio.Writer // owned by the goroutine that calls OnMessage
	printed int           // likewise

	online bool  // it was, at some time. Owned by the goroutine that calls Run
	cause  error // why it is not. Likewise
}

// errEnough ends the client when messages come behind the last one that was wanted.
var errEnough = errors.New("enough")

func (l *listen) run(ctx context.Context) (err error) {
	if l.count < 0 {
		return usage(errors.New("--count is negative"))
	}
	if l.timeout < 0 {
		return usage(errors.New("--timeout is negative"))
	}
	o, err := l.login.options(l.around)
	if err != nil {
		return err
	}
	inbox, done, err := openInbox(l.around, l.state, &l.login)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	l.out = bufio.NewWriter(l.around.stdout)
	o.Inbox = &flushing{Inbox: inbox, out: l.out}
	o.OnMessage = l.message
	o.OnStatus = l.tell
	if l.client, err = client.New(o); err != nil {
		return usage(err)
	}
	return l.listen(ctx)
}

// listen runs the client until it has what was wanted.
func (l *listen) listen(ctx context.Context) error {
	if l.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.timeout)
		defer cancel()
	}
	err := l.client.Run(ctx)
	switch {
	case l.count > 0 && l.printed >= l.count:
		return nil
	case err != nil:
		return err
	case !l.online && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return notReached(l.cause, l.timeout)
	case l.count == 0:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%d of %d messages came within %v", l.printed, l.count, l.timeout)
	}
	return interrupted(fmt.Errorf("interrupted: %d of %d messages came", l.printed, l.count))
}

// flushing prints before the position is stored: what is stored was printed.
type flushing struct {
	client.Inbox
	out *bufio.Writer
}

func (f *flushing) Commit(ids []client.MessageID, pos uint64) error {
	if err := f.out.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return f.Inbox.Commit(ids, pos)
}

func (l *listen) message(m client.Message) error {
	if l.count > 0 && l.printed >= l.count {
		return errEnough
	}
	if err := l.print(&m); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if l.printed++; l.printed == l.count {
		l.client.Leave(protocol.ByeQuit)
	}
	return nil
}

// printedMessage is a message as JSON. Text or Payload is there, whichever holds the payload without loss.
type printedMessage struct {
	Pos          uint64    `json:"pos"`
	Conversation string    `json:"conversation"`
	Seq          uint64    `json:"seq"`
	ID           string    `json:"message_id"`
	Sender       string    `json:"sender"`
	SenderDevice string    `json:"sender_device"`
	ClientID     string    `json:"client_id,omitempty"`
	Time         time.Time `json:"time"`
	Recalled     bool      `json:"recalled,omitempty"`
	Text         *string   `json:"text,omitempty"`
	Payload      []byte    `json:"payload_base64,omitempty"`
}

func (l *listen) print(m *client.Message) error {
	if l.format == asJSON {
		return printJSON(l.out, messageAsJSON(m))
	}
	_, err := fmt.Fprintln(l.out, oneLine(m.Payload))
	return err
}

func messageAsJSON(m *client.Message) printedMessage {
	p := printedMessage{Pos: m.Pos, Conversation: m.Conversation, Seq: m.Seq, ID: m.ID.String(), Sender: m.Sender,
		SenderDevice: m.SenderDevice, ClientID: hex.EncodeToString(m.ClientID), Time: m.Time.UTC(), Recalled: m.Recalled}
	if utf8.Valid(m.Payload) {
		text := string(m.Payload)
		p.Text = &text
	} else {
		p.Payload = m.Payload
	}
	return p
}

// tell says on standard error that the device is online, or why it is not.
func (l *listen) tell(s client.Status) {
	l.online = l.online || s.State == client.Online
	if s.State == client.Waiting {
		l.cause = s.Cause
	}
	switch {
	case l.login.quiet:
	case s.State == client.Online:
		fmt.Fprintf(l.around.stderr, "lifelinectl: online at %s\n", s.Host)
	case s.State == client.Waiting && s.Cause != nil:
		next := max(0, time.Until(s.Next)).Round(100 * time.Millisecond)
		fmt.Fprintf(l.around.stderr, "lifelinectl: not connected: %v; next try in %v\n", s.Cause, next)
	}
}
