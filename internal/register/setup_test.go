package register_test

import (
	"sync"
	"testing"

	"grense/internal/register"
	"grense/internal/register/registertest"
)

func generated(t testing.TB, places int, seed uint64, keep bool) *registertest.Recording {
	t.Helper()
	r := registertest.New(keep)
	if err := register.Generate(t.Context(), r, register.Options{Places: places, Seed: seed}); err != nil {
		t.Fatal(err)
	}
	return r
}

// shared holds the registers of the seed that several tests read.
var shared = struct {
	sync.Mutex
	bySize map[int]*registertest.Recording
}{bySize: map[int]*registertest.Recording{}}

// read returns a register that other tests read too: nobody changes it.
func read(t testing.TB, places int) *registertest.Recording {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.bySize[places] == nil {
		shared.bySize[places] = generated(t, places, seed, true)
	}
	return shared.bySize[places]
}
