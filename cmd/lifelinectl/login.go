package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"lifeline/protocol"
	"lifeline/protocol/client"
)

const localServer = "tcp4://127.0.0.1:7400"

// login is where a command connects, and as whom.
type login struct {
	servers []string
	user    string
	device  string
	token   string
	signing signing
	trace   bool
	quiet   bool
}

func (l *login) flags(flags *pflag.FlagSet, around surroundings, device, deviceHelp string) {
	servers := localServer
	if s := around.variable("LIFELINE_SERVER"); s != "" {
		servers = s
	}
	flags.StringSliceVar(&l.servers, "server", strings.Split(servers, ","), "server's address; several are tried in turn; also LIFELINE_SERVER")
	flags.StringVar(&l.user, "as", "", "user to be")
	flags.StringVar(&l.device, "device", device, deviceHelp)
	flags.StringVar(&l.token, "token", "", "token to present instead of a development token; also LIFELINE_TOKEN")
	l.signing.flags(flags)
	flags.BoolVar(&l.trace, "trace", false, "print every frame to standard error in its text form")
	flags.BoolVarP(&l.quiet, "quiet", "q", false, "do not tell about the connection on standard error")
}

// options are those of a client that logs in like that.
func (l *login) options(around surroundings) (client.Options, error) {
	token, err := l.tokens(around)
	if err != nil {
		return client.Options{}, usage(err)
	}
	o := client.Options{Servers: l.servers, Device: l.device, Token: token, Platform: protocol.Desktop,
		AppVersion: "lifelinectl", Network: protocol.Network{Class: protocol.Wired}}
	if err := o.Validate(); err != nil {
		return client.Options{}, usage(err)
	}
	if l.trace {
		o.Trace = tracer(around.stderr)
	}
	return o, nil
}

// tokens returns the client's token callback.
func (l *login) tokens(around surroundings) (func(context.Context, bool) ([]byte, error), error) {
	token := l.token
	if token == "" && l.user == "" {
		token = around.variable("LIFELINE_TOKEN")
	}
	switch {
	case l.token != "" && (l.user != "" || l.signing.file != ""):
		return nil, errors.New("--token says who you are: leave out --as and --key")
	case token != "":
		return fixed(token), nil
	case l.user == "":
		return nil, errors.New("say who you are: --as USER, --token TOKEN or LIFELINE_TOKEN")
	case !protocol.ValidID([]byte(l.user)):
		return nil, fmt.Errorf("--as %q: want 1 to 64 bytes of UTF-8 without control characters", l.user)
	case l.signing.file == "":
		return fixed(developmentToken(l.user)), nil
	}
	signer, err := l.signing.load()
	if err != nil {
		return nil, err
	}
	return signer.tokens(l.user), nil
}

func fixed(token string) func(context.Context, bool) ([]byte, error) {
	return func(_ context.Context, renew bool) ([]byte, error) {
		if renew {
			return nil, client.ErrNoToken
		}
		return []byte(token), nil
	}
}

// tracer prints frames. The client calls it from more than one goroutine.
func tracer(w io.Writer) func(bool, protocol.Frame) {
	var mu sync.Mutex
	return func(sent bool, f protocol.Frame) {
		var line bytes.Buffer
		line.WriteString(time.Now().Format("15:04:05.000000 "))
		if sent {
			line.WriteString("> ")
		} else {
			line.WriteString("< ")
		}
		line.Write(f.AppendText(nil))
		line.WriteByte('\n')
		mu.Lock()
		defer mu.Unlock()
		_, _ = w.Write(line.Bytes())
	}
}
