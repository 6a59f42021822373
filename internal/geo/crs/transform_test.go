package crs_test

// testdata/cs2cs.txt holds results of PROJ 9.1.1, one point a line: EPSG code, lon, lat (degrees), x, y (metres). It
// was made by this script:
//
//	points() { # west south east north: 40 points of a low-discrepancy sequence
//		awk -v w=$1 -v s=$2 -v e=$3 -v n=$4 'BEGIN { for (i = 1; i <= 40; i++) {
//			a = i*0.7548776662466927; b = i*0.5698402909980532
//			printf "%.6f %.6f\n", w+(a-int(a))*(e-w), s+(b-int(b))*(n-s) } }'
//	}
//	table() { # code, swap of its axes, points on stdin
//		cs2cs -f %.14f OGC:CRS84 EPSG:$1 -E | awk -v c=$1 -v swap=$2 '{ if (swap) { t = $3; $3 = $4; $4 = t }; printf "%s %s %s %.9f %.9f\n", c, $1, $2, $3, $4 }'
//	}
//	back() { # code, swap; x y on stdin
//		awk -v swap=$2 '{ if (swap) print $2, $1; else print }' | cs2cs -f %.14f EPSG:$1 OGC:CRS84 -E |
//			awk -v c=$1 -v swap=$2 '{ if (swap) print c, $3, $4, $2, $1; else print c, $3, $4, $1, $2 }'
//	}
//	for zone in 25832:9 25833:15 25835:27 32632:9 32633:15 32635:27; do
//		(points -10 35 35 84.7; echo ${zone#*:} 0; echo ${zone#*:} 60; echo 15 89.9; echo 31.1 70.4; echo 4.5 58) | table ${zone%:*}
//		(points -700000 4000000 1300000 9300000; echo 500000 0; echo 500000 7000000) | back ${zone%:*}
//	done
//	(points -35.5 24.6 44.8 84.7; points 4 57 32 72; echo 10 52; echo 10 60; echo 30 52) | table 3035 1
//	(points -180 45 180 90; points 4 57 32 82; echo 10 60; echo 77 89.9; echo -170 80; echo 180 70; echo -180 70; echo 0 90; echo 100 45) | table 3575
//	(points -180 -85 180 85; echo 0 0; echo 180 85; echo -180 -85) | table 3857
//	points -20037508 -20037508 20037508 20037508 | back 3857
//	of() { # code, swap, geographic system of its datum; points on stdin
//		awk '{ print $2, $1 }' | cs2cs -f %.14f EPSG:$3 EPSG:$1 -E |
//			awk -v c=$1 -v swap=$2 '{ x = $3; y = $4; if (swap) { x = $4; y = $3 }; printf "%s %s %s %.9f %.9f\n", c, $2, $1, x, y }'
//	}
//	for c in 3006:1:4619:10:24 2180:1:9702:14:25 2154:0:4171:-10:15 3034:1:4258:-35:45 3812:0:4258:-5:15 3067:0:4258:15:35; do
//		IFS=: read code swap base w e <<< "$c"
//		(points $w 40 $e 72; echo 15 60; echo 3 46.5; echo 19 0.5) | of $code $swap $base
//	done
//	for c in 25828:0:4258:-30:0 25831:0:4258:-12:18 25838:0:4258:30:60 3044:1:4258:-6:24 32601:0:4326:-179.9:-160 32660:0:4326:160:179.9; do
//		IFS=: read code swap base w e <<< "$c"; points $w 0 $e 84 | of $code $swap $base
//	done
//	for c in 32701:0:4326:-179.9:-160 32733:0:4326:0:30 32760:0:4326:160:179.9; do
//		IFS=: read code swap base w e <<< "$c"; points $w -80 $e 10 | of $code $swap $base
//	done
//
// The inverse of PROJ is no reference for the azimuthal systems: before 9.5 its authalic latitude is a series of
// order 3, off by a millimetre. There the results forward are tested in both directions.

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"grense/internal/geo/crs"
)

const bar = 1e-6 // metres

// row is a point in degrees and in the CRS.
type row struct {
	id             crs.ID
	lon, lat, x, y float64
}

func readTable(t *testing.T) []row {
	t.Helper()
	f, err := os.Open("testdata/cs2cs.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []row
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		var r row
		if _, err := fmt.Sscan(s.Text(), (*int)(&r.id), &r.lon, &r.lat, &r.x, &r.y); err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		rows = append(rows, r)
	}
	if len(rows) < 500 {
		t.Fatalf("only %d rows", len(rows))
	}
	return rows
}

func between(t *testing.T, from, to crs.ID) crs.Func {
	t.Helper()
	f, err := crs.Between(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// apart returns the distance of two points in degrees, in metres, on a sphere; small distances only.
func apart(lon1, lat1, lon2, lat2 float64) float64 {
	const metres = 6.4e6 * math.Pi / 180
	dlon := math.Remainder(lon1-lon2, 360) * math.Cos(lat1*math.Pi/180)
	return math.Hypot(dlon, lat1-lat2) * metres
}

func TestTransformsAgreeWithPROJ(t *testing.T) {
	t.Parallel()
	worst := map[crs.ID][2]float64{}
	for _, r := range readTable(t) {
		x, y := between(t, crs.CRS84, r.id)(r.lon, r.lat)
		fwd := math.Hypot(x-r.x, y-r.y)
		lon, lat := between(t, r.id, crs.CRS84)(r.x, r.y)
		inv := apart(lon, lat, r.lon, r.lat)
		if !(fwd <= bar && inv <= bar) {
			t.Errorf("%v: lon %v lat %v: forward off by %g m, inverse by %g m", r.id, r.lon, r.lat, fwd, inv)
		}
		w := worst[r.id]
		worst[r.id] = [2]float64{max(w[0], fwd), max(w[1], inv)}
	}
	for _, id := range slices.Concat(crs.Served(),
		[]crs.ID{3006, 3067, 2180, 2154, 3034, 3812, 25828, 25831, 25838, 3044, 32601, 32660, 32701, 32733, 32760}) {
		if w, ok := worst[id]; ok != !id.Geographic() {
			t.Errorf("%v is not in the table", id)
		} else if ok {
			t.Logf("%v: forward %.1g m, inverse %.1g m", id, w[0], w[1])
		}
	}
}

// The distances are from the closed formula of EPSG method 9820 with 40 digits.
func TestPolarAzimuthalIsExactAtThePole(t *testing.T) {
	t.Parallel()
	fwd, inv := between(t, crs.CRS84, crs.LAEANorthPole), between(t, crs.LAEANorthPole, crs.CRS84)
	for _, c := range []struct{ lat, rho float64 }{
		{90, 0}, {89.9, 11169.39642359636}, {89.9999, 11.169397956282}, {89.9999999, 0.01116939729280596},
	} {
		if _, y := fwd(10, c.lat); math.Abs(y+c.rho) > bar {
			t.Errorf("lat %v: y = %v, want %v", c.lat, y, -c.rho)
		}
		if lon, lat := inv(0, -c.rho); apart(lon, lat, 10, c.lat) > bar {
			t.Errorf("y %v: lon %v lat %v, want 10 %v", -c.rho, lon, lat, c.lat)
		}
	}
}

func TestPointsWhereFormulasDivideByZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		from, to crs.ID
		in, want [2]float64
	}{
		{"origin of LAEA Europe", crs.LAEAEurope, crs.CRS84, [2]float64{4321000, 3210000}, [2]float64{10, 52}},
		{"origin of LAEA Europe, forward", crs.CRS84, crs.LAEAEurope, [2]float64{10, 52}, [2]float64{4321000, 3210000}},
		{"north pole in 3575", crs.LAEANorthPole, crs.CRS84, [2]float64{0, 0}, [2]float64{10, 90}},
		{"east of Greenwich in 3575", crs.CRS84, crs.LAEANorthPole, [2]float64{100, 90}, [2]float64{0, 0}},
		{"central meridian of zone 33 at the equator", crs.CRS84, crs.UTM33, [2]float64{15, 0}, [2]float64{500000, 0}},
		{"the same, inverse", crs.UTM33, crs.CRS84, [2]float64{500000, 0}, [2]float64{15, 0}},
		{"Mercator origin", crs.CRS84, crs.WebMercator, [2]float64{0, 0}, [2]float64{0, 0}},
		{"Mercator corner", crs.WebMercator, crs.CRS84, [2]float64{20037508.342789244, 0}, [2]float64{180, 0}},
		{"4326 to 4258", crs.WGS84, crs.ETRS89, [2]float64{179.123456789, -90}, [2]float64{179.123456789, -90}},
	} {
		x, y := between(t, c.from, c.to)(c.in[0], c.in[1])
		if math.Abs(x-c.want[0]) > 1e-8 || math.Abs(y-c.want[1]) > 1e-8 {
			t.Errorf("%s: got %v %v, want %v", c.name, x, y, c.want)
		}
	}
	for _, id := range []crs.ID{crs.UTM32, crs.UTM33, crs.UTM35, crs.LAEAEurope, crs.LAEANorthPole, crs.WebMercator} {
		x, y := between(t, crs.CRS84, id)(33, 90)
		if _, lat := between(t, id, crs.CRS84)(x, y); math.Abs(lat-90) > 1e-9 {
			t.Errorf("%v: north pole comes back at %v degrees", id, lat)
		}
	}
}

// TestDomainIsFinite goes through every pair over the whole domain: legal input gives numbers.
func TestDomainIsFinite(t *testing.T) {
	t.Parallel()
	for _, from := range crs.Sampled() {
		d := from.Domain()
		inv := between(t, from, crs.CRS84)
		for i := range 33 {
			for j := range 33 {
				x := d.Min[0] + (d.Max[0]-d.Min[0])*float64(i)/32
				y := d.Min[1] + (d.Max[1]-d.Min[1])*float64(j)/32
				lon, lat := inv(x, y)
				if !(math.Abs(lon) <= 180.00001 && math.Abs(lat) <= 90) {
					t.Fatalf("%v: %v %v is lon %v lat %v", from, x, y, lon, lat)
				}
			}
		}
	}
}

func TestRoundTripOverNorway(t *testing.T) {
	t.Parallel()
	for _, id := range slices.Concat(crs.Served(), []crs.ID{3006, 3067, 2180, 2154, 3034, 3812, 25831, 3044, 32732}) {
		fwd, inv := between(t, crs.CRS84, id), between(t, id, crs.CRS84)
		for lon := -10.0; lon <= 36; lon += 1.7 {
			for lat := 54.0; lat <= 82; lat += 1.3 {
				x, y := fwd(lon, lat)
				if lon2, lat2 := inv(x, y); !(apart(lon, lat, lon2, lat2) <= 2e-8) {
					t.Errorf("%v: %v %v comes back as %v %v", id, lon, lat, lon2, lat2)
				}
			}
		}
	}
}

func TestIllegalInputNeverPanics(t *testing.T) {
	t.Parallel()
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e308, -1e308, 91, 0, 400}
	ids := slices.Concat(crs.Served(), []crs.ID{2154, 2180, 32760})
	for _, from := range ids {
		for _, to := range ids {
			f := between(t, from, to)
			for _, x := range bad {
				for _, y := range bad {
					f(x, y)
				}
			}
		}
	}
	for _, lat := range []float64{90.01, -91, math.NaN(), math.Inf(1)} {
		if x, y := between(t, crs.CRS84, crs.UTM33)(10, lat); !math.IsNaN(x + y) {
			t.Errorf("latitude %v is %v %v", lat, x, y)
		}
	}
	if x, y := between(t, crs.LAEAEurope, crs.CRS84)(4321000+1.3e7, 3210000); !math.IsNaN(x + y) {
		t.Errorf("beyond the disc: %v %v", x, y)
	}
	if _, err := crs.Between(crs.CRS84, 3395); err == nil {
		t.Error("EPSG:3395 is not served, but transformed")
	}
}

// BenchmarkBetween: forward 200 ns and inverse 270 ns in UTM, 60 and 135 ns in LAEA, 40 and 30 ns in Mercator, no
// allocation.
func BenchmarkBetween(b *testing.B) {
	for _, id := range []crs.ID{crs.WebMercator, crs.UTM33, crs.LAEAEurope} {
		for _, dir := range [][2]crs.ID{{crs.CRS84, id}, {id, crs.CRS84}} {
			f, err := crs.Between(dir[0], dir[1])
			if err != nil {
				b.Fatal(err)
			}
			x, y := 10.75, 59.91
			if id == dir[0] {
				g, _ := crs.Between(crs.CRS84, id)
				x, y = g(x, y)
			}
			b.Run(fmt.Sprintf("%v-%v", dir[0], dir[1]), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f(x, y)
				}
			})
		}
	}
}
