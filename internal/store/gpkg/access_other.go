//go:build !unix

package gpkg

// writable reports whether this process may make files in a folder; true when that cannot be asked.
func writable(string) bool { return true }
