package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/store"
)

// collection makes one of properties "name:type", with a hidden one as "-name:type".
func collection(properties string) *store.Collection {
	types := map[string]cql2.Type{"text": cql2.TypeText, "int": cql2.TypeInteger, "date": cql2.TypeDate,
		"time": cql2.TypeTimestamp, "json": cql2.TypeJSON}
	c := &store.Collection{ID: "x"}
	for p := range strings.FieldsSeq(properties) {
		name, kind, _ := strings.Cut(p, ":")
		bare := strings.TrimPrefix(name, "-")
		c.Properties = append(c.Properties, store.Property{Name: bare, Column: strings.ToUpper(bare), Type: types[kind],
			Hidden: bare != name})
	}
	return c
}

func TestTextsFallBackToAnotherLanguage(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name string
		t    store.Text
		lang string
		want string
	}{
		{"the language itself", store.Text{"nn": "eg", "nb": "jeg", "en": "I"}, "nn", "eg"},
		{"nb first", store.Text{"en": "I", "nb": "jeg"}, "nn", "jeg"},
		{"then en", store.Text{"en": "I", "nn": "eg", "": "?"}, "nb", "I"},
		{"then a text whose language is not stated", store.Text{"nn": "eg", "": "?"}, "en", "?"},
		{"nn last", store.Text{"nn": "eg"}, "en", "eg"},
		{"an empty text counts", store.Text{"nb": "", "en": "I"}, "nb", ""},
		{"another language is no fallback", store.Text{"se": "mun"}, "nb", ""},
		{"none", nil, "nb", ""},
	} {
		if got := x.t.In(x.lang); got != x.want {
			t.Errorf("%s: %q", x.name, got)
		}
	}
}

func TestSurveyTellsThePartThatIsRead(t *testing.T) {
	t.Parallel()
	var none *store.Survey
	if none.Done() != 1 {
		t.Error("a source without a survey is not read whole")
	}
	s := &store.Survey{}
	for _, x := range []struct {
		what        string
		layers      bool
		done, total int
		want        float64
	}{
		{"none of four layers", true, 0, 4, 0}, {"half of the rows of the first", false, 50, 100, 0.125},
		{"the first layer", true, 1, 4, 0.25}, {"a layer without rows", false, 0, 0, 0.25},
		{"three layers", true, 3, 4, 0.75}, {"more rows than were counted", false, 300, 100, 1},
		{"all layers", true, 4, 4, 1},
	} {
		s.Note(x.layers, x.done, x.total)
		if got := s.Done(); got != x.want {
			t.Errorf("%s: %v, want %v", x.what, got, x.want)
		}
	}
}

func TestACatalogWithoutCollectionsTellsWhy(t *testing.T) {
	t.Parallel()
	c := &store.Catalog{Notes: []store.Note{{Layer: "a", Collection: "a", Refused: true, Reason: "it has no id."},
		{Layer: "b", Collection: "b", Reason: "it is slow."}}}
	if err := c.RequireCollections("The file is empty."); err == nil ||
		err.Error() != "no collection can be served:\n  a: it has no id." {
		t.Errorf("a refused layer: %v", err)
	}
	if n, ok := c.Refusal("a"); !ok || n.Reason != "it has no id." {
		t.Errorf("the refusal of a: %+v, %t", n, ok)
	}
	if n, ok := c.Refusal("b"); ok {
		t.Errorf("b was not refused: %+v", n)
	}
	c.Notes = c.Notes[1:]
	if err := c.RequireCollections("The file is empty."); err == nil ||
		err.Error() != "no collection can be served: The file is empty." {
		t.Errorf("no refused layer: %v", err)
	}
	c.Collections = []*store.Collection{{ID: "b"}}
	if err := c.RequireCollections("The file is empty."); err != nil {
		t.Errorf("with a collection: %v", err)
	}
	if _, ok := c.Collection("c"); ok {
		t.Error("found a collection that there is not")
	}
}

// TestFindIsByTheFirstOfEqualNames: with a map of names as without one, and after the properties have changed.
func TestFindIsByTheFirstOfEqualNames(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 31, 32, 200} {
		c := &store.Collection{}
		for i := range n {
			c.Properties = append(c.Properties, store.Property{Name: fmt.Sprintf("p%d", i), Column: fmt.Sprint(i)})
		}
		c.Properties[n-1].Name = "p0"
		c.IndexNames()
		for i := range n - 1 {
			if p, ok := c.Find(fmt.Sprintf("p%d", i)); !ok || p.Column != fmt.Sprint(i) {
				t.Errorf("%d properties: p%d is %+v, %t", n, i, p, ok)
			}
		}
		if p, ok := c.Find("P0"); ok {
			t.Errorf("%d properties: names are found in another case: %+v", n, p)
		}
		c.Properties = append([]store.Property{{Name: "new", Column: "new"}}, c.Properties[:2]...)
		for _, name := range []string{"new", "p0", "p1"} {
			if p, ok := c.Find(name); !ok || p.Name != name {
				t.Errorf("%d properties, changed: %s is %+v, %t", n, name, p, ok)
			}
		}
	}
}

func TestTheGeometryHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ what, column, others, name, alias string }{
		{"a usual column", "geom", "id navn", "geometry", "geom"},
		{"the column is called geometry", "geometry", "id navn", "geometry", ""},
		{"a property is called geometry", "geom", "id geometry", "geom", ""},
	} {
		taken := func(name string) bool { return slices.Contains(strings.Fields(x.others), name) }
		if name, alias := store.GeometryName(x.column, taken); name != x.name || alias != x.alias {
			t.Errorf("%s: %q, %q", x.what, name, alias)
		}
	}
	c := collection("navn:text geom:text")
	c.Geometry = &store.Geom{Name: "geometry", Alias: "shape"}
	for name, want := range map[string]string{"shape": "geometry", "geometry": "geometry", "navn": "navn", "": "",
		"Shape": "Shape"} {
		if got := c.Canonical(name); got != want {
			t.Errorf("%q is %q", name, got)
		}
	}
	c.Geometry.Alias = "geom"
	if got := c.Canonical("geom"); got != "geom" {
		t.Errorf("the alias hides a property: %q", got)
	}
	if got := collection("navn:text").Canonical("geom"); got != "geom" {
		t.Errorf("without a geometry: %q", got)
	}
}

func TestTheIDIsAQueryableUnlessAPropertyRepeatsIt(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name       string
		properties string
		key        store.FeatureKey
		geometry   string
		derived    bool
	}{
		{"a column that is no property", "navn:text", store.FeatureKey{Column: "fid", Type: cql2.TypeInteger}, "",
			true},
		{"a property repeats it", "nr:text", store.FeatureKey{Column: "NR", Property: "nr"}, "", false},
		{"another property is called id", "id:text", store.FeatureKey{Column: "fid"}, "", false},
		{"the geometry is called id", "navn:text", store.FeatureKey{Column: "fid"}, "id", false},
	} {
		c := collection(x.properties)
		c.Key = x.key
		if x.geometry != "" {
			c.Geometry = &store.Geom{Name: x.geometry}
		}
		if got := c.DeriveID(); got != x.derived || len(c.Derived) > 0 != x.derived {
			t.Errorf("%s: %t, %+v", x.name, got, c.Derived)
		}
		if p, ok := c.Queryable("id"); x.derived &&
			(!ok || p.Column != "fid" || p.Type != cql2.TypeInteger || !p.NotNull) {
			t.Errorf("%s: %+v, %t", x.name, p, ok)
		}
		if x.derived && slices.Contains(c.Shown(), "id") {
			t.Errorf("%s: responses contain it", x.name)
		}
	}
}

func TestMembersOfJSONAreQueryables(t *testing.T) {
	t.Parallel()
	c := collection("props:json -secret:json navn:text props.c:int")
	members := []store.Member{{Path: []string{"a", "b"}, Type: cql2.TypeText},
		{Path: []string{"c"}, Type: cql2.TypeNumber}}
	added := c.DeriveMembers("props", members)
	if len(added) != 1 || added[0].Name != "props.a.b" || added[0].Column != "PROPS" ||
		!slices.Equal(added[0].Path, []string{"a", "b"}) {
		t.Errorf("added %+v", added)
	}
	if typ, ok := c.Property("props.c"); !ok || typ != cql2.TypeInteger {
		t.Errorf("a member hides a property of its name: %v, %t", typ, ok)
	}
	for _, of := range []string{"secret", "navn", "nothing"} {
		if added := c.DeriveMembers(of, members); added != nil {
			t.Errorf("%s: %+v", of, added)
		}
	}
	if got := strings.Join(c.Names(), " "); got != "props navn props.c props.a.b" {
		t.Errorf("names %s", got)
	}
	var all []string
	for p := range c.Queryables() {
		all = append(all, p.Name)
	}
	if got := strings.Join(all, " "); got != "props.a.b props secret navn props.c" {
		t.Errorf("queryables %s", got)
	}
}

func TestSearchIsInTextsWithSearchColumnsIfThereAreAny(t *testing.T) {
	t.Parallel()
	c := collection("navn:text nr:int -skjult:text beskrivelse:text")
	if got := strings.Join(c.SearchNames(), " "); got != "navn beskrivelse" {
		t.Errorf("without search columns: %s", got)
	}
	c.Properties[3].Search.Norm = "beskrivelse_norm"
	if got := strings.Join(c.SearchNames(), " "); got != "beskrivelse" {
		t.Errorf("with one: %s", got)
	}
	many := collection(strings.Repeat("x:text ", store.MaxSearched+1))
	if n := len(many.SearchNames()); n != store.MaxSearched {
		t.Errorf("%d are searched", n)
	}
}

// TestTimeOfFeatures: OGC 17-069r4, 7.15.4. Without a configuration every date counts; a single one is an instant.
func TestTimeOfFeatures(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, properties string
		start, end       string // an interval that was recognised
		configured       bool
		instant, times   string
	}{
		{"no date", "navn:text", "", "", false, "", ""},
		{"one date", "navn:text dato:date", "", "", false, "dato", ""},
		{"one moment", "tid:time", "", "", false, "tid", ""},
		{"a hidden date does not count", "dato:date -endret:time", "", "", false, "dato", ""},
		{"two dates", "dato:date endret:time", "", "", false, "", "dato endret"},
		{"an interval and its columns", "gyldigFra:date gyldigTil:date", "gyldigFra", "gyldigTil", false, "",
			"gyldigFra gyldigTil"},
		{"an interval without an end", "fra:date", "fra", "", false, "", ""},
		{"two dates by configuration", "dato:date endret:time", "", "", true, "", ""},
	} {
		c := collection(x.properties)
		c.IntervalStart, c.IntervalEnd, c.Times = x.start, x.end, []string{"before"}
		c.SettleTimes(x.configured)
		if got := strings.Join(c.Times, " "); c.Instant != x.instant || got != x.times {
			t.Errorf("%s: instant %q, times %q", x.name, c.Instant, got)
		}
		_, ok := c.During()
		if want := x.instant+x.times+x.start+x.end != ""; ok != want {
			t.Errorf("%s: features have a time: %t", x.name, ok)
		}
	}
}

func TestDatetimeNeverSelectsFeaturesWithoutATime(t *testing.T) {
	t.Parallel()
	from := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	c := collection("periode:text")
	c.Instant = "dato"
	e, ok := c.IsDuring(&from, nil)
	if i, is := e.(cql2.Interval); !ok || !is || i.Start != "dato" || i.End != "dato" || !i.From.Equal(from) ||
		i.To != nil {
		t.Errorf("%#v, %t", e, ok)
	}
	c.Timeless = "empty"
	e, ok = c.IsDuring(nil, nil)
	and, is := e.(cql2.And)
	if !ok || !is || len(and) != 2 {
		t.Fatalf("%#v, %t", e, ok)
	}
	if not, is := and[1].(cql2.Not); !is || not.X != (cql2.Prop{Name: "empty"}) {
		t.Errorf("features without a time: %#v", and[1])
	}
}

func TestUsualIntervals(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ columns, start, end string }{
		{"gyldigFra gyldigTil", "gyldigFra", "gyldigTil"}, {"valid_to valid_from", "valid_from", "valid_to"},
		{"gyldigFra", "", ""}, {"gyldigTil valid_from", "", ""}, {"", "", ""},
	} {
		start, end := store.UsualInterval(func(name string) string {
			for c := range strings.FieldsSeq(x.columns) {
				if strings.EqualFold(c, name) {
					return c
				}
			}
			return ""
		})
		if start != x.start || end != x.end {
			t.Errorf("%s: %q, %q", x.columns, start, end)
		}
		c := &store.Collection{IntervalStart: start, IntervalEnd: end}
		if got := c.HasUsualInterval(); got != (x.start != "") {
			t.Errorf("%s: has one: %t", x.columns, got)
		}
		if c.Instant = "dato"; c.HasUsualInterval() {
			t.Errorf("%s: a moment is an interval", x.columns)
		}
	}
}

func TestSettingsReplaceWhatTheSourceStates(t *testing.T) {
	t.Parallel()
	of := func() *store.Collection {
		c := collection("nr:text navn:text")
		c.Title, c.Keywords = store.Text{"": "from the source"}, []string{"source"}
		return c
	}
	var warned []string
	warn := func(format string, args ...any) { warned = append(warned, fmt.Sprintf(format, args...)) }
	c := of()
	c.Apply(&store.Settings{}, warn)
	if c.Title.In("nb") != "from the source" || c.TitleProperty != "navn" || len(c.Keywords) != 1 || warned != nil {
		t.Errorf("without settings: %+v, %q", c, warned)
	}
	c = of()
	c.Apply(&store.Settings{Title: store.Text{"nb": "Egen"}, Keywords: []string{}, TitleProperty: "nr", PageMax: 7},
		warn)
	if c.Title.In("en") != "Egen" || c.TitleProperty != "nr" || len(c.Keywords) != 0 || c.PageMax != 7 ||
		warned != nil {
		t.Errorf("with settings: %+v, %q", c, warned)
	}
	c = of()
	c.Apply(&store.Settings{TitleProperty: "tittel"}, warn)
	if c.TitleProperty != "navn" || len(warned) != 1 || !strings.Contains(warned[0], `"tittel"`) {
		t.Errorf("a property that there is not: %q, %q", c.TitleProperty, warned)
	}
	if one, several := (store.Settings{IDColumns: []string{"a"}}).SingleID(),
		(store.Settings{IDColumns: []string{"a", "b"}}).SingleID(); one != "a" || several != "" {
		t.Errorf("%q, %q", one, several)
	}
}

func TestTilesShowACollectionAtItsLevels(t *testing.T) {
	t.Parallel()
	c := &store.Collection{Zooms: &store.Zooms{Min: 3, Max: 5}}
	for zoom, want := range map[int]bool{2: false, 3: true, 4: true, 5: true, 6: false} {
		if c.ShownAt(zoom) != want {
			t.Errorf("level %d: %t", zoom, !want)
		}
	}
	if !(&store.Collection{}).ShownAt(24) {
		t.Error("a collection without levels is not shown")
	}
}

// TestRelationsAreSchemas, at any depth.
func TestRelationsAreSchemas(t *testing.T) {
	t.Parallel()
	c := &store.Collection{Relations: []store.Relation{{Name: "navn", Columns: []store.Property{
		{Name: "tekst", Type: cql2.TypeText}}, Relations: []store.Relation{{Name: "former", Columns: []store.Property{
		{Name: "år", Type: cql2.TypeInteger}}}}}}}
	names, ok := c.Relation("navn")
	if !ok || !slices.Equal(names.Names(), []string{"tekst"}) {
		t.Fatalf("%v, %t", names, ok)
	}
	if typ, ok := names.Property("tekst"); !ok || typ != cql2.TypeText {
		t.Errorf("%v, %t", typ, ok)
	}
	if _, ok := names.Property("år"); ok {
		t.Error("a relation has the columns of the one within it")
	}
	inner, ok := names.(cql2.RelationSchema).Relation("former")
	if !ok {
		t.Fatal("no relation of a relation")
	}
	if typ, ok := inner.Property("år"); !ok || typ != cql2.TypeInteger {
		t.Errorf("%v, %t", typ, ok)
	}
	if _, ok := c.Relation("former"); ok {
		t.Error("a collection has the relation of a relation")
	}
}

// TestFoldedMarksTheCopyOnly: collections that readers share are not written.
func TestFoldedMarksTheCopyOnly(t *testing.T) {
	t.Parallel()
	columns := []store.Property{{Name: "navn", Search: store.Search{Norm: "navn_norm"}}, {Name: "nr"}}
	c := store.Collection{Properties: columns, Relations: []store.Relation{{Relations: []store.Relation{
		{Columns: slices.Clone(columns)}}}}}
	if !store.FoldedOtherwise(c.Properties, nil) || !store.FoldedOtherwise(nil, c.Relations) {
		t.Error("columns without a version of folding count as folded")
	}
	got := c.Folded()
	if store.FoldedOtherwise(got.Properties, got.Relations) || got.Properties[0].Search.Fold != fold.NormVersion ||
		got.Properties[1].Search.Fold != "" {
		t.Errorf("%+v", got)
	}
	if c.Properties[0].Search.Fold != "" || c.Relations[0].Relations[0].Columns[0].Search.Fold != "" {
		t.Error("the original is changed")
	}
}

func TestNamesThatAreTakenGetANumber(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{"a": true, "a_2": true, "a_3": true, "b": true}
	for id, want := range map[string]string{"a": "a_4", "b": "b_2", "c": "c"} {
		if got := store.Unique(id, func(s string) bool { return taken[s] }); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

func TestTablesOfProgramsAreBookkeeping(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		schema, table string
		want          bool
	}{
		{"", "layer_styles", true}, {"", "LAYER_STYLES", true}, {"public", "flyway_schema_history", true},
		{"", "kommuner", false}, {"", "", false},
	} {
		if got := store.IsBookkeeping(x.schema, x.table); got != x.want {
			t.Errorf("%s.%s: %t", x.schema, x.table, got)
		}
	}
}

func TestCompactJSONHasNoLineBreaks(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, text string
		want       store.JSON
	}{
		{"no line break: the text as it is", `{ "a": 1 }`, `{ "a": 1 }`},
		{"a line break between values", "{\n \"a\": 1\r\n}", `{"a":1}`},
		{"an escaped line break in a text", "[\n\"a\\nb\"]", `["a\nb"]`},
		{"what is no JSON stays", "{\n", "{\n"},
	} {
		if got := store.CompactJSON(x.text); got != x.want {
			t.Errorf("%s: %q", x.name, got)
		}
	}
}

func TestFilledColumnsHaveAValueInJSON(t *testing.T) {
	t.Parallel()
	for typ, want := range map[cql2.Type]bool{cql2.TypeText: true, cql2.TypeInteger: true, cql2.TypeBool: true,
		cql2.TypeNumber: false, cql2.TypeDate: false, cql2.TypeTimestamp: false} {
		if got := store.Filled(true, typ); got != want {
			t.Errorf("%v: %t", typ, got)
		}
		if store.Filled(false, typ) {
			t.Errorf("%v: a column that may be null has a value", typ)
		}
	}
}

// TestCostsAreInOrder: a store compares them.
func TestCostsAreInOrder(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range store.Costs {
		names = append(names, c.String())
	}
	if got := strings.Join(names, " "); got != "page indexed scan geometry" || !slices.IsSorted(store.Costs[:]) {
		t.Errorf("%s, %v", got, store.Costs)
	}
}
