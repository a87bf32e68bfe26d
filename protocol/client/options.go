package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"lifeline/protocol"
)

// Options says what a Client is made of. The callbacks must not call Run; those marked "loop" must not block.
type Options struct {
	// Servers is where to connect, in order of preference, as tcp4://host:port, tcp6://host:port or host:port. Give more
	// than one port: some networks let only 443 pass. The server may name others later.
	Servers []string
	// Device is this device's id: the same at every start. 1 to 64 bytes of UTF-8.
	Device string
	// Token returns the user's token. renew: the last one was refused or is about to expire. It may take its time, until ctx
	// ends; when it fails, it is asked again at the next try, unless it fails with [ErrNoToken]. Two calls may run at once:
	// a try does not wait for the refresh on a line that broke.
	Token func(ctx context.Context, renew bool) ([]byte, error)

	Platform   protocol.Platform // iOS and desktops try no silence
	AppVersion string
	Activity   protocol.Activity // at the start; if zero, Foreground
	// Network is the class and key at the start; NetworkChanged tells of another. What networks bear is learned by key, and
	// nothing without one. A key says "the same network as then" and nothing else: 8 bytes of an HMAC of the network's
	// identity (of a Wi-Fi its name and access point's address, of a cellular network its operator's code), under a random
	// secret that never leaves the device. LowS and HighS are the client's to fill in.
	Network    protocol.Network
	MaxBacklog uint64 // further behind than this, the server resets; if zero, never
	// Capabilities name the kinds of entries OnEntry wants [P-6.13], protocol.CapabilityConversations or none; others
	// come as positions only.
	Capabilities uint64

	Inbox     Inbox       // if nil, a MemoryInbox
	Outbox    Outbox      // if nil, a MemoryOutbox
	MaxOutbox int         // messages that may wait; if zero, 1000
	Bounds    BoundsStore // if nil, a MemoryBounds

	// OnMessage handles a message that was not handled before. An error ends Run, and the message comes again at the next
	// start. Called by one goroutine at a time, which may take its time and may call Send, Pull and Presence.
	OnMessage func(m Message) error
	// OnEntry is OnMessage for every other kind of entry; if nil, they are passed over.
	OnEntry func(e *protocol.Entry) error
	// OnReset fetches and stores what the device must know before it goes on behind r.Pos; if nil, nothing. The position
	// is stored when it returns nil. Called by the goroutine of OnMessage.
	OnReset func(ctx context.Context, r Reset) error

	OnSent      func(s Sent)                          // loop
	OnStatus    func(s Status)                        // loop
	OnReceiving func(a Arrival)                       // loop
	Trace       func(sent bool, frame protocol.Frame) // loop and tries: every frame, in order per connection

	// Log takes what the app's developers should know and its user cannot help; if nil, it is thrown away.
	Log *slog.Logger
	// Dial opens a connection, and gives up when ctx ends; if nil, a net.Dialer does. The system must not keep the connection
	// alive by itself.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

const usualOutbox = 1000

// Validate reports every fault at once.
func (o *Options) Validate() error {
	var faults []error
	if len(o.Servers) == 0 {
		faults = append(faults, errors.New("no servers"))
	}
	for _, server := range o.Servers {
		if _, _, err := splitAddress(server); err != nil {
			faults = append(faults, err)
		}
	}
	if !protocol.ValidID([]byte(o.Device)) {
		faults = append(faults, fmt.Errorf("device id %q: want 1 to 64 bytes of UTF-8 without control characters", o.Device))
	}
	if o.Token == nil {
		faults = append(faults, errors.New("no Token callback"))
	}
	if o.MaxOutbox < 0 {
		faults = append(faults, fmt.Errorf("MaxOutbox is %d", o.MaxOutbox))
	}
	return errors.Join(faults...)
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	if o.Activity == protocol.ActivityUnspecified {
		o.Activity = protocol.Foreground
	}
	if o.Inbox == nil {
		o.Inbox = new(MemoryInbox)
	}
	if o.Outbox == nil {
		o.Outbox = new(MemoryOutbox)
	}
	if o.Bounds == nil {
		o.Bounds = new(MemoryBounds)
	}
	if o.MaxOutbox == 0 {
		o.MaxOutbox = usualOutbox
	}
	if o.OnMessage == nil {
		o.OnMessage = func(Message) error { return nil }
	}
	if o.OnEntry == nil {
		o.OnEntry = func(*protocol.Entry) error { return nil }
	}
	if o.OnReset == nil {
		o.OnReset = func(context.Context, Reset) error { return nil }
	}
	if o.OnSent == nil {
		o.OnSent = func(Sent) {}
	}
	if o.OnStatus == nil {
		o.OnStatus = func(Status) {}
	}
	if o.OnReceiving == nil {
		o.OnReceiving = func(Arrival) {}
	}
	if o.Trace == nil {
		o.Trace = func(bool, protocol.Frame) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{KeepAlive: -1}).DialContext // TCP keepalive would wake radios and hide what NATs forget
	}
	return o
}
