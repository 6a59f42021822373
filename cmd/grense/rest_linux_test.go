package main

import (
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMemoryIsGivenBackOnceAfterEachWork(t *testing.T) {
	t.Parallel()
	var r rest
	for i, c := range []struct {
		ms   time.Duration // of CPU since the start
		want bool
	}{{900, false}, {910, false}, {920, true}, {930, false}, {940, false}, {1400, false}, {1424, false}, {1434, true}, {1470, false}, {1471, false}, {1472, false}} {
		got := r.begins(c.ms * time.Millisecond)
		if got != c.want {
			t.Errorf("look %d, %d ms: %v", i, c.ms, got)
		}
		if got {
			r.given = r.last
		}
	}
	if spent, ok := processCPU(); !ok || spent > time.Hour {
		t.Errorf("the test has used %v, %v", spent, ok)
	}
}

// TestPagesOfTheProgramAreGivenBack: what is resident of files shrinks, and the program goes on.
func TestPagesOfTheProgramAreGivenBack(t *testing.T) {
	resident := func() int {
		b, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(b), "RssFile:")
		n, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil {
			t.Skip("the system does not tell what is resident of files")
		}
		return n
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if maps, err := os.ReadFile("/proc/self/smaps"); err != nil || len(unchangedMaps(string(maps), exe)) == 0 {
		t.Fatalf("the program has no pages: %v", err)
	}
	before := resident()
	giveProgramBack()
	if after := resident(); after > before*3/4 {
		t.Errorf("%d KB of files are resident, after %d", after, before)
	}
}

func TestOnlyUnchangedPagesOfTheProgramAreGivenBack(t *testing.T) {
	t.Parallel()
	const smaps = "00400000-00500000 r-xp 00000000 fe:00 12 /bin/grense\nSize: 1024 kB\nAnonymous:             0 kB\n" +
		"00500000-00600000 r--p 00000000 fe:00 12 /bin/grense\nAnonymous:             8 kB\n" + // relocated
		"00600000-00700000 rw-p 00000000 fe:00 12 /bin/grense\nAnonymous:             0 kB\n" +
		"00700000-00800000 r--p 00000000 fe:00 13 /lib/other.so\nAnonymous:             0 kB\n" +
		"7f0000000000-7f0000100000 r--p 00000000 00:00 0 \nAnonymous:             0 kB\n"
	if got := unchangedMaps(smaps, "/bin/grense"); !reflect.DeepEqual(got, [][2]uintptr{{0x400000, 0x500000}}) {
		t.Errorf("%x", got)
	}
}
