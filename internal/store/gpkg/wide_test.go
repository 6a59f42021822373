package gpkg_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// wideTable writes a table of n rows. Its values name their column and row.
func wideTable(t *testing.T, columns, n int) (s *gpkg.Store, rows []store.Row) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	create(t, path, func(w store.Writer) {
		c := &store.Collection{ID: "x", Table: "x", Public: true,
			Key: store.FeatureKey{Column: "nr", Type: cql2.TypeInteger}}
		names := []string{"nr"}
		for i := range columns {
			name := fmt.Sprintf("c%04d", i)
			c.Properties, names = append(c.Properties, store.Property{Name: name, Column: name}), append(names, name)
		}
		if err := w.Define(t.Context(), c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(t.Context(), "x", names)
		for i := 1; i <= n && err == nil; i++ {
			row := []any{int64(i)}
			for j := range columns {
				row = append(row, fmt.Sprintf("%d of row %d", j, i))
			}
			err = insert(row...)
			rows = append(rows, store.Row{ID: strconv.Itoa(i)})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return openStore(t, path, gpkg.Options{}), rows
}

// systemReads counts the reads of this process so far; false where the system does not count them.
func systemReads(t *testing.T) (n int, ok bool) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, false
	}
	_, after, _ := strings.Cut(string(b), "syscr: ")
	line, _, _ := strings.Cut(after, "\n")
	n, err = strconv.Atoi(line)
	return n, err == nil
}

// TestHeadersOfWideRowsAreReadOnce: the header of a row of 1,990 columns does not fit into its page.
// SQLite reads the rest from the file, which it shall not do for each column.
func TestHeadersOfWideRowsAreReadOnce(t *testing.T) {
	s, rows := wideTable(t, 1990, 40)
	var alone []store.Row // features that do not follow each other
	for i := 0; i < len(rows); i += 2 {
		alone = append(alone, rows[i])
	}
	for name, asked := range map[string][]store.Row{"in a run": rows, "one by one": alone} {
		before, ok := systemReads(t)
		n := 0
		err := s.Fetch(t.Context(), "x", asked, store.Want{}, func(f *store.Feature) error {
			first, last := f.Values[0], f.Values[len(f.Values)-1]
			if id := asked[n].ID; f.ID != id || first != "0 of row "+id || last != "1989 of row "+id {
				t.Errorf("%s: feature %s instead of %s: %v … %v", name, f.ID, id, first, last)
			}
			n++
			return nil
		})
		if err != nil || n != len(asked) {
			t.Fatalf("%s: %d features, %v", name, n, err)
		}
		if after, _ := systemReads(t); ok && after-before > 100*n {
			t.Errorf("%s: %d reads from the file for %d rows", name, after-before, n)
		}
	}
}

// TestFetchOfWideRowsReadsFewAhead: a caller that stops after a few features has not had many more read.
func TestFetchOfWideRowsReadsFewAhead(t *testing.T) {
	s, rows := wideTable(t, 1990, 100)
	enough := errors.New("enough")
	n := testing.AllocsPerRun(3, func() {
		n := 0
		err := s.Fetch(t.Context(), "x", rows, store.Want{}, func(*store.Feature) error {
			if n++; n == 8 {
				return enough
			}
			return nil
		})
		if err != enough {
			t.Error(err)
		}
	})
	if most := 3.0 * 16 * 1990; n > most { // a text takes two
		t.Errorf("%.0f allocations, want at most %.0f, those of 16 features", n, most)
	}
}
