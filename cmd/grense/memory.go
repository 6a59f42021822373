package main

import (
	"os"
	"runtime/debug"
)

// boundHeap limits the heap to memory, in bytes, less what the process needs outside of it under load: 160 MiB for the
// program, threads, and the caches of SQLite, but at most half of memory. GOMEMLIMIT in the environment overrides it.
func boundHeap(memory int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory - min(memory/2, 160<<20))
	}
}
