package protocol

import (
	"bytes"
	"testing"
)

// Nothing is allocated per frame, neither way, once the buffers have their size.
func TestNoAllocations(t *testing.T) {
	list, types, bodies := frames(t)
	for i, v := range list {
		f := New(types[i])
		buf := make([]byte, 0, 4096)
		allocs := testing.AllocsPerRun(100, func() {
			h, n, err := ReadHeader(v.wire, MaxLength)
			if err == nil {
				err = f.Parse(v.wire[n : n+h.Body])
			}
			if err != nil {
				t.Errorf("%s: %v", v.name, err)
			}
			buf = f.Append(buf[:0])
		})
		if allocs != 0 {
			t.Errorf("%s of %d bytes: %v allocations", v.name, len(bodies[i]), allocs)
		}
	}
}

func TestNoAllocationsInDelivery(t *testing.T) {
	message := &push128().Entries[0].Message
	entry := &Entry{Pos: 2, Kind: EntryVoid, Void: Void{To: 9}}
	encoding, frame := make([]byte, 0, 1024), make([]byte, 0, 4096)
	pulled := &Pulled{ID: 1, FirstVisible: 1, Head: 9}
	allocs := testing.AllocsPerRun(100, func() {
		encoded := EncodeMessage(encoding, message)
		frame = AppendPushMessage(frame[:0], 1, encoded.Others())
		push := BeginPush(frame[:0], 4000)
		push.AddMessage(1, encoded.Own())
		push.AddEntry(entry)
		frame = push.End(true)
		answer := BeginPulled(frame[:0], 4000, pulled)
		answer.Add(message)
		frame = answer.End(false)
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestNoAllocationsForStatus(t *testing.T) {
	refusal := &Sendack{ID: 1}
	buf := make([]byte, 0, 1024)
	if allocs := testing.AllocsPerRun(100, func() {
		refusal.Status = CodeBusy.Status()
		buf = refusal.Append(buf[:0])
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// What a frame holds after Parse are parts of the body, and appending to one does not reach into the next.
func TestParseAliases(t *testing.T) {
	wire := send128().Append(nil)
	_, n, err := ReadHeader(wire, MaxLength)
	if err != nil {
		t.Fatal(err)
	}
	var f Send
	if err := f.Parse(wire[n:]); err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(wire)
	_ = append(f.ToID, "and more"...)
	if !bytes.Equal(before, wire) {
		t.Error("appending to ToID wrote into the body")
	}
	wire[bytes.Index(wire, []byte("bob"))] = 'r'
	if string(f.ToID) != "rob" {
		t.Errorf("ToID is a copy: %q", f.ToID)
	}
}
