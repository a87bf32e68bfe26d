package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lifeline/protocol"
	"lifeline/protocol/client"
)

func newChat(around surroundings) *cobra.Command {
	c := &chat{around: around}
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk with a user in the terminal",
		Long: `chat is a conversation of two in the terminal: what you type goes out with Enter, what the other writes appears above.

A message stands below the others until the server has stored it, and moves up when it has its place in the conversation. When the
line breaks it is made again, and nothing is lost. The last messages are shown at the start (--history).

Keys are those of a shell: arrows, Ctrl-A and Ctrl-E, Ctrl-W, Ctrl-U, Ctrl-K, the arrow up for earlier lines. A pasted
text with several lines is one message. Ctrl-D or Ctrl-C leaves. Lines that begin with a slash are commands: /help lists them.
NO_COLOR in the environment turns colours off.`,
		Example: `  lifelinectl chat --as alice --with bob
  lifelinectl chat --as bob --with alice        # in another terminal
  lifelinectl chat --as alice --with bob --device phone --history 100`,
		Args: exactly(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	c.login.flags(flags, around, "", "device to be; if empty, a new one for this command only")
	flags.StringVar(&c.with, "with", "", "user to talk with")
	flags.IntVar(&c.history, "history", 20, "how many earlier messages to show, at most 100")
	return cmd
}

// chat is one run of the command. Its fields are owned by the goroutine that runs talk; others reach it through events.
type chat struct {
	// Set by flags.
	around  surroundings
	login   login
	with    string
	history int

	// Set by run.
	me     string
	client *client.Client
	screen *screen
	events events

	editor   editor
	keys     keys
	status   client.Status
	pending  []*unsent        // oldest first
	early    []client.Message // live ones that came before the history
	settled  bool             // the history is shown
	newest   uint64           // Seq of the last line
	epoch    client.Epoch     // in which that counts
	day      string           // of the last line
	quitting bool
}

// unsent is a message that has no place in the conversation yet.
type unsent struct {
	id     string
	text   string
	stored bool
}

// events is what happened and is not shown yet. Functions return the lines to print.
type events struct {
	wake chan struct{} // has a value when list has
	done chan struct{} // closed when nothing is shown any more

	mu   sync.Mutex
	list []func() []string // Guarded by mu.
}

// post never blocks, for the client's loop must not.
func (e *events) post(f func() []string) {
	e.mu.Lock()
	e.list = append(e.list, f)
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// show posts and waits until it is done: what is acknowledged was on the screen.
func (e *events) show(f func() []string) error {
	shown := make(chan struct{})
	e.post(func() []string {
		defer close(shown)
		return f()
	})
	select {
	case <-shown:
		return nil
	case <-e.done:
		return errGone
	}
}

func (e *events) take() []func() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.list
	e.list = nil
	return list
}

var errGone = errors.New("the screen is gone")

const (
	pendingMost = 5 // unsent messages that are shown
	historyMost = 100
	sendWithin  = 10 * time.Second // at the end, while the server is there
	leaveWithin = 5 * time.Second
)

func (c *chat) run(ctx context.Context) error {
	if !protocol.ValidID([]byte(c.with)) {
		return usage(fmt.Errorf("--with %q: say with whom to talk", c.with))
	}
	if c.history < 0 || c.history > historyMost {
		return usage(fmt.Errorf("--history is %d, want 0 to %d", c.history, historyMost))
	}
	forget := c.login.device == ""
	if forget {
		c.login.device = newDevice("chat")
	}
	o, err := c.login.options(c.around)
	if err != nil {
		return err
	}
	c.me = c.login.name(c.around)
	in, out, err := c.terminal()
	if err != nil {
		return err
	}
	c.events = events{wake: make(chan struct{}, 1), done: make(chan struct{})}
	c.callbacks(ctx, &o)
	if c.client, err = client.New(o); err != nil {
		return usage(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.client.Run(ctx) }()
	err = c.inTerminal(ctx, in, out, ended)
	c.leave(forget, ended)
	for _, u := range c.pending {
		if !u.stored {
			fmt.Fprintf(c.around.stderr, "lifelinectl: not sent: %s\n", oneLine([]byte(u.text)))
			err = errors.Join(err, errUnsent)
		}
	}
	return err
}

var errUnsent = errors.New("you left before everything was sent")

// terminal returns the two ends of the terminal.
func (c *chat) terminal() (in, out *os.File, err error) {
	in, ok1 := c.around.stdin.(*os.File)
	out, ok2 := c.around.stdout.(*os.File)
	if !ok1 || !ok2 || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, nil, usage(errors.New("chat needs a terminal; send and listen do without"))
	}
	return in, out, nil
}

// callbacks lets the client's goroutines hand over what happens.
func (c *chat) callbacks(ctx context.Context, o *client.Options) {
	o.OnMessage = func(m client.Message) error { return c.events.show(func() []string { return c.message(m) }) }
	o.OnReset = func(_ context.Context, r client.Reset) error {
		return c.events.show(func() []string { return c.reset(r.Epoch) })
	}
	o.OnSent = func(s client.Sent) { c.events.post(func() []string { return c.sent(s) }) }
	o.OnStatus = func(s client.Status) { c.events.post(func() []string { return c.tell(ctx, s) }) }
}

// inTerminal talks in raw mode and puts the terminal back.
func (c *chat) inTerminal(ctx context.Context, in, out *os.File, ended chan error) error {
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("use the terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(in.Fd()), old) }()
	fmt.Fprint(out, "\x1b[?2004h")
	defer fmt.Fprint(out, "\x1b[?2004l")
	c.screen = &screen{w: out, color: c.around.variable("NO_COLOR") == "", size: func() int {
		width, _, err := term.GetSize(int(out.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}}
	defer c.screen.close()
	return c.talk(ctx, keyboard(ctx, in), ended)
}

// keyboard reads the terminal until it ends. Its goroutine stays in a read when the command ends.
func keyboard(ctx context.Context, in *os.File) <-chan []byte {
	typed := make(chan []byte)
	go func() {
		defer close(typed)
		for {
			buf := make([]byte, 1024)
			n, err := in.Read(buf)
			if err != nil {
				return
			}
			select {
			case typed <- buf[:n]:
			case <-ctx.Done():
				return
			}
		}
	}()
	return typed
}

// talk shows what happens until the user leaves or the client ends.
func (c *chat) talk(ctx context.Context, typed <-chan []byte, ended chan error) error {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	second := time.NewTicker(time.Second)
	defer second.Stop()
	var latest <-chan time.Time // the end, while the last messages are sent
	c.draw(c.greeting())
	for {
		var lines []string
		select {
		case p, ok := <-typed:
			lines = c.typed(p, !ok)
		case <-c.events.wake:
			for _, f := range c.events.take() {
				lines = append(lines, f()...)
			}
		case <-resized:
		case <-second.C:
		case err := <-ended:
			ended <- nil
			return err
		case <-ctx.Done():
			return nil
		case <-latest:
			return nil
		}
		c.draw(lines)
		if !c.quitting {
			continue
		}
		if c.status.State != client.Online || !c.sending() {
			return nil
		}
		if latest == nil {
			typed, latest = nil, time.After(sendWithin)
		}
	}
}

func (c *chat) greeting() (lines []string) {
	text := "You are " + oneLine([]byte(c.me)) + ", talking with " + oneLine([]byte(c.with)) + ". /help says what you can do."
	for _, line := range wrap(text, c.screen.size()-1) {
		lines = append(lines, c.screen.paint(dim, line))
	}
	return lines
}

// sending tells whether the server has not answered for a message.
func (c *chat) sending() bool {
	return slices.ContainsFunc(c.pending, func(u *unsent) bool { return !u.stored })
}

// leave says goodbye. A logout that the server did not hear of is no failure of talking.
func (c *chat) leave(forget bool, ended chan error) {
	close(c.events.done)
	reason := protocol.ByeQuit
	if forget {
		reason = protocol.ByeLogout
	}
	c.client.Leave(reason)
	select {
	case _ = <-ended:
	case <-time.After(leaveWithin):
	}
}

// typed treats what came from the keyboard.
func (c *chat) typed(p []byte, ended bool) (lines []string) {
	for _, k := range c.keys.feed(p) {
		switch {
		case k.code == keyInterrupt, k.code == keyEOF && len(c.editor.text) == 0:
			c.quitting = true
			return lines
		case k.code == keyEnter:
			lines = append(lines, c.entered(c.editor.enter())...)
		default:
			c.editor.edit(k)
		}
	}
	c.quitting = c.quitting || ended
	return lines
}

// entered sends a line, or obeys it.
func (c *chat) entered(line string) []string {
	text, isCommand := strings.CutPrefix(line, "/")
	if isCommand && !strings.HasPrefix(text, "/") {
		return c.command(strings.TrimSpace(text))
	}
	if isCommand {
		line = text // two slashes are one
	}
	if strings.TrimSpace(line) == "" {
		return nil
	}
	id, err := c.client.Send(&client.Outgoing{ToUser: c.with, Payload: []byte(line)})
	if err != nil {
		return c.note(red, "not sent: "+err.Error())
	}
	c.pending = append(c.pending, &unsent{id: string(id), text: line})
	return nil
}

func (c *chat) command(name string) []string {
	switch name {
	case "quit", "q", "exit":
		c.quitting = true
		return nil
	case "retry":
		c.client.NetworkChanged(protocol.Network{Class: protocol.Wired})
		return nil
	case "help", "?":
		return c.note(dim, "Enter sends. /retry connects at once, /quit leaves; so do Ctrl-D and Ctrl-C. "+
			"A line that begins with // is a message that begins with a slash.")
	}
	return c.note(yellow, "there is no command /"+oneLine([]byte(name))+"; a message begins with // to begin with a slash")
}
