package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/store"
)

// TestVersionIDsAreBasicFormatISO8601: profile versions-as-features-unique-ids.
func TestVersionIDsAreBasicFormatISO8601(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, id, start, want string }{
		{"a day", "0301", "2024-01-01", "0301.20240101"},
		{"a moment in UTC", "0301", "2024-01-01T12:30:45Z", "0301.20240101T123045Z"},
		{"a moment of another zone, moved to UTC", "0301", "2024-01-01T00:30:00+02:00", "0301.20231231T223000Z"},
		{"fractions without trailing zeros", "1", "2024-01-01T00:00:00.120Z", "1.20240101T000000.12Z"},
		{"a nanosecond", "1", "2024-01-01T00:00:00.000000001Z", "1.20240101T000000.000000001Z"},
		{"an id with a full stop", "no.1", "2024-01-01", "no.1.20240101"},
		{"an id that looks like the id of a version", "a.20200101", "2024-01-01", "a.20200101.20240101"},
		{"a leap day", "1", "2024-02-29", "1.20240229"},
	} {
		got := store.VersionID(x.id, x.start)
		if got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
		id, start, day, ok := store.ParseVersionID(got)
		want, err := time.Parse(time.RFC3339, x.start)
		if isDay := err != nil; isDay {
			want, _ = time.Parse(time.DateOnly, x.start)
		}
		if !ok || id != x.id || day != (err != nil) || !start.Equal(want) {
			t.Errorf("%s: %s is read as %s, %v, day %t, ok %t", x.name, got, id, start, day, ok)
		}
	}
	for name, start := range map[string]string{"no start": "", "no date": "soon", "no such day": "2023-02-29",
		"a moment without a zone": "2024-01-01T00:00:00"} {
		if got := store.VersionID("7", start); got != "7" {
			t.Errorf("%s: %s, want the id of the feature", name, got)
		}
	}
}

func TestOtherTextsAreNoVersionIDs(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]string{
		"nothing":                      "",
		"an id":                        "0301",
		"a start alone":                ".20240101",
		"no start":                     "0301.",
		"too few digits":               "0301.2024010",
		"too many digits":              "0301.202401011",
		"no such month":                "0301.20241301",
		"no such day":                  "0301.20230229",
		"no such hour":                 "0301.20240101T250000Z",
		"a local time":                 "0301.20240101T120000",
		"a time of another zone":       "0301.20240101T120000+0100",
		"the extended format":          "0301.2024-01-01",
		"fractions without digits":     "0301.20240101T120000.Z",
		"fractions of ten digits":      "0301.20240101T120000.1234567890Z",
		"more after the start":         "0301.20240101 ",
		"a small letter for the time":  "0301.20240101t120000Z",
		"digits of another alphabet":   "0301.２０２４０１０１",
		"a date and its time, by half": "0301.20240101T1200Z",
	} {
		if id, start, _, ok := store.ParseVersionID(s); ok {
			t.Errorf("%s: %q is version %v of %q", name, s, start, id)
		}
	}
}

func TestValidityComesFromSettingsOrUsualNames(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name       string
		settings   store.Settings
		columns    string
		start, end string
		configured bool
	}{
		{"configured", store.Settings{ValidFrom: "a", ValidTo: "b"}, "a b gyldigFra gyldigTil", "a", "b", true},
		{"configured without an end", store.Settings{ValidFrom: "a"}, "a", "a", "", true},
		{"usual names in Norwegian", store.Settings{}, "navn gyldigFra gyldigTil", "gyldigFra", "gyldigTil", false},
		{"usual names in English", store.Settings{}, "validFrom validTo", "validFrom", "validTo", false},
		{"usual names with underscores", store.Settings{}, "valid_from VALID_TO", "valid_from", "VALID_TO", false},
		{"Norwegian names come first", store.Settings{}, "valid_from valid_to gyldigfra gyldigtil", "gyldigfra",
			"gyldigtil", false},
		{"a start without an end", store.Settings{}, "gyldigFra", "", "", false},
		{"a start and an end of two pairs", store.Settings{}, "gyldigFra valid_to", "", "", false},
		{"no such columns", store.Settings{}, "navn", "", "", false},
		{"features have a time by configuration", store.Settings{Instant: "navn"}, "gyldigFra gyldigTil", "", "",
			false},
		{"features have an interval by configuration", store.Settings{IntervalEnd: "gyldigTil"}, "gyldigFra gyldigTil",
			"", "", false},
	} {
		start, end, configured := x.settings.ValidityOf(func(lower string) (string, bool) {
			for c := range strings.FieldsSeq(x.columns) {
				if strings.ToLower(c) == lower {
					return c, true
				}
			}
			return "", false
		})
		if start != x.start || end != x.end || configured != x.configured {
			t.Errorf("%s: %q, %q, configured %t", x.name, start, end, configured)
		}
	}
}

// versioned is a collection with columns of several types; its names are those of the columns in lower case.
func versioned() *store.Collection {
	return &store.Collection{ID: "x", Instant: "oppdatert", Times: []string{"fra", "til"}, Properties: []store.Property{
		{Name: "kode", Column: "KODE", Type: cql2.TypeText},
		{Name: "nr", Column: "NR", Type: cql2.TypeInteger},
		{Name: "areal", Column: "AREAL", Type: cql2.TypeNumber},
		{Name: "fra", Column: "FRA", Type: cql2.TypeDate},
		{Name: "til", Column: "TIL", Type: cql2.TypeDate},
		{Name: "oppdatert", Column: "OPPDATERT", Type: cql2.TypeTimestamp},
		{Name: "skjult", Column: "SKJULT", Type: cql2.TypeDate, Hidden: true},
	}}
}

func TestVersionsNeedColumnsOfTheRightTypes(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, id, start, end, fault string }{
		{"an id of text", "KODE", "FRA", "TIL", ""},
		{"an id of numbers", "NR", "FRA", "TIL", ""},
		{"names in other cases", "kode", "fra", "Til", ""},
		{"an id of fractions", "AREAL", "FRA", "TIL", `no column "AREAL" that holds text or whole numbers`},
		{"no such id", "ID", "FRA", "TIL", `no column "ID"`},
		{"a start of text", "KODE", "KODE", "TIL", `no column "KODE" that holds days or moments`},
		{"a hidden start", "KODE", "SKJULT", "TIL", `no column "SKJULT" that holds`},
		{"no end", "KODE", "FRA", "", `no column ""`},
		{"a day and a moment", "KODE", "FRA", "OPPDATERT", "not both days or both moments"},
	} {
		c := versioned()
		fault := c.SetVersions(x.id, x.start, x.end, true)
		if x.fault != "" {
			if !strings.Contains(fault, x.fault) || c.Versions != nil || c.Instant != "oppdatert" {
				t.Errorf("%s: %q, and the collection is %+v", x.name, fault, c)
			}
			continue
		}
		want := store.Versions{ID: strings.ToLower(x.id), Start: "fra", End: "til", Inclusive: true}
		if fault != "" || c.Versions == nil || *c.Versions != want || c.Key.Property != want.ID || c.Instant != "" ||
			c.IntervalStart != "fra" || c.IntervalEnd != "til" || c.Times != nil {
			t.Errorf("%s: %q, versions %+v of %+v", x.name, fault, c.Versions, c)
		}
	}
}

func TestTransactionTimeIsThatOfINSPIRE(t *testing.T) {
	t.Parallel()
	for start, want := range map[string]bool{"beginLifespanVersion": true, "beginlifespanversion": true,
		"validFrom": false, "gyldigFra": false, "": false} {
		if got := (&store.Versions{Start: start}).TransactionTime(); got != want {
			t.Errorf("%q: %t", start, got)
		}
	}
}

// TestMomentsOfADayAreOneQuery: versions in days are compared with the day in the time zone of the moment.
func TestMomentsOfADayAreOneQuery(t *testing.T) {
	t.Parallel()
	days, moments := versioned(), versioned()
	days.SetVersions("kode", "fra", "til", false)
	moments.Properties[4].Type, moments.Properties[3].Type = cql2.TypeTimestamp, cql2.TypeTimestamp
	moments.SetVersions("kode", "fra", "til", false)
	oslo := time.FixedZone("", 3600)
	day := func(d int) time.Time { return time.Date(2024, 1, d, 0, 0, 0, 0, time.UTC) }
	late := time.Date(2024, 1, 1, 0, 30, 0, 0, oslo) // still 2023 in UTC
	for _, x := range []struct {
		name     string
		c        *store.Collection
		at, want time.Time
	}{
		{"midnight", days, day(1), day(1)},
		{"the last nanosecond of a day", days, day(2).Add(-1), day(1)},
		{"half past midnight in Oslo", days, late, day(1)},
		{"the same moment in UTC", days, late.UTC(), time.Date(2023, 12, 31, 0, 0, 0, 0, time.UTC)},
		{"versions in moments keep theirs", moments, late, late},
		{"no moment", days, time.Time{}, time.Time{}},
		{"a collection without versions", versioned(), late, time.Time{}},
		{"the first day of all selects no more than that day", days, time.Time{}.Add(time.Hour), time.Time{}.Add(1)},
	} {
		if got := x.c.Moment(x.at); !got.Equal(x.want) {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
	if got := store.Asked(day(1)); !got.Equal(day(1)) {
		t.Errorf("a moment became %v", got)
	}
}

func TestFeatureIDsOfValues(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		v    any
		want string
	}{{"0301", "0301"}, {int64(301), "301"}, {int64(-1), "-1"}, {nil, ""}, {3.5, ""}, {true, ""}, {"", ""}} {
		if got := store.FeatureID(x.v); got != x.want {
			t.Errorf("%#v: %q, want %q", x.v, got, x.want)
		}
	}
}

// TestAFeatureIsSelectedByTheTextOfItsIDOnly: two spellings of a number are not one id.
func TestAFeatureIsSelectedByTheTextOfItsIDOnly(t *testing.T) {
	t.Parallel()
	texts, numbers := versioned(), versioned()
	texts.SetVersions("kode", "fra", "til", false)
	numbers.SetVersions("nr", "fra", "til", false)
	for _, x := range []struct {
		name string
		c    *store.Collection
		id   string
		ok   bool
	}{
		{"a text", texts, "0301", true}, {"an empty text", texts, "", false},
		{"a number", numbers, "301", true}, {"a negative number", numbers, "-301", true},
		{"leading zeros", numbers, "0301", false}, {"a sign", numbers, "+301", false},
		{"minus nought", numbers, "-0", false},
		{"a fraction", numbers, "301.0", false}, {"spaces", numbers, " 301", false}, {"no number", numbers, "x", false},
		{"the largest number", numbers, "9223372036854775807", true},
		{"one more", numbers, "9223372036854775808", false}, {"nothing", numbers, "", false},
	} {
		e, ok := x.c.IsFeature(x.id)
		if ok != x.ok {
			t.Errorf("%s: %t", x.name, ok)
		}
		if _, err := cql2.Check(e, x.c); x.ok && err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

// answers is a store of which only Page and Fetch answer.
type answers struct {
	store.Store
	asked  []store.Query
	page   store.Page
	values map[string]any // by id, of the one property that is fetched
	err    error
}

func (a *answers) Page(_ context.Context, q store.Query) (*store.Page, error) {
	a.asked = append(a.asked, q)
	return &a.page, a.err
}

func (a *answers) Fetch(_ context.Context, _ string, rows []store.Row, _ store.Want,
	fn func(*store.Feature) error) error {
	for _, r := range rows {
		v, ok := a.values[r.ID]
		if !ok {
			continue
		}
		if err := fn(&store.Feature{ID: r.ID, Values: []any{v}}); err != nil {
			return err
		}
	}
	return a.err
}

func TestRowsOfFeaturesWithVersionsAreThoseOfAMoment(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	c := versioned()
	c.SetVersions("nr", "fra", "til", false)
	rows := []store.Row{{ID: "17", Rev: 3}}
	a := &answers{page: store.Page{Rows: rows}}
	got, err := c.RowsOf(t.Context(), a, []string{"5", "x", "6"}, at)
	if err != nil || !slices.Equal(got, rows) || len(a.asked) != 1 {
		t.Fatalf("%v, %v after %d queries", got, err, len(a.asked))
	}
	if q := a.asked[0]; q.Limit != 2 || !q.AsOf.Equal(at) || q.Count != store.CountNone || q.Collection != "x" {
		t.Errorf("asked %+v", q)
	}
	if got, err := c.RowsOf(t.Context(), a, []string{"x", ""}, at); got != nil || err != nil || len(a.asked) != 1 {
		t.Errorf("ids that no feature can have: %v, %v, %d queries", got, err, len(a.asked))
	}
	a.err = store.ErrUnavailable
	if got, err := c.RowsOf(t.Context(), a, []string{"5"}, at); got != nil || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a store that is away: %v, %v", got, err)
	}
	plain, err := versioned().RowsOf(t.Context(), nil, []string{"b", "a"}, at)
	if err != nil || !slices.Equal(plain, []store.Row{{ID: "b"}, {ID: "a"}}) {
		t.Errorf("without versions: %v, %v", plain, err)
	}
}

func TestAllOfAPageAreItsRowsOrDistinctTexts(t *testing.T) {
	t.Parallel()
	rows := store.Current("1", "2", "3", "4")
	a := &answers{values: map[string]any{"1": "Å", "2": "å", "3": "B", "4": nil}}
	q := store.AllQuery{Query: store.Query{Collection: "x", Limit: 4}}
	if all, err := store.AllOf(t.Context(), a, q, &store.Page{Rows: rows}); err != nil || all.More ||
		!slices.Equal(all.Rows, rows) || all.Texts != nil {
		t.Errorf("rows: %+v, %v", all, err)
	}
	if all, err := store.AllOf(t.Context(), a, q, &store.Page{Rows: rows, Next: "more"}); err != nil || !all.More ||
		all.Rows != nil {
		t.Errorf("more than wanted: %+v, %v", all, err)
	}
	q.Texts = "navn"
	all, err := store.AllOf(t.Context(), a, q, &store.Page{Rows: rows[:3]})
	if err != nil || all.Rows != nil || len(all.Texts) != 2 || all.Texts[0] != fold.Norm("å") || all.Texts[1] != "b" {
		t.Errorf("texts: %+v, %v", all, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := store.AllOf(ended, a, q, &store.Page{Rows: rows}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the client has gone: %v", err)
	}
}
