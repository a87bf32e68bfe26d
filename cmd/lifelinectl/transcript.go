package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"lifeline/protocol"
	"lifeline/protocol/client"
)

// message shows a live message, when the history before it is there. The user's own come back from the server like all
// others: that is when they get their place.
func (c *chat) message(m client.Message) []string {
	if m.Conversation != protocol.DirectConversation(c.me, c.with) {
		if m.Sender == c.me {
			return nil
		}
		return c.note(yellow, fmt.Sprintf("%s, elsewhere: %s", oneLine([]byte(m.Sender)), oneLine(m.Payload)))
	}
	if !c.settled {
		c.early = append(c.early, m)
		return nil
	}
	return c.show(&m)
}

// show makes the lines of a message, of one that was shown none.
func (c *chat) show(m *client.Message) (lines []string) {
	if m.Seq <= c.newest {
		return nil
	}
	c.newest = m.Seq
	if i := slices.IndexFunc(c.pending, func(u *unsent) bool { return u.id == string(m.ClientID) }); i >= 0 && m.Sender == c.me {
		m.Payload = []byte(c.pending[i].text)
		c.pending = slices.Delete(c.pending, i, i+1)
	}
	local := m.Time.Local()
	if day := local.Format("Monday, 2 January 2006"); day != c.day {
		c.day = day
		lines = append(lines, c.screen.paint(dim, "── "+day+" ──"))
	}
	look, mark := green, ""
	if m.Sender == c.me {
		look, mark = cyan, " "+c.screen.paint(dim, "✓")
	}
	text := safe(m.Payload)
	if m.Recalled {
		text = "(recalled)"
	}
	return append(lines, c.lines(local, m.Sender, look, text, mark)...)
}

// lines sets a message: time, sender, and the text beside them, with mark behind its last word.
func (c *chat) lines(at time.Time, sender, look, text, mark string) (lines []string) {
	name := oneLine([]byte(sender))
	column := max(textWidth(c.me), textWidth(c.with))
	head := at.Format("15:04 ") + name + strings.Repeat(" ", max(0, column-textWidth(name))) + "  "
	indent := textWidth(head)
	for i, line := range wrap(text, c.screen.size()-indent-3) {
		if i > 0 {
			lines = append(lines, strings.Repeat(" ", indent)+line)
			continue
		}
		painted := c.screen.paint(dim, at.Format("15:04 ")) + c.screen.paint(look, name) + head[len(at.Format("15:04 "))+len(name):]
		lines = append(lines, painted+line)
	}
	lines[len(lines)-1] += mark
	return lines
}

// note makes the lines of something that nobody has written.
func (c *chat) note(look, text string) (lines []string) {
	const indent = "      "
	for _, line := range wrap(text, c.screen.size()-len(indent)-1) {
		lines = append(lines, indent+c.screen.paint(look, line))
	}
	return lines
}

// sent takes the outcome of a message. A stored one stays below until it comes back with its place.
func (c *chat) sent(s client.Sent) []string {
	i := slices.IndexFunc(c.pending, func(u *unsent) bool { return u.id == string(s.Message.ClientID) })
	if i < 0 {
		return nil
	}
	if s.Err == nil {
		c.pending[i].stored = true
		return nil
	}
	c.pending = slices.Delete(c.pending, i, i+1)
	return c.note(red, fmt.Sprintf("not sent: %s (%v)", oneLine(s.Message.Payload), s.Err))
}

// tell takes a change of the connection. With the first one that is good the history is fetched.
func (c *chat) tell(ctx context.Context, s client.Status) []string {
	first := s.State == client.Online && c.status.State != client.Online && !c.settled
	c.status = s
	if first {
		go c.fetch(ctx)
	}
	return nil
}

// fetch asks for the last messages, and hands them over.
func (c *chat) fetch(ctx context.Context) {
	history, err := c.last(ctx)
	c.events.post(func() []string { return c.begin(history, err) })
}

func (c *chat) last(ctx context.Context) ([]client.Message, error) {
	id := protocol.DirectConversation(c.me, c.with)
	h, err := c.client.Pull(ctx, id, 1, 1)
	if err != nil || h.Head == 0 || c.history == 0 {
		return nil, err
	}
	from := uint64(1)
	if n := uint64(c.history); h.Head > n {
		from = h.Head - n + 1
	}
	h, err = c.client.Pull(ctx, id, from, h.Head)
	return h.Messages, err
}

// reset takes a new beginning. In another epoch Seqs begin anew.
func (c *chat) reset(epoch client.Epoch) []string {
	fresh := c.epoch != client.Epoch{} && c.epoch != epoch
	c.epoch = epoch
	if !fresh {
		return nil
	}
	c.newest = 0
	return c.note(yellow, "the server has begun a new history")
}

// begin shows the history, and behind it what came meanwhile.
func (c *chat) begin(history []client.Message, err error) (lines []string) {
	if c.settled {
		return nil
	}
	if refused := (*client.RefusedError)(nil); err != nil && !errors.As(err, &refused) {
		return nil // stopped, or asked again with the next connection
	}
	c.settled = true
	for i := range history {
		lines = append(lines, c.show(&history[i])...)
	}
	for i := range c.early {
		lines = append(lines, c.show(&c.early[i])...)
	}
	c.early = nil
	return lines
}

// draw puts everything on the terminal.
func (c *chat) draw(lines []string) {
	c.screen.draw(lines, c.footer(), oneLine([]byte(c.me))+" › ", &c.editor)
}

// footer is what has no place in the conversation: unsent messages, and the connection when it is away.
func (c *chat) footer() (lines []string) {
	width := c.screen.size() - 1
	shown := c.pending[max(0, len(c.pending)-pendingMost):]
	if n := len(c.pending) - len(shown); n > 0 {
		lines = append(lines, c.screen.paint(dim, fit(fmt.Sprintf("  ⋯ %d more to be sent", n), width)))
	}
	for _, u := range shown {
		mark := "  ⋯ "
		if u.stored {
			mark = "  ✓ "
		}
		lines = append(lines, c.screen.paint(dim, fit(mark+oneLine([]byte(u.text)), width)))
	}
	if text := connectionText(&c.status, time.Now()); text != "" {
		lines = append(lines, c.screen.paint(yellow, fit("  "+text, width)))
	}
	return lines
}

// reason is the heart of an error, for a line that is short.
func reason(err error) string {
	if dial := (*net.OpError)(nil); errors.As(err, &dial) {
		return dial.Err.Error()
	}
	if refused := (*client.RefusedError)(nil); errors.As(err, &refused) {
		return refused.Error()
	}
	return err.Error()
}

// connectionText says what the user should know of the connection, nothing while it is good.
func connectionText(s *client.Status, now time.Time) string {
	switch s.State {
	case client.Online:
		if s.Held != nil {
			return "waits to be sent: " + oneLine([]byte(reason(s.Held)))
		}
		return ""
	case client.Waiting:
		text := "not connected"
		if s.Cause != nil {
			text += ": " + oneLine([]byte(reason(s.Cause)))
		}
		if wait := s.Next.Sub(now).Round(time.Second); wait > 0 {
			text = fmt.Sprintf("next try in %v, /retry for now; %s", wait, text)
		}
		return text
	case client.Leaving, client.Stopped:
		return ""
	}
	return "connecting …"
}
