package survey

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"grense/internal/store"
	"grense/internal/store/gpkg/schema"
	"grense/internal/store/gpkg/sqlite"
)

// manyTrees is the number of R-trees from which they are not used, unless a layer is too large: see sqlite.ForgetTrees.
const manyTrees = 1000

// mostWithoutTree is the largest number of features among which boxes may be searched row by row.
const mostWithoutTree = 50_000

// ForgetTrees reports whether layers should be served without their R-trees, and does so.
func ForgetTrees(drafts []*Draft, schema *sqlite.Schema) bool {
	trees, forget := 0, true
	for _, d := range drafts {
		if d.survey != nil && d.survey.Index != "" {
			trees++
			forget = forget && d.survey.Count <= mostWithoutTree
		}
	}
	if !forget || trees < manyTrees || len(schema.Views) > 0 {
		return false
	}
	for _, d := range drafts {
		if d.survey != nil {
			sv := *d.survey
			sv.Index = ""
			d.survey = &sv
		}
	}
	return true
}

// Unserved are layers without drafts.
type Unserved struct{ Hidden, Bookkeeping []string }

// Drafts returns a draft for each layer, including refused ones.
func (s *Surveyor) Drafts(c *sqlite.Conn) (served []*Draft, not Unserved, err error) {
	list, err := schema.ReadContents(c)
	if err != nil {
		return nil, not, err
	}
	own, err := schema.ReadDefinitions(c)
	if err != nil {
		return nil, not, err
	}
	var drafts []*Draft
	for _, x := range list {
		d := &Draft{Contents: x, at: inSide, settings: s.settingsOf(x.Table), own: own[strings.ToLower(x.Table)],
			uncut: s.Uncut}
		delete(own, strings.ToLower(x.Table))
		drafts = append(drafts, d)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) { // our tables that are not layers for other programs
		def := own[name]
		drafts = append(drafts, &Draft{Contents: schema.Contents{Table: def.Table, Kind: "attributes"}, at: inSide,
			settings: s.settingsOf(def.Table), own: def})
	}
	texts, textsErr := schema.ReadColumnTexts(c)
	if textsErr != nil && !sqlite.IsFaulty(textsErr) {
		return nil, not, textsErr
	}
	served = drafts[:0]
	for i, d := range drafts {
		name := d.Contents.Table
		switch {
		case d.settings.Hidden:
			not.Hidden = append(not.Hidden, name)
			continue
		case d.own == nil && len(d.Geometries) == 0 && store.IsBookkeeping("", name) && !s.configures(name):
			not.Bookkeeping = append(not.Bookkeeping, name)
			continue
		}
		d.n = i
		if err := d.check(c, texts, textsErr); sqlite.IsFaulty(err) {
			d.refuse("%s", unreadable(err))
		} else if err != nil {
			return nil, not, err
		}
		served = append(served, d)
	}
	return served, not, nil
}

// settingsOf returns the settings of a layer, by its name or by the collection id derived from it.
func (s *Surveyor) settingsOf(layer string) store.Settings {
	if x, ok := s.Settings[layer]; ok {
		return x
	}
	return s.Settings[store.CollectionID(layer)]
}

// configures reports whether there are settings for a layer.
func (s *Surveyor) configures(layer string) bool {
	_, byName := s.Settings[layer]
	_, byID := s.Settings[store.CollectionID(layer)]
	return byName || byID
}

// check refuses a draft that is not a table of features or attributes. texts and textsErr are the results of
// schema.ReadColumnTexts.
func (d *Draft) check(c *sqlite.Conn, texts map[string]map[string]schema.ColumnText, textsErr error) (err error) {
	if d.own != nil && schema.IsFoldedOtherwise(d.own.Properties, d.own.Relations) {
		d.refuse(store.OldFold)
		return nil
	}
	switch d.Kind {
	case "features", "attributes", "aspatial": // aspatial: GDAL before GeoPackage 1.2
	case "tiles", "2d-gridded-coverage", "vector-tiles":
		d.refuse("the data type %q is not served, only features and attributes", d.Kind)
		return nil
	default:
		d.refuse("the data type %q is not known; set data_type in gpkg_contents to features or attributes", d.Kind)
		return nil
	}
	if d.table, err = sqlite.ReadTable(c, d.Contents.Table); err != nil {
		return err
	}
	if d.table == nil || len(d.table.Columns) == 0 {
		d.refuse("there is no table or view of that name; remove its row from gpkg_contents, or set hidden of the " +
			"collection")
		return nil
	}
	hidden := func(column string) bool { return slices.Contains(d.settings.HiddenColumns, column) }
	d.table.Columns = slices.DeleteFunc(d.table.Columns, func(col sqlite.Column) bool { return hidden(col.Name) })
	if d.Kind == "features" && len(d.Geometries) == 0 {
		d.refuse("gpkg_geometry_columns does not name its geometry column; add its row there")
		return nil
	}
	d.chooseGeometry(slices.DeleteFunc(d.Geometries, func(g schema.GeometryColumn) bool { return hidden(g.Geometry) }))
	if textsErr != nil {
		return textsErr
	}
	d.texts = texts[sqlite.Lower(d.table.Name)]
	if d.Geometry != "" && !d.Refused() {
		col, ok := d.table.Column(d.Geometry)
		if !ok {
			d.refuse("the geometry column %q does not exist; correct its name in gpkg_geometry_columns", d.Geometry)
			return nil
		}
		d.Geometry = col.Name
		d.place()
	}
	return nil
}

// chooseGeometry selects the configured geometry column, else the first in the table. It ignores hidden ones.
func (d *Draft) chooseGeometry(columns []schema.GeometryColumn) {
	wanted := d.settings.GeometryColumn
	if d.own != nil && d.own.Geometry != nil && len(columns) > 0 {
		wanted = d.own.Geometry.Column
	}
	place := func(g schema.GeometryColumn) int {
		return slices.IndexFunc(d.table.Columns, func(col sqlite.Column) bool {
			return strings.EqualFold(col.Name, g.Geometry)
		})
	}
	slices.SortStableFunc(columns, func(a, b schema.GeometryColumn) int { return place(a) - place(b) })
	at := slices.IndexFunc(columns, func(g schema.GeometryColumn) bool {
		return wanted == "" || strings.EqualFold(g.Geometry, wanted)
	})
	if at < 0 {
		if wanted != "" {
			d.refuse("there is no column %q with a geometry that is served; name another one in geometry_column",
				wanted)
		}
		return
	}
	d.GeometryColumn = columns[at]
	for _, g := range slices.Delete(slices.Clone(columns), at, at+1) {
		if d.settings.GeometryColumn == "" {
			d.warn("column %q is left out: %q is the geometry; geometry_column chooses another one",
				g.Geometry, d.Geometry)
		}
		d.table.Columns = slices.DeleteFunc(d.table.Columns, func(col sqlite.Column) bool {
			return strings.EqualFold(col.Name, g.Geometry)
		})
	}
}

// IsSampled reports whether the survey is based on a sample.
func (d *Draft) IsSampled() bool { return d.survey != nil && d.survey.Sampled }

// Open is sqlite.Open for a connection that surveys a file. It cannot use R-trees if the file has very many of them,
// and no view that may read one.
func Open(path string, m sqlite.Mode) (*sqlite.Conn, error) {
	c, err := sqlite.OpenWithoutTrees(path, m)
	if err != nil {
		return nil, err
	}
	schema, err := c.Schema()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	trees := 0
	for _, sql := range schema.Tables {
		if strings.HasPrefix(strings.ToUpper(sql), "CREATE VIRTUAL ") {
			trees++
		}
	}
	if trees >= manyTrees && len(schema.Views) == 0 {
		return c, nil
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	return sqlite.Open(path, m)
}
