package official

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestSorterGivesEveryRecordInOrder(t *testing.T) {
	t.Parallel()
	for _, memory := range []int{0, 4_000, 300} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := &externalSort{dir: dir, memory: memory}
			r := rand.New(rand.NewPCG(1, uint64(memory)))
			var want []string
			for i := range 1_500 {
				key := fmt.Sprintf("%0*d", 1+r.IntN(4), r.IntN(2_000))
				value := fmt.Sprintf("%d:%s", i, strings.Repeat("x", r.IntN(20)))
				want = append(want, key+"\x00"+value)
				if err := s.add([]byte(key), []byte(value)); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			last := ""
			err := s.each(t.Context(), func(key, value []byte) error {
				if string(key) < last {
					t.Fatalf("%q after %q", key, last)
				}
				last = string(key)
				got = append(got, last+"\x00"+string(value))
				return nil
			})
			slices.Sort(got)
			slices.Sort(want)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%d records, %v; want %d", len(got), err, len(want))
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%d files are left", len(left))
			}
		})
	}
}
