package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"lifeline/protocol"
	"lifeline/protocol/client"
)

// here runs a command line in this process, without a server.
func here(t *testing.T, environment []string, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	around := surroundings{environment: environment, stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs}
	code = execute(t.Context(), around, args)
	return code, out.String(), errs.String()
}

func TestCommandLinesThatAreWrong(t *testing.T) {
	long := strings.Repeat("u", protocol.MaxIDBytes+1)
	for _, tt := range []struct{ args, want string }{
		{"", "a command is missing"},
		{"frobnicate", "unknown command"},
		{"sned --as alice --to bob hi", `unknown command "sned"; lifelinectl --help says what there is`},
		{"devices", "usage: lifelinectl devices USER"},
		{"devices bob --http somewhere", "want host:port"},
		{"send", "say to whom"},
		{"send --to bob", "say who you are"},
		{"send --as alice --to bob --group team", "say to whom"},
		{"send --as alice --to bob --nonsense", "unknown flag: --nonsense; lifelinectl send --help"},
		{"send --as alice --to bob --timeout soon", "invalid argument"},
		{"send --as alice --to bob -o xml", "want text or json"},
		{"send --as " + long + " --to bob hi", "--as"},
		{"send --as alice --to " + long + " hi", "recipient's id"},
		{"send --as alice --to bob --device " + long + " hi", "device id"},
		{"send --as alice --to bob --server nowhere hi", "want host:port"},
		{"send --as alice --to bob --token x hi", "leave out --as"},
		{"listen", "say who you are"},
		{"listen --as bob --count -1", "--count is negative"},
		{"listen --as bob --timeout -1s", "--timeout is negative"},
		{"send --as alice --to bob --timeout -1s hi", "--timeout must be more"},
		{"listen --as bob extra", "unknown command"},
		{"listen --as bob", "no home directory"},
		{"token", "--sub"},
		{"token --sub bob --device phone", "needs --key"},
		{"token --sub bob --new-key k", "leave out --sub"},
		{"token --new-key k --algorithm ES256", "want EdDSA or HS256"},
		{"token --sub bob --key k --ttl 0s", "--ttl"},
		{"decode --raw --hex", "exclude each other"},
		{"decode a b", "accepts at most 1 arg"},
	} {
		code, stdout, stderr := here(t, nil, "", strings.Fields(tt.args)...)
		if code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, %q, want 2 with %q", tt.args, code, stderr, tt.want)
		}
		if tt.args != "" && stdout != "" {
			t.Errorf("%s: printed %q", tt.args, stdout)
		}
	}
}

func TestHelpHasExamplesAndExitCodes(t *testing.T) {
	_, stdout, _ := here(t, nil, "", "--help")
	for _, want := range []string{"Examples:", "Exit codes:", "130  interrupted"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("--help does not say %q", want)
		}
	}
	expectExamples(t, newRoot(surroundings{}).Commands())
}

func expectExamples(t *testing.T, commands []*cobra.Command) {
	t.Helper()
	for _, command := range commands {
		if command.HasSubCommands() {
			expectExamples(t, command.Commands())
			continue
		}
		code, stdout, _ := here(t, nil, "", append(strings.Fields(command.CommandPath())[1:], "--help")...)
		if _, examples, ok := strings.Cut(stdout, "Examples:"); code != 0 || !ok || !strings.Contains(examples, command.CommandPath()) {
			t.Errorf("%s --help: exit code %d, %q", command.CommandPath(), code, stdout)
		}
	}
}

func TestExitCodes(t *testing.T) {
	refused := &client.RefusedError{Status: protocol.CodeBanned.Status()}
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{io.ErrUnexpectedEOF, 1},
		{usage(io.EOF), 2},
		{fmt.Errorf("3 stored: %w", refused), 3},
		{errors.Join(client.ErrNoToken, refused), 3},
		{unreached(refused), 4},
		{interrupted(io.EOF), 130},
		{fmt.Errorf("listen: %w", context.Canceled), 130},
	} {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for _, tt := range []struct{ payload, want string }{
		{"", ""},
		{"hello, 世界 👋\t!", "hello, 世界 👋\t!"},
		{"two\nlines\r", `two\nlines\u000d`},
		{"\x1b[2Jgone", `\u001b[2Jgone`},
		{"a\xffb\xc3", `a\xffb\xc3`},
		{"\u0085\u202eevil\u2066\u2028", `\u0085\u202eevil\u2066\u2028`},
	} {
		if got := oneLine([]byte(tt.payload)); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.payload, got, tt.want)
		}
	}
}

// What keeps messages from being stored decides the exit code, and the user is told.
func TestSendGivesUp(t *testing.T) {
	full := &client.RefusedError{Status: protocol.CodeStorageFull.Status()}
	draining := &client.RefusedError{Status: protocol.CodeDraining.Status()}
	for _, tt := range []struct {
		status client.Status
		code   int
		want   string
	}{
		{client.Status{State: client.Online}, exitFailed, "answered nothing for 30s"},
		{client.Status{State: client.Online, Held: full}, exitRefused, "STORAGE_FULL"},
		{client.Status{State: client.Waiting, Cause: fmt.Errorf("connect: %w", draining)}, exitRefused, "DRAINING"},
		{client.Status{State: client.Waiting, Cause: io.EOF}, exitUnreached, "EOF; is lifelined running there?"},
		{client.Status{State: client.Connecting}, exitUnreached, "no answer"},
	} {
		s := &send{timeout: 30 * time.Second, progress: newProgress(io.Discard, time.Time{}, 0)}
		if err := s.gaveUp(tt.status); exitCode(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %d %v, want %d with %q", tt.status, exitCode(err), err, tt.code, tt.want)
		}
	}
}
