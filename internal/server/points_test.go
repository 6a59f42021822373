package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/await"
	"grense/internal/store"
)

// waitIndexed looks up a point until the index in memory is built.
func (a *api) waitIndexed(t testing.TB, lon, lat float64, collections ...string) {
	t.Helper()
	for _, id := range collections {
		await.Success(t, "the index of "+id, func() error {
			logs := a.logs.String()
			if strings.Contains(logs, `"points are looked up in memory","collection":"`+id+`"`) {
				return nil
			}
			a.lookup(t, fmt.Sprintf("lon=%g&lat=%g", lon, lat))
			return errors.New(logs)
		})
	}
}

// TestLookupFromMemoryFindsWhatTheFilterFinds compares with S_INTERSECTS, on vertices, too.
func TestLookupFromMemoryFindsWhatTheFilterFinds(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const coll = "kommuner"
	a.waitIndexed(t, 10.75, 59.91, coll, "fylker")
	var points []orb.Point
	r := rand.New(rand.NewPCG(1, 9))
	for _, f := range a.get("/collections/" + coll + "/items?limit=40").wants(200).page().Features {
		if ring, ok := firstRing(f); ok {
			points = append(points, ring[r.IntN(len(ring))],
				orb.Point{ring[0][0] + r.Float64() - 0.5, ring[0][1] + r.Float64() - 0.5})
		}
	}
	for _, p := range points {
		var got, want []string
		for _, f := range a.lookup(t, fmt.Sprintf("lon=%v&lat=%v&collections=%s", p[0], p[1], coll)).Features {
			got = append(got, f.ID)
		}
		filter := fmt.Sprintf("S_INTERSECTS(geometry,POINT(%v %v))", p[0], p[1])
		for _, f := range a.get("/collections/" + coll + "/items?filter=" + url.QueryEscape(filter)).wants(
			200).page().Features {
			want = append(want, f.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", p, got, want)
		}
	}
	if len(points) < 20 {
		t.Errorf("%d points", len(points))
	}
}

// firstRing is the outer ring of the first polygon of a feature.
func firstRing(f featureDoc) (ring []orb.Point, ok bool) {
	if f.Geometry == nil {
		return nil, false
	}
	var one []orb.Ring
	var many [][]orb.Ring
	if json.Unmarshal(f.Geometry.Coordinates, &one) == nil && len(one) > 0 {
		return one[0], true
	}
	if json.Unmarshal(f.Geometry.Coordinates, &many) == nil && len(many) > 0 {
		return many[0][0], true
	}
	return nil, false
}

// TestLookupFollowsAReload: an index of replaced data is not used.
func TestLookupFollowsAReload(t *testing.T) {
	t.Parallel()
	st := openSwapped(t)
	a := serveStore(t, st.Store, nil)
	a.waitIndexed(t, 10.5, 60.5, "flater")
	text := func() string {
		return fmt.Sprint(a.lookup(t, "lon=10.5&lat=60.5&collections=flater").Features[0].Properties)
	}
	before := text()
	st.swap(t)
	if after := text(); after == before {
		t.Errorf("%s as before", after)
	}
}

// unsnapped is a store without snapshots, so no index can be built from it.
type unsnapped struct{ store.Store }

func (unsnapped) Snapshot(context.Context) (store.Snapshot, error) { return nil, errors.ErrUnsupported }

// TestNearestFromMemoryIsThatOfTheStore compares points near and far.
func TestNearestFromMemoryIsThatOfTheStore(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	demo, err := demoFile()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, source string
		collections  []string
		points       int
	}{{"demo", demo, []string{"fylker", "kommuner"}, 500}, {
		"n1000", shared(t, "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg"), []string{"kommune"}, 100}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st := openTest(t, tt.source)
			memory, stored := serveStore(t, st, nil), serveStore(t, unsnapped{st}, nil)
			memory.waitIndexed(t, 10.75, 59.91, tt.collections...)
			r := rand.New(rand.NewPCG(31, 32))
			off := 0
			for i := range tt.points {
				at := orb.Point{3 + 30*r.Float64(), 57 + 15*r.Float64()}
				if i%50 == 0 {
					at = orb.Point{360*r.Float64() - 180, 180*r.Float64() - 90}
				}
				query := fmt.Sprintf("lon=%.6f&lat=%.6f&collections=%s", at[0], at[1],
					strings.Join(tt.collections, ","))
				got, want := memory.lookup(t, query), stored.lookup(t, query)
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%v: %+v with nearest %+v, want %+v with %+v", at, got, got.Nearest, want, want.Nearest)
				}
				if got.Nearest != nil {
					off++
				}
			}
			if off < tt.points/4 {
				t.Errorf("%d of %d points lie outside", off, tt.points)
			}
		})
	}
}
