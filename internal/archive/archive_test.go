package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"grense/internal/archive"
)

// TestNumbersAreThoseOfPMTiles: the examples of PMTiles 3, 4.1.
func TestNumbersAreThoseOfPMTiles(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		z, row, col int
		id          uint64
	}{{0, 0, 0, 0}, {1, 0, 0, 1}, {1, 1, 0, 2}, {1, 1, 1, 3}, {1, 0, 1, 4}, {2, 0, 0, 5}, {12, 1763, 3423, 19078479}} {
		if id := archive.ID(x.z, x.row, x.col); id != x.id {
			t.Errorf("%+v is %d", x, id)
		}
	}
	seen := map[uint64]bool{}
	for row := range 32 {
		for col := range 32 {
			id, above := archive.ID(5, row, col), archive.ID(4, row/2, col/2)
			if seen[id] = true; (id-archive.ID(5, 0, 0))/4 != above-archive.ID(4, 0, 0) {
				t.Fatalf("%d/%d is not within the tile above", row, col)
			}
		}
	}
	if len(seen) != 1024 {
		t.Error("numbers are not different")
	}
}

// place is the tile of a number of level 7.
type place struct{ row, col int }

func curve() []place {
	list := make([]place, 1<<14)
	for row := range 128 {
		for col := range 128 {
			list[archive.ID(7, row, col)-archive.ID(7, 0, 0)] = place{row, col}
		}
	}
	return list
}

// content is what a tile holds; runs of tiles are equal, and some have none.
func content(i int) []byte {
	switch {
	case i%7 == 3:
		return nil
	case i%1000 > 900:
		return []byte("the sea")
	}
	return []byte(fmt.Sprint("tile ", i, i*i))
}

func write(t *testing.T, path string, from, to int) *archive.Writer {
	t.Helper()
	w, err := archive.Begin(path, "state")
	if err != nil {
		t.Fatal(err)
	}
	if first := archive.ID(7, 0, 0); w.Next() != first+uint64(from) && from > 0 {
		t.Fatalf("it goes on at %d and not at %d", w.Next()-first, from)
	}
	list := curve()
	for i := from; i < to; i++ {
		if c := content(i); c != nil {
			if err := w.Put(7, list[i].row, list[i].col, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

var meta = archive.Metadata{
	Name:        "Å",
	Attribution: "<b>",
	First:       7,
	Last:        7,
	Bounds:      [4]float64{4.5, 57.25, 31.125, 71.5},
	Layers:      []byte(`{"vector_layers":[],"own":1}`),
}

// TestFilesGiveBackWhatWasPut, after they were left and gone on with; what came after the last Save is put again.
func TestFilesGiveBackWhatWasPut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x.pmtiles", "x.MBTILES"} {
		path := filepath.Join(t.TempDir(), name)
		w := write(t, path, 0, 5_000)
		if err := w.Save(archive.ID(7, 0, 0) + 5_000); err != nil {
			t.Fatal(err)
		}
		w.Close()
		write(t, path, 5_000, 8_000).Close()
		if _, err := os.Stat(path); err == nil {
			t.Fatal("a file that is not whole is in its place")
		}
		w = write(t, path, 5_000, 1<<14)
		if _, err := archive.Begin(path, "state"); !errors.Is(err, archive.ErrBusy) {
			t.Errorf("two at once: %v", err)
		}
		if err := w.Finish(meta); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
			t.Errorf("%q are left", left)
		}
		r, err := archive.Open(path)
		if err != nil {
			t.Fatal(name, err)
		}
		defer r.Close()
		if r.First != 7 || r.Last != 7 || r.Bounds != meta.Bounds || !bytes.Contains(r.Layers, []byte(`"own":1`)) {
			t.Errorf("%+v", r.Metadata)
		}
		for i, p := range curve() {
			if b, err := r.Tile(7, p.row, p.col); err != nil || !bytes.Equal(b, content(i)) {
				t.Fatalf("%s: %d has %q, %v", name, i, b, err)
			}
		}
		for _, at := range [][3]int{{6, 0, 0}, {8, 0, 0}, {7, -1, 0}, {7, 0, 128}, {-1, 0, 0}} {
			if b, err := r.Tile(at[0], at[1], at[2]); b != nil || err != nil {
				t.Errorf("%v: %q, %v", at, b, err)
			}
		}
	}
}

func TestOtherStateBeginsAnew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.pmtiles")
	w := write(t, path, 0, 100)
	if err := w.Save(1 << 20); err != nil {
		t.Fatal(err)
	}
	w.Close()
	w, err := archive.Begin(path, "another")
	if err != nil || w.Next() != 0 {
		t.Fatal(err)
	}
	if n, _, err := w.Counts(); n != 0 || err != nil {
		t.Errorf("%d tiles are left, %v", n, err)
	}
	w.Close()
	if err := os.WriteFile(path+".part", []byte("a letter of somebody, which is no database at all"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Begin(path, "another"); !errors.Is(err, archive.ErrPart) {
		t.Error(err)
	}
}

// TestDamagedFilesDoNoHarm: an error or some other bytes, and never a panic or more memory than the file may need.
func TestDamagedFilesDoNoHarm(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"x.pmtiles", "x.mbtiles"} {
		path := filepath.Join(t.TempDir(), name)
		w := write(t, path, 0, 3000)
		if err := w.Finish(meta); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 100 {
			b := bytes.Clone(whole)
			for range 1 + n%5 {
				b[random.IntN(min(len(b), 200<<(n%8)))] ^= byte(1 + random.IntN(255))
			}
			if n%10 == 0 {
				b = b[:random.IntN(len(b))]
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := archive.Open(path)
			if err != nil {
				continue
			}
			for _, p := range curve()[:20] {
				_, _ = r.Tile(7, p.row, p.col) // whatever it holds
			}
			r.Close()
		}
	}
}
