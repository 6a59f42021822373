package placename_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/project"

	api "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/placename"
	"grense/internal/register"
	"grense/internal/store"
)

var coordinate = regexp.MustCompile(`(-?[0-9.]+) (-?[0-9.]+)`)

// wkt is what the oracle knows of a place's geometry: its type, and its positions in longitude and latitude.
func wkt(t *testing.T, f *fixture, sted string) (kind string, positions []orb.Point) {
	t.Helper()
	id, _ := strconv.ParseInt(sted, 10, 64)
	g := f.one("sted", id)["geom"].(store.Geometry)
	decoded, err := g.Orb()
	if err != nil {
		t.Fatal(err)
	}
	to, err := crs.Between(register.StorageCRS, crs.ETRS89)
	if err != nil {
		t.Fatal(err)
	}
	project.Geometry(decoded, func(p orb.Point) orb.Point {
		x, y := to(p[0], p[1])
		positions = append(positions, orb.Point{x, y})
		return p
	})
	return strings.ToUpper(decoded.GeoJSONType()), positions
}

func TestGeometryIsWellKnownTextWithLongitudeFirst(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	f := setup(t)
	kinds := map[string]int{}
	for op, s := range searches {
		r := s.request()
		target := reflect.ValueOf(r).Elem().FieldByName("InkluderGeometri")
		if !target.IsValid() {
			continue
		}
		target.SetBool(true)
		if s.always != nil {
			set(s.target(r), "Kommunenummer", "0301")
			set(s.target(r), "Gaardsnummer", "0-999")
		}
		a, err := f.service().Search(t.Context(), r)
		if err != nil || a.Count == 0 {
			t.Fatalf("%s: %d hits, %v", op, a.Count, err)
		}
		batch, err := a.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list := reflect.ValueOf(batch)
		for i := range list.Len() {
			got := list.Index(i).FieldByName("Geometri").String()
			kind, positions := wkt(t, f, list.Index(i).FieldByName("StedId").String())
			kinds[kind]++
			numbers := coordinate.FindAllStringSubmatch(got, -1)
			if !strings.HasPrefix(got, kind+"(") && !strings.HasPrefix(got, kind+" (") ||
				len(numbers) != len(positions) {
				t.Fatalf("%s: %q, want a %s of %d positions", op, got, kind, len(positions))
			}
			for k, n := range numbers {
				x, _ := strconv.ParseFloat(n[1], 64)
				y, _ := strconv.ParseFloat(n[2], 64)
				if math.Abs(x-positions[k][0]) > 1e-6 || math.Abs(y-positions[k][1]) > 1e-6 {
					t.Fatalf("%s: %q, want %v", op, got, positions[k])
				}
			}
		}
		target.SetBool(false)
		a, err = f.service().Search(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if batch, err = a.Next(t.Context()); err != nil ||
			reflect.ValueOf(batch).Index(0).FieldByName("Geometri").String() != "" {
			t.Errorf("%s: a geometry that was not asked for, %v", op, err)
		}
	}
	for _, kind := range []string{"POINT", "MULTIPOINT", "LINESTRING", "POLYGON"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s among the hits", kind)
		}
	}
}

func TestGeometryComesInTheConfiguredSystem(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := placename.New(f.store, placename.Options{CRS: register.StorageCRS})
	got := hits[api.StedTreff, api.StedTreffList](t, s,
		&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("Oslo")}, Flags: api.Flags{InkluderGeometri: true}})
	id, _ := strconv.ParseInt(got[0].StedId, 10, 64)
	g, err := f.one("sted", id)["geom"].(store.Geometry).Orb()
	if err != nil {
		t.Fatal(err)
	}
	p := g.(orb.Point)
	if want := fmt.Sprintf("POINT(%s %s)", strconv.FormatFloat(p[0], 'f', -1, 64),
		strconv.FormatFloat(p[1], 'f', -1, 64)); got[0].Geometri != want {
		t.Errorf("%s, want %s", got[0].Geometri, want)
	}
}

// counting counts the queries to a store, and stores the last filter.
type counting struct {
	store.Store
	pages, fetches, ids atomic.Int64
	filter              cql2.Expr
}

func (c *counting) All(ctx context.Context, q store.AllQuery) (*store.All, error) {
	c.pages.Add(1)
	c.filter = q.Filter
	return c.Store.All(ctx, q)
}

func (c *counting) Fetch(
	ctx context.Context,
	collection string,
	rows []store.Row,
	w store.Want,
	fn func(*store.Feature) error,
) error {
	c.fetches.Add(1)
	c.ids.Add(int64(len(rows)))
	return c.Store.Fetch(ctx, collection, rows, w, fn)
}

// batches goes through the hits of an answer.
func batches(t *testing.T, a api.Answer) iter.Seq[api.Hits] {
	return func(yield func(api.Hits) bool) {
		for a.Next != nil {
			h, err := a.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if h == nil || !yield(h) {
				return
			}
		}
	}
}

// TestHitsTakeOneQuestionForEachBatch, and one for those that come first among several of a name.
func TestHitsTakeOneQuestionForEachBatch(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for name, c := range map[string]struct {
		r              api.Request
		pages, fetches int64 // fetches for each thousand hits
	}{
		"places": {&api.FindSteder{}, 1, 1},
		"places with geometry": {&api.FindSteder{Flags: api.Flags{BeregnVisningsnavn: true, InkluderGeometri: true}},
			1, 1},
		"spellings":               {&api.FindSkrivemaater{Flags: api.Flags{BeregnVisningsnavn: true}}, 1, 1},
		"spellings with geometry": {&api.FindSkrivemaater{Flags: api.Flags{InkluderGeometri: true}}, 1, 2},
		"a name of several":       {&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("Oslo")}}, 2, 1},
		"a pattern of a name":     {&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("Osl*")}}, 1, 1},
		"nothing":                 {&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("xqzw")}}, 1, 0},
	} {
		st := &counting{Store: f.store}
		s := placename.New(st, placename.Options{})
		a, err := s.Search(t.Context(), c.r)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for h := range batches(t, a) {
			n += h.Len()
		}
		full := int64((n + 999) / 1000)
		if st.pages.Load() != c.pages || st.fetches.Load() != c.fetches*full || n != a.Count {
			t.Errorf("%s: %d pages, %d fetches for %d hits of %d", name, st.pages.Load(), st.fetches.Load(), n, a.Count)
		}
		if c.fetches == 2 && st.ids.Load() >= int64(2*n) {
			t.Errorf("%s: %d records read for %d hits; each place is read once", name, st.ids.Load(), n)
		}
	}
}

func TestStoresAreAskedForMomentsOfFourDigitYears(t *testing.T) {
	t.Parallel()
	st := &counting{Store: setup(t).store}
	late, early := time.Date(
		9999,
		12,
		31,
		23,
		0,
		0,
		0,
		time.FixedZone("", -3600*5),
	), time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600*5))
	_, err := placename.New(st, placename.Options{}).
		Search(t.Context(), &api.FindSteder{StedSoek: api.StedSoek{OppdatertEtter: &late, OppdatertFoer: &early}})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	cql2.Walk(st.filter, func(e cql2.Expr) bool {
		if x, ok := e.(cql2.Timestamp); ok {
			if n++; x.T.Location() != time.UTC || x.T.Year() < 1 || x.T.Year() > 9999 {
				t.Errorf("asked for %v", x.T)
			}
		}
		return true
	})
	if n != 2 {
		t.Errorf("%d moments", n)
	}
}

func TestLongNamesOfLanguagesAndCountriesAreAccepted(t *testing.T) {
	t.Parallel()
	f := setup(t)
	lists, err := register.CodeLists()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, list := range lists {
		for _, c := range list.Codes {
			var byName, byCode api.Request
			switch list.ID {
			case "land":
				byName, byCode = &api.FindSteder{
					StedSoek: api.StedSoek{LandId: ptr(c.Value)},
				}, &api.FindSteder{
					StedSoek: api.StedSoek{LandId: ptr(c.ID)},
				}
			case "spraak":
				byName = &api.FindStedsnavn{StedsnavnSoek: api.StedsnavnSoek{SpraakIds: []string{c.Value}}}
				byCode = &api.FindStedsnavn{StedsnavnSoek: api.StedsnavnSoek{SpraakIds: []string{c.ID}}}
			default:
				continue
			}
			a, err := f.service().Search(t.Context(), byName)
			if err != nil {
				t.Fatal(err)
			}
			b, err := f.service().Search(t.Context(), byCode)
			if err != nil {
				t.Fatal(err)
			}
			if a.Count != b.Count {
				t.Errorf("%s %s: %d hits by name, %d by code", list.ID, c.Value, a.Count, b.Count)
			}
			seen += a.Count
		}
	}
	if seen < places {
		t.Errorf("only %d hits in all", seen)
	}
}

// A client that may not have more than a few hits at a time still reaches every place: each municipality, in windows
// of time that it halves until they fit.
func TestSlicesReachEveryPlaceOnce(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := placename.New(f.store, placename.Options{MaxHits: 7})
	half := 500 * time.Millisecond
	first, last := time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).
		Add(half),
		time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).
			Add(half)
	questions := 0
	var harvest func(kommuner []string, from, to time.Time, into map[string]int)
	harvest = func(kommuner []string, from, to time.Time, into map[string]int) {
		questions++
		a, err := s.Search(t.Context(),
			&api.FindSteder{StedSoek: api.StedSoek{KommunerIds: kommuner, OppdatertEtter: &from, OppdatertFoer: &to}})
		if r, ok := err.(*api.Refusal); ok && r.Limit() {
			middle := from.Add(to.Sub(from) / 2).Truncate(time.Second).Add(half)
			if !middle.After(from) || !middle.Before(to) {
				t.Fatalf("more than the limit in one second at %v", from)
			}
			harvest(kommuner, from, middle, into)
			harvest(kommuner, middle, to, into)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for h := range batches(t, a) {
			for _, x := range h.(api.StedTreffList) {
				into[x.StedId]++
			}
		}
	}
	byTime := map[string]int{}
	harvest(nil, first, last, byTime)
	byKommune := map[string]int{}
	numbers := map[string]bool{}
	for _, r := range f.rows["sted_kommune"] {
		numbers[r.text("kommunenummer")] = true
	}
	for n := range numbers {
		harvest([]string{n}, first, last, byKommune)
	}
	for _, r := range f.rows["sted"] {
		if byTime[r.id()] != 1 {
			t.Errorf("place %s was reached %d times by time", r.id(), byTime[r.id()])
		}
		if want := len(f.where("sted_kommune", "sted_id", r["id"])); byKommune[r.id()] != want {
			t.Errorf("place %s in %d municipalities was reached %d times", r.id(), want, byKommune[r.id()])
		}
	}
	if len(byTime) != places || len(byKommune) != places || questions < places/7 {
		t.Errorf("%d and %d places in %d questions", len(byTime), len(byKommune), questions)
	}
}

// Searches of a first visitor.
func TestEverySearchFindsSomethingAboutTheCapital(t *testing.T) {
	t.Parallel()
	f := setup(t)
	both := api.Flags{BeregnVisningsnavn: true, InkluderGeometri: true}
	unit := api.StedMatrikkelenhetreferanseSoek{Kommunenummer: "0301", Gaardsnummer: "1"}
	oslo := []string{"0301"}
	for _, r := range []api.Request{
		&api.FindSteder{StedSoek: api.StedSoek{Stedsnavn: ptr("Oslo")}, Flags: both},
		&api.FindStedsnavn{StedsnavnSoek: api.StedsnavnSoek{Stedsnavn: ptr("Oslo")}, Flags: both},
		&api.FindSkrivemaater{SkrivemaateSoek: api.SkrivemaateSoek{Stedsnavn: ptr("Oslo")}, Flags: both},
		&api.FindStederForMatrikkelenhetreferanse{Soek: unit, Flags: both},
		&api.FindStedsnavnForMatrikkelenhetreferanse{Soek: api.StedsnavnMatrikkelenhetreferanseSoek(unit), Flags: both},
		&api.FindSkrivemaaterForMatrikkelenhetreferanse{Soek: api.SkrivemaateMatrikkelenhetreferanseSoek(unit),
			Flags: both},
		&api.FindNavnesaker{NavnesakSoek: api.NavnesakSoek{KommunerIds: oslo}},
		&api.FindVedtak{VedtakSoek: api.VedtakSoek{KommunerIds: oslo}},
		&api.FindSamlevedtak{SamlevedtakSoek: api.SamlevedtakSoek{Stedsnavn: ptr("Oslo")}},
		&api.FindBoeker{Soeketekst: "norske"},
		&api.FindKartprodukter{Utgivelsesaar: ptr(int32(1990))},
	} {
		a, err := placename.New(f.store, placename.Options{}).Search(t.Context(), r)
		if err != nil || a.Count == 0 {
			t.Errorf("%s: %d hits, %v", r.Operation(), a.Count, err)
			continue
		}
		batch, err := a.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b := api.PlainNil.AppendHits(nil, r.Operation(), batch)
		if len(b) == 0 || strings.Contains(string(b), "></value>") {
			t.Errorf("%s: %s", r.Operation(), b)
		}
	}
}

func TestTheFirstHitsAreThoseOfTheOrder(t *testing.T) {
	t.Parallel()
	f := setup(t)
	got := hits[api.StedTreff, api.StedTreffList](t, f.service(), &api.FindSteder{})
	if !slices.IsSortedFunc(got, func(a, b api.StedTreff) int {
		return strings.Compare(b.Sortering.Sortering1KodeId+b.Sortering.Sortering2KodeId,
			a.Sortering.Sortering1KodeId+a.Sortering.Sortering2KodeId)
	}) {
		t.Error("a less important place comes before a more important one")
	}
}
