package survey

import (
	"cmp"
	"fmt"

	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/schema"
	"grense/internal/store/gpkg/sqlite"
)

// Draft is a layer while it is being opened.
type Draft struct {
	schema.Contents
	n        int    // position of the layer, used in names of tables in the side file
	at       string // qualifier of these tables: see sideWriter.at
	table    *sqlite.Table
	crs      crs.ID
	settings store.Settings
	texts    map[string]schema.ColumnText // from gpkg_data_columns, by column in lower case
	own      *schema.Definition           // our definition, if Grense wrote the file
	Notes    []store.Note
	survey   *layerSurvey // nil: not known yet
	ownIndex bool         // do not use the source's R-tree

	uncut bool // Surveyor.Uncut

	versions *versionSurvey // survey.Versions, before the survey is complete
}

func (d *Draft) refuse(format string, a ...any) {
	own := ""
	if d.own != nil {
		own = d.own.ID
	}
	id := store.CollectionID(cmp.Or(d.settings.ID, own, d.Contents.Table))
	d.Notes = append(d.Notes, store.Note{Layer: d.Contents.Table, Collection: id, Refused: true,
		Reason: fmt.Sprintf(format, a...)})
}

func (d *Draft) warn(format string, a ...any) {
	d.Notes = append(d.Notes, store.Note{Layer: d.Contents.Table, Reason: fmt.Sprintf(format, a...)})
}

// misset adds a warning about a setting that does not fit the source.
func (d *Draft) misset(format string, a ...any) {
	d.Notes = append(d.Notes, store.Note{Layer: d.Contents.Table, Setting: true, Reason: fmt.Sprintf(format, a...)})
}

// Refused reports whether the layer cannot be served; Notes say why.
func (d *Draft) Refused() bool {
	for _, n := range d.Notes {
		if n.Refused {
			return true
		}
	}
	return false
}

// IDs returns the collection id of a layer by the configuration or the source, and by the source alone.
func (d *Draft) IDs(l *layer.Layer) (id, own string) {
	own = store.CollectionID(cmp.Or(l.ID, d.table.Name))
	if d.settings.ID != "" {
		return store.CollectionID(d.settings.ID), own
	}
	return own, own
}
