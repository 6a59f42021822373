package main

import (
	"bytes"
	"context"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"grense/internal/store"
)

const (
	restEvery = 5 * time.Second
	// Of so much CPU the process must have used less between looks, twice in a row, to be at rest, and more since it gave memory back to do so again:
	// giving back takes a few hundredths of a second.
	restBelow = 25 * time.Millisecond
	restAfter = 100 * time.Millisecond
)

// restMemory gives memory back to the system whenever the process comes to rest after work, until ctx ends: what the heap keeps for the next collection,
// pages of the program that were read, and what of gives back. What is needed again is there again at the first touch.
func restMemory(ctx context.Context, of ...any) {
	r := rest{given: -restAfter} // also after a start that needed little
	tick := time.NewTicker(restEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		spent, ok := processCPU()
		if !ok {
			return
		}
		if r.begins(spent) {
			for _, x := range of {
				if x, ok := x.(store.Sparing); ok {
					x.Spare()
				}
			}
			debug.FreeOSMemory()
			giveProgramBack()
			r.given, _ = processCPU()
			r.last = r.given
		}
	}
}

// rest is what restMemory saw: the CPU of the process at its last look, and when it last gave memory back.
type rest struct {
	last, given time.Duration
	quiet       int // looks in a row
}

// begins reports whether memory is to be given back now, when the process has used so much CPU.
func (r *rest) begins(spent time.Duration) bool {
	if r.quiet++; spent-r.last >= restBelow {
		r.quiet = 0
	}
	r.last = spent
	return r.quiet > 1 && spent-r.given > restAfter
}

// processCPU is the CPU that the process has used; false where the system does not tell.
func processCPU() (time.Duration, bool) {
	b, err := os.ReadFile("/proc/self/stat") // proc(5): pid (name) state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if err != nil || len(f) < 13 {
		return 0, false
	}
	sum := int64(0)
	for _, ticks := range f[11:13] {
		n, err := strconv.ParseInt(string(ticks), 10, 64)
		if err != nil {
			return 0, false
		}
		sum += n
	}
	return time.Duration(sum) * time.Second / 100, true // USER_HZ is 100 on every architecture that Go knows
}
