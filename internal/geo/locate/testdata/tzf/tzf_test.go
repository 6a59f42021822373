// Package tzf_test holds the point index against the exact finder of github.com/ringsaturn/tzf, on the same polygons. It is a module of its own, so that the product
// does not depend on it; make bench runs it.
package tzf_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/paulmach/orb"
	"github.com/ringsaturn/tzf"
	pb "github.com/ringsaturn/tzf/gen/go/tzf/v1"

	"grense/internal/geo/locate"
	"grense/internal/geo/wkb"
	"grense/internal/sharedtest"
)

// BenchmarkAgainstTZF looks up the same random places in the boxes of 357 municipalities (Kommuner-M, 84,349 positions), by one goroutine. tzf keeps single precision, so a few
// places beside borders differ.
func BenchmarkAgainstTZF(b *testing.B) {
	areas := sharedtest.Features(b, "data", "norway/robhop-2024/Kommuner-M.geojson.gz")
	index, finder := indexOf(b, areas), finderOf(b, areas)
	r := rand.New(rand.NewPCG(7, 8))
	points := make([]orb.Point, 1<<18)
	for i := range points {
		box := areas[r.IntN(len(areas))].Area.Bound()
		points[i] = orb.Point{box.Min[0] + (box.Max[0]-box.Min[0])*r.Float64(), box.Min[1] + (box.Max[1]-box.Min[1])*r.Float64()}
	}
	room, differ := make([]int32, 0, 16), 0
	for _, p := range points[:10_000] {
		room = index.Append(room[:0], p[0], p[1])
		names, _ := finder.GetTimezoneNames(p[0], p[1]) // the error is that there are none
		if len(names) != len(room) || len(room) == 1 && names[0] != strconv.Itoa(int(room[0])) {
			differ++
		}
	}
	if differ > 10 {
		b.Fatalf("of 10,000 places %d differ", differ)
	}
	for _, x := range []struct {
		name string
		find func(orb.Point)
	}{
		{"grense", func(p orb.Point) { room = index.Append(room[:0], p[0], p[1]) }},
		{"tzf-all", func(p orb.Point) { finder.GetTimezoneNames(p[0], p[1]) }},
		{"tzf-first", func(p orb.Point) { finder.GetTimezoneName(p[0], p[1]) }},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				x.find(points[i&(len(points)-1)])
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "points/s")
		})
	}
}

func indexOf(b *testing.B, areas []sharedtest.Feature) *locate.Index {
	b.Helper()
	build := locate.NewBuilder(math.MaxInt64, func(lon, lat float64) (float64, float64) { return lon, lat })
	for _, f := range areas {
		if err := build.Add(wkb.Append(nil, f.Area)); err != nil {
			b.Fatal(err)
		}
	}
	x, err := build.Index(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return x
}

func finderOf(b *testing.B, areas []sharedtest.Feature) tzf.F {
	b.Helper()
	ring := func(r orb.Ring) (out []*pb.Point) {
		for _, p := range r {
			out = append(out, &pb.Point{Lng: float32(p[0]), Lat: float32(p[1])})
		}
		return out
	}
	var all pb.Timezones
	for i, f := range areas {
		zone := &pb.Timezone{Name: strconv.Itoa(i)}
		for _, p := range f.Area {
			polygon := &pb.Polygon{Points: ring(p[0])}
			for _, hole := range p[1:] {
				polygon.Holes = append(polygon.Holes, &pb.Polygon{Points: ring(hole)})
			}
			zone.Polygons = append(zone.Polygons, polygon)
		}
		all.Timezones = append(all.Timezones, zone)
	}
	finder, err := tzf.NewFinderFromPB(&all)
	if err != nil {
		b.Fatal(err)
	}
	return finder
}
