package protocol

// RetryClass tells a client what to do about a code, even one it does not know [P-5.1].
type RetryClass int32

const (
	RetryUnspecified  RetryClass = 0
	RetryNow          RetryClass = 1
	RetryAfter        RetryClass = 2 // after RetryMinMs + U(0, RetryWindowMs)
	RetryRefreshToken RetryClass = 3 // get a new token, then retry
	RetryFixRequest   RetryClass = 4 // the same request will be refused again
	RetryStop         RetryClass = 5 // until the user acts
	RetryIgnore       RetryClass = 6 // another connection of the same process has taken over
)

func (r RetryClass) String() string {
	return enumName(int32(r), "unspecified", "now", "after", "refresh_token", "fix_request", "stop", "ignore")
}

// Activity is what the app on the device is doing.
type Activity int32

const (
	ActivityUnspecified Activity = 0
	Foreground          Activity = 1
	Background          Activity = 2
	Suspending          Activity = 3
)

func (a Activity) String() string {
	return enumName(int32(a), "unspecified", "foreground", "background", "suspending")
}

// Platform is the kind of device.
type Platform int32

const (
	PlatformUnspecified Platform = 0
	IOS                 Platform = 1
	Android             Platform = 2
	Desktop             Platform = 3
	Web                 Platform = 4
)

func (p Platform) String() string {
	return enumName(int32(p), "unspecified", "ios", "android", "desktop", "web")
}

// NetworkClass is the kind of network that a device is on.
type NetworkClass int32

const (
	NetworkUnknown NetworkClass = 0
	WiFi           NetworkClass = 1
	Cellular       NetworkClass = 2 // 4G, 5G
	CellularSlow   NetworkClass = 3 // 2G, 3G
	Wired          NetworkClass = 4
)

func (n NetworkClass) String() string {
	return enumName(int32(n), "unknown", "wifi", "cellular", "cellular_slow", "wired")
}

// MessageState says what has become of a message.
type MessageState int32

const (
	Stored   MessageState = 0
	Recalled MessageState = 1 // its payload is erased [P-6.15]
)

func (s MessageState) String() string { return enumName(int32(s), "stored", "recalled") }

// GapReason says why a range of history never comes.
type GapReason int32

const (
	GapUnspecified GapReason = 0
	GapNotJoined   GapReason = 1
	GapHidden      GapReason = 2
	GapTrimmed     GapReason = 3
)

func (r GapReason) String() string {
	return enumName(int32(r), "unspecified", "not_joined", "hidden", "trimmed")
}

// ByeReason says what a client that leaves wants kept.
type ByeReason int32

const (
	ByeQuit   ByeReason = 0 // keep waking me
	ByeLogout ByeReason = 1 // forget the cursor and the wake-ups
)

func (r ByeReason) String() string { return enumName(int32(r), "quit", "logout") }

// PresenceState says whether a user is online. Unspecified, and every value without a name, is Unknown [P-6.39].
type PresenceState int32

const (
	PresenceUnspecified PresenceState = 0
	Online              PresenceState = 1 // a device has a session
	Offline             PresenceState = 2 // it is proven that none has
	PresenceUnknown     PresenceState = 3 // could not be asked, or is not told; never the same as Offline
)

func (s PresenceState) String() string {
	return enumName(int32(s), "unspecified", "online", "offline", "unknown")
}

// enumName is empty for a value without a name, which the text form writes as a number.
func enumName(v int32, names ...string) string {
	if v >= 0 && int(v) < len(names) {
		return names[v]
	}
	return ""
}
