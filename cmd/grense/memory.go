package main

import (
	"os"
	"runtime/debug"
)

// boundHeap limits the heap to memory, in bytes, less what the process needs beyond it under load: 192 MiB for the
// program, threads, the caches of SQLite, and a heap that grows while it is collected, but at most half of memory.
// GOMEMLIMIT in the environment overrides it.
func boundHeap(memory int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory - min(memory/2, 192<<20))
	}
}
