// Package routetest holds what every online table must do, as one suite of tests, and a node without sockets to stand
// around a Registrar in tests.
//
// It judges tables by what they answer and never looks into one.
package routetest
