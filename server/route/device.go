package route

// DeviceState is what is known of one device at one moment.
type DeviceState uint8

const (
	DeviceUnknown DeviceState = iota // could not be asked
	DeviceNone                       // no session, and that is proven
	DeviceActive                     // a session whose line answers
	DeviceSuspect                    // a session that has been silent for too long; pushed to, and wakeable
	DeviceLagging                    // a session whose app acknowledges nothing; pushed to, and wakeable. Only its own node knows
)

var deviceStates = [...]string{"unknown", "none", "active", "suspect", "lagging"}

func (s DeviceState) String() string { return deviceStates[s] }

// DeviceStates answers for the devices of one user. A device that is not in the answer is [DeviceUnknown].
type DeviceStates interface {
	DeviceStates(user string) map[string]DeviceState
}
