package delivery

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lifeline/protocol"
	"lifeline/server/auth"
	"lifeline/store"
)

func TestEveryRefusalOfTheStoreHasACode(t *testing.T) {
	type row struct {
		code  protocol.Code
		retry protocol.RetryClass
	}
	want := map[store.Refusal]row{
		store.None:           {0, 0},
		store.Busy:           {protocol.CodeBusy, protocol.RetryAfter},
		store.StorageFull:    {protocol.CodeStorageFull, protocol.RetryAfter},
		store.Closed:         {protocol.CodeDraining, protocol.RetryAfter},
		store.InvalidID:      {protocol.CodeInvalidID, protocol.RetryFixRequest},
		store.TooLarge:       {protocol.CodePayloadTooLarge, protocol.RetryFixRequest},
		store.NotMember:      {protocol.CodeNotMember, protocol.RetryFixRequest},
		store.NoSuchGroup:    {protocol.CodeNoSuchGroup, protocol.RetryFixRequest},
		store.Conflict:       {protocol.CodeConflict, protocol.RetryFixRequest},
		store.StaleVersion:   {protocol.CodeConflict, protocol.RetryFixRequest},
		store.TooManyMembers: {protocol.CodeConflict, protocol.RetryFixRequest},
		store.Overdue:        {protocol.CodeBusy, protocol.RetryAfter},
	}
	for _, r := range store.Refusals() {
		w, ok := want[r]
		if !ok || int(r) >= len(refusalCodes) {
			t.Errorf("%s has no code", r)
			continue
		}
		code := CodeOf(r)
		if code != w.code || code.Retry() != w.retry || code.Local() {
			t.Errorf("%s: got %s (%s), want %s (%s)", r, code, code.Retry(), w.code, w.retry)
		}
		delete(want, r)
	}
	for r := range want {
		t.Errorf("the test knows %s, the store does not list it", r)
	}
}

func TestEveryRefusalOfATokenHasACode(t *testing.T) {
	type row struct {
		code  protocol.Code
		retry protocol.RetryClass
	}
	want := map[auth.Refusal]row{
		auth.None:           {0, 0},
		auth.BadToken:       {protocol.CodeBadToken, protocol.RetryRefreshToken},
		auth.Expired:        {protocol.CodeTokenExpired, protocol.RetryRefreshToken},
		auth.DeviceMismatch: {protocol.CodeDeviceMismatch, protocol.RetryStop},
		auth.Internal:       {protocol.CodeInternal, protocol.RetryAfter},
	}
	for _, r := range auth.Refusals() {
		w, ok := want[r]
		if !ok || int(r) >= len(tokenCodes) {
			t.Errorf("%v has no code", r)
			continue
		}
		code := CodeOfToken(r)
		if code != w.code || code.Retry() != w.retry || code.Local() {
			t.Errorf("%v: got %s (%s), want %s (%s)", r, code, code.Retry(), w.code, w.retry)
		}
		delete(want, r)
	}
	for r := range want {
		t.Errorf("the test knows %v, auth does not list it", r)
	}
}

// A kind that is stored and not yet spoken on the wire goes out as a void, which is no entry kind here.
func TestEveryKindIsMapped(t *testing.T) {
	want := map[string]protocol.EntryKind{
		"KindMessage":      protocol.EntryMessage,
		"KindConversation": protocol.EntryConversation,
		"KindRecall":       protocol.EntryNone,
		"KindRead":         protocol.EntryNone,
		"KindReceipt":      protocol.EntryNone,
	}
	all := constants(t, "../../store", "Kind")
	for name, v := range all {
		w, ok := want[name]
		if got := kinds[store.Kind(v)]; !ok || got != w {
			t.Errorf("%s goes out as %d, the test says %d, %v", name, got, w, ok)
		}
	}
	if len(all) != len(want) {
		t.Errorf("the store has %d kinds, the test %d", len(all), len(want))
	}
	known := make(map[uint64]bool)
	for _, v := range all {
		known[v] = true
	}
	for k := range kinds {
		if !known[uint64(k)] {
			t.Errorf("kind %d is mapped, the store does not have it", k)
		}
	}
}

func TestEveryGapReasonIsMapped(t *testing.T) {
	wire := constants(t, "../../protocol", "GapReason")
	for name, v := range constants(t, "../../store", "GapReason") {
		want, ok := wire["Gap"+name]
		if !ok || want == 0 || int(v) >= len(gapReasons) || uint64(gapReasons[v]) != want {
			t.Errorf("%s (%d) is not mapped to the wire's Gap%s (%d)", name, v, name, want)
		}
	}
}

// A message's state is carried over as a number.
func TestMessageStatesAreTheSameNumbers(t *testing.T) {
	wire, stored := constants(t, "../../protocol", "MessageState"), constants(t, "../../store", "MessageState")
	for name, v := range stored {
		if got, ok := wire[name]; !ok || got != v {
			t.Errorf("%s is %d in the store, %d on the wire (%v)", name, v, got, ok)
		}
	}
	if len(wire) != len(stored) {
		t.Errorf("the wire has %d states, the store %d", len(wire), len(stored))
	}
}

func TestLimitsAreTheSameNumbers(t *testing.T) {
	if protocol.MaxIDBytes != store.MaxIDBytes || protocol.PayloadCeiling != store.MaxPayload {
		t.Errorf("ids %d and %d, payloads %d and %d", protocol.MaxIDBytes, store.MaxIDBytes, protocol.PayloadCeiling, store.MaxPayload)
	}
}

func TestCapable(t *testing.T) {
	need := map[protocol.EntryKind]uint32{
		protocol.EntryMessage:      0,
		protocol.EntryVoid:         0,
		protocol.EntryConversation: protocol.CapabilityConversations,
	}
	for _, k := range kinds {
		if _, ok := need[k]; !ok {
			t.Errorf("the test does not say what a client needs for kind %d", k)
		}
	}
	for k, bit := range need {
		if got := capable(k, 0); got != (bit == 0) {
			t.Errorf("kind %d without capabilities: %v", k, got)
		}
		if got := capable(k, ^bit); got != (bit == 0) {
			t.Errorf("kind %d with every capability but its own: %v", k, got)
		}
		if !capable(k, bit) {
			t.Errorf("kind %d with its capability: false", k)
		}
	}
}

func TestView(t *testing.T) {
	for _, s := range []string{"", "a", "alice\x1fbob"} {
		if got := view(s); string(got) != s || len(got) != len(s) || cap(got) != len(s) {
			t.Errorf("%q: got %q, capacity %d", s, got, cap(got))
		}
	}
}

// constants returns the names and values of every constant of a type that the sources in dir declare, so that a test
// sees one that was added and not mapped.
func constants(t *testing.T, dir, typeName string) map[string]uint64 {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	// Imports are not resolved: constants need none, and what does need one is passed over.
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := conf.Check(dir, fset, files, nil)
	found := make(map[string]uint64)
	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if !ok {
			continue
		}
		if named, ok := c.Type().(*types.Named); ok && named.Obj().Name() == typeName {
			v, exact := constant.Uint64Val(c.Val())
			if !exact {
				t.Fatalf("%s is not a whole number", name)
			}
			found[name] = v
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s declares no constant of type %s", dir, typeName)
	}
	return found
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, os.ErrNotExist }
