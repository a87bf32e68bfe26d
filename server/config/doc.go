// Package config holds what an operator may set: one struct, its defaults in one place, its sources, and every check on
// it.
//
// It opens no socket and no store, and the rest of the server reads no other configuration.
package config
