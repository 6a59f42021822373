package config

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// LeastMemory is the smallest limits.memory that the program can work in.
const LeastMemory Size = 128 << 20

// assumedMemory is the memory of a machine that does not report it.
const assumedMemory = 2 << 30

// WithMemory returns l with Memory set: by default 60 % of the memory of the machine or the control group.
func (l Limits) WithMemory() Limits {
	if l.Memory == 0 {
		l.Memory = max(LeastMemory, Size(memoryOf(os.ReadFile)/10*6))
	}
	return l
}

// ForLevels returns how many bytes of memory building tile levels may use: two fifths of Memory, less 96 MB for the
// rest of the program. Building takes seconds or minutes, after which the memory is free again.
func (l Limits) ForLevels() int64 {
	const program = 96 << 20
	return max(12<<20, (int64(l.Memory)-program)/5*2)
}

// memoryOf returns the memory available to this process, in bytes: the smallest of the machine's memory and the limits
// of its control groups and their parents (cgroup v2 memory.max, v1 memory.limit_in_bytes).
func memoryOf(read func(string) ([]byte, error)) int64 {
	most := int64(assumedMemory)
	if b, err := read("/proc/meminfo"); err == nil {
		_, rest, _ := strings.Cut(string(b), "MemTotal:")
		if f := strings.Fields(rest); len(f) > 0 {
			if n, err := strconv.ParseInt(f[0], 10, 64); err == nil {
				most = n << 10
			}
		}
	}
	names := []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}
	if b, err := read("/proc/self/cgroup"); err == nil {
		for line := range strings.Lines(string(b)) {
			f := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
			if len(f) < 3 {
				continue
			}
			mount, limit := "/sys/fs/cgroup", "/memory.max"
			if f[1] != "" {
				mount, limit = "/sys/fs/cgroup/memory", "/memory.limit_in_bytes"
			}
			if f[1] != "" && !slices.Contains(strings.Split(f[1], ","), "memory") {
				continue
			}
			for p := f[2]; len(p) > 1; p = path.Dir(p) { // parent groups have limits, too
				names = append(names, mount+p+limit)
			}
		}
	}
	for _, name := range names {
		b, err := read(name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 { // fails for "max"
			most = min(most, n)
		}
	}
	return most
}
