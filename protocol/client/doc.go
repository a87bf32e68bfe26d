// Package client is the reference SDK: one device of one user, connected for as long as it can be.
//
// It is written to be read and copied into other languages: decisions are pure functions of what is known and now
// (backoff, heartbeat, acks, sender, gate), and one goroutine, the loop, applies them. It has no opinion about what a
// payload holds, stores nothing but what it must (an outbox, a position, recent message ids), and keeps no list of
// conversations: those belong to the app. docs/sdk.md explains the duties that it fulfils.
package client
