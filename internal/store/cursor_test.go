package store_test

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

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
