package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/process"
	"grense/internal/store"
)

// beside runs neighbours and returns method, ids with their lengths, and addresses.
func beside(t *testing.T, env *process.Env, inputs string) (method, ids, hrefs string, err error) {
	t.Helper()
	out, err := run(t, env, "neighbours", "{"+inputs+"}")
	if err != nil {
		return "", "", "", err
	}
	var doc struct {
		Method     string
		Neighbours []struct {
			ID, Title, Href string
			Length          *float64
		}
	}
	if err := json.Unmarshal([]byte(written(t, out["neighbours"])), &doc); err != nil {
		t.Fatal(err)
	}
	var list, at []string
	for _, n := range doc.Neighbours {
		s := n.ID + "/" + n.Title
		if n.Length != nil {
			b, _ := json.Marshal(*n.Length)
			s += "/" + string(b)
		}
		list, at = append(list, s), append(at, n.Href)
	}
	return doc.Method, strings.Join(list, " "), strings.Join(at, " "), nil
}

// uncovered is a collection whose borders are not known.
func uncovered(env *process.Env) *process.Env {
	env.Neighbours = func(context.Context, string, string) ([]process.Neighbour, bool, error) { return nil, false, nil }
	return env
}

// TestNeighboursTouch where no borders are known: along a line or in a corner, and never the area itself, what lies in
// it, overlaps it, or has no geometry.
func TestNeighboursTouch(t *testing.T) {
	t.Parallel()
	s := island()
	l := s.layer("kommuner")
	values := func(id string) []any { return []any{id, "Navn " + id, nil, nil, "x"} }
	l.rows = nil
	for _, x := range []struct {
		id string
		g  orb.Geometry
	}{
		{"middle", square(0, 0, 2)},
		{"east", square(2, 0, 2)},
		{"half a side", square(-1, 1, 1)},
		{"corner", square(2, 2, 1)},
		{"apart", square(5, 5, 1)},
		{"within", square(0.5, 0.5, 1)},
		{"within at the side", square(0, 0, 1)},
		{"overlapping", square(1, -1, 2)},
		{"the same", square(0, 0, 2)},
		{"two parts", orb.MultiPolygon{square(9, 9, 1).(orb.Polygon), square(-2, 0, 2).(orb.Polygon)}},
		{"a line that ends there", orb.LineString{{1, 2}, {1, 5}}},
		{"a point on the side", orb.Point{0, 1.5}},
		{"clockwise", orb.Polygon{{{0, -2}, {0, 0}, {1, 0}, {1, -2}, {0, -2}}}},
		{"nothing", nil},
	} {
		l.rows = append(l.rows, row(x.id, x.g, values(x.id)...))
	}
	const want = "east/Navn east half a side/Navn half a side corner/Navn corner two parts/Navn two parts " +
		"a line that ends there/Navn a line that ends there a point on the side/Navn a point on the side " +
		"clockwise/Navn clockwise"
	method, ids, hrefs, err := beside(t, uncovered(s.env()), `"collection_id":"kommuner","id":"middle"`)
	if err != nil || method != "S_TOUCHES" || ids != want {
		t.Errorf("%s: %s, %v, want %s", method, ids, err, want)
	}
	if want := "https://example.com/collections/kommuner/items/half%20a%20side"; !strings.Contains(hrefs, want) {
		t.Errorf("addresses %s", hrefs)
	}
	for id, want := range map[string]string{"apart": "", "nothing": "",
		"east": "middle/Navn middle corner/Navn corner the same/Navn the same"} {
		_, ids, _, err := beside(t, uncovered(s.env()), `"collection_id":"kommuner","id":"`+id+`"`)
		if err != nil || ids != want {
			t.Errorf("%s: %s, %v, want %s", id, ids, err, want)
		}
	}
	touch := map[string]string{}
	for _, f := range l.rows {
		_, ids, _, err := beside(t, uncovered(s.env()), `"collection_id":"kommuner","id":"`+f.ID+`"`)
		if err != nil {
			t.Fatal(err)
		}
		touch[f.ID] = " " + ids + " "
	}
	for a, list := range touch {
		if strings.Contains(list, " "+a+"/") {
			t.Errorf("%s touches itself", a)
		}
		for b, back := range touch {
			if strings.Contains(list, " "+b+"/") != strings.Contains(back, " "+a+"/") {
				t.Errorf("%s and %s touch one way only", a, b)
			}
		}
	}
}

// TestLengthsAreRoundedToDecimetres, the longest first as they come; a length of 0 stays.
func TestLengthsAreRoundedToDecimetres(t *testing.T) {
	t.Parallel()
	s := island()
	env := s.env()
	env.Neighbours = func(context.Context, string, string) ([]process.Neighbour, bool, error) {
		return []process.Neighbour{{ID: "0302", Length: 1e7 / 3}, {ID: "0303", Length: 0.05},
			{ID: "1101", Length: math.Nextafter(0.05, 0)}, {ID: "11_1", Length: 0}}, true, nil
	}
	method, ids, _, err := beside(t, env, `"collection_id":"kommuner","id":"0301"`)
	if want := "0302/Ås/3333333.3 0303/Tvers/0.1 1101/Våler/0 11_1/A\u030as/0"; err != nil || ids != want ||
		method != "shared-borders" {
		t.Errorf("%s: %s, %v, want %s", method, ids, err, want)
	}
	s.layer("kommuner").c.TitleProperty = "skjult"
	if _, ids, _, err = beside(t, env, `"collection_id":"kommuner","id":"0301"`); err != nil ||
		!strings.HasPrefix(ids, "0302/0302/") {
		t.Errorf("a hidden title: %s, %v", ids, err)
	}
}

// TestNeighboursOfVersionsAreThoseOfTheDay: by the id that clients know, with the day in the addresses.
func TestNeighboursOfVersionsAreThoseOfTheDay(t *testing.T) {
	t.Parallel()
	for _, covered := range []bool{true, false} {
		env := versioned(cql2.TypeText).env()
		env.Neighbours = func(_ context.Context, _, row string) ([]process.Neighbour, bool, error) {
			if row == "3" {
				return []process.Neighbour{{ID: "1", Length: 7}, {ID: "2", Length: 5}}, covered, nil
			}
			return []process.Neighbour{{ID: "3", Length: 5}}, covered, nil
		}
		length := map[bool]string{true: "/5"}[covered]
		for _, x := range []struct{ inputs, ids, hrefs string }{
			{`"id":"0302"`, "0301/Nye" + length, "0301"},
			{`"id":"0301"`, "0302/Ås" + length, "0302"},
			{`"id":"0301","datetime":"2010-01-01"`, "", ""},
			{`"id":"0302","datetime":"2020-01-01T00:00:00+00:00"`, "0301/Nye" + length,
				"0301?datetime=2020-01-01T00%3A00%3A00%2B00%3A00"},
		} {
			_, ids, hrefs, err := beside(t, env, `"collection_id":"kommuner",`+x.inputs)
			if x.hrefs != "" {
				x.hrefs = "https://example.com/collections/kommuner/items/" + x.hrefs
			}
			if err != nil || ids != x.ids || hrefs != x.hrefs {
				t.Errorf("%s, covered %t: %s at %s, %v", x.inputs, covered, ids, hrefs, err)
			}
		}
		_, _, _, err := beside(t, env, `"collection_id":"kommuner","id":"0302","datetime":"2010-01-01"`)
		if got := faults(err); got != "/inputs/id: there is no such feature in kommuner" {
			t.Errorf("before it began: %q, %v", got, err)
		}
	}
}

func TestNeighboursThatCannotBeFound(t *testing.T) {
	t.Parallel()
	disk := errors.New("disk")
	for _, x := range []struct {
		name, inputs, want string
		err                error
	}{
		{"points", `"collection_id":"steder","id":"1"`, "/inputs/collection_id: use one of fylker, kommuner", nil},
		{"a table", `"collection_id":"tall","id":"1"`, "/inputs/collection_id: use one of fylker, kommuner", nil},
		{"not public", `"collection_id":"hemmelig","id":"1"`, "/inputs/collection_id: use one of fylker, kommuner",
			nil},
		{"no id", `"collection_id":"kommuner","id":""`, "/inputs/id: send at least 1 characters", nil},
		{"no such feature", `"collection_id":"kommuner","id":"0399"`,
			"/inputs/id: there is no such feature in kommuner", nil},
		{"gone meanwhile", `"collection_id":"kommuner","id":"0301"`, "/inputs/id: there is no such feature in kommuner",
			store.ErrNotFound},
		{"a fault of the server", `"collection_id":"kommuner","id":"0301"`, "", disk},
		{"a day without versions", `"collection_id":"kommuner","id":"0301","datetime":"2020-01-01"`,
			"/inputs/datetime: there is no such input; use collection_id, id", nil},
	} {
		env := island().env()
		env.Neighbours = func(context.Context, string, string) ([]process.Neighbour, bool, error) {
			return nil, false,
				x.err
		}
		_, _, _, err := beside(t, env, x.inputs)
		if got := faults(err); got != x.want || x.want == "" && !errors.Is(err, x.err) {
			t.Errorf("%s: %q, want %q (%v)", x.name, got, x.want, err)
		}
	}
	env := uncovered(island().env())
	p, _ := process.NewRegistry(process.Standard()...).Find("neighbours")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Execute(ctx, env, process.Inputs{"collection_id": "kommuner", "id": "0301"}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("after the client has gone: %v", err)
	}
}
