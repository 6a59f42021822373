//go:build !((linux || darwin || freebsd) && (amd64 || arm64))

package gpkg

import "os"

// mapFile maps nothing here: files of records are read piece by piece.
func mapFile(*os.File, int64) []byte { return nil }

func unmapFile([]byte) {}
