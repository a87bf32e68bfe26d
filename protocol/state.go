package protocol

// State tells that the app went to foreground or background, or is about to be suspended. A Pong answers it.
type State struct {
	Activity Activity
}

func (*State) Type() Type { return TypeState }

func (f *State) Append(dst []byte) []byte {
	dst, at := beginFrame(dst, TypeState)
	dst = appendEnum(dst, 1, f.Activity)
	return end(dst, at)
}

func (f *State) Parse(body []byte) error {
	*f = State{}
	d := decoder{body: body}
	for d.next() {
		if d.tag == 1<<3|wireVarint {
			f.Activity = Activity(d.num)
		}
	}
	return d.err
}

func (f *State) AppendText(dst []byte) []byte {
	return textEnum(append(dst, "state"...), "activity", f.Activity)
}
