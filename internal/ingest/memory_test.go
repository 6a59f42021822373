package ingest_test

import (
	"errors"
	"strings"
	"testing"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
)

// TestAFeatureTakesNoMoreMemoryThanIsAllowed has features that are short when packed, and take a multiple of that in
// memory.
func TestAFeatureTakesNoMoreMemoryThanIsAllowed(t *testing.T) {
	t.Parallel()
	const n = 6000
	ring := strings.TrimSuffix(strings.Repeat("[0,0],", n), ",")
	feature := func(geometry, properties string) string {
		return `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{` + properties +
			`},"geometry":` + geometry + `}]}`
	}
	var record []byte
	for range n {
		record = append(record, ingesttest.Floats(1, 1)...)
	}
	for name, text := range map[string]string{
		"positions.geojson": feature(`{"type":"MultiPoint","coordinates":[`+ring+`]}`, ""),
		"arrays.geojson": feature(`{"type":"Polygon","coordinates":[`+
			strings.TrimSuffix(strings.Repeat("[],", n), ",")+`]}`, ""),
		"parts.geojson": feature(`{"type":"GeometryCollection","geometries":[`+
			strings.TrimSuffix(strings.Repeat(`{"type":"Point","coordinates":[0,0]},`, n), ",")+`]}`, ""),
		"properties.geojson": feature("null", `"a":"`+strings.Repeat("a", 100_000)+`","b":"`+
			strings.Repeat("b", 100_000)+`","c":"`+strings.Repeat("c", 100_000)+`","d":"`+strings.Repeat("d", 100_000)+
			`","e":"`+strings.Repeat("e", 100_000)+`","f":"`+strings.Repeat("f", 100_000)+`"`),
		"arcs.topojson": `{"type":"Topology","objects":{"a":{"type":"GeometryCollection","geometries":[]}},"arcs":[[` +
			ring + `]]}`,
		"again.topojson": `{"type":"Topology","arcs":[[[0,0],[1,1],[2,2]]],` +
			`"objects":{"a":{"type":"GeometryCollection","geometries":[{"type":"LineString","arcs":[` +
			strings.TrimSuffix(strings.Repeat("0,", n), ",") + `]}]}}}`,
		"wkt.csv":   "id,wkt\n1,\"MULTIPOINT(" + strings.TrimSuffix(strings.Repeat("0 0,", n), ",") + ")\"\n",
		"shape.shp": string(ingesttest.SHP(8, append(append(make([]byte, 32), 0x70, 0x17, 0, 0), record...))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				most int64
				ok   bool
			}{{1 << 20, false}, {64 << 20, true}} {
				src, err := ingest.Open(t.Context(), ingesttest.WriteFile(t, name, text),
					input.Options{CRS: crs.CRS84, Limits: input.Limits{Feature: c.most}})
				if err != nil {
					t.Fatal(err)
				}
				defer src.Close()
				plan, err := ingest.Survey(t.Context(), src.Layers[:1], ingesttest.Into, ingest.Watch{})
				_, told := ingesttest.Find(plan.Report, input.Refused, "raise it with --feature-memory")
				if told == c.ok || !c.ok && !errors.Is(err, input.ErrRefused) {
					t.Errorf("%d: %v %.300v", c.most, err, plan.Report.Faults)
				}
			}
		})
	}
}

func TestManyColumnsAreCountedFirst(t *testing.T) {
	t.Parallel()
	plan, err := ingesttest.Survey(t, "a.csv", strings.TrimSuffix(strings.Repeat("same,", 200_000), ",")+"\n",
		ingesttest.Into)
	if _, ok := ingesttest.Find(plan.Report, input.Refused, "more than 1900 columns"); err == nil || !ok {
		// and not that a name comes twice
		t.Errorf("%v %v", err, plan.Report.Faults)
	}
}
