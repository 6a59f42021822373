//go:build !unix

package datadir

import "os"

// These systems have no such locks, so no server is refused.

func lockAlone(*os.File) error { return nil }

func lockShared(*os.File) error { return nil }
