//go:build !unix

package server

// diskFree is known on Unix only.
func diskFree(string) (n uint64, ok bool) { return 0, false }
