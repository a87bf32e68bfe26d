package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lifeline/protocol"
)

const (
	dialWithin    = 10 * time.Second
	connackWithin = 10 * time.Second
)

// attempt is one try to get a session: token, dial, Connect, and the answer.
type attempt struct {
	// Set at construction.
	o       *Options
	host    string
	renew   bool // the token
	connect protocol.Connect
	cancel  context.CancelFunc
}

// outcome is what an attempt brought. Exactly one of connection and err is nil.
type outcome struct {
	attempt    *attempt
	connection *connection
	connack    *protocol.Connack
	rest       []protocol.Frame // what came behind Connack
	status     protocol.Status  // of the server's Close
	hosts      [][]byte         // of the server's Close
	noToken    bool             // the app had none that can be sent
	err        error
}

// run makes the try. It returns soon after ctx ends.
func (a *attempt) run(ctx context.Context) outcome {
	token, err := a.o.Token(ctx, a.renew)
	if err != nil {
		return outcome{attempt: a, noToken: true, err: fmt.Errorf("get a token: %w", err)}
	}
	a.connect.Token = token
	if len(a.connect.Append(nil)) > protocol.MaxPreAuth { // every server would refuse it, again and again [P-1.5]
		return outcome{attempt: a, noToken: true, err: errLongConnect}
	}
	c, err := a.dial(ctx)
	if err != nil {
		return outcome{attempt: a, err: fmt.Errorf("connect: %w", err)} // a dialer's error names the host
	}
	out := a.shake(ctx, c)
	if out.err != nil {
		c.close()
		out.err = fmt.Errorf("connect to %s: %w", a.host, out.err)
	}
	return out
}

func (a *attempt) dial(ctx context.Context) (*connection, error) {
	network, address, err := splitAddress(a.host)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	conn, err := a.o.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return newConnection(conn, a.o.Log), nil
}

// shake sends Connect and waits for the answer.
func (a *attempt) shake(ctx context.Context, c *connection) outcome {
	a.o.Trace(true, &a.connect)
	c.send(&a.connect)
	timeout := time.NewTimer(connackWithin)
	defer timeout.Stop()
	select {
	case batch, ok := <-c.frames:
		if !ok {
			return outcome{attempt: a, err: c.lost()}
		}
		return a.answered(c, batch)
	case <-timeout.C:
		return outcome{attempt: a, err: errors.New("the server did not answer Connect")}
	case <-ctx.Done():
		return outcome{attempt: a, err: ctx.Err()}
	}
}

func (a *attempt) answered(c *connection, batch []protocol.Frame) outcome {
	a.o.Trace(false, batch[0])
	switch f := batch[0].(type) {
	case *protocol.Connack:
		if err := a.fault(f); err != nil {
			return outcome{attempt: a, err: err}
		}
		return outcome{attempt: a, connection: c, connack: f, rest: batch[1:]}
	case *protocol.Close:
		return outcome{attempt: a, status: f.Status, hosts: f.Hosts, err: &RefusedError{Status: f.Status}}
	}
	return outcome{attempt: a, err: errFirst}
}

// fault checks what the client relies on [P-6.6].
func (a *attempt) fault(f *protocol.Connack) error {
	switch {
	case len(f.Epoch) != protocol.EpochBytes:
		return errors.New("no epoch in Connack")
	case f.Reset:
		return nil
	case f.Start != a.connect.Pos:
		return fmt.Errorf("the server begins at position %d, and the client asked for another", f.Start)
	case string(f.Epoch) != string(a.connect.Epoch):
		return errors.New("the server goes on in another epoch")
	}
	return nil
}
