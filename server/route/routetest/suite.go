package routetest

import "slices"

// tests lists the suite.
var tests = slices.Concat(registerTests, removeTests, refreshTests, lookupTests, leaseTests, noticeTests, exclusiveTests, lockstepTests)
