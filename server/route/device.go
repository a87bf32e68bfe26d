package route

import "context"

// DeviceState is what is known of one device at one moment.
type DeviceState uint8

const (
	DeviceUnknown DeviceState = iota // could not be asked
	DeviceNone                       // no session, and that is proven
	DeviceActive                     // a session whose line answers
	DeviceSuspect                    // a session that has been silent for too long or is about to be suspended, or a lagging one of another node; pushed to, and wakeable
	DeviceLagging                    // a session whose app acknowledges nothing; pushed to, and wakeable. Only its own node knows
)

var deviceStates = [...]string{"unknown", "none", "active", "suspect", "lagging"}

func (s DeviceState) String() string { return deviceStates[s] }

// DeviceStates says what is known of a user's devices: those with a session anywhere, and those that are named. It may be
// called from any goroutine that may wait.
type DeviceStates interface {
	DeviceStates(ctx context.Context, user string, devices []string) (map[string]DeviceState, error)
}
