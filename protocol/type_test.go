package protocol

import "testing"

// [P-2.1], [P-2.3]: the numbers that are given, and the one that never is. TestDocumentTypes holds them to the table.
func TestTypes(t *testing.T) {
	names := map[string]bool{}
	for _, typ := range Types() {
		if name := typ.String(); name == "unknown" || names[name] {
			t.Errorf("0x%02x: name %q", byte(typ), name)
		}
		names[typ.String()] = true
		if f := New(typ); f != nil && f.Type() != typ {
			t.Errorf("New(%s) is a %s", typ, f.Type())
		}
		if typ == 0x03 || typ.Ignorable() || typ.Node() {
			t.Errorf("0x%02x is given to %s", byte(typ), typ)
		}
	}
	if TypeConnect != 0x01 {
		t.Errorf("Connect is 0x%02x", byte(TypeConnect))
	}
}

// [P-2.2]: the ranges, over every number.
func TestTypeRanges(t *testing.T) {
	for n := range 256 {
		typ := Type(n)
		if typ.Ignorable() != (n >= 0x80 && n <= 0xbf) || typ.Node() != (n >= 0xc0) {
			t.Errorf("0x%02x: ignorable %v, node %v", n, typ.Ignorable(), typ.Node())
		}
		if typ.String() == "unknown" && (typ.FromClient() || New(typ) != nil) {
			t.Errorf("0x%02x is not given but known", n)
		}
	}
}
