package protocol

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// [P-3.1], [P-7.1], [P-7.2], [P-7.3], [P-7.4]: the official runtime and this package read each other's bodies, for every
// frame, and agree on every field and on the text form.
func TestAgainstOfficialRuntime(t *testing.T) {
	for _, typ := range defined() {
		t.Run(typ.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(typ)))
			f := New(typ)
			for range 200 {
				want := dynamicpb.NewMessage(descriptor(t, typ))
				fill(r, want)
				body, err := proto.Marshal(want)
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Parse(body); err != nil {
					t.Fatalf("%v: %v", want, err)
				}
				dropEmpty(want)
				if got, line := string(f.AppendText(nil)), typ.String()+officialText(want, true); got != line {
					t.Fatalf("\n got %s\nwant %s", got, line)
				}
				sameAsOfficial(t, f, want)
			}
		})
	}
}

// sameAsOfficial writes f, lets both runtimes read it, and compares what they found with want and with f.
func sameAsOfficial(t *testing.T, f Frame, want *dynamicpb.Message) {
	t.Helper()
	wire := f.Append(nil)
	h, n, err := ReadHeader(wire, MaxLength)
	if err != nil || h.Type != f.Type() || n+h.Body != len(wire) {
		t.Fatalf("%s: header %v, %d: %v", f.AppendText(nil), h, n, err)
	}
	got := dynamicpb.NewMessage(want.Descriptor())
	if err := proto.Unmarshal(wire[n:], got); err != nil {
		t.Fatalf("%s: official runtime: %v", f.AppendText(nil), err)
	}
	if !proto.Equal(got, want) {
		t.Fatalf("official runtime\n got %v\nwant %v", got, want)
	}
	again := New(f.Type())
	if err := again.Parse(wire[n:]); err != nil {
		t.Fatalf("%s: %v", f.AppendText(nil), err)
	}
	if string(again.Append(nil)) != string(wire) || string(again.AppendText(nil)) != string(f.AppendText(nil)) {
		t.Fatalf("\nfirst  %s\nsecond %s", f.AppendText(nil), again.AppendText(nil))
	}
	if fresh := New(f.Type()); fresh.Parse(wire[n:]) != nil || !reflect.DeepEqual(fresh, again) {
		t.Fatalf("%s: two readings differ", f.AppendText(nil))
	}
}

// fill sets fields at random, within what this package is stricter about: id lengths and the range of codes.
func fill(r *rand.Rand, m *dynamicpb.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		switch {
		case r.IntN(4) == 0:
		case field.IsList():
			list := m.Mutable(field).List()
			for range r.IntN(4) {
				list.Append(value(r, field))
			}
		default:
			m.Set(field, value(r, field))
		}
	}
}

func value(r *rand.Rand, field protoreflect.FieldDescriptor) protoreflect.Value {
	number := r.Uint64() >> r.IntN(64)
	switch field.Kind() {
	case protoreflect.MessageKind:
		m := dynamicpb.NewMessage(field.Message())
		fill(r, m)
		return protoreflect.ValueOfMessage(m)
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(r.IntN(2) == 0)
	case protoreflect.EnumKind:
		if r.IntN(4) == 0 {
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(int32(number)))
		}
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(r.IntN(field.Enum().Values().Len())))
	case protoreflect.Uint32Kind:
		if field.Name() == "code" || field.Name() == "previous_close" {
			number &= 0x3ff
		}
		return protoreflect.ValueOfUint32(uint32(number))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(number)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(strings.Repeat(string([]rune("a\x1f\x7fé\"\\€📱")[r.IntN(8)]), r.IntN(40)))
	case protoreflect.BytesKind:
		b := make([]byte, r.IntN(300))
		if field.Name() == "epoch" || field.Name() == "message_id" {
			b = make([]byte, 16)
		}
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return protoreflect.ValueOfBytes(b)
	}
	panic("the schema has a kind that is new to this test: " + field.Kind().String())
}

// dropEmpty clears inner messages without fields, which this package does not tell from absent ones, but where their
// presence says something: in a list, a oneof, or as Pong's heartbeat.
func dropEmpty(m protoreflect.Message) {
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i := range v.List().Len() {
				dropEmpty(v.List().Get(i).Message())
			}
		default:
			dropEmpty(v.Message())
			if !presenceCounts(field) && proto.Size(v.Message().Interface()) == 0 {
				m.Clear(field)
			}
		}
		return true
	})
}

func presenceCounts(field protoreflect.FieldDescriptor) bool {
	return field.FullName() == "lifeline.v1.Pong.heartbeat" || field.ContainingOneof() != nil
}

// officialText is the text form of a message, made from the schema alone.
func officialText(m protoreflect.Message, space bool) string {
	var out strings.Builder
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if !m.Has(field) && field.FullName() != "lifeline.v1.Bye.reason" {
			continue
		}
		if space {
			out.WriteByte(' ')
		}
		space = true
		out.WriteString(string(field.Name()) + "=")
		if !field.IsList() {
			out.WriteString(officialValue(field, m.Get(field)))
			continue
		}
		var items []string
		for i := range m.Get(field).List().Len() {
			items = append(items, officialValue(field, m.Get(field).List().Get(i)))
		}
		out.WriteString("[" + strings.Join(items, " ") + "]")
	}
	return out.String()
}

func officialValue(field protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch field.Kind() {
	case protoreflect.MessageKind:
		return "{" + officialText(v.Message(), false) + "}"
	case protoreflect.EnumKind:
		if name := field.Enum().Values().ByNumber(v.Enum()); name != nil {
			return strings.TrimPrefix(strings.ToLower(string(name.Name())), "retry_")
		}
		return fmt.Sprint(v.Enum())
	case protoreflect.Fixed64Kind:
		return fmt.Sprintf("%016x", v.Uint())
	case protoreflect.BytesKind:
		if field.Name() == "token" || field.Name() == "payload" {
			return fmt.Sprintf("<%d>", len(v.Bytes()))
		}
		return fmt.Sprintf("%x", v.Bytes())
	case protoreflect.StringKind:
		return officialQuote(v.String())
	}
	if field.Name() == "code" || field.Name() == "previous_close" {
		return Code(v.Uint()).String()
	}
	return fmt.Sprint(v.Interface())
}

func officialQuote(s string) string {
	var out strings.Builder
	for _, c := range []byte(s) {
		if c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			fmt.Fprintf(&out, "\\x%02x", c)
		} else {
			out.WriteByte(c)
		}
	}
	return `"` + out.String() + `"`
}
