package main

import (
	"os"
	"runtime/debug"
)

// boundHeap makes the garbage collector keep the heap below memory, in bytes, less what lies outside of it under load:
// the program, its threads, and the pages and sorters of SQLite, some 150 MB; half of memory where that is less.
// GOMEMLIMIT in the environment goes before.
func boundHeap(memory int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory - min(memory/2, 160<<20))
	}
}
