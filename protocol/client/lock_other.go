//go:build !unix

package client

import "os"

// lockFile does nothing where there is no flock: the app sees to it that one process uses a journal.
func lockFile(*os.File) error { return nil }
