package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// boundMemory makes the garbage collector keep the process below memory, in bytes, until ctx ends: the heap has what the program, its threads and the pages
// and sorters of SQLite leave, which lie outside of it. Where the system does not tell how much that is, a fifth of memory is left for it. GOMEMLIMIT in
// the environment goes before, and GOGC before heapPercent.
func boundMemory(ctx context.Context, memory int64) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit := heapLimit(memory, 0)
	debug.SetMemoryLimit(limit)
	percent := 100
	if os.Getenv("GOGC") == "" { // before anything is live, the heap begins with 4 MB for each 100
		percent = max(100, int(min(heapFloor, memory/16)*100/(4<<20)))
		debug.SetGCPercent(percent)
	}
	go func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			outside, ok := outsideOfHeap()
			if !ok {
				return
			}
			if os.Getenv("GOGC") == "" {
				if next := heapPercent(liveHeap(), memory); next != percent {
					percent = next
					debug.SetGCPercent(percent)
				}
			}
			const step = 4 << 20
			if next := heapLimit(memory, outside) / step * step; next != limit {
				limit = next
				debug.SetMemoryLimit(limit)
			}
		}
	}()
}

// heapLimit is what of memory is for the heap when so many bytes of the process lie outside of it.
func heapLimit(memory, outside int64) int64 {
	return max(memory/4, min(memory-memory/8-memory/10, memory-outside-memory/16))
}

// heapPercent is by how much of what is live, in percent, the heap grows until it is collected: as usual by as much again, and to heapFloor at least. A
// collection costs the same however little it frees, and of a few megabytes there would be dozens in a second.
func heapPercent(live, memory int64) int {
	const step = 50
	live = max(live, 1<<20)
	floor := min(heapFloor, memory/16)
	return max(100, int((floor-live)*100/live)/step*step)
}

const heapFloor = 32 << 20

// liveHeap is what the last collection left, in bytes.
func liveHeap() int64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// outsideOfHeap is how much memory of the process the garbage collector does not see, in bytes; false where the system does not tell.
func outsideOfHeap() (int64, bool) {
	b, err := os.ReadFile("/proc/self/statm") // pages: in all, resident
	f := strings.Fields(string(b))
	if err != nil || len(f) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return 0, false
	}
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return max(0, pages*int64(os.Getpagesize())-int64(s[0].Value.Uint64()-s[1].Value.Uint64())), true
}
