package session

// Progress is what a client says in its Connect about its copy of the inbox.
type Progress struct {
	HasPos     bool
	Pos        uint64
	SameEpoch  bool
	MaxBacklog uint64 // 0 = any
}

// Position is where a session begins: pushes go on at Pos+1. With Reset the client's copy is useless or absent and it
// must fetch its conversations before it acknowledges.
type Position struct {
	Pos   uint64
	Reset bool
}

// StartAt decides where a session begins, given the head and the trimmed-through position of the user's inbox. The
// client's position is the truth about the client, even below the cursor the store has for it [P-6.6], unless there is
// nothing to go on from [P-6.7].
func StartAt(p Progress, head, trimmed uint64) Position {
	usable := p.HasPos && p.SameEpoch && p.Pos <= head && p.Pos >= trimmed
	if usable && (p.MaxBacklog == 0 || head-p.Pos <= p.MaxBacklog) {
		return Position{Pos: p.Pos}
	}
	return Position{Pos: head, Reset: true}
}
