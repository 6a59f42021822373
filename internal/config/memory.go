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

// WithMemory returns l with Memory filled in: 60 % of what the machine or the control group has.
func (l Limits) WithMemory() Limits {
	if l.Memory == 0 {
		l.Memory = max(LeastMemory, Size(memoryOf(os.ReadFile)/10*6))
	}
	return l
}

// ForLevels is how much of Memory, in bytes, the making of levels for tiles may take: two fifths of what the program
// itself, about 96 MB, leaves of it. It is taken for seconds or minutes, when data are new, and given back.
func (l Limits) ForLevels() int64 {
	const program = 96 << 20
	return max(12<<20, (int64(l.Memory)-program)/5*2)
}

// memoryOf is the memory that this process can have, in bytes: the least of the machine's and of what its control
// groups allow (cgroup version 2, memory.max, and version 1), those above its own included.
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
			for p := f[2]; len(p) > 1; p = path.Dir(p) { // the groups above bound it, too
				names = append(names, mount+p+limit)
			}
		}
	}
	for _, name := range names {
		b, err := read(name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 { // else "max"
			most = min(most, n)
		}
	}
	return most
}
