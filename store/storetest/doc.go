// Package storetest is the conformance suite of [store.Store]: what every implementation must do, as tests that
// [Run] runs against a [Harness].
//
// Everything a test sees of a store is recorded as a [Trace]; the rules are pure functions over traces, so that the
// suite is itself tested with stores that break them. Package memstore is the model that other stores are compared with.
//
// It measures nothing and knows no implementation's inside: no keys, no batches, no files.
package storetest
