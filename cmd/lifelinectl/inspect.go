package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// admin is the operators' port of a server.
type admin struct{ address string }

func (a *admin) flag(around surroundings, flags *pflag.FlagSet) {
	address := around.variable("LIFELINE_HTTP")
	if address == "" {
		address = "127.0.0.1:7401"
	}
	flags.StringVar(&a.address, "http", address, "server's HTTP port, which serves this on loopback only; also LIFELINE_HTTP")
}

// get asks the server. The caller closes the body.
func (a *admin) get(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	if _, _, err := net.SplitHostPort(a.address); err != nil {
		return nil, usage(fmt.Errorf("--http %q: want host:port", a.address))
	}
	u := url.URL{Scheme: "http", Host: a.address, Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, usage(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, unreached(fmt.Errorf("ask %s: %w; is lifelined running there? --http names another", a.address, errors.Unwrap(err))) // an url.Error
	}
	if res.StatusCode != http.StatusOK {
		defer func() { _ = res.Body.Close() }()
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
		return nil, &coded{exitRefused, fmt.Errorf("%s: %s", res.Status, strings.TrimSpace(string(text)))}
	}
	return res, nil
}

// deviceView is what the server says of a device; see docs/operations.md.
type deviceView struct {
	Device   string     `json:"device"`
	Platform string     `json:"platform"`
	Cursor   *uint64    `json:"cursor"`
	Lag      uint64     `json:"lag"`
	LastSeen *time.Time `json:"last_seen"`
	Session  *struct {
		ConnID   string `json:"conn_id"`
		State    string `json:"state"`
		Activity string `json:"activity"`
		Acked    uint64 `json:"acked"`
		Sent     uint64 `json:"sent"`
		Head     uint64 `json:"head"`
		Outbound int    `json:"outbound_bytes"`
	} `json:"session"`
}

func newDevices(around surroundings) *cobra.Command {
	var at admin
	var format output
	cmd := &cobra.Command{
		Use:   "devices USER",
		Short: "List a user's devices: cursor, lag, session, last seen",
		Long: `devices lists the devices of a user that have a cursor or a session. LAG is how many positions of the inbox the device
has not acknowledged; CONN is what trace takes.`,
		Example: `  lifelinectl devices bob
  lifelinectl devices bob -o json | jq .lag`,
		Args: exactly(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			res, err := at.get(cmd.Context(), "/debug/devices", url.Values{"user": args})
			if err != nil {
				return err
			}
			defer func() { _ = res.Body.Close() }()
			var views []deviceView
			if err := json.NewDecoder(res.Body).Decode(&views); err != nil {
				return fmt.Errorf("read the answer: %w", err)
			}
			if len(views) == 0 {
				fmt.Fprintf(around.stderr, "lifelinectl: the server knows no device of %s\n", oneLine([]byte(args[0])))
				return nil
			}
			return printDevices(around.stdout, format, views)
		},
	}
	at.flag(around, cmd.Flags())
	format.flag(cmd.Flags())
	return cmd
}

func printDevices(w io.Writer, format output, views []deviceView) error {
	if format == asJSON {
		for i := range views {
			if err := printJSON(w, &views[i]); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DEVICE\tPLATFORM\tCURSOR\tLAG\tSESSION\tCONN\tLAST SEEN")
	for _, v := range views {
		cursor, session, conn, seen := "-", "-", "-", "-"
		if v.Cursor != nil {
			cursor = fmt.Sprint(*v.Cursor)
		}
		if v.LastSeen != nil {
			seen = v.LastSeen.Local().Format(time.DateTime)
		}
		if v.Session != nil {
			session, conn, seen = v.Session.State+", "+v.Session.Activity, v.Session.ConnID, "now"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", oneLine([]byte(v.Device)), v.Platform, cursor, v.Lag, session, conn, seen)
	}
	return table.Flush()
}

// presenceView is what the server says of a user; see docs/operations.md.
type presenceView struct {
	User     string     `json:"user"`
	State    string     `json:"state"`
	LastSeen *time.Time `json:"last_seen"`
	Devices  []struct {
		Device   string `json:"device"`
		Platform string `json:"platform"`
		Suspect  bool   `json:"suspect"`
		Lagging  bool   `json:"lagging"`
	} `json:"devices"`
}

func newPresence(around surroundings) *cobra.Command {
	var at admin
	var format output
	cmd := &cobra.Command{
		Use:   "presence USER...",
		Short: "Say who is online, offline or unknown",
		Long: `presence asks about up to 200 users. Unknown means that it could not be found out, or that there is no such user; it
never means offline.`,
		Example: `  lifelinectl presence alice bob
  lifelinectl presence bob -o json | jq -r .state`,
		Args: exactly(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			res, err := at.get(cmd.Context(), "/debug/presence", url.Values{"user": args})
			if err != nil {
				return err
			}
			defer func() { _ = res.Body.Close() }()
			var views []presenceView
			if err := json.NewDecoder(res.Body).Decode(&views); err != nil {
				return fmt.Errorf("read the answer: %w", err)
			}
			return printPresence(around.stdout, format, views)
		},
	}
	at.flag(around, cmd.Flags())
	format.flag(cmd.Flags())
	return cmd
}

func printPresence(w io.Writer, format output, views []presenceView) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range views {
		v := &views[i]
		if format == asJSON {
			if err := printJSON(w, v); err != nil {
				return err
			}
			continue
		}
		var devices []string
		for _, d := range v.Devices {
			name := oneLine([]byte(d.Device)) + " (" + d.Platform + ")"
			if d.Suspect {
				name += " suspect"
			}
			if d.Lagging {
				name += " lagging"
			}
			devices = append(devices, name)
		}
		if v.LastSeen != nil {
			devices = append(devices, "last seen "+v.LastSeen.Local().Format(time.DateTime))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", oneLine([]byte(v.User)), v.State, strings.Join(devices, ", "))
	}
	return table.Flush()
}

func newTrace(around surroundings) *cobra.Command {
	var at admin
	cmd := &cobra.Command{
		Use:   "trace CONN",
		Short: "Print the frames of one connection as they come and go",
		Long: `trace prints the frames of a connection in their text form: < from the client, > to it. Payloads and tokens show as
sizes. It ends with the connection, after an hour, or when interrupted. CONN is what devices shows.`,
		Example: `  lifelinectl devices bob
  lifelinectl trace 1.42.7`,
		Args: exactly(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			res, err := at.get(cmd.Context(), "/debug/trace", url.Values{"conn": args})
			if err != nil {
				return err
			}
			defer func() { _ = res.Body.Close() }()
			lines := bufio.NewScanner(res.Body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				fmt.Fprintln(around.stdout, lines.Text())
			}
			if err := lines.Err(); err != nil && !errors.Is(err, context.Canceled) {
				return fmt.Errorf("read the trace: %w", err)
			}
			return nil
		},
	}
	at.flag(around, cmd.Flags())
	return cmd
}
