package server_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// times serves two layers: one with several dates and timestamps, none of them declared as the time of a feature, and
// one with a single date.
func times(t *testing.T, change func(*config.Config)) *api {
	t.Helper()
	path := filepath.Join(t.TempDir(), "times.gpkg")
	storetest.Write(t, func(w store.Writer) {
		column := func(name string, typ cql2.Type) store.Property {
			return store.Property{Name: name, Column: name, Type: typ}
		}
		key := store.FeatureKey{Column: "id", Type: cql2.TypeText}
		for _, c := range []*store.Collection{
			{ID: "flere", Table: "flere", Public: true, Key: key,
				Properties: []store.Property{column("bygd", cql2.TypeDate), column("oppdatert", cql2.TypeTimestamp),
					column("revet", cql2.TypeDate)}},
			{ID: "ett", Table: "ett", Public: true, Key: key,
				Properties: []store.Property{column("navn", cql2.TypeText), column("bygd", cql2.TypeDate)}},
			{ID: "gyldig", Table: "gyldig", Public: true, Key: key,
				Properties: []store.Property{column("gyldigFra", cql2.TypeDate), column("gyldigTil", cql2.TypeDate),
					column("oppdatert", cql2.TypeDate)},
				IntervalStart: "gyldigFra", IntervalEnd: "gyldigTil"},
		} {
			if err := w.Define(t.Context(), c, false); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, p := range c.Properties {
				names = append(names, p.Column)
			}
			insert, err := w.Insert(t.Context(), c.ID, append([]string{"id"}, names...))
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range map[string][][]any{
				"flere": {{"a", "1950-01-01", "2020-06-01T12:00:00Z", nil},
					{"b", "1990-05-05", "2021-01-01T00:00:00Z", "2022-03-01"}, {"c", nil, nil, nil},
					{"d", "2023-01-01", nil, nil}, {"e", nil, nil, "2001-01-01"}},
				"ett": {{"a", "x", "1950-01-01"}, {"b", "y", nil}},
				"gyldig": {{"a", "2020-01-01", nil, "2023-05-05"}, {"b", "2000-01-01", "2019-12-31", "2021-05-05"},
					{"c", "2022-01-01", "2022-12-31", "2010-01-01"}},
			}[c.ID] {
				if err := insert(row...); err != nil {
					t.Fatal(err)
				}
			}
		}
	})(gpkg.Create(context.Background(), path))
	return serve(t, path, change)
}

// TestDatetimeCountsEveryDateWhereNoneIsTheTime: QGIS writes a condition on any column of dates or timestamps as
// datetime, and conditions on several columns as one interval. No row that fulfils them may be lost (OGC 17-069r4,
// 7.15.4 C).
func TestDatetimeCountsEveryDateWhereNoneIsTheTime(t *testing.T) {
	t.Parallel()
	a := times(t, nil)
	for query, want := range map[string]string{
		// oppdatert >= 2020, or revet, or bygd
		"flere/items?datetime=2020-01-01T00:00:00Z/9999-12-31T00:00:00Z": "a b c d",
		"flere/items?datetime=0000-01-01T00:00:00Z/1960-01-01T00:00:00Z": "a c", // bygd <= 1960
		"flere/items?datetime=2022-03-01T00:00:00Z":                      "b c", // revet = 2022-03-01
		// bygd <= 2005 and oppdatert >= 2000: between its first and its last
		"flere/items?datetime=2000-01-01T00:00:00Z/2005-01-01T00:00:00Z": "a b c e",
		"flere/items?datetime=1900-01-01/2100-01-01":                     "a b c d e", // all
		"ett/items?datetime=1950-01-01":                                  "a b",
		"ett/items?datetime=1951-01-01T00:00:00Z/..":                     "b",
		"gyldig/items?datetime=2025-01-01":                               "a",     // valid without end
		"gyldig/items?datetime=2021-01-01T00:00:00Z/..":                  "a b c", // oppdatert >= 2021 of b
		"gyldig/items?datetime=../2011-01-01":                            "b c",   // oppdatert <= 2011 of c
	} {
		if got := strings.Join(a.get("/collections/"+query).wants(200).page().ids(), " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestSchemaNamesTheDateThatIsTheTime: at most one property has the x-ogc-role of the time (OGC 23-058r2). The extent
// spans all properties that datetime applies to.
func TestSchemaNamesTheDateThatIsTheTime(t *testing.T) {
	t.Parallel()
	a := times(t, nil)
	for id, want := range map[string]struct {
		roles    map[string]any
		from, to any
	}{
		"flere": {map[string]any{"bygd": nil, "oppdatert": nil, "revet": nil}, "1950-01-01T00:00:00Z",
			"2023-01-01T00:00:00Z"},
		"ett": {map[string]any{"navn": nil, "bygd": "primary-instant"}, "1950-01-01T00:00:00Z",
			"1950-01-01T00:00:00Z"},
		"gyldig": {map[string]any{"gyldigFra": "primary-interval-start", "gyldigTil": "primary-interval-end",
			"oppdatert": nil}, "2000-01-01T00:00:00Z", nil},
	} {
		props := a.get("/collections/" + id + "/schema").wants(200).json()["properties"].(map[string]any)
		for name, role := range want.roles {
			if got := props[name].(map[string]any)["x-ogc-role"]; got != role {
				t.Errorf("%s: the role of %s is %v, want %v", id, name, got, role)
			}
		}
		temporal := a.get("/collections/" + id).wants(200).json()["extent"].(map[string]any)["temporal"]
		extent := temporal.(map[string]any)["interval"].([]any)[0].([]any)
		if extent[0] != want.from || extent[1] != want.to {
			t.Errorf("%s: extent %v, want %v to %v", id, extent, want.from, want.to)
		}
	}
}

// TestTimesWithoutAZoneAreOfTheService: days and date-times without zone, in datetime, in parameters and in filters.
func TestTimesWithoutAZoneAreOfTheService(t *testing.T) {
	t.Parallel()
	filter := func(s string) string { return "flere/items?filter=" + queryEscape(s) }
	for zone, want := range map[string]map[string]string{
		"": { // oppdatert is 2020-06-01T12:00Z of a, 2021-01-01T00:00Z of b
			"flere/items?oppdatert=2020-06-01T12:00:00": "a", "flere/items?oppdatert=2020-06-01T14:00:00": "",
			"flere/items?oppdatert=2020-12-31": "", "flere/items?oppdatert=2021-01-01": "b",
			filter("oppdatert = TIMESTAMP('2020-06-01T12:00:00')"):                              "a",
			filter("oppdatert = '2020-06-01T12:00:00'"):                                         "a",
			filter("T_DURING(oppdatert,INTERVAL('2020-06-01T11:59:59','2020-06-01T12:00:01'))"): "a",
			"flere/items?datetime=2022-03-01T23:30:00Z":                                         "b c",
			"gyldig/items?datetime=2019-12-31T23:30:00Z/2019-12-31T23:40:00Z":                   "b c",
		},
		"Europe/Oslo": {
			"flere/items?oppdatert=2020-06-01T14:00:00": "a", "flere/items?oppdatert=2020-06-01T12:00:00": "",
			"flere/items?oppdatert=2020-06-01T12:00:00Z": "a", "flere/items?oppdatert=2020-06-01T14:00": "a",
			filter("oppdatert = TIMESTAMP('2020-06-01T14:00:00')"):                              "a",
			filter("oppdatert = TIMESTAMP('2020-06-01T12:00:00Z')"):                             "a",
			filter("oppdatert = '2020-06-01T14:00:00'"):                                         "a",
			filter("oppdatert = '2020/06/01 14:00:00'"):                                         "a",
			filter("T_DURING(oppdatert,INTERVAL('2020-06-01T13:59:59','2020-06-01T14:00:01'))"): "a",
			"flere/items?datetime=2022-03-01":                                                   "b c",
			"flere/items?datetime=2022-03-01T00:30:00":                                          "b c",
			"flere/items?datetime=2022-03-01T23:30:00Z":                                         "c",
			"flere/items?bygd=1990-05-05":                                                       "b",
			"gyldig/items?datetime=2019-12-31T23:30:00Z/2019-12-31T23:40:00Z":                   "a b c",
			"gyldig/items?datetime=9999-12-31T23:59:59Z/..":                                     "a",
		},
		"America/New_York": {"flere/items?oppdatert=2020-12-31T19:00:00": "b", "flere/items?oppdatert=2020-12-31": "b",
			"flere/items?datetime=0000-01-01T00:00:00Z/1950-01-01T04:00:00Z": "c"},
	} {
		a := times(t, func(c *config.Config) { c.Service.TimeZone = zone })
		for query, ids := range want {
			if got := strings.Join(a.get("/collections/"+query).wants(200).page().ids(), " "); got != ids {
				t.Errorf("%s: %s: %q, want %q", zone, query, got, ids)
			}
		}
	}
}
