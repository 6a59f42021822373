package format_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/format"
	"grense/internal/format/output"
	"grense/internal/format/xlsx"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/problem"
	"grense/internal/store"
)

// runText writes runs of positions so that neither the order of parts nor the sense of rings matters.
func runText(runs [][]orb.Point) string {
	var parts []string
	for _, r := range runs {
		var ps []string
		for _, p := range r {
			ps = append(ps, strconv.FormatFloat(p[0]+0, 'f', -1, 64)+" "+strconv.FormatFloat(p[1]+0, 'f', -1, 64))
		}
		sort.Strings(ps)
		parts = append(parts, strings.Join(ps, ","))
	}
	sort.Strings(parts)
	return strings.Join(parts, "; ")
}

// unrounded are the formats that do not round.
var unrounded = map[string]bool{"gpkg": true, "flatgeobuf": true, "parquet": true, "shapefile": true}

// wanted are the positions of a stored geometry in a system, rounded as is promised.
func wanted(t *testing.T, f *store.Feature, from, to crs.ID, northFirst, exact bool) string {
	t.Helper()
	if len(f.Geometry.WKB) == 0 {
		return ""
	}
	move, err := crs.Between(from, to)
	if err != nil {
		t.Fatal(err)
	}
	round := func(v float64) float64 {
		if scale := math.Pow10(to.Decimals()); !exact {
			return math.Round(v*scale) / scale
		}
		return v
	}
	runs := wkbRuns(t, f.Geometry.WKB)
	for i, r := range runs {
		runs[i] = slices.Clone(r)
		for j, p := range r {
			x, y := move(p[0], p[1])
			x, y = round(x), round(y)
			if northFirst && to.NorthFirst() {
				x, y = y, x
			}
			runs[i][j] = orb.Point{x, y}
		}
	}
	return runText(runs)
}

// text is a value as readers are held against it; "" with false is null.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", false
	case store.JSON:
		return string(v), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	default:
		return fmt.Sprint(v), true
	}
}

// same reports whether a text that was read is the value of a property.
func same(got, want string, typ cql2.Type) bool {
	switch typ {
	case cql2.TypeNumber:
		x, err := strconv.ParseFloat(got, 64)
		y, _ := strconv.ParseFloat(want, 64)
		return err == nil && x == y
	case cql2.TypeBool:
		return got == want || got == map[string]string{"true": "1", "false": "0"}[want]
	case cql2.TypeDate:
		return strings.TrimSuffix(strings.TrimSuffix(got, "T00:00:00Z"), " 00:00:00") == want
	case cql2.TypeTimestamp:
		x, err := time.Parse(time.RFC3339Nano, got)
		y, _ := time.Parse(time.RFC3339Nano, want)
		return err == nil && x.Equal(y)
	}
	return got == want
}

// blank formats do not distinguish null from an empty text.
var blank = map[string]bool{"csv": true, "xlsx": true}

// compare holds what was read against the features.
func compare(t *testing.T, f *format.Format, o output.Options, fs []store.Feature, got []record) {
	t.Helper()
	byID := map[string]record{}
	for _, r := range got {
		byID[r.values["id"]] = r
	}
	if len(got) != len(fs) || len(byID) != len(fs) {
		t.Errorf("%s: %d features with %d ids, want %d", f.Name, len(got), len(byID), len(fs))
	}
	columns := o.Collection.Properties
	if o.Properties != nil {
		columns = nil
		for _, n := range o.Properties {
			p, _ := o.Collection.Find(n)
			columns = append(columns, *p)
		}
	}
	to := o.CRS
	if to == 0 || f.Lon {
		to = crs.CRS84
	}
	for i := range fs {
		x := &fs[i]
		r, ok := byID[x.ID]
		if !ok {
			t.Errorf("%s: %q is missing", f.Name, x.ID)
			continue
		}
		values := map[string]string{"id": x.ID}
		n := 0
		for _, p := range columns {
			if p.Hidden && o.Properties == nil {
				continue
			}
			want, some := text(x.Values[n])
			n++
			if f.Name == "gml" || f.Name == "kml" || f.Name == "xlsx" {
				want = strings.ReplaceAll(want, "\x01", "\uFFFD")
			}
			values[nameIn(f, p.Name)] = want
			have, there := r.values[nameIn(f, p.Name)]
			if some && blank[f.Name] && want == "" {
				some = false
			}
			if there != some || some && !same(have, want, p.Type) {
				t.Errorf("%s: %q of %q is %q (%v), want %q (%v)", f.Name, p.Name, x.ID, have, there, want, some)
			}
		}
		for name := range r.values {
			if _, ok := values[name]; !ok {
				t.Errorf("%s: %q has %q, which nobody asked for", f.Name, x.ID, name)
			}
		}
		want := ""
		if !o.SkipGeometry && o.Collection.Geometry != nil && (!blank[f.Name] || isPoint(x)) {
			northFirst := f.Name == "gml" || f.Name == "json" || f.Name == "geojsonseq" || f.Name == "ndjson"
			want = wanted(t, x, o.Collection.Geometry.CRS, to, northFirst, unrounded[f.Name])
		}
		if have := runText(r.runs); have != want {
			t.Errorf("%s: the geometry of %q is %.300s, want %.300s", f.Name, x.ID, have, want)
		}
	}
}

// isPoint reports whether the geometry of a feature is a point.
func isPoint(f *store.Feature) bool {
	r := wkb.NewReader(f.Geometry.WKB)
	kind, err := r.Header()
	return err == nil && kind == wkb.Point
}

// nameIn is the name that a property has in a format.
func nameIn(f *format.Format, name string) string {
	if f.Name == "gml" {
		return strings.NewReplacer(" ", "_x0020_", "²", "_x00B2_").Replace(name)
	}
	return name
}

// selections are the ways to ask for places.
func selections() map[string]output.Options {
	return map[string]output.Options{"all": {}, "without geometry": {SkipGeometry: true},
		"some properties":   {Properties: []string{"kode", "antall"}},
		"hidden, asked for": {Properties: []string{"skjult"}},
		"no property":       {Properties: []string{}}, "in 25833": {CRS: crs.UTM33},
		"in 3035, north first": {CRS: crs.LAEAEurope}, "in 4258, north first": {CRS: crs.ETRS89}}
}

func TestEveryReaderGetsEveryValueBack(t *testing.T) {
	t.Parallel()
	for name, o := range selections() {
		c, fs := places()
		for i := range fs {
			if o.Properties == nil {
				break
			}
			var values []any
			for _, p := range o.Properties {
				at := slices.IndexFunc(c.Properties, func(x store.Property) bool { return x.Name == p })
				if at < len(fs[i].Values) {
					values = append(values, fs[i].Values[at])
				} else {
					values = append(values, "verdi")
				}
			}
			fs[i].Values = values
		}
		o.Collection, o.Title, o.Address, o.Temp = c, "Places", "http://localhost/collections/places", t.TempDir()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, f := range format.All() {
				if read := readers[f.Name]; read != nil {
					compare(t, f, o, fs, read(t, write(t, f, o, fs)))
					if got := read(t, write(t, f, o, nil)); len(got) != 0 {
						t.Errorf("%s: nothing was selected, and %d features come", f.Name, len(got))
					}
				} else if write(t, f, o, nil); f.Name != "shapefile" { // which clients read in make accept
					t.Errorf("there is no reader of %s in readers", f.Name)
				}
			}
		})
	}
}

// clashing is a collection of points whose properties have the names of what formats add.
func clashing(n int) (*store.Collection, []store.Feature) {
	c := &store.Collection{ID: "clashing", Table: "clashing",
		Geometry: &store.Geom{Name: "geom", Type: "Point", CRS: crs.WGS84}}
	for _, p := range []string{"geometry", "bbox", "geom", "fid", "Navn", "navn", "NAVN", "_x0020_", " ", "ª", "id"} {
		c.Properties = append(c.Properties, store.Property{Name: p})
	}
	var fs []store.Feature
	for i := range n {
		f := store.Feature{ID: fmt.Sprintf("%04d", i), Rev: 1,
			Geometry: store.Geometry{WKB: wkb.Append(nil, orb.Point{float64(i % 40), float64(i / 40)})}}
		for j := range c.Properties {
			f.Values = append(f.Values, fmt.Sprintf("v%d", j))
		}
		f.Values[len(f.Values)-1] = f.ID
		fs = append(fs, f)
	}
	return c, fs
}

func TestClashingNamesLoseNoValue(t *testing.T) {
	t.Parallel()
	c, fs := clashing(2)
	for _, f := range format.All() {
		read := readers[f.Name]
		if read == nil {
			continue
		}
		got := read(t, write(t, f, output.Options{Collection: c, Address: "http://localhost/collections/clashing"}, fs))
		for i, r := range got {
			var values []string
			for _, v := range r.values {
				values = append(values, v)
			}
			for j := range 10 {
				if v := fmt.Sprintf("v%d", j); !slices.Contains(values, v) {
					t.Errorf("%s: feature %d has %v; that of %q is missing", f.Name, i, r.values, c.Properties[j].Name)
				}
			}
			if runText(r.runs) != fmt.Sprintf("%d 0", i) || r.values["id"] != fs[i].ID {
				t.Errorf("%s: feature %d is %v", f.Name, i, r)
			}
		}
		if len(got) != len(fs) {
			t.Errorf("%s: %d features", f.Name, len(got))
		}
	}
}

func TestIndexOfFlatGeobufFindsWhatABoxHolds(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 16, 17, 256, 257, 1000} {
		c, fs := clashing(n)
		f := openFlatGeobuf(t, write(t, format.Find("flatgeobuf"), output.Options{Collection: c}, fs))
		box := orb.Bound{Min: orb.Point{5, 3}, Max: orb.Point{9, 4}}
		var got, want []string
		hits, looked := f.find(box)
		for _, r := range hits {
			got = append(got, r.values["id"])
		}
		for i, x := range fs {
			if box.Contains(orb.Point{float64(i % 40), float64(i / 40)}) {
				want = append(want, x.ID)
			}
		}
		sort.Strings(got)
		if !slices.Equal(got, want) {
			t.Errorf("of %d: %v, want %v", n, got, want)
		}
		if n == 1000 && looked > n/3 {
			t.Errorf("the index looked at %d nodes for %d features of %d", looked, len(want), n)
		}
	}
}

// Arrow reads no header of a page beyond 16 MB, and bounds of the pages would hold the geometry again, several times.
func TestParquetHoldsALargeGeometryOnce(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	var line orb.LineString
	for range 20000 {
		line = append(line, orb.Point{random.Float64()*360 - 180, random.Float64()*180 - 90})
	}
	c, fs := areas(line)
	c.Properties, fs[0].Values = []store.Property{{Name: "mer"}}, []any{strings.Repeat("æøå ", 20000)}
	b := write(t, format.Find("parquet"), output.Options{Collection: c}, fs)
	if most := len(fs[0].Geometry.WKB) + 20000; len(b) > most {
		t.Errorf("%d bytes, want at most %d", len(b), most)
	}
}

// Ids of features and of geometries are of one kind in XML.
func TestIdentifiersOfGMLAreUnique(t *testing.T) {
	t.Parallel()
	c, fs := clashing(6)
	for i, id := range []string{"x", "x.g0", "a b", "a_x0020_b", "G0.clashing.x", "1"} {
		fs[i].ID = id
	}
	b := write(t, format.Find("gml"), output.Options{Collection: c, Address: "http://localhost/collections/clashing"},
		fs)
	seen := map[string]bool{}
	for _, part := range strings.Split(string(b), `gml:id="`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
	}
	if len(seen) != 2*len(fs) {
		t.Errorf("%d ids", len(seen))
	}
}

// A sheet is refused before a byte of it is written.
func TestTooManyRowsForASheetAreRefused(t *testing.T) {
	t.Parallel()
	c := &store.Collection{ID: "many", Table: "many"}
	var b strings.Builder
	w, err := format.Find("xlsx").Open(&b, output.Options{Collection: c, Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(true)
	f := store.Feature{ID: "1"}
	for i := range xlsx.MaxRows {
		if err := w.Write(&f); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
	}
	if err := w.Write(&f); problem.Of(err).Kind != problem.Invalid || b.Len() > 0 {
		t.Errorf("one row more: %v, after %d bytes", err, b.Len())
	}
}

// The length of a row is 16 bits in a shapefile: of a longer one readers would find no row at all.
func TestARowBeyondWhatAShapefileHoldsIsRefused(t *testing.T) {
	t.Parallel()
	for _, long := range []bool{false, true} {
		c, fs := clashing(1)
		c.Properties, fs[0].Values = nil, nil
		for i := range 258 { // and the id: 65,532 and 4 bytes, and the mark of the row
			c.Properties = append(c.Properties, store.Property{Name: fmt.Sprintf("p%d", i)})
			fs[0].Values = append(fs[0].Values, strings.Repeat("x", 254-2*b2i(!long && i == 0)))
		}
		var b strings.Builder
		w, err := format.Find("shapefile").Open(&b, output.Options{Collection: c, Temp: t.TempDir()})
		if err == nil {
			err = w.Write(&fs[0])
		}
		if err != nil {
			t.Fatal(err)
		}
		err = w.Close(false)
		if refused := problem.Of(err).Kind == problem.Invalid && b.Len() == 0; refused != long || !long && err != nil {
			t.Errorf("too long %v: %v after %d bytes", long, err, b.Len())
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
