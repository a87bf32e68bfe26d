package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Size is a number of bytes. It reads and writes as 512, 32KiB, 64MiB or 2GiB.
type Size int64

var units = []struct {
	suffix string
	bytes  Size
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// String writes s in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range units {
		if s != 0 && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// Set reads s; with Type it makes *Size a flag.
func (s *Size) Set(text string) error {
	number, unit := strings.TrimSpace(text), Size(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/int64(unit) {
		return fmt.Errorf("size %q: expected bytes, or a number with KiB, MiB or GiB", text)
	}
	*s = Size(n) * unit
	return nil
}

// Type names the flag's value in help texts.
func (s *Size) Type() string { return "size" }

// UnmarshalYAML reads s from YAML. A fault of this type does not hide those behind it.
func (s *Size) UnmarshalYAML(node *yaml.Node) error {
	if err := s.Set(node.Value); err != nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %v", node.Line, err)}}
	}
	return nil
}

// MarshalText writes s to YAML.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
