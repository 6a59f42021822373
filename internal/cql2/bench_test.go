package cql2_test

import (
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
)

const typicalFilter = "casei(kommunenavn) LIKE casei('%berg%') AND folketall BETWEEN 1000 AND 50000 AND dag >= " +
	"DATE('2020-01-01') AND S_INTERSECTS(geometry, BBOX(4,58,12,64))"

func BenchmarkParseAndCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		e, err := cql2.ParseText(typicalFilter)
		if err == nil {
			_, err = cql2.Check(e, places)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBoxTouches(b *testing.B) {
	src := openTables(b)["ne_110m_admin_0_countries"]
	window := box(0, 40, 10, 50)
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range src.records {
			g, in, _ := r.Geometry("geom")
			if _, err := boxOf(window).Touches(g, in); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(src.records)), "features")
}

func BenchmarkMatcher(b *testing.B) {
	all := openTables(b)
	for name, filter := range map[string]string{"compare": "POP_EST > 37589262",
		"like":       "casei(NAME) LIKE casei('%land%')",
		"intersects": "S_INTERSECTS(geom,POLYGON((0 40,10 40,10 50,0 50,0 40)))"} {
		b.Run(name, func(b *testing.B) {
			src := all["ne_110m_admin_0_countries"]
			m := cql2.NewMatcher(must(b, filter, src))
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range src.records {
					if _, err := m.Eval(r); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkExtentOfABox asks for the bounds of a box in degrees among geometries in UTM zone 33.
func BenchmarkExtentOfABox(b *testing.B) {
	e := cql2.BBox{Prop: "g", CRS: crs.CRS84, Box: orb.Bound{Min: orb.Point{10, 59}, Max: orb.Point{11, 60}}}
	for name, e := range map[string]cql2.BBox{"as it is": e, "placed": e.Placed(crs.UTM33)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := cql2.Extent(e, "g", crs.UTM33); !ok {
					b.Fatal("no bounds")
				}
			}
		})
	}
}
