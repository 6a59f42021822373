package store_test

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
)

func TestCursorKeepsPlace(t *testing.T) {
	t.Parallel()
	for _, p := range []store.Place{
		{ID: "0301"},
		{Back: true, ID: "æ/ø å&=?"},
		{Order: "-navn,antall", Keys: []any{"Bø", nil}, ID: "1"},
		{Order: "a,b,c,d", Keys: []any{int64(math.MaxInt64), int64(math.MinInt64), 0.1, true}, ID: ""},
		{Order: "a", Keys: []any{math.MaxFloat64}, ID: "x"},
	} {
		c := store.NewCursor(p)
		if strings.ContainsAny(string(c), "+/=&%") {
			t.Errorf("cursor %q is not safe in a URL", c)
		}
		got, err := c.Place()
		if err != nil || got.Back != p.Back || got.Order != p.Order || got.ID != p.ID || len(got.Keys) != len(p.Keys) {
			t.Errorf("got %+v, %v; want %+v", got, err, p)
			continue
		}
		for i := range p.Keys {
			if !reflect.DeepEqual(got.Keys[i], p.Keys[i]) {
				t.Errorf("key %d is %#v, want %#v", i, got.Keys[i], p.Keys[i])
			}
		}
	}
}

func TestCursorRefuses(t *testing.T) {
	t.Parallel()
	raw := func(s string) store.Cursor { return store.Cursor(base64.RawURLEncoding.EncodeToString([]byte(s))) }
	for name, c := range map[string]store.Cursor{
		"nothing":          "",
		"no base64":        "!",
		"padding":          "W10=",
		"other alphabet":   "+/+/",
		"no JSON":          raw("x"),
		"too few parts":    raw(`[false,"",[]]`),
		"too many parts":   raw(`[false,"",[],"1",2]`),
		"more after it":    raw(`[false,"",[],"1"] 1`),
		"a bracket more":   raw(`[false,"",[],"1"]]`),
		"a brace more":     raw(`[false,"",[],"1"]}`),
		"wrong types":      raw(`["","",[],1]`),
		"a list as a key":  raw(`[false,"a",[[1]],"1"]`),
		"an object as key": raw(`[false,"a",[{}],"1"]`),
		"a huge number":    raw(`[false,"a",[1e999],"1"]`),
		"too long":         raw(`[false,"a",["` + strings.Repeat("x", 9000) + `"],"1"]`),
	} {
		if _, err := c.Place(); err != store.ErrCursor {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestCursorsNameAPlace(t *testing.T) {
	t.Parallel()
	p, err := store.NewCursor(store.Place{Back: true, ID: "0301"}).Place()
	if err != nil || p.ID != "0301" || !p.Back || p.Order != store.OrderName(nil) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestOrderName(t *testing.T) {
	t.Parallel()
	if got := store.OrderName([]store.Sort{{Property: "a"}, {Property: "b", Desc: true}}); got != "a,-b" {
		t.Errorf("got %q", got)
	}
}

// FuzzCursor: whatever is read can be written and read again.
func FuzzCursor(f *testing.F) {
	f.Add(string(store.NewCursor(store.Place{ID: "1"})))
	f.Add(string(store.NewCursor(store.Place{Order: "a,-b", Keys: []any{nil, 1.5}, ID: "x"})))
	f.Add("W10")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := store.Cursor(s).Place()
		if err != nil {
			return
		}
		again, err := store.NewCursor(p).Place()
		if err != nil || again.ID != strings.ToValidUTF8(p.ID, "\ufffd") || len(again.Keys) != len(p.Keys) {
			t.Errorf("%+v became %+v, %v", p, again, err)
		}
	})
}

// TestCursorIsWrittenAsEncodingJSONWritesIt: whatever stands in an id, so that cursors of before stay those of now.
func TestCursorIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "0301", "a b", `"`, `\`, "<", ">", "&", "'", "/", "å", "\x00", "\x1f", "\x7f",
		"\xff", "\u2028", "~ !"} {
		for _, order := range []string{"", "+navn,-id", "<", "å"} {
			for _, back := range []bool{false, true} {
				b, err := json.Marshal([]any{back, order, []any(nil), id})
				if err != nil {
					t.Fatal(err)
				}
				if got, want := store.NewCursor(store.Place{Back: back, Order: order, ID: id}),
					store.Cursor(base64.RawURLEncoding.EncodeToString(b)); got != want {
					t.Errorf("%q in the order %q: %s, want %s", id, order, got, want)
				}
			}
		}
	}
}

// TestLongKeysAreReadFromTheFeature: a cursor stays short enough for a URL, and continues after the same keys.
func TestLongKeysAreReadFromTheFeature(t *testing.T) {
	t.Parallel()
	long, short := strings.Repeat("Å", 1500), strings.Repeat("x", 200)
	c := store.NewCursor(store.Place{Order: "a,b,c", Keys: []any{long, short, nil}, ID: "7"})
	p, err := c.Place()
	if err != nil || len(c) > 2048 || p.Keys[0] != (store.Far{Far: true}) || p.Keys[1] != short || p.Keys[2] != nil {
		t.Fatalf("%d bytes, %v, %v", len(c), p.Keys, err)
	}
	kept := store.NewCursor(store.Place{Order: "a", Keys: []any{strings.Repeat("x", 1400)}, ID: "7"})
	if p, err := kept.Place(); err != nil || len(p.Keys[0].(string)) != 1400 {
		t.Errorf("a text that fits: %v, %v", p.Keys, err)
	}
	number := cql2.Decimal("0." + strings.Repeat("3", 3000))
	if p, err := store.NewCursor(store.Place{Order: "a", Keys: []any{number}, ID: "7"}).Place(); err != nil ||
		p.Keys[0] != (store.Far{Far: true}) {
		t.Errorf("a number of many digits: %v, %v", p.Keys, err)
	}
	for _, x := range []struct {
		name  string
		q     store.Query
		value any
		want  any // the key; nil: ErrCursor
	}{
		{"a text", store.Query{SortBy: []store.Sort{{Property: "a"}}}, long, long},
		{"a text in Norwegian order", store.Query{SortBy: []store.Sort{{Property: "a", Norwegian: true}}}, "Å",
			cql2.NorwegianKey("Å")},
		{"a number of many digits", store.Query{SortBy: []store.Sort{{Property: "a"}}}, store.JSON("0.333"), "0.333"},
		{"a feature without a value", store.Query{SortBy: []store.Sort{{Property: "a"}}}, nil, nil},
		{"a feature that is gone", store.Query{SortBy: []store.Sort{{Property: "a"}}}, "gone", nil},
		{"another order", store.Query{SortBy: []store.Sort{{Property: "b"}}}, long, nil},
		{"a rank, which no feature has", store.Query{Rank: &cql2.Search{}}, long, nil},
	} {
		order := (store.Query{SortBy: []store.Sort{{Property: "a"}}}).OrderName()
		if x.name == "a text in Norwegian order" {
			order = x.q.OrderName()
		}
		a := &answers{values: map[string]any{"7": x.value}}
		if x.value == "gone" {
			a.values = nil
		}
		x.q.Cursor = store.NewCursor(store.Place{Order: order, Keys: []any{store.Far{Far: true}}, ID: "7"})
		q, err := x.q.Reached(t.Context(), a)
		if x.want == nil {
			if err != store.ErrCursor {
				t.Errorf("%s: %v", x.name, err)
			}
			continue
		}
		p, err2 := q.Place()
		if err != nil || err2 != nil || p.Keys[0] != x.want || p.ID != "7" {
			t.Errorf("%s: %.50q, %v, %v", x.name, p.Keys, err, err2)
		}
	}
	if q, err := (store.Query{}).Reached(t.Context(), nil); err != nil || q.Cursor != "" {
		t.Errorf("no cursor: %+v, %v", q, err)
	}
	if _, err := (store.Query{Cursor: "?"}).Reached(t.Context(), nil); err != store.ErrCursor {
		t.Errorf("no cursor at all: %v", err)
	}
}

// TestNumbersInCursorsKeepTheirKind: 1e300 is no integer, and an integer of 19 digits no double.
func TestNumbersInCursorsKeepTheirKind(t *testing.T) {
	t.Parallel()
	for _, key := range []any{int64(0), int64(9007199254740993), int64(math.MinInt64), 0.5, -0.1, 1e300, 1 << 53 * 1.0,
		math.SmallestNonzeroFloat64, -math.MaxFloat64, true, false, nil, "", "1", "\x00", "\u2028", `"\`} {
		p, err := store.NewCursor(store.Place{Order: "a", Keys: []any{key}, ID: "1"}).Place()
		if err != nil || len(p.Keys) != 1 || !reflect.DeepEqual(p.Keys[0], key) {
			t.Errorf("%#v became %#v, %v", key, p.Keys, err)
		}
	}
}

func TestOrdersHaveDifferentNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for what, q := range map[string]store.Query{
		"by id": {}, "by a": {SortBy: []store.Sort{{Property: "a"}}},
		"by a, downwards":         {SortBy: []store.Sort{{Property: "a", Desc: true}}},
		"by a, in Norwegian":      {SortBy: []store.Sort{{Property: "a", Norwegian: true}}},
		"by a and b":              {SortBy: []store.Sort{{Property: "a"}, {Property: "b"}}},
		"by b and a":              {SortBy: []store.Sort{{Property: "b"}, {Property: "a"}}},
		"by rank":                 {Rank: &cql2.Search{}},
		"by rank and a":           {Rank: &cql2.Search{}, SortBy: []store.Sort{{Property: "a"}}},
		"by a, in Norwegian down": {SortBy: []store.Sort{{Property: "a", Desc: true, Norwegian: true}}},
	} {
		name := q.OrderName()
		if seen[name] != "" {
			t.Errorf("%s has the name of %s: %q", what, seen[name], name)
		}
		seen[name] = what
	}
}

func TestWaitsForAConnectionAreBounded(t *testing.T) {
	t.Parallel()
	if _, bounded := store.Patience(t.Context()); bounded {
		t.Error("a wait is bounded by nobody")
	}
	before := time.Now()
	until, bounded := store.Patience(store.WithPatience(t.Context(), time.Minute))
	if wait := until.Sub(before); !bounded || wait < time.Minute || wait > 2*time.Minute {
		t.Errorf("until %v, %t", until, bounded)
	}
}
