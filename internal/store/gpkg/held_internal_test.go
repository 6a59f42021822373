package gpkg

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"grense/internal/store"
)

// TestHeldRowsOfManyValues: values may be of any number, repeat or not, and ids may have gaps.
func TestHeldRowsOfManyValues(t *testing.T) {
	t.Parallel()
	const rows = 150_000
	id := func(i int) int64 { return int64(i + 5 + i/90_000*7) }
	value := func(i int) []any {
		return []any{int64(i * 3), fmt.Sprint("navn ", i), store.JSON(fmt.Sprintf(`["%d"]`, i)), []any{nil, true, "Ål", int64(-1)}[i%4], fmt.Sprint(i % 300), fmt.Sprint(min(i, 1000)), strings.Repeat("x", i/70_000*100)}
	}
	m := &heldMaker{known: make([]map[any]uint32, 7)}
	m.columns = make([]heldColumn, 7)
	for i := range rows {
		if err := m.add(id(i), value(i)); err != nil {
			t.Fatal(i, err)
		}
	}
	h := m.heldRows.packed()
	for i := range rows {
		at, ok := h.place(id(i))
		if got := h.append(nil, at); !ok || !reflect.DeepEqual(got, value(i)) {
			t.Fatalf("row %d: %v instead of %v", i, got, value(i))
		}
	}
	for _, none := range []int64{-1, 0, 4, id(90_000) - 1, id(rows)} {
		if _, ok := h.place(none); ok {
			t.Errorf("%d is there", none)
		}
	}
	if most := rows * (8 + 4 + 4 + 4 + 1 + 2 + 2 + 1 + 30); h.size() > most+3*64<<16 {
		t.Errorf("%d bytes", h.size())
	}
	for name, v := range map[string][]any{"null": {nil, "", "", "", "", "", ""}, "negative": {int64(-1), "", "", "", "", "", ""}, "large": {int64(1) << 32, "", "", "", "", "", ""}, "text": {"1", "", "", "", "", "", ""}, "number": {int64(1), int64(1), "", "", "", "", ""}, "float": {int64(1), "", store.JSON(""), 0.0, "", "", ""}} {
		if m.add(id(rows), v) == nil {
			t.Error("taken: ", name)
		}
	}
	if m.add(id(0), value(0)) == nil {
		t.Error("taken: an id from before")
	}
}
