package locate_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"

	"grense/internal/geo/locate"
	"grense/internal/geo/wkb"
	"grense/internal/sharedtest"
	"grense/internal/store/storetest"
)

var cluster storetest.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// compared is the layer that others answer for, too, and how many places in it.
func compared(t *testing.T, few int) ([]orb.Geometry, int) {
	t.Helper()
	return layer(t, "norway/robhop-2024/Kommuner-M.geojson.gz"), min(10_000_000, sharedtest.Rounds(t, few))
}

// places are random ones in the boxes of areas and, one in a hundred, their vertices.
func places(areas []orb.Geometry, r *rand.Rand, n int) []orb.Point {
	out := scattered(areas, r, n)
	for i := 0; i+4 < n; i += 400 {
		out[i] = onBorders(areas, r, 4)[0]
	}
	return out
}

// pair says that a place lies in an area.
type pair struct{ place, area int32 }

func pairs(x *locate.Index, points []orb.Point) (out []pair) {
	var buf []int32
	for i, p := range points {
		for _, a := range x.Append(buf[:0], p[0], p[1]) {
			out = append(out, pair{int32(i), a})
		}
	}
	return out
}

// agree compares what was found with what another program (GEOS, PostGIS) says, in any order. Of areas that cross
// themselves, others leave out places that are vertices of them: where they differ, exact arithmetic has to say that
// the place is on the border.
func agree(t *testing.T, areas []orb.Geometry, points []orb.Point, got, want []pair) {
	t.Helper()
	order := func(a, b pair) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.area, b.area)) }
	slices.SortFunc(want, order)
	missed := 0
	for len(got) > 0 || len(want) > 0 {
		switch {
		case len(want) == 0 || len(got) > 0 && order(got[0], want[0]) < 0:
			if !onBorder(areas[got[0].area], points[got[0].place]) {
				t.Fatalf("%v is in area %d, which others deny", points[got[0].place], got[0].area)
			}
			missed++
			got = got[1:]
		case len(got) == 0 || order(got[0], want[0]) > 0:
			t.Fatalf("%v is not in area %d, where others find it", points[want[0].place], want[0].area)
		default:
			got, want = got[1:], want[1:]
		}
	}
	if missed > len(points)/10_000 {
		t.Errorf("of %d places others leave out %d on borders", len(points), missed)
	}
}

// onBorder reports by exact arithmetic whether a place is on the border of an area.
func onBorder(g orb.Geometry, p orb.Point) bool {
	polygons, ok := g.(orb.MultiPolygon)
	if one, single := g.(orb.Polygon); single {
		polygons, ok = orb.MultiPolygon{one}, true
	}
	if !ok {
		return false
	}
	minus := func(a, b float64) *big.Rat {
		return new(big.Rat).Sub(new(big.Rat).SetFloat64(a), new(big.Rat).SetFloat64(b))
	}
	for _, polygon := range polygons {
		for _, ring := range polygon {
			for i := 1; i < len(ring); i++ {
				a, b := ring[i-1], ring[i]
				if !(orb.MultiPoint{a, b}).Bound().Contains(p) {
					continue
				}
				one, other := minus(b[0], a[0]), minus(b[1], a[1])
				if one.Mul(one, minus(p[1], a[1])).Cmp(other.Mul(other, minus(p[0], a[0]))) == 0 {
					return true
				}
			}
		}
	}
	return false
}

const atOnce = 1_000_000 // places that another program is requested at once

func TestPostGISFindsTheSameAreas(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	areas, n := compared(t, 100_000)
	x := build(t, areas)
	ctx := context.Background()
	c, err := pgx.Connect(ctx, cluster.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "CREATE TEMP TABLE area (i int, g geometry)"); err != nil {
		t.Fatal(err)
	}
	for i, g := range areas {
		if _, err := c.Exec(ctx, "INSERT INTO area VALUES ($1, $2::bytea::geometry)", i,
			wkb.Append(nil, g)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Exec(ctx, "CREATE INDEX ON area USING gist (g); ANALYZE area"); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 10))
	for ; n > 0; n -= atOnce {
		points := places(areas, r, min(n, atOnce))
		xs, ys := make([]float64, len(points)), make([]float64, len(points))
		for i, p := range points {
			xs[i], ys[i] = p[0], p[1]
		}
		rows, err := c.Query(
			ctx,
			"SELECT (p.ord-1)::int, area.i FROM unnest($1::float8[], $2::float8[]) WITH ORDINALITY p(x, y, "+
				"ord) JOIN area ON ST_Intersects(area.g, ST_Point(p.x, p.y))",
			xs,
			ys,
		)
		if err != nil {
			t.Fatal(err)
		}
		want, err := pgx.CollectRows(rows,
			func(r pgx.CollectableRow) (p pair, err error) { return p, r.Scan(&p.place, &p.area) })
		if err != nil {
			t.Fatal(err)
		}
		agree(t, areas, points, pairs(x, points), want)
	}
}

// geosOracle reads areas in hexadecimal WKB, a line each, from the file of its first argument and places as pairs of
// float64 from its input, and writes pairs of int32: the places in the areas.
const geosOracle = `
import sys, shapely, numpy
areas = shapely.from_wkb(open(sys.argv[1]).read().split("\n"))
shapely.prepare(areas)
p = numpy.frombuffer(sys.stdin.buffer.read(), "<f8").reshape(-1, 2)
hits = shapely.STRtree(areas).query(shapely.points(p), predicate="intersects")
sys.stdout.buffer.write(hits.T.astype("<i4").tobytes())`

// TestAcceptGEOSFindsTheSameAreas also runs in the long run.
func TestAcceptGEOSFindsTheSameAreas(t *testing.T) {
	t.Parallel()
	if os.Getenv("GRENSE_ACCEPT") == "" && sharedtest.Soak(t) == 0 {
		t.Skip("make accept and make soak ask GEOS")
	}
	areas, n := compared(t, 100_000)
	python, err := filepath.Abs("../../../bin/clients/python/bin/python")
	if err != nil || exec.Command(python, "-c", "import shapely").Run() != nil {
		if python = "python3"; exec.Command(python, "-c", "import shapely").Run() != nil {
			t.Fatal("no shapely; run make client-tools")
		}
	}
	x := build(t, areas)
	var lines []byte
	for i, a := range areas {
		if i > 0 {
			lines = append(lines, '\n')
		}
		lines = hex.AppendEncode(lines, wkb.Append(nil, a))
	}
	file := filepath.Join(t.TempDir(), "areas")
	if err := os.WriteFile(file, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(11, 12))
	for ; n > 0; n -= atOnce {
		points := places(areas, r, min(n, atOnce))
		var in bytes.Buffer
		if err := binary.Write(&in, binary.LittleEndian, points); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(python, "-c", geosOracle, file)
		cmd.Stdin, cmd.Stderr = &in, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		want := make([]pair, len(out)/8)
		for i := range want {
			want[i] = pair{int32(binary.LittleEndian.Uint32(out[8*i:])), int32(binary.LittleEndian.Uint32(out[8*i+4:]))}
		}
		agree(t, areas, points, pairs(x, points), want)
	}
}
