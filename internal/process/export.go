package process

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"grense/api/ogcapi"
	"grense/internal/cql2"
	"grense/internal/format"
	"grense/internal/format/geopackage"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/problem"
	"grense/internal/store"
)

// export is a process that writes collections to a file. There are several such processes, with the ids, inputs and
// outputs that other servers of administrative divisions use.
type export struct {
	id         string
	all        bool   // exports several collections, as one layer each
	area       bool   // has inputs that select an area; needed is set if they are required
	needed     bool   //
	file       string // name of the format, see format.Find
	nb, nn, en [2]string
}

func exports() []Process {
	return []Process{
		export{id: "export-collection-gpkg", file: "gpkg",
			nb: [2]string{"Last ned et datasett", "Alle objektene i et datasett som GeoPackage."},
			nn: [2]string{"Last ned eit datasett", "Alle objekta i eit datasett som GeoPackage."},
			en: [2]string{"Download a collection", "All features of a collection as GeoPackage."}},
		export{id: "export-all-gpkg", file: "gpkg", all: true,
			nb: [2]string{"Last ned flere datasett", "Flere datasett som én GeoPackage, med et lag for hver."},
			nn: [2]string{"Last ned fleire datasett", "Fleire datasett som éin GeoPackage, med eit lag for kvar."},
			en: [2]string{"Download several collections",
				"Several collections as one GeoPackage, with a layer for each."}},
		export{id: "export-by-area-gpkg", file: "gpkg", area: true, needed: true,
			nb: [2]string{"Last ned et område",
				"Objektene i et område, som et fylke eller en kommune, som GeoPackage."},
			nn: [2]string{"Last ned eit område",
				"Objekta i eit område, som eit fylke eller ein kommune, som GeoPackage."},
			en: [2]string{"Download an area",
				"The features in an area, such as a county or a municipality, as GeoPackage."}},
		export{id: "export-collection-csv", file: "csv", area: true,
			nb: [2]string{
				"Last ned en tabell",
				"Et datasett som CSV, hele eller et område av det. Punkter har lengde og bredde i CRS84.",
			},
			nn: [2]string{
				"Last ned ein tabell",
				"Eit datasett som CSV, heile eller i eit område. Punkt har lengd og breidd i CRS84.",
			},
			en: [2]string{
				"Download a table",
				"A collection as CSV, whole or in an area. Points have longitude and latitude in CRS84.",
			}},
	}
}

func (x export) ID() string { return x.id }

func (x export) Describe(cat *store.Catalog, lang string) ogcapi.Process {
	type m = map[string]any
	in := func(nb, nn, en string) string { return localized(lang, nb, nn, en) }
	text := map[string][2]string{"nb": x.nb, "nn": x.nn}[lang]
	if text[0] == "" {
		text = x.en
	}
	f := format.Find(x.file)
	d := ogcapi.Process{
		ProcessSummary: ogcapi.ProcessSummary{
			Version:            "1.0.0",
			ID:                 x.id,
			Title:              text[0],
			Description:        text[1],
			Keywords:           []string{"export", x.file},
			JobControlOptions:  []string{Sync},
			OutputTransmission: []string{"value"},
		},
	}
	input := func(id string, least int, schema m, title string) {
		d.Inputs = append(d.Inputs, ogcapi.ProcessInput{ID: id, Title: title, Schema: schema, MinOccurs: least,
			MaxOccurs: 1})
	}
	ids := publicIDs(cat, false)
	first := "kommuner"
	if len(ids) > 0 && !slices.Contains(ids, first) {
		first = ids[0]
	}
	example := m{"collection_id": first}
	if x.all {
		input(
			"collection_ids",
			0,
			m{"type": "string", "minLength": 1},
			in("Datasett, med komma mellom; alle uten", "Datasett, med komma mellom; alle utan",
				"Collections, separated by commas; all without"),
		)
		example = m{"collection_ids": first}
	} else {
		input("collection_id", 1, m{"type": "string", "enum": orNone(ids)}, in("Datasett", "Datasett", "Collection"))
	}
	if x.area {
		least := 0
		if x.needed {
			least = 1
			example = m{"collection_id": first, "area_type": "fylke", "area_name": "Oslo"}
		}
		input("area_type", least, m{"type": "string", "enum": orNone(areaTypes(cat))},
			in("Slags område", "Slags område", "Kind of area"))
		input("area_name", 0, m{"type": "string", "minLength": 1},
			in("Navn på området", "Namn på området", "Name of the area"))
		input(
			"area_id",
			0,
			m{"type": "string", "minLength": 1},
			in("Nummer på området, i stedet for navnet", "Nummer på området, i staden for namnet",
				"Id of the area, instead of its name"),
		)
		input("area_name_field", 0, m{"type": "string", "minLength": 1},
			in("Egenskap med navnet", "Eigenskap med namnet", "Property that holds the name"))
		input(
			"predicate",
			0,
			m{"type": "string", "enum": []string{"code", "within", "intersects"}, "default": "code"},
			in("Hva som er i området: etter nummer, helt innenfor, eller berørt",
				"Kva som er i området: etter nummer, heilt innanfor, eller rørt",
				"What is in the area: by its code, wholly within it, or touched by it"),
		)
	}
	if !f.Lon {
		input("crs", 0, m{"type": "string", "format": "uri"},
			in("Koordinatsystem", "Koordinatsystem", "Coordinate reference system"))
	}
	d.Inputs = append(d.Inputs, datetimeInput(cat, lang)...)
	if !x.all {
		input(
			"properties",
			0,
			m{"type": "string", "minLength": 1},
			in("Egenskaper, med komma mellom; alle uten", "Eigenskapar, med komma mellom; alle utan",
				"Properties, separated by commas; all without"),
		)
	}
	d.Outputs = ogcapi.ProcessOutputs{
		{ID: "result", Title: f.Title, Schema: m{"type": "string", "contentMediaType": f.Media}},
	}
	if x.file == "gpkg" {
		d.Outputs[0].Schema = m{"type": "string", "contentEncoding": "binary", "contentMediaType": f.Media}
	}
	d.Example = m{"inputs": example, "response": "raw"}
	return d
}

// orNone returns list, or an empty list instead of nil, so that JSON has [] instead of null.
func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// publicIDs returns the ids of the public collections; if drawn is set, only of those with geometries.
func publicIDs(cat *store.Catalog, drawn bool) (ids []string) {
	for _, c := range cat.Collections {
		if c.Public && (!drawn || c.Geometry != nil) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// areas are the collections that have a name of their own as a kind of area.
var areas = []struct{ kind, collection string }{{"fylke", "fylker"}, {"kommune", "kommuner"}}

// areaTypes returns the kinds of areas: those in areas whose collection is public, and every public collection with
// geometries.
func areaTypes(cat *store.Catalog) (kinds []string) {
	for _, a := range areas {
		if c, ok := cat.Collection(a.collection); ok && c.Public {
			kinds = append(kinds, a.kind)
		}
	}
	return append(kinds, publicIDs(cat, true)...)
}

func errNoWriter() error {
	return problem.New(problem.Unavailable, nil, "Nothing writes GeoPackages here")
}

// Execute checks the inputs further than the schemas do. The file is written after it has returned.
func (x export) Execute(ctx context.Context, env *Env, in Inputs) (Outputs, error) {
	f := format.Find(x.file)
	if f.NeedsWriter && env.GeoPackage == nil {
		return nil, errNoWriter()
	}
	snap, err := env.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	layers, name, err := x.layers(ctx, env, in, snap)
	if err != nil {
		return nil, err
	}
	return Outputs{
		"result": {
			Media:  f.Media,
			Name:   name + f.Ext,
			Losses: f.LossesIn(layers[0].Options),
			Write: func(ctx context.Context, w io.Writer) error {
				if f.NeedsWriter {
					return geopackage.WriteTables(ctx, w, snap, layers)
				}
				return f.Produce(ctx, w, layers[0].Options, output.Source{Snapshot: snap, Query: layers[0].Query})
			},
		},
	}, nil
}

// layers returns the tables to export, and the file name without extension.
func (x export) layers(
	ctx context.Context,
	env *Env,
	in Inputs,
	snap store.Snapshot,
) (layers []geopackage.Table, name string, err error) {
	cat := snap.Catalog()
	ids := []string{in.Text("collection_id")}
	name = ids[0]
	if x.all {
		if ids, name = publicIDs(cat, false), "grense"; in.Text("collection_ids") != "" {
			ids = strings.Split(in.Text("collection_ids"), ",")
		}
	}
	var colls []*store.Collection
	for _, id := range ids {
		id = strings.TrimSpace(id)
		coll, ok := cat.Collection(id)
		if !ok || !coll.Public || slices.Contains(colls, coll) {
			return nil, "", Fault(id,
				problem.Sayf("name each collection once, of %s", strings.Join(publicIDs(cat, false), ", ")),
				map[bool]string{true: "collection_ids", false: "collection_id"}[x.all])
		}
		o := output.Options{
			Collection: coll,
			Count:      -1,
			Address:    env.Base + "/collections/" + id,
			Title:      coll.Title.In("nb"),
			Dated:      cat.Modified,
			Temp:       env.Temp,
			GeoPackage: env.GeoPackage,
		}
		if coll.Geometry != nil {
			o.CRS = coll.Geometry.CRS
		}
		if err := options(&o, in); err != nil {
			return nil, "", err
		}
		layers, colls = append(layers, geopackage.Table{Options: o, Query: store.Query{Collection: id}}),
			append(colls, coll)
	}
	if len(layers) == 0 {
		return nil, "", problem.NotFoundf("there are no collections to export")
	}
	area := &foundArea{}
	if x.area && in.Text("area_type") == "" && (in.Text("area_name") != "" || in.Text("area_id") != "") {
		return nil, "", Fault(missing{}, problem.Sayf("say what kind of area it is: %s", strings.Join(areaTypes(cat),
			", ")),
			"area_type")
	}
	if x.area && in.Text("area_type") != "" {
		if err := area.choose(cat, in); err != nil {
			return nil, "", err
		}
		colls = append(colls, area.coll)
	}
	at, err := env.moment(in, colls...)
	if err != nil {
		return nil, "", err
	}
	for i := range layers {
		layers[i].Query.AsOf = at
	}
	if area.coll != nil {
		if err := area.find(ctx, snap, in, at); err != nil {
			return nil, "", err
		}
		l := &layers[0]
		if l.Query.Filter, err = area.filter(l.Options.Collection, in.Text("predicate")); err != nil {
			return nil, "", err
		}
		l.Name = l.Query.Collection + "_" + in.Text("area_type") + "_" + area.label
		name = fileName(l.Name)
	}
	return layers, name, nil
}

// fileName removes from a name the characters that some file systems do not allow.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
}

// options reads the inputs crs and properties.
func options(o *output.Options, in Inputs) error {
	if text := in.Text("crs"); text != "" {
		id, ok := crs.Parse(text)
		if offered := o.Collection.Geometry == nil || id == o.Collection.Geometry.CRS ||
			slices.Contains(crs.Served(), id); !ok ||
			!offered {
			return Fault(text, problem.Sayf("use one of the coordinate systems that the collection lists"), "crs")
		}
		o.CRS = id
	}
	text := in.Text("properties")
	if text == "" {
		return nil
	}
	o.SkipGeometry = o.Collection.Geometry != nil
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if g := o.Collection.Geometry; g != nil && o.Collection.Canonical(name) == g.Name {
			o.SkipGeometry = false
			continue
		}
		p, ok := o.Collection.Find(name)
		if !ok || p.Hidden || slices.Contains(o.Properties, name) {
			return Fault(text, problem.Sayf("name each property once, of %s", strings.Join(o.Collection.Shown(), ", ")),
				"properties")
		}
		o.Properties = append(o.Properties, name)
	}
	if o.Properties == nil {
		o.Properties = []string{}
	}
	return nil
}

// foundArea is the feature that the inputs select as the area.
type foundArea struct {
	kind, label string
	coll        *store.Collection
	id          string
	geometry    cql2.Expr
}

// choose finds the collection of the area.
func (a *foundArea) choose(cat *store.Catalog, in Inputs) error {
	a.kind = in.Text("area_type")
	id := a.kind
	for _, x := range areas {
		if x.kind == a.kind {
			id = x.collection
		}
	}
	coll, ok := cat.Collection(id)
	if !ok || !coll.Public || coll.Geometry == nil {
		return Fault(a.kind, problem.Sayf("use one of %s", strings.Join(areaTypes(cat), ", ")), "area_type")
	}
	a.coll = coll
	return nil
}

// find looks up the area by its id or its name. If its collection has versions, it takes the version valid at the given
// time.
func (a *foundArea) find(ctx context.Context, snap store.Snapshot, in Inputs, at time.Time) error {
	a.id, a.label = in.Text("area_id"), in.Text("area_id")
	if a.id == "" {
		if err := a.byName(ctx, snap, in, at); err != nil {
			return err
		}
	}
	found := false
	rows, err := a.coll.RowsOf(ctx, snap, []string{a.id}, at)
	if err != nil {
		return err
	}
	err = snap.Fetch(
		ctx,
		a.coll.ID,
		rows,
		store.Want{Properties: []string{}, SkipMissing: true},
		func(f *store.Feature) error {
			found = true
			if f.Geometry.IsNull() {
				return nil
			}
			g, err := wkb.Decode(f.Geometry.WKB)
			a.geometry = cql2.Geom{G: g, CRS: a.coll.Geometry.CRS}
			return err
		},
	)
	if err == nil && !found {
		err = Fault(a.id, problem.Sayf("there is no such %s", a.kind), "area_id")
	}
	return err
}

// byName finds the area with a name. It fails if there are none or several.
func (a *foundArea) byName(ctx context.Context, snap store.Snapshot, in Inputs, at time.Time) error {
	name, field := in.Text("area_name"), in.Text("area_name_field")
	if name == "" {
		return Fault(missing{}, problem.Sayf("say which area, with area_name or area_id"), "area_name")
	}
	if field == "" {
		if field = "navn"; !visible(a.coll, field) {
			field = a.coll.TitleProperty
		}
	}
	if !visible(a.coll, field) {
		return Fault(field, problem.Sayf("name a property of %s: %s", a.coll.ID, strings.Join(a.coll.Shown(), ", ")),
			"area_name_field")
	}
	e, err := cql2.Check(cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: field}, R: cql2.Text(name)}, a.coll)
	if err != nil {
		return Fault(field, problem.Sayf("name a property that holds texts"), "area_name_field")
	}
	p, err := snap.Page(ctx, store.Query{Collection: a.coll.ID, Filter: e, Limit: 2, Count: store.CountNone, AsOf: at})
	switch {
	case err != nil:
		return err
	case len(p.Rows) == 0:
		return Fault(name,
			problem.Sayf("there is no %s with this %s; write the name as in %s, or use area_id", a.kind,
				field, a.coll.ID),
			"area_name")
	case len(p.Rows) > 1:
		return Fault(name, problem.Sayf("several areas have this name; use area_id"), "area_name")
	}
	a.label = name
	return snap.Fetch(
		ctx,
		a.coll.ID,
		p.Rows,
		store.Want{Properties: []string{}, NoGeometry: true},
		func(f *store.Feature) error {
			a.id = strings.Clone(f.Public())
			return nil
		},
	)
}

func visible(c *store.Collection, name string) bool {
	p, ok := c.Find(name)
	return ok && !p.Hidden
}

// filter returns the condition that selects the features of a collection in the area. predicate is within, intersects
// or code.
func (a *foundArea) filter(coll *store.Collection, predicate string) (cql2.Expr, error) {
	var e cql2.Expr
	switch predicate {
	case "within", "intersects":
		if coll.Geometry == nil || a.geometry == nil {
			return nil, Fault(predicate, problem.Sayf("there is no geometry to compare; use code"), "predicate")
		}
		e = cql2.Spatial{Op: cql2.SpatialOp("s_" + predicate), L: cql2.Prop{Name: coll.Geometry.Name}, R: a.geometry}
	default:
		if e = a.byCode(coll); e == nil {
			return nil, Fault(predicate,
				problem.Sayf("nothing in %s states the %s of a feature; use within or intersects", coll.ID, a.kind),
				"predicate")
		}
	}
	return cql2.Check(e, coll)
}

// codeNames are the endings of property names that, after the kind of area, name a property with the code of an area:
// "kommunenummer", for example.
var codeNames = []string{"nummer", "snummer", "_nr", "nr", "_id", "_kode", "kode", "_code", "code"}

// byCode returns a condition that compares codes. It compares the property of coll that holds the code of the area. If
// there is none and coll holds the municipalities of a county, it compares the beginning of their numbers. It returns
// nil if neither is possible.
func (a *foundArea) byCode(coll *store.Collection) cql2.Expr {
	if coll.ID == a.coll.ID {
		return a.itself(coll)
	}
	for _, p := range coll.Properties {
		if p.Hidden || p.Type != cql2.TypeText {
			continue
		}
		if p.Ref == a.coll.ID ||
			slices.ContainsFunc(codeNames, func(end string) bool { return strings.EqualFold(p.Name, a.kind+end) }) {
			return cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: p.Name}, R: cql2.Text(a.id)}
		}
	}
	if a.kind == "fylke" && coll.ID == "kommuner" {
		return a.begins(coll)
	}
	return nil
}

// itself returns the condition that a feature is the area; nil if the ids are not text.
func (a *foundArea) itself(coll *store.Collection) cql2.Expr {
	if coll.Versions != nil {
		e, _ := coll.IsFeature(a.id)
		return e
	}
	if coll.Key.Type != cql2.TypeText || coll.Key.Property == "" {
		return nil
	}
	return cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: coll.Key.Property}, R: cql2.Text(a.id)}
}

// begins returns the condition that a feature id begins with the id of the area; nil if the ids are not text.
func (a *foundArea) begins(coll *store.Collection) cql2.Expr {
	kind := coll.Key.Type // of the rows; versions of a feature share its id
	if coll.Versions != nil {
		kind, _ = coll.Property(coll.Versions.ID)
	}
	if kind != cql2.TypeText || coll.Key.Property == "" {
		return nil
	}
	pattern := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(a.id) + "%"
	return cql2.Like{X: cql2.Prop{Name: coll.Key.Property}, Pattern: cql2.Text(pattern)}
}

// distinct is the process that returns the distinct values of a property.
type distinct struct{}

func (distinct) ID() string { return "get-distinct-values" }

func (distinct) Describe(cat *store.Catalog, lang string) ogcapi.Process {
	type m = map[string]any
	in := func(nb, nn, en string) string { return localized(lang, nb, nn, en) }
	return ogcapi.Process{
		ProcessSummary: ogcapi.ProcessSummary{
			Version:  "1.0.0",
			ID:       "get-distinct-values",
			Title:    in("Verdier av en egenskap", "Verdiar av ein eigenskap", "Values of a property"),
			Keywords: []string{"values"},
			Description: in("De verdiene som en egenskap har, hver én gang og i rekkefølge.",
				"Dei verdiane som ein eigenskap har, kvar éin gong og i rekkjefølgje.",
				"The values that a property has, each once and in order."),
			JobControlOptions:  []string{Sync},
			OutputTransmission: []string{"value"},
		},
		Inputs: append(ogcapi.ProcessInputs{
			{
				ID:        "resource_name",
				Title:     in("Datasett", "Datasett", "Collection"),
				Schema:    m{"type": "string", "enum": orNone(publicIDs(cat, false))},
				MinOccurs: 1,
				MaxOccurs: 1,
			},
			{
				ID:        "queryable",
				Title:     in("Egenskap", "Eigenskap", "Property"),
				Schema:    m{"type": "string", "minLength": 1},
				MinOccurs: 1,
				MaxOccurs: 1,
			}}, datetimeInput(cat, lang)...),
		Outputs: ogcapi.ProcessOutputs{
			{
				ID:    "values",
				Title: in("Verdier", "Verdiar", "Values"),
				Schema: m{"type": "object", "contentMediaType": "application/json",
					"required":   []string{"id", "value"},
					"properties": m{"id": m{"type": "string"}, "value": m{"type": "array"}}},
			},
		},
		Example: m{"inputs": m{"resource_name": "kommuner", "queryable": "navn"}},
	}
}

// maxDistinct is the largest number of values in one result.
const maxDistinct = 100_000

// errMany ends the reading when there are more than maxDistinct values.
var errMany = fmt.Errorf("process: there are more than %d values", maxDistinct)

// hasDistinct reports whether the process accepts a property: any except lists and geometries.
func hasDistinct(p store.Property) bool {
	return !p.Hidden && p.Type != cql2.TypeJSON && p.Type != cql2.TypeGeometry
}

// Execute reads the property of all features.
func (distinct) Execute(ctx context.Context, env *Env, in Inputs) (Outputs, error) {
	snap, err := env.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	coll, ok := snap.Catalog().Collection(in.Text("resource_name"))
	if !ok || !coll.Public {
		return nil, Fault(in.Text("resource_name"),
			problem.Sayf("use one of %s", strings.Join(publicIDs(snap.Catalog(), false), ", ")), "resource_name")
	}
	name := in.Text("queryable")
	p, ok := coll.Find(name)
	if !ok || !hasDistinct(*p) {
		var names []string
		for _, p := range coll.Properties {
			if hasDistinct(p) {
				names = append(names, p.Name)
			}
		}
		return nil, Fault(name, problem.Sayf("use one of %s", strings.Join(names, ", ")), "queryable")
	}
	at, err := env.moment(in, coll)
	if err != nil {
		return nil, err
	}
	values, seen := []any{}, map[any]bool{}
	q := store.Query{
		Collection: coll.ID,
		SortBy:     []store.Sort{{Property: name}},
		Limit:      5000,
		Count:      store.CountNone,
		AsOf:       at,
	}
	for {
		page, err := snap.Page(ctx, q)
		if err != nil {
			return nil, err
		}
		err = snap.Fetch(
			ctx,
			coll.ID,
			page.Rows,
			store.Want{Properties: []string{name}, NoGeometry: true},
			func(f *store.Feature) error {
				v := f.Values[0]
				if v == nil || seen[v] {
					return nil
				}
				if text, ok := v.(string); ok {
					v = strings.Clone(text)
				}
				if len(values) == maxDistinct {
					return errMany
				}
				seen[v] = true
				values = append(values, v)
				return nil
			},
		)
		if err == errMany {
			return nil,
				Fault(name, problem.Sayf("it has more than %d values; choose another one", maxDistinct), "queryable")
		}
		if err != nil {
			return nil, err
		}
		if page.Next == "" {
			return Outputs{"values": {Value: valuesOf{ID: "values", Value: values}}}, nil
		}
		q.Cursor = page.Next
	}
}

// valuesOf is the JSON output of get-distinct-values.
type valuesOf struct {
	ID    string `json:"id"`
	Value []any  `json:"value"`
}
