package session

import (
	"reflect"
	"testing"
	"unsafe"
)

func TestSessionIsSmall(t *testing.T) {
	const most = 128 // bytes, of a million connections
	if got := unsafe.Sizeof(Session{}); got > most {
		t.Errorf("a session has %d bytes, more than %d", got, most)
	}
}

// A session lies in memory the garbage collector does not scan: a pointer in it would keep nothing alive.
func TestSessionHoldsNoPointer(t *testing.T) {
	if path := pointerIn(reflect.TypeFor[Session]()); path != "" {
		t.Errorf("Session%s points into the Go heap", path)
	}
}

func TestPointersAreFound(t *testing.T) {
	type inner struct{ Words [2][]int }
	for _, tt := range []struct {
		in   any
		want string
	}{
		{struct{ A *int }{}, ".A"},
		{struct{ A string }{}, ".A"},
		{struct{ A any }{}, ".A"},
		{struct{ A map[int]int }{}, ".A"},
		{struct{ A func() }{}, ".A"},
		{struct{ A unsafe.Pointer }{}, ".A"},
		{struct {
			N int
			A inner
		}{}, ".A.Words[]"},
		{struct {
			A [4]byte
			B uint64
			C bool
		}{}, ""},
	} {
		if got := pointerIn(reflect.TypeOf(tt.in)); got != tt.want {
			t.Errorf("%T: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

// pointerIn returns the way to the first part of a type that may hold a pointer, or nothing.
func pointerIn(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if pointerIn(f.Type) != "" || holdsPointer(f.Type.Kind()) {
				return "." + f.Name + pointerIn(f.Type)
			}
		}
	case reflect.Array:
		if pointerIn(t.Elem()) != "" || holdsPointer(t.Elem().Kind()) {
			return "[]" + pointerIn(t.Elem())
		}
	}
	return ""
}

func holdsPointer(k reflect.Kind) bool {
	switch k {
	case reflect.Pointer, reflect.UnsafePointer, reflect.String, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func,
		reflect.Interface:
		return true
	}
	return false
}

func TestFlags(t *testing.T) {
	var s Session
	s.Set(Reading | Blocked)
	if !s.Has(Reading) || !s.Has(Blocked) || !s.Has(Reading|Blocked) {
		t.Errorf("after Set: %b", s.Flags)
	}
	if s.Has(Reading | Resetting) {
		t.Error("Has is true although only one of two flags is set")
	}
	s.Clear(Reading)
	if s.Has(Reading) || !s.Has(Blocked) {
		t.Errorf("after Clear: %b", s.Flags)
	}
	all := []Flag{Indexed, Reading, Blocked, Resetting, CursorDirty, Shut, Unfinished}
	var seen Flag
	for _, f := range all {
		if f == 0 || seen&f != 0 {
			t.Errorf("flag %b is none, or shares a bit", f)
		}
		seen |= f
	}
}

func TestStatesHaveNames(t *testing.T) {
	want := map[State]string{Free: "free", Opened: "opened", Authenticating: "authenticating", Starting: "starting",
		Active: "active", Closing: "closing", Dead: "dead"}
	if len(want) != len(states) {
		t.Errorf("%d states, %d names", len(want), len(states))
	}
	for s, name := range want {
		if s.String() != name {
			t.Errorf("state %d is %q, want %q", s, s, name)
		}
	}
}

func TestLag(t *testing.T) {
	s := Session{Acked: 7, Sent: 9, Head: 12}
	if got := s.Lag(); got != 5 {
		t.Errorf("got %d, want 5", got)
	}
}
