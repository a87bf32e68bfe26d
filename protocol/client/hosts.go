package client

import "slices"

// hosts is where to connect: what the server named last [P-6.34], then what the app configured, one after another. It
// rotates when a try fails, so that a port that a network blocks does not keep the client away.
type hosts struct {
	configured []string
	named      []string // by the last Connack or Close that named any
	at         int
}

func (h *hosts) list() []string {
	list := slices.Clone(h.named)
	for _, host := range h.configured {
		if !slices.Contains(list, host) {
			list = append(list, host)
		}
	}
	return list
}

func (h *hosts) current() string {
	list := h.list()
	return list[h.at%len(list)]
}

// failed moves on to the next host.
func (h *hosts) failed() { h.at = (h.at + 1) % len(h.list()) }

// moved takes the list of a Close: the next try goes to its first host.
func (h *hosts) moved(named [][]byte) {
	if valid := validHosts(named); len(valid) > 0 {
		h.named, h.at = valid, 0
	}
}

// learned takes the list of a Connack and stays where the client is.
func (h *hosts) learned(named [][]byte) {
	valid := validHosts(named)
	if len(valid) == 0 {
		return
	}
	current := h.current()
	h.named = valid
	h.at = max(0, slices.Index(h.list(), current))
}

func validHosts(named [][]byte) []string {
	var valid []string
	for _, host := range named {
		if _, _, err := splitAddress(string(host)); err == nil {
			valid = append(valid, string(host))
		}
	}
	return valid
}
