package protocol

// Echo is sent after the silence that a Ping asked for.
type Echo struct{}

// Probe asks whether the client is there, before the server gives up.
type Probe struct{}

// ProbeAck answers a Probe.
type ProbeAck struct{}

func (*Echo) Type() Type     { return TypeEcho }
func (*Probe) Type() Type    { return TypeProbe }
func (*ProbeAck) Type() Type { return TypeProbeAck }

func (*Echo) Append(dst []byte) []byte     { return append(dst, 1, byte(TypeEcho)) }
func (*Probe) Append(dst []byte) []byte    { return append(dst, 1, byte(TypeProbe)) }
func (*ProbeAck) Append(dst []byte) []byte { return append(dst, 1, byte(TypeProbeAck)) }

func (*Echo) Parse(body []byte) error     { return skipAll(body) }
func (*Probe) Parse(body []byte) error    { return skipAll(body) }
func (*ProbeAck) Parse(body []byte) error { return skipAll(body) }

func (*Echo) AppendText(dst []byte) []byte     { return append(dst, "echo"...) }
func (*Probe) AppendText(dst []byte) []byte    { return append(dst, "probe"...) }
func (*ProbeAck) AppendText(dst []byte) []byte { return append(dst, "probeack"...) }

// skipAll reads a body none of whose fields is known.
func skipAll(body []byte) error {
	d := decoder{body: body}
	for d.next() {
	}
	return d.err
}
