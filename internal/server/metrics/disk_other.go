//go:build !unix

package metrics

// diskFree is known on Unix only.
func diskFree(string) (n uint64, ok bool) { return 0, false }
