package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/api/ogcapi"
	"grense/internal/cql2"
	"grense/internal/enrich"
	"grense/internal/format"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/store"
)

// joinTable is the process that joins the columns of a table to the features of a collection by code. Its report has
// the members of the draft of OGC API - Joins.
type joinTable struct{}

func (joinTable) ID() string { return "join-table" }

// Refers implements Referrer: the input table is read as a stream.
func (joinTable) Refers(input string) bool { return input == "table" }

// Limits: features of the collection and rows of the table, which are kept in memory; and codes listed in the report.
const (
	maxJoined = 200_000
	maxListed = 1000
)

func (joinTable) Describe(cat *store.Catalog, lang string) ogcapi.Process {
	type m = map[string]any
	in := func(nb, nn, en string) string { return localized(lang, nb, nn, en) }
	text := m{"type": "string", "minLength": 1}
	ids := publicIDs(cat, false)
	first := "kommuner"
	if len(ids) > 0 && !slices.Contains(ids, first) {
		first = ids[0]
	}
	var names []string
	var media []any
	for _, f := range format.All() {
		names, media = append(names, f.Name), append(media, m{"type": "string", "contentMediaType": f.Media})
	}
	numbers := m{}
	for _, name := range []string{"numberOfMatchedCollectionKeys", "numberOfUnmatchedCollectionKeys",
		"numberOfAdditionalAttributeKeys", "restoredCodes"} {
		numbers[name] = m{"type": "integer"}
	}
	numbers["unmatchedCollectionKeys"], numbers["additionalAttributeKeys"] = m{
		"type":  "array",
		"items": m{"type": "string"},
	}, m{
		"type":  "array",
		"items": m{"type": "string"},
	}
	numbers["columns"] = m{"type": "object"}
	return ogcapi.Process{
		ProcessSummary: ogcapi.ProcessSummary{
			Version: "1.0.0",
			ID:      "join-table",
			Title: in("Koble en tabell til et datasett", "Kople ein tabell til eit datasett",
				"Join a table to a collection"),
			Keywords: []string{"table", "csv", "join"},
			Description: in(
				"Kolonnene i en tabell med ett nummer per rad, som statistikk, blir egenskaper ved objektene med "+
					"samme nummer. En rapport sier hva som mangler på begge sider.",
				"Kolonnane i ein tabell med eitt nummer per rad, som statistikk, blir eigenskapar ved objekta med "+
					"same nummer. Ein rapport seier kva som manglar på begge sider.",
				"The columns of a table with a code in each row, such as statistics, become properties of the "+
					"features with the same code. A report lists what has no match on either side.",
			),
			JobControlOptions:  []string{Sync, Async, Dismiss},
			OutputTransmission: []string{"value", "reference"},
		},
		Inputs: append(ogcapi.ProcessInputs{
			{
				ID:        "collection_id",
				Title:     in("Datasett", "Datasett", "Collection"),
				Schema:    m{"type": "string", "enum": orNone(ids)},
				MinOccurs: 1,
				MaxOccurs: 1,
			},
			{
				ID: "table",
				Title: in("Tabell: CSV med overskrifter", "Tabell: CSV med overskrifter",
					"Table: CSV with a header"),
				Schema:    m{"anyOf": []any{m{"type": "string", "minLength": 1, "contentMediaType": mediaCSV}}},
				MinOccurs: 1,
				MaxOccurs: 1,
			},
			{
				ID:        "code",
				Title:     in("Kolonne med numrene", "Kolonne med numra", "Column with the codes"),
				Schema:    text,
				MaxOccurs: 1,
			},
			{
				ID: "columns",
				Title: in("Kolonner som kobles til, med komma mellom; alle uten",
					"Kolonnar som blir kopla til, med komma mellom; alle utan",
					"Columns to join, separated by commas; all without"),
				Schema:    text,
				MaxOccurs: 1,
			},
			{
				ID: "key",
				Title: in("Egenskap med numrene; id-en uten", "Eigenskap med numra; id-en utan",
					"Property with the codes; the id without"),
				Schema:    text,
				MaxOccurs: 1,
			},
			{
				ID: "unmatched",
				Title: in("Objekter uten rad: behold eller utelat", "Objekt utan rad: hald på eller lat ute",
					"Features without a row: keep or drop"),
				Schema:    m{"type": "string", "enum": []string{"keep", "drop"}, "default": "keep"},
				MaxOccurs: 1,
			},
			{
				ID:        "format",
				Title:     in("Format", "Format", "Format"),
				Schema:    m{"type": "string", "enum": names, "default": "json"},
				MaxOccurs: 1,
			},
			{
				ID:        "crs",
				Title:     in("Koordinatsystem", "Koordinatsystem", "Coordinate reference system"),
				Schema:    m{"type": "string", "format": "uri"},
				MaxOccurs: 1,
			}}, datetimeInput(cat, lang)...),
		Outputs: ogcapi.ProcessOutputs{
			{
				ID:     "joined",
				Title:  in("Datasettet med tabellen", "Datasettet med tabellen", "The collection with the table"),
				Schema: m{"oneOf": media},
			},
			{
				ID:    "report",
				Title: in("Hva som passer sammen", "Kva som passar saman", "What matches"),
				Schema: m{
					"type":             "object",
					"contentMediaType": "application/json",
					"properties":       m{"joinInformation": m{"type": "object", "properties": numbers}},
				},
			}},
		Example: m{
			"inputs":  m{"collection_id": first, "table": "code;value\n0301;10,5\n4601;7\n"},
			"outputs": m{"joined": m{}},
		},
	}
}

// Execute reads the table and the codes of the features. The file is written after it has returned.
func (joinTable) Execute(ctx context.Context, env *Env, in Inputs) (Outputs, error) {
	f := format.Find(in.Text("format"))
	if f.NeedsWriter && env.GeoPackage == nil {
		return nil, errNoWriter()
	}
	snap, err := env.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	coll, ok := snap.Catalog().Collection(in.Text("collection_id"))
	if !ok || !coll.Public {
		return nil, Fault(in.Text("collection_id"),
			problem.Sayf("use one of %s", strings.Join(publicIDs(snap.Catalog(), false), ", ")), "collection_id")
	}
	o := output.Options{
		Count:      -1,
		Address:    env.Base + "/collections/" + coll.ID,
		Title:      coll.Title.In(env.Lang),
		Dated:      snap.Catalog().Modified,
		Temp:       env.Temp,
		GeoPackage: env.GeoPackage,
	}
	o.Collection = coll
	if coll.Geometry != nil && !f.Lon {
		o.CRS = crs.CRS84 // the default of GeoJSON
	}
	if err := options(&o, Inputs{"crs": in["crs"]}); err != nil {
		return nil, err
	}
	j := &joined{Snapshot: snap, coll: coll, key: in.Text("key"), drop: in.Text("unmatched") == "drop"}
	if j.key != "" && !visible(coll, j.key) {
		return nil, Fault(j.key,
			problem.Sayf("name a property of the collection: %s", strings.Join(coll.Shown(), ", ")), "key")
	}
	if j.at, err = env.moment(in, coll); err != nil {
		return nil, err
	}
	if err := j.readTable(ctx, env, in); err != nil {
		return nil, err
	}
	if err := j.match(ctx); err != nil {
		return nil, err
	}
	if f.Most > 0 && len(j.rowOf) > f.Most {
		return nil, Fault(f.Name, problem.Sayf("it holds %d features at most; choose another format", f.Most), "format")
	}
	o.Collection = j.widened()
	out := Outputs{"report": {Value: map[string]any{"joinInformation": j.report()}}}
	out["joined"] = Output{
		Media:  f.Media,
		Name:   coll.ID + f.Ext,
		Losses: f.LossesIn(o),
		Write: func(ctx context.Context, w io.Writer) error {
			return f.Produce(ctx, w, o, output.Source{Snapshot: j, Query: store.Query{Collection: coll.ID, AsOf: j.at}})
		},
	}
	return out, nil
}

// joined is a snapshot in which the features of one collection have the columns of a table as further properties.
type joined struct {
	store.Snapshot
	coll *store.Collection
	key  string // property with the codes; "" for the feature id
	drop bool   // leave out features without a row
	at   time.Time

	columns  []joinedColumn
	rows     map[string][]any // the values of each code, one per column
	rowOf    map[string]int   // row number of each code, for the report
	matched  map[string]bool  // codes of the table that a feature has
	features map[string]bool  // row ids of features that a row of the table matches
	missing  []string         // codes of the first features without a row
	absent   int              // number of features without a row
	restored int
}

// joinedColumn is a column of the table that is joined; property is its name in the result.
type joinedColumn struct {
	name, property string
	kind           cql2.Type
}

// readTable reads the whole table. The type of a column depends on all of its values.
func (j *joined) readTable(ctx context.Context, env *Env, in Inputs) error {
	t, err := openTable(ctx, env, in)
	if err != nil {
		return err
	}
	defer t.close()
	j.rows, j.rowOf = map[string][]any{}, map[string]int{}
	at, chosen, decimals := -1, []int{}, byte('.')
	row := 0
	err = enrich.Rows(t, func(names, cells []string, d byte) error {
		if at < 0 {
			var err error
			if at, chosen, err = j.choose(names, in); err != nil {
				return err
			}
		}
		row, decimals = row+1, d
		code := cells[at]
		switch first, twice := j.rowOf[code]; {
		case code == "":
			return Fault(clipped(strings.Join(cells, ",")), problem.Sayf("row %d has no code", row), "table")
		case twice:
			return Fault(code, problem.Sayf("rows %d and %d have this code; a table has one row for each", first, row),
				"table")
		case row > maxJoined:
			return Fault(nil, problem.Sayf("a table has at most %d rows", maxJoined), "table")
		}
		values := make([]any, len(chosen))
		for i, c := range chosen {
			if values[i] = cells[c]; cells[c] == "" {
				values[i] = nil
			}
		}
		j.rows[code], j.rowOf[code] = values, row
		return ctx.Err()
	})
	if f, ok := errors.AsType[*enrich.Fault](err); ok {
		return Fault(clipped(in.Text("table")), f.Said, "table")
	}
	if err == nil && row == 0 {
		err = Fault(clipped(in.Text("table")), problem.Sayf("the table has no rows"), "table")
	}
	if err == nil {
		j.settle(decimals)
	}
	return err
}

// choose returns the index of the column of codes and those of the columns to join.
func (j *joined) choose(names []string, in Inputs) (code int, chosen []int, err error) {
	if code, err = enrich.CodeColumn(names, in.Text("code")); err != nil {
		return code, nil, err
	}
	if list := in.Text("columns"); list != "" {
		for name := range strings.SplitSeq(list, ",") {
			i := slices.Index(names, strings.TrimSpace(name))
			if i < 0 || slices.Contains(chosen, i) {
				return code, nil, Fault(list,
					problem.Sayf("name each column once, of %s", clipped(strings.Join(names, ", "))), "columns")
			}
			chosen = append(chosen, i)
		}
	} else {
		for i := range names {
			if i != code {
				chosen = append(chosen, i)
			}
		}
	}
	for _, i := range chosen {
		j.columns = append(j.columns, joinedColumn{name: names[i]})
	}
	return code, chosen, nil
}

// settle sets the type of each column: integer or number if all values are, otherwise text. Values with leading zeros,
// and integers too large for a double, are codes and make the column text. decimals is the decimal separator.
func (j *joined) settle(decimals byte) {
	number := func(s string) string {
		if decimals == ',' && !strings.Contains(s, ".") {
			s = strings.Replace(s, ",", ".", 1)
		}
		return s
	}
	for i := range j.columns {
		kind, some, wide := cql2.TypeInteger, false, false
		for _, values := range j.rows {
			s, ok := values[i].(string)
			if !ok {
				continue
			}
			some = true
			digits := strings.TrimLeft(s, "+-")
			_, whole := strconv.ParseInt(s, 10, 64)
			wide = wide || errors.Is(whole, strconv.ErrRange) || !cql2.IsDouble(number(s))
			v, part := strconv.ParseFloat(number(s), 64)
			switch {
			case part != nil || v-v != 0 || len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' &&
				digits[1] <= '9' || strings.ContainsAny(s, "xXpP_"):
				kind = cql2.TypeText
			case whole != nil && kind == cql2.TypeInteger:
				kind = cql2.TypeNumber
			}
			if kind == cql2.TypeText {
				break
			}
		}
		if !some || wide && kind == cql2.TypeNumber {
			kind = cql2.TypeText
		}
		j.columns[i].kind = kind
		for _, values := range j.rows {
			s, ok := values[i].(string)
			switch {
			case !ok:
			case kind == cql2.TypeInteger:
				values[i], _ = strconv.ParseInt(s, 10, 64) // was parsed above
			case kind == cql2.TypeNumber:
				values[i], _ = strconv.ParseFloat(number(s), 64)
			}
		}
	}
}

// match reads the codes of all features and finds the row of each. A code that lost its leading zeros in the table
// matches if it can be restored in one way only.
func (j *joined) match(ctx context.Context) error {
	j.matched, j.features = map[string]bool{}, map[string]bool{}
	keys, ids := []string{}, []string{}
	err := j.eachKey(ctx, func(id, key string) error {
		if keys, ids = append(keys, key), append(ids, id); len(keys) > maxJoined {
			return Fault(j.coll.ID, problem.Sayf("it has more than %d features", maxJoined), "collection_id")
		}
		return nil
	})
	if err != nil {
		return err
	}
	known, shorts := map[string]bool{}, map[string]string{} // by code without zeros; "" if several share it
	for _, key := range keys {
		if known[key] {
			continue
		}
		known[key] = true
		short := strings.TrimLeft(key, "0")
		if _, taken := shorts[short]; taken || short == "" {
			key = ""
		}
		shorts[short] = key
	}
	for code := range j.rowOf {
		whole := shorts[code]
		if known[code] || whole == "" || whole == code {
			continue
		}
		if _, twice := j.rowOf[whole]; !twice {
			j.rows[whole], j.rowOf[whole] = j.rows[code], j.rowOf[code]
			delete(j.rows, code)
			delete(j.rowOf, code)
			j.restored++
		}
	}
	for i, key := range keys {
		if _, ok := j.rows[key]; ok {
			j.matched[key], j.features[ids[i]] = true, true
			continue
		}
		if j.absent++; len(j.missing) < maxListed {
			j.missing = append(j.missing, key)
		}
	}
	return nil
}

// eachKey calls fn with the row id and the code of each feature.
func (j *joined) eachKey(ctx context.Context, fn func(id, key string) error) error {
	want := store.Want{Properties: []string{}, NoGeometry: true}
	if j.key != "" {
		want.Properties = []string{j.key}
	}
	q := store.Query{Collection: j.coll.ID, Limit: 5000, Count: store.CountNone, AsOf: j.at}
	for {
		page, err := j.Snapshot.Page(ctx, q)
		if err != nil {
			return err
		}
		if j.key == "" && j.coll.Versions == nil {
			for _, r := range page.Rows {
				if err := fn(r.ID, r.ID); err != nil {
					return err
				}
			}
		} else if err := j.Snapshot.Fetch(ctx, j.coll.ID, page.Rows, want, func(f *store.Feature) error {
			return fn(strings.Clone(f.ID), j.keyOf(f))
		}); err != nil {
			return err
		}
		if page.Next == "" {
			return nil
		}
		q.Cursor = page.Next
	}
}

// keyOf returns the code of a feature that was fetched with no property but the key.
func (j *joined) keyOf(f *store.Feature) string {
	if j.key == "" {
		return strings.Clone(f.Public())
	}
	return keyText(f.Values[0])
}

// keyText returns a value as the text that a table would have.
func keyText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64: // without exponent, because codes consist of digits
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strings.Clone(fmt.Sprint(v))
}

// widened returns the collection with the joined columns as further properties. A column whose name is taken gets a
// number appended to its name.
func (j *joined) widened() *store.Collection {
	c := *j.coll
	c.Properties = slices.Clone(c.Properties)
	for i := range j.columns {
		col := &j.columns[i]
		taken := func(name string) bool {
			return strings.EqualFold(name, "id") || c.Geometry != nil && strings.EqualFold(name, c.Geometry.Name) ||
				slices.ContainsFunc(c.Properties, func(p store.Property) bool {
					return strings.EqualFold(p.Name, name)
				})
		}
		col.property = col.name
		for n := 2; taken(col.property); n++ {
			col.property = fmt.Sprintf("%s_%d", col.name, n)
		}
		c.Properties = append(c.Properties, store.Property{Name: col.property, Type: col.kind})
	}
	return &c
}

// report returns the report, with the members of the draft of OGC API - Joins. Its lists are cut to maxListed codes.
func (j *joined) report() map[string]any {
	additional := []string{}
	for code := range j.rowOf {
		if !j.matched[code] {
			additional = append(additional, code)
		}
	}
	slices.SortFunc(additional, func(a, b string) int { return j.rowOf[a] - j.rowOf[b] })
	columns := map[string]string{}
	for _, c := range j.columns {
		columns[c.name] = c.property
	}
	return map[string]any{
		"numberOfMatchedCollectionKeys":   len(j.features),
		"numberOfUnmatchedCollectionKeys": j.absent,
		"numberOfAdditionalAttributeKeys": len(additional),
		"unmatchedCollectionKeys":         orNone(j.missing),
		"additionalAttributeKeys":         additional[:min(len(additional), maxListed)],
		"restoredCodes":                   j.restored,
		"columns":                         columns,
	}
}

// Page implements store.Snapshot. It leaves out features without a row if j.drop is set.
func (j *joined) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	p, err := j.Snapshot.Page(ctx, q)
	if err != nil || !j.drop {
		return p, err
	}
	out := *p
	out.Rows, out.Matched = nil, -1
	for _, r := range p.Rows {
		if j.features[r.ID] {
			out.Rows = append(out.Rows, r)
		}
	}
	return &out, nil
}

// Fetch implements store.Snapshot. It adds the values of the joined columns to the features.
func (j *joined) Fetch(
	ctx context.Context,
	collection string,
	rows []store.Row,
	want store.Want,
	fn func(*store.Feature) error,
) error {
	inner := want
	inner.Properties = []string{}
	if want.Properties == nil {
		for i := range j.coll.Properties {
			if p := &j.coll.Properties[i]; !p.Hidden {
				want.Properties = append(want.Properties, p.Name)
			}
		}
		for _, c := range j.columns {
			want.Properties = append(want.Properties, c.property)
		}
	}
	at := make([]int, len(want.Properties)) // index of a column of the table, or -1-i for property i of the collection
	for i, name := range want.Properties {
		if at[i] = slices.IndexFunc(j.columns, func(c joinedColumn) bool { return c.property == name }); at[i] < 0 {
			inner.Properties = append(inner.Properties, name)
			at[i] = -len(inner.Properties)
		}
	}
	key := -1
	if j.key != "" {
		key = len(inner.Properties)
		inner.Properties = append(inner.Properties, j.key)
	}
	values := make([]any, len(at))
	return j.Snapshot.Fetch(ctx, collection, rows, inner, func(f *store.Feature) error {
		code := f.Public()
		if key >= 0 {
			code = keyText(f.Values[key])
		}
		row := j.rows[code]
		for i, n := range at {
			switch {
			case n < 0:
				values[i] = f.Values[-n-1]
			case row == nil:
				values[i] = nil
			default:
				values[i] = row[n]
			}
		}
		g := *f
		g.Values = values
		return fn(&g)
	})
}
