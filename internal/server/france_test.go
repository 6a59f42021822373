package server_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// commune is one line of the shared data of France.
type commune struct {
	Properties struct{ Code, Nom, Departement string }
	Geometry   struct {
		Type        string
		Coordinates json.RawMessage
	}
}

func (c *commune) shape() (orb.Geometry, error) {
	if c.Geometry.Type == "Polygon" {
		var p orb.Polygon
		return p, json.Unmarshal(c.Geometry.Coordinates, &p)
	}
	var m orb.MultiPolygon
	err := json.Unmarshal(c.Geometry.Coordinates, &m)
	return m, err
}

// france writes the 35,357 communes into a GeoPackage, once for all benchmarks. The caller removes its folder.
var france = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "grense-france")
	if err != nil {
		return "", err
	}
	franceMade.Store(true)
	path := filepath.Join(dir, "france.gpkg")
	w, err := gpkg.Create(context.Background(), path)
	if err != nil {
		return "", err
	}
	defer w.Close()
	c := &store.Collection{ID: "communes", Table: "communes", Public: true,
		Key:      store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
		Geometry: &store.Geom{Name: "geom", Column: "geom", Type: "MultiPolygon", CRS: crs.CRS84}}
	for _, n := range []string{"code", "nom", "departement"} {
		c.Properties = append(c.Properties, store.Property{Name: n, Column: n, Type: cql2.TypeText})
	}
	if err := w.Define(context.Background(), c, false); err != nil {
		return "", err
	}
	insert, err := w.Insert(context.Background(), "communes", []string{"code", "nom", "departement", "geom"})
	if err != nil {
		return "", err
	}
	err = eachCommune(func(x *commune, g orb.Geometry) error {
		return insert(x.Properties.Code, x.Properties.Nom, x.Properties.Departement,
			store.Geometry{WKB: wkb.MustMarshal(g)})
	})
	if err != nil {
		return "", err
	}
	return path, w.Commit(context.Background())
})

var franceMade atomic.Bool

func eachCommune(fn func(*commune, orb.Geometry) error) error {
	f, err := os.Open(sharedtest.Find("data", "france/france-communes-2018.geojsonl.gz"))
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var x commune
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			return err
		}
		g, err := x.shape()
		if err == nil {
			err = fn(&x, g)
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

// cpuTime is the processor time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// circle is a polygon of n vertices around a place, as CQL2 text.
func circle(x, y, r float64, n int) string {
	var b strings.Builder
	for i := range n + 1 {
		a := 2 * math.Pi * float64(i%n) / float64(n)
		fmt.Fprintf(&b, "%s%.6f %.6f", []string{",", ""}[btoi(i == 0)], x+r*math.Cos(a), y+r*math.Sin(a))
	}
	return "POLYGON((" + b.String() + "))"
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// BenchmarkFilters queries 35,357 communes without the network, each time with another value, so that no count is
// cached. CPU-ms/op is the processor time of one request, with the fragments in the cache.
func BenchmarkFilters(b *testing.B) {
	shared(b, "france/france-communes-2018.geojsonl.gz")
	path, err := france()
	if err != nil {
		b.Fatal(err)
	}
	srv := benched(b, path)
	syllables := []string{"an", "ber", "cha", "dou", "el", "font", "gar", "heim", "is", "jean", "ker", "lou", "mar",
		"nan", "ou", "plo", "que", "rou", "sol", "tour"}
	syllable := func(i int) string { return syllables[i%len(syllables)] }
	place := func(i int) (x, y float64) { return 0.3 + float64(i*37%1000)*0.004, 45 + float64(i*61%1000)*0.003 }
	for name, query := range map[string]func(i int) string{
		"id": func(i int) string { return "code=" + fmt.Sprintf("%05d", 1001+i%300) },
		"point": func(i int) string {
			x, y := place(i)
			return "filter=" + queryEscape(fmt.Sprintf("S_INTERSECTS(geom,POINT(%.4f %.4f))", x, y))
		},
		"polygon": func(i int) string {
			x, y := place(i)
			return "filter=" + queryEscape("S_INTERSECTS(geom,"+circle(x, y, 0.25, 200)+")")
		},
		"casei": func(i int) string {
			return "filter=" + queryEscape(fmt.Sprintf("CASEI(nom) LIKE CASEI('%%%s%%') AND %d=%d", syllable(i), i, i))
		},
		"prefix": func(i int) string {
			return "filter=" + queryEscape(fmt.Sprintf("nom LIKE '%s%%' AND %d=%d",
				strings.ToUpper(syllable(i)[:1])+syllable(i)[1:], i, i))
		},
		"q":       func(i int) string { return "q=" + syllable(i) + "," + strconv.Itoa(i) },
		"q-many":  func(i int) string { return "q=saint," + strconv.Itoa(i) },
		"q-words": func(i int) string { return "q=saint%20" + syllable(i) + "," + strconv.Itoa(i) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n, before := 0, cpuTime()
			for b.Loop() {
				n++
				r := httptest.NewRequest("GET", "/collections/communes/items?limit=10&"+query(n), nil)
				w := &discard{h: http.Header{}}
				srv.Handler().ServeHTTP(w, r)
				if w.n == 0 || w.status >= 400 {
					b.Fatalf("%s: status %d", r.URL, w.status)
				}
			}
			b.ReportMetric(float64((cpuTime()-before).Microseconds())/1000/float64(n), "CPU-ms/op")
		})
	}
}

// TestSearchOfFrance compares the index of words with a reading of all names.
func TestSearchOfFrance(t *testing.T) {
	if sharedtest.Soak(t) == 0 {
		t.Skip("part of make soak")
	}
	shared(t, "france/france-communes-2018.geojsonl.gz")
	path, err := france()
	if err != nil {
		t.Fatal(err)
	}
	var communes []*commune
	if err := eachCommune(func(x *commune, _ orb.Geometry) error {
		communes = append(communes, x)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	for _, q := range []string{"paris", "s", "saint", "saint mar", "la roche,le bois", "l'isle", "é", "œuf", "75056",
		"bourg en", "sur seine", "x,y,z", "aa", "notre dame", "en brie,en br", "saint, sainte"} {
		terms, err := cql2.ParseSearch(q)
		if err != nil {
			t.Fatal(err)
		}
		var hits [cql2.RankWord + 1][]string
		n := 0
		for i, x := range communes {
			best := cql2.RankWord + 1
			for _, text := range []string{x.Properties.Code, x.Properties.Nom, x.Properties.Departement} {
				if rank, ok := cql2.RankWords(cql2.Words(text), terms); ok {
					best = min(best, rank)
				}
			}
			if best <= cql2.RankWord {
				n++
				hits[best] = append(hits[best], strconv.Itoa(i+1))
			}
		}
		p := a.get("/collections/communes/items?limit=10000&skipGeometry=true&q=" + queryEscape(q)).wants(200).page()
		if got, want := strings.Join(p.ids(), " "), strings.Join(
			slices.Concat(hits[:]...), " "); p.NumberMatched != n || got != want {
			t.Errorf("%s: %d matches, want %d; first %.80s, want %.80s", q, p.NumberMatched, n, got, want)
		}
	}
}
