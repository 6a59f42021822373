package layer

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// TestRecordsOfManyValues: values may be of any type and number, repeat or not, and ids may have gaps.
func TestRecordsOfManyValues(t *testing.T) {
	t.Parallel()
	const rows, width = 5000, 9
	id := func(i int) int64 { return int64(i) - 7 + int64(i/1500)*(1<<33) }
	value := func(i int) []any {
		return []any{
			int64(i*3) - 50, fmt.Sprint("navn ", i), store.JSON(fmt.Sprintf(`["%d"]`, i)),
			[]any{nil, true, "Ål", int64(-1), false, int64(math.MinInt64), ""}[i%7],
			fmt.Sprint("navn ", i/2*2), []any{0.5 * float64(i), math.Copysign(0, -1), 0.0, math.Inf(1)}[i%4],
			strings.Repeat("x", i%200),
			fmt.Sprintf("2024-02-29T12:%02d:%02dZ", i/60%60, i%60),
			[]any{fmt.Sprintf("a475bbac-bf95-5710-b793-%012x", i), fmt.Sprintf("A475bbac-bf95-5710-b793-%012x", i),
				fmt.Sprintf("%036d", i), "2024-02-30T12:00:00Z", "0000-01-01T00:00:00Z"}[i%5],
		}
	}
	path := filepath.Join(t.TempDir(), "x.records")
	l := &Layer{Collection: &store.Collection{ID: "x", Count: rows}, Fields: make([]*sqlq.Field, width)}
	write := func(most int64) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		w, err := NewRecordsWriter(bufio.NewWriter(f), l, most)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		for i := range rows {
			if err := w.add(id(i), value(i)); err != nil {
				return errors.Join(err, f.Close())
			}
		}
		return errors.Join(w.Finish(), f.Close())
	}
	if err := write(100_000); !errors.Is(err, errNoRoom) {
		t.Errorf("without room: %v", err)
	}
	if err := write(1 << 30); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRecords(path, l)
	if err != nil {
		t.Fatal(err)
	}
	defer r.file.Close()
	b, all := new(Batch), make([]int, width)
	for i := range all {
		all[i] = width - 1 - i
	}
	for i := range rows {
		n, missing, ok := r.Read(b, all, 1, []store.Row{{ID: strconv.FormatInt(id(i), 10)}})
		want := value(i)
		for p, at := range all {
			if n == 1 && fmt.Sprintf("%#v", b.values[p]) == fmt.Sprintf("%#v", want[at]) {
				continue
			}
			t.Fatalf("row %d: %#v instead of %#v", i, b.values, want)
		}
		if missing || !ok {
			t.Fatal(i, missing, ok)
		}
	}
	for _, none := range []int64{-8, id(1500) - 1, id(rows), math.MinInt64, math.MaxInt64} {
		if n, missing, ok := r.Read(b, all, 1, []store.Row{{ID: strconv.FormatInt(none, 10)}, {ID: "1"}}); n != 0 ||
			!missing || !ok {
			t.Errorf("%d is there", none)
		}
	}
	if _, err := OpenRecords(path, &Layer{Collection: &store.Collection{ID: "x", Count: rows - 1},
		Fields: l.Fields}); err == nil {
		t.Error("records of another number of rows are taken")
	}
}

// writtenRecords is an open file of the records of n rows with ids from 0, whose values are given.
func writtenRecords(t *testing.T, n int, value func(int) any) (*Records, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.records")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	l := &Layer{Collection: &store.Collection{ID: "x", Count: n}, Fields: make([]*sqlq.Field, 1)}
	w, err := NewRecordsWriter(bufio.NewWriter(f), l, 1<<30)
	for i := range n {
		err = errors.Join(err, w.add(int64(i), []any{value(i)}))
	}
	if err = errors.Join(err, w.Finish(), f.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRecords(path, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.file.Close() })
	return r, path
}

// TestRecordsThatAreCutWhileOpenAreNotRead: what was read before is not taken for what is not there any more.
func TestRecordsThatAreCutWhileOpenAreNotRead(t *testing.T) {
	t.Parallel()
	r, path := writtenRecords(t, 9000, func(i int) any { return float64(i) }) // blocks of one length
	b := new(Batch)
	if n, _, ok := r.Read(b, []int{0}, 1, []store.Row{{ID: "17"}}); n != 1 || !ok || b.values[0] != 17.0 {
		t.Fatal(n, ok, b.values)
	}
	if err := os.Truncate(path, r.starts[2]); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"33", "8999"} { // of the first block behind the cut, and of the last
		if _, _, ok := r.Read(b, []int{0}, 1, []store.Row{{ID: id}}); ok {
			t.Errorf("a row that is cut off is read as %v", b.values)
		}
	}
	if n, _, ok := r.Read(b, []int{0}, 1, []store.Row{{ID: "31"}}); n != 1 || !ok || b.values[0] != 31.0 {
		t.Error("what is left is not read")
	}
}

// TestRecordsThatAreMovedAreNotRead: a block in the place of another, which is as long, is not taken for it.
func TestRecordsThatAreMovedAreNotRead(t *testing.T) {
	t.Parallel()
	r, path := writtenRecords(t, 100, func(i int) any { return float64(i) })
	data, err := os.ReadFile(path)
	if err == nil {
		copy(data[r.starts[2]:], data[r.starts[1]:r.starts[2]])
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := new(Batch)
	if _, _, ok := r.Read(b, []int{0}, 1, store.Current("33")); ok {
		t.Errorf("a row is read as %v", b.values)
	}
	if n, _, ok := r.Read(b, []int{0}, 1, store.Current("50")); n != 1 || !ok || b.values[0] != 50.0 {
		t.Error("the others are not read")
	}
}

// TestLongTextsOfRecordsStayInTheFile: a file takes little memory while it is made and read,
// however long its texts are.
func TestLongTextsOfRecordsStayInTheFile(t *testing.T) {
	t.Parallel()
	text := func(i int) any { return strconv.Itoa(i) + strings.Repeat("x", 10_000) }
	r, _ := writtenRecords(t, 1500, text)
	if r.Size() > 1<<20 {
		t.Errorf("takes %d bytes", r.Size())
	}
	b := new(Batch)
	for _, i := range []int{0, 700, 1499} {
		if n, _, ok := r.Read(b, []int{0}, 1, store.Current(strconv.Itoa(i))); n != 1 || !ok || b.values[0] != text(i) {
			t.Errorf("row %d: %d, %v", i, n, ok)
		}
	}
}

// TestBlocksAreFoundFromTheOneBefore: of ids in order, beginning at the block of the one before, as in all blocks.
func TestBlocksAreFoundFromTheOneBefore(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		x := Records{}
		for id := int64(r.IntN(20) - 10); len(x.first) <= r.IntN(200); id += 1 + int64(r.IntN(30)) {
			x.first = append(x.first, id)
		}
		var ids []int64
		for range r.IntN(50) {
			ids = append(ids, int64(r.IntN(int(x.first[len(x.first)-1])+60))-30)
		}
		slices.Sort(ids)
		near := 0
		for _, id := range ids {
			want := sort.Search(len(x.first), func(i int) bool { return x.first[i] > id }) - 1
			got := x.block(id, near)
			if got != want {
				t.Fatalf("%d is in block %d, found from %d: %d", id, want, near, got)
			}
			near = max(got, 0)
		}
	}
}
