//go:build !unix

package datadir

// Owners of files are not named on this system.
func ownerOf(string) string { return "" }

func userName() string { return "" }
