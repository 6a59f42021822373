package config

import (
	"os"
	"testing"
)

func TestMemoryIsThatOfTheMachineOrOfTheControlGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is told": {nil, assumedMemory},
		"machine": {map[string]string{"/proc/meminfo": "MemTotal:       24683960 kB\nMemFree: 1 kB\n"},
			24683960 << 10},
		"group": {map[string]string{"/proc/meminfo": "MemTotal: 24683960 kB\n",
			"/sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"group of its own": {map[string]string{"/proc/meminfo": "MemTotal: 24683960 kB\n",
			"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "536870912\n"}, 512 << 20},
		"group without": {map[string]string{"/proc/meminfo": "MemTotal: 1024 kB\n",
			"/sys/fs/cgroup/memory.max": "max\n"}, 1 << 20},
		"version 1": {map[string]string{"/proc/meminfo": "MemTotal: 4096 kB\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 4 << 20},
		"a group above": {map[string]string{"/proc/meminfo": "MemTotal: 24683960 kB\n",
			"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/memory.max": "536870912\n",
			"/sys/fs/cgroup/a/b/memory.max": "max\n"}, 512 << 20},
		"version 1 below": {map[string]string{"/proc/meminfo": "MemTotal: 24683960 kB\n",
			"/proc/self/cgroup": "5:cpu:/c\n4:memory:/a/b\n0::/\n",
			"/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "536870912\n"}, 512 << 20},
		"nonsense": {map[string]string{"/proc/meminfo": "MemTotal: much\n", "/sys/fs/cgroup/memory.max": ""},
			assumedMemory},
	} {
		got := memoryOf(func(name string) ([]byte, error) {
			if s, ok := c.files[name]; ok {
				return []byte(s), nil
			}
			return nil, os.ErrNotExist
		})
		if got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if l := (Limits{}).WithMemory(); l.Memory < LeastMemory {
		t.Errorf("%d", l.Memory)
	}
	if l := (Limits{Memory: 5}).WithMemory(); l.Memory != 5 {
		t.Error("a setting was overruled")
	}
}
