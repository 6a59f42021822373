package ingest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
)

// TestVersionsAreImported: if ids repeat and there is a validity, features become versions, with a warning.
// Otherwise repeated ids are refused.
func TestVersionsAreImported(t *testing.T) {
	t.Parallel()
	target := ingest.Target{Collection: "x", IDField: "nr"}
	told := target
	told.ValidFrom, told.ValidTo, told.Inclusive = "a", "b", true
	for name, c := range map[string]struct {
		text   string
		target ingest.Target
		want   string // versions of 2024-01-01; "": refused
	}{
		"usual names": {"nr,gyldigFra,gyldigTil\n0301,2020-01-01,2024-01-01\n0301,2024-01-01,\n1567,2010-01-01," +
			"2019-01-01\n", target, "0301.20240101"},
		"numbers": {"nr,valid_from,valid_to\n7,2020-01-01,\n8,2020-01-01,2021-01-01\n8,2021-01-01,\n", target,
			"7.20200101 8.20210101"},
		"moments": {"nr,validFrom,validTo\na,2001-07-02T10:43:17Z,2012-10-14T16:43:17Z\na,2012-10-14T16:43:17Z,\n",
			target, "a.20121014T164317Z"},
		"all open":    {"nr,validFrom,validTo\na,2020-01-01,\na,2021-01-01,\n", target, "a.20210101"},
		"told":        {"nr,a,b\nx,2020-01-01,2024-01-01\nx,2024-01-02,\n", told, "x.20200101"},
		"same start":  {"nr,gyldigFra,gyldigTil\n1,2020-01-01,\n1,2020-01-01,\n", target, ""},
		"no start":    {"nr,gyldigFra,gyldigTil\n1,2020-01-01,\n1,,\n", target, ""},
		"no validity": {"nr,fra,til\n1,2020-01-01,\n1,2021-01-01,\n", target, ""},
		"no times":    {"nr,gyldigFra,gyldigTil\n1,x,\n1,y,\n", target, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := ingesttest.Survey(t, "a.csv", located(c.text), c.target)
			if c.want == "" {
				if err == nil {
					t.Errorf("taken: %+v", plan.Report)
				}
				return
			}
			if err != nil {
				t.Fatal(err, plan.Report)
			}
			if !slices.ContainsFunc(plan.Report.Faults, func(f ingest.Fault) bool {
				return strings.Contains(f.Reason, "features are versions")
			}) {
				t.Errorf("no warning: %+v", plan.Report.Faults)
			}
			st := ingesttest.Fill(t, plan)
			p, err := st.Page(t.Context(), store.Query{Collection: "x", Limit: 9,
				AsOf: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), SortBy: plan.Collection.DefaultSort})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			err = st.Fetch(t.Context(), "x", p.Rows, store.Want{VersionIDs: true}, func(f *store.Feature) error {
				got = append(got, f.Public())
				return nil
			})
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// located gives each row of a table a place.
func located(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = map[bool]string{true: "lon,lat,", false: "10,60,"}[i == 0] + lines[i]
	}
	return strings.Join(lines, "\n") + "\n"
}
