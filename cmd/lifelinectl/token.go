package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lifeline/protocol"
	"lifeline/server/auth"
)

func developmentToken(user string) string { return auth.DevelopmentPrefix + user }

func newToken(around surroundings) *cobra.Command {
	var (
		format    output
		user      string
		device    string
		newKey    string
		algorithm string
		signing   signing
	)
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print a token, or make a key that signs tokens",
		Long: `token prints a token for a user.

Without --key it is a development token, which proves nothing and which only a server on loopback believes. With --key it
is a JWT signed with that key: a private key in PEM signs with EdDSA, anything else is a shared secret and signs with
HS256. The token's kid is the file's name without its ending, unless --kid says otherwise.

--new-key FILE makes such a key. An EdDSA key comes with FILE.pub, which is what the server gets; the line that is printed
is the server's setting.`,
		Example: `  lifelinectl token --sub bob
  lifelinectl token --new-key bob.pem
  lifelinectl token --key bob.pem --sub bob --ttl 1h
  LIFELINE_TOKEN=$(lifelinectl token --key bob.pem --sub bob) lifelinectl listen --device phone`,
		Args: exactly(cobra.NoArgs),
		RunE: func(_ *cobra.Command, _ []string) error {
			if newKey != "" {
				if user != "" || signing.file != "" {
					return usage(errors.New("--new-key makes a key and no token: leave out --sub and --key"))
				}
				return makeKey(around, format, newKey, signing.kid, algorithm)
			}
			if !protocol.ValidID([]byte(user)) {
				return usage(fmt.Errorf("--sub %q: want a user id of 1 to 64 bytes of UTF-8 without control characters", user))
			}
			return printToken(around, format, &signing, user, device)
		},
	}
	flags := cmd.Flags()
	format.flag(flags)
	flags.StringVar(&user, "sub", "", "user the token is for; --as is the same")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "as" { // what the other commands call a user
			name = "sub"
		}
		return pflag.NormalizedName(name)
	})
	flags.StringVar(&device, "device", "", "only device the token is good for; needs --key")
	flags.StringVar(&newKey, "new-key", "", "file to write a new private key to")
	flags.StringVar(&algorithm, "algorithm", auth.EdDSA, "of the new key: EdDSA or HS256")
	signing.flags(flags)
	return cmd
}

// printedToken is a token as JSON.
type printedToken struct {
	Token   string     `json:"token"`
	Sub     string     `json:"sub"`
	Device  string     `json:"device,omitempty"`
	Expires *time.Time `json:"expires,omitempty"`
}

func printToken(around surroundings, format output, signing *signing, user, device string) error {
	printed := printedToken{Token: developmentToken(user), Sub: user, Device: device}
	if signing.file == "" && device != "" {
		return usage(errors.New("--device binds a signed token to a device: it needs --key"))
	}
	if signing.file != "" {
		signer, err := signing.load()
		if err != nil {
			return err
		}
		now := time.Now()
		if printed.Token, err = signer.sign(user, device, now); err != nil {
			return err
		}
		expires := now.Add(signer.ttl).UTC().Truncate(time.Second)
		printed.Expires = &expires
	}
	if format == asJSON {
		return printJSON(around.stdout, printed)
	}
	_, err := fmt.Fprintln(around.stdout, printed.Token)
	return err
}
