package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/format"
	"grense/internal/problem"
	"grense/internal/process"
	"grense/internal/store"
)

// joinReport is the report, with the members of the draft of OGC API - Joins.
type joinReport struct {
	Info struct {
		Matched    int      `json:"numberOfMatchedCollectionKeys"`
		Unmatched  int      `json:"numberOfUnmatchedCollectionKeys"`
		Additional int      `json:"numberOfAdditionalAttributeKeys"`
		Missing    []string `json:"unmatchedCollectionKeys"`
		More       []string `json:"additionalAttributeKeys"`
		Restored   int      `json:"restoredCodes"`
	} `json:"joinInformation"`
}

// join runs join-table and returns the report and the features, each as "id:value of n".
func join(t *testing.T, env *process.Env, inputs map[string]any) (joinReport, []string, error) {
	t.Helper()
	b, err := json.Marshal(inputs)
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(t, env, "join-table", string(b))
	if err != nil {
		return joinReport{}, nil, err
	}
	var report joinReport
	if err := json.Unmarshal([]byte(written(t, out["report"])), &report); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Features []struct {
			ID         any
			Properties struct{ N json.RawMessage }
		}
	}
	if err := json.Unmarshal([]byte(written(t, out["joined"])), &doc); err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, f := range doc.Features {
		list = append(list, fmt.Sprintf("%v:%s", f.ID, f.Properties.N))
	}
	return report, list, nil
}

// TestJoinsAgreeWithALookupByHand: random codes, with and without zeros, that features share or that none has.
func TestJoinsAgreeWithALookupByHand(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 1))
	code := func() string { return strings.Repeat("0", r.IntN(3)) + []string{"1", "2", "10", "A", "å"}[r.IntN(5)] }
	restored := 0
	for range 3000 {
		keys := make([]string, 1+r.IntN(6))
		var rows [][]any
		for i := range keys {
			keys[i] = code()
			rows = append(rows, []any{fmt.Sprintf("f%d", i), keys[i], nil})
		}
		d := municipalities(rows...)
		lines := map[string]int{} // the value is the number of the line
		table := "code,n\n"
		for i := range 1 + r.IntN(6) {
			if c := code(); lines[c] == 0 {
				lines[c] = i + 1
				table += fmt.Sprintf("%s,%d\n", c, i+1)
			}
		}
		// A code that no feature has is restored if one key alone is that code behind zeros, and not in the table.
		joined := maps.Clone(lines)
		for c, n := range lines {
			var longer []string
			for _, k := range keys {
				if strings.TrimLeft(k, "0") == c && !slices.Contains(longer, k) {
					longer = append(longer, k)
				}
			}
			if _, taken := lines[slices.Max(append(longer, ""))]; len(longer) == 1 && !slices.Contains(keys, c) &&
				!taken {
				joined[longer[0]] = n
				delete(joined, c)
				restored++
			}
		}
		drop := r.IntN(2) == 0
		want := []string{}
		var missing []string
		for i, k := range keys {
			n, ok := joined[k]
			switch {
			case ok:
				want = append(want, fmt.Sprintf("f%d:%d", i, n))
			case !drop:
				want = append(want, fmt.Sprintf("f%d:null", i))
			}
			if !ok {
				missing = append(missing, k)
			}
		}
		extra := 0
		for c := range joined {
			if !slices.Contains(keys, c) {
				extra++
			}
		}
		report, got, err := join(t, d.env(), map[string]any{"collection_id": "kommuner", "table": table, "key": "navn",
			"unmatched": map[bool]string{true: "drop", false: "keep"}[drop]})
		i := report.Info
		if err != nil || !slices.Equal(got, want) || i.Matched != len(keys)-len(missing) ||
			i.Unmatched != len(missing) ||
			!slices.Equal(i.Missing, missing) && len(missing) > 0 || i.Additional != extra || len(i.More) != extra {
			t.Fatalf("keys %q, table %q: %v, %+v, %v; want %v, missing %q, %d extra", keys, table, got, i, err, want,
				missing, extra)
		}
	}
	if restored < 100 {
		t.Errorf("only %d codes were restored: no test", restored)
	}
}

// TestTablesAreReadAsPeopleSaveThem: any separator, quotes, byte order marks and scripts. Codes are not normalised.
func TestTablesAreReadAsPeopleSaveThem(t *testing.T) {
	t.Parallel()
	d := municipalities([]any{"0301", "Oslo", nil}, []any{"Å1", "Ås", nil}, []any{"a,b", `"`, nil}, []any{"ß", "x",
		nil})
	for _, x := range []struct{ name, table, want string }{
		{"commas", "code,n\n0301,1\n", "1 null null null"},
		{"semicolons and decimal commas", "kode;n\n0301;1,5\n", "1.5 null null null"},
		{"tabs", "code\tn\n0301\t1\n", "1 null null null"},
		{"bars", "code|n\n0301|1\n", "1 null null null"},
		{"line ends of Windows", "code,n\r\n0301,1\r\n", "1 null null null"},
		{"no line end at the end", "code,n\n0301,1", "1 null null null"},
		{"empty lines", "code,n\n\n0301,1\n\n", "1 null null null"},
		{"a byte order mark", "\ufeffcode,n\n0301,1\n", "1 null null null"},
		{"quotes", "\"code\",\"n\"\n\"a,b\",\"say \"\"x\"\"\"\n", `null null "say \"x\"" null`},
		{"a line end in a value", "code,n\n0301,\"a\nb\"\n", `"a\nb" null null null`},
		{"letters beyond ASCII", "code,n\nÅ1,1\nß,2\n", "null 1 null 2"},
		{"a decomposed code is another", "code,n\nA\u030a1,1\n", "null null null null"},
		{"capitals are others", "code,n\nSS,1\nå1,2\n", "null null null null"},
		{"blanks around codes", "code,n\n 0301 , 1 \n", "1 null null null"},
		{"a column in capitals", "CODE,n\n0301,1\n", "1 null null null"},
		{"codes in the last column", "n,Kommunenummer\n1,0301\n", "1 null null null"},
	} {
		_, got, err := join(t, d.env(), map[string]any{"collection_id": "kommuner", "table": x.table})
		for i := range got {
			_, got[i], _ = strings.Cut(got[i], ":")
		}
		if s := strings.Join(got, " "); err != nil || s != x.want {
			t.Errorf("%s: %s, %v, want %s", x.name, s, err, x.want)
		}
	}
	for name, table := range map[string]string{"JSON lines": "{\"code\":\"0301\",\"n\":1}\n", "one cell": "x",
		"a row that is too short": "code,n\n0301\n", "a row that is too long": "code,n\n0301,1,2\n",
		"a column without a name": "code,\n0301,1\n", "two columns of one name": "code,n,n\n0301,1,2\n",
		"no column of codes": "a,b\n0301,1\n", "a quote that does not end": "code,n\n\"0301,1\n", "blanks": " \n "} {
		if _, _, err := join(t, d.env(), map[string]any{"collection_id": "kommuner", "table": table}); err == nil ||
			problem.Of(err).Kind != problem.Invalid || problem.Of(err).Faults[0].Param != "/inputs/table" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKeysOfEveryTypeAreTexts: numbers without exponents, booleans as words; null is no key.
func TestKeysOfEveryTypeAreTexts(t *testing.T) {
	t.Parallel()
	s := island()
	for _, x := range []struct{ collection, key, codes, want string }{
		{"kommuner", "folk", "5 -7 0", "0301:0 0302:null 0303:1 1101:0 11_1:2"},
		{"tall", "verdi", "0.5 2", "1:0 2:1 3:null 4:0"},
		{"tall", "verdi", "-1" + strings.Repeat("0", 300), "1:null 2:null 3:0 4:null"},
		{"tall", "ja", "true false", "1:0 2:1 3:null 4:0"},
		{"tall", "dag", "2024-02-29", "1:0 2:null 3:0 4:null"},
		{"tall", "liste", `["a"]`, "1:0 2:null 3:null 4:null"},
		{"steder", "FylkeSnummer", "11 3", "1:1 2:1 3:0 4:0 5:null"},
		{"steder", "", "4 5", "1:null 2:null 3:null 4:0 5:1"},
	} {
		table := "code;n\n"
		for i, c := range strings.Fields(x.codes) {
			table += fmt.Sprintf("\"%s\";%d\n", strings.ReplaceAll(c, `"`, `""`), i)
		}
		in := map[string]any{"collection_id": x.collection, "table": table}
		if x.key != "" {
			in["key"] = x.key
		}
		_, got, err := join(t, s.env(), in)
		if g := strings.Join(got, " "); err != nil || g != x.want {
			t.Errorf("%s of %s: %s, %v, want %s", x.key, x.collection, g, err, x.want)
		}
	}
}

// TestVersionsAreJoinedByTheIdOfTheirFeature, those of the day.
func TestVersionsAreJoinedByTheIdOfTheirFeature(t *testing.T) {
	t.Parallel()
	for datetime, want := range map[string]string{"2024-01-01": "0301:1 0302:2", "2010-01-01": "0301:1",
		"1999-01-01": ""} {
		in := map[string]any{"collection_id": "kommuner", "table": "code,n\n301,1\n0302,2\n", "datetime": datetime}
		_, got, err := join(t, versioned(cql2.TypeInteger).env(), in)
		if s := strings.Join(got, " "); err != nil || s != want {
			t.Errorf("%s: %s, %v, want %s", datetime, s, err, want)
		}
	}
}

// TestJoinsAreWrittenInEveryFormat, with the joined columns and the name of the collection.
func TestJoinsAreWrittenInEveryFormat(t *testing.T) {
	t.Parallel()
	for _, f := range format.All() {
		env := island().env()
		env.Temp = t.TempDir()
		env.GeoPackage = func(_ context.Context, path string, _ time.Time) (store.Writer, error) {
			return &recorder{path: path}, nil
		}
		inputs := `{"collection_id":"kommuner","table":"code,n\n0301,7\n","format":"` + f.Name + `"}`
		out, err := run(t, env, "join-table", inputs)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		o := out["joined"]
		if file := written(t, o); file == "" || o.Media != f.Media || o.Name != "kommuner"+f.Ext {
			t.Errorf("%s: %d bytes of %s, %s", f.Name, len(file), o.Media, o.Name)
		}
		env.GeoPackage = nil
		out, err = run(t, env, "join-table", inputs)
		if f.NeedsWriter != (problem.Of(err).Kind == problem.Unavailable && err != nil) {
			t.Errorf("%s without a writer of GeoPackages: %v, %v", f.Name, out, err)
		}
	}
	if _, err := run(t, island().env(), "join-table",
		`{"collection_id":"kommuner","table":"code,n\n1,2\n","format":"JSON"}`); !strings.HasPrefix(faults(err),
		"/inputs/format: use one of ") {
		t.Errorf("a format in capitals: %v", err)
	}
}

// TestTablesThatBreakOffEndTheJoin: with the error of the reader, or of the context.
func TestTablesThatBreakOffEndTheJoin(t *testing.T) {
	t.Parallel()
	env := island().env()
	disk := errors.New("disk")
	closed := 0
	env.Open = func(context.Context, string) (io.ReadCloser, string, error) {
		return closer{io.MultiReader(strings.NewReader("code,n\n0301,1\n"), reader(func([]byte) (int, error) {
			return 0, disk
		})), &closed}, "text/csv", nil
	}
	const inputs = `{"collection_id":"kommuner","table":{"href":"https://example.com/t"}}`
	if _, err := run(t, env, "join-table", inputs); !errors.Is(err, disk) || closed != 1 {
		t.Errorf("a broken disk: %v, closed %d times", err, closed)
	}
	env.Open = func(context.Context, string) (io.ReadCloser, string, error) { return nil, "", disk }
	if _, err := run(t, env, "join-table", inputs); !errors.Is(err, disk) {
		t.Errorf("what cannot be opened: %v", err)
	}
	p, _ := process.NewRegistry(process.Standard()...).Find("join-table")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Execute(ctx, env, process.Inputs{"collection_id": "kommuner", "table": "code,n\n0301,1\n",
		"format": "json"}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the client has gone: %v", err)
	}
}
