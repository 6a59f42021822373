package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// giveProgramBack lets the pages of the program go, those that are as they are in its file: code, constants and tables that were needed at the start only.
// They stay in the memory that the system has of files.
func giveProgramBack() {
	program, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range unchangedMaps(string(maps), program) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m[0], m[1]-m[0], syscall.MADV_DONTNEED) // advice: nothing depends on it
	}
}

// unchangedMaps are the addresses, from and to, where a file is mapped for reading and no page differs from it, by the text of /proc/self/smaps (proc(5)).
func unchangedMaps(smaps, file string) (out [][2]uintptr) {
	var at [2]uintptr
	for line := range strings.Lines(smaps) {
		f := strings.Fields(line)
		from, to, isMap := strings.Cut(f[0], "-")
		switch {
		case isMap && len(f) >= 5:
			if at = ([2]uintptr{}); len(f) == 6 && f[5] == file && f[1][0] == 'r' && f[1][1] == '-' && f[1][3] == 'p' {
				a, err1 := strconv.ParseUint(from, 16, 64)
				b, err2 := strconv.ParseUint(to, 16, 64)
				if err1 == nil && err2 == nil {
					at = [2]uintptr{uintptr(a), uintptr(b)}
				}
			}
		case f[0] == "Anonymous:" && at[1] > 0 && len(f) > 1 && f[1] == "0":
			out = append(out, at)
		}
	}
	return out
}
