package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// EnvironmentPrefix begins the variable of every flag: --data-dir is LIFELINE_DATA_DIR.
const EnvironmentPrefix = "LIFELINE_"

// Sources is where a configuration comes from, the later field winning over the earlier one.
type Sources struct {
	File        string // a file's name, for its faults
	YAML        []byte // its content
	Environment []string
	Flags       *pflag.FlagSet // parsed; only flags that were given count
}

// Load reads the sources over the defaults and reports every fault of theirs at once. It does not validate.
func Load(s Sources) (Config, error) {
	c := Default()
	var faults []error
	for _, err := range c.readYAML(s.YAML) {
		faults = append(faults, fmt.Errorf("configuration file %s: %w", s.File, err))
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.Flags(flags)
	for _, pair := range s.Environment {
		name, value, _ := strings.Cut(pair, "=")
		flag := flagOf(flags, name)
		if flag == nil {
			continue
		}
		if err := replace(flag, value); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	if s.Flags != nil {
		s.Flags.Visit(func(given *pflag.Flag) {
			if flag := flags.Lookup(given.Name); flag != nil {
				if err := copyFlag(flag, given); err != nil {
					faults = append(faults, fmt.Errorf("--%s: %w", given.Name, err))
				}
			}
		})
	}
	return c, errors.Join(faults...)
}

// tools are the variables of lifelinectl and lifelineload, which one file may set beside the server's.
var tools = []string{EnvironmentPrefix + "SERVER", EnvironmentPrefix + "TOKEN"}

// Unknown lists variables of the environment that look like ours and set nothing, for a warning: a service manager may
// put its own there, so they are no faults.
func Unknown(environment []string) []string {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c := Default()
	c.Flags(flags)
	var unknown []string
	for _, pair := range environment {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, EnvironmentPrefix) && flagOf(flags, name) == nil && !slices.Contains(tools, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// YAML writes c so that reading it gives c again.
func (c Config) YAML() ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(c); err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	return out.Bytes(), nil
}

// readYAML returns every fault.
func (c *Config) readYAML(text []byte) (faults []error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	err := decoder.Decode(c)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if typed := (*yaml.TypeError)(nil); errors.As(err, &typed) {
		for _, line := range typed.Errors {
			faults = append(faults, errors.New(plain(line)))
		}
		return faults
	}
	if err != nil {
		return []error{err}
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return []error{errors.New("more than one document")}
	}
	return nil
}

// plain is a fault of the YAML library in an operator's words. The library names Go types.
func plain(line string) string {
	line = unknownKey.ReplaceAllString(line, `unknown key "$1"`)
	m := wrongType.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	at, is, want := m[1], m[2], expected[m[3]]
	if want == "" {
		want = "another kind of value"
	}
	if is == "" {
		return at + "expected " + want
	}
	return fmt.Sprintf("%s%q: expected %s", at, is, want)
}

var (
	unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)
	wrongType  = regexp.MustCompile("^(.*)cannot unmarshal \\S+(?: `(.*)`)? into (\\S+)$")
	expected   = map[string]string{
		"bool":          "true or false",
		"int":           "a whole number",
		"string":        "one text",
		"[]string":      "a list",
		"time.Duration": "a number and its unit, like 90s or 4m",
	}
)

func flagOf(flags *pflag.FlagSet, variable string) *pflag.Flag {
	name, ok := strings.CutPrefix(variable, EnvironmentPrefix)
	if !ok || name != strings.ToUpper(name) {
		return nil
	}
	return flags.Lookup(strings.ToLower(strings.ReplaceAll(name, "_", "-")))
}

// replace sets a flag to text; a list is replaced, not appended to.
func replace(flag *pflag.Flag, text string) error {
	list, ok := flag.Value.(pflag.SliceValue)
	if !ok {
		return flag.Value.Set(text)
	}
	if text == "" {
		return list.Replace(nil)
	}
	return list.Replace(strings.Split(text, ","))
}

func copyFlag(to, from *pflag.Flag) error {
	if list, ok := from.Value.(pflag.SliceValue); ok {
		return to.Value.(pflag.SliceValue).Replace(list.GetSlice())
	}
	return to.Value.Set(from.Value.String())
}
