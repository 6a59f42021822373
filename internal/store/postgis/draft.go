package postgis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
)

// draft is a table while it is being opened.
type draft struct {
	table    *catalog.Table
	settings store.Settings
	own      *store.Collection // our definition, if the table is ours
	written  time.Time         // when own was written
	geometry catalog.Column    // zero: none
	srid     int
	crs      crs.ID
	shift    bool // the database transforms geometries from srid to crs
	curable  bool // refused because of its rows; opening is tried again later
	assigned bool // geometries have no SRID; settings.StorageCRS gives it
	notes    []store.Note
	items    map[string]string // earlier results of setItems, by itemsName
	bounded  bool              // columns were read before, so new ones are bounded
	measured *survey           // earlier survey of the same geometries; nil: none
	stored   bool              // measured comes from the file; the table will be read again later
	progress func(rows int)    // called regularly while reading
	versions *versionColumns   // nil: rows are features
	uncut    bool              // Options.Uncut
}

func (d *draft) refuse(format string, a ...any) {
	own := ""
	if d.own != nil {
		own = d.own.ID
	}
	id := store.CollectionID(cmp.Or(d.settings.ID, own, d.table.Name))
	d.notes = append(d.notes, store.Note{Layer: d.table.Layer(), Collection: id, Refused: true,
		Reason: fmt.Sprintf(format, a...)})
}

// refuseRows is refuse because of rows: opening is tried again, and succeeds once the rows are correct.
func (d *draft) refuseRows(format string, a ...any) {
	d.curable = true
	d.refuse(format, a...)
}

func (d *draft) warn(format string, a ...any) {
	d.notes = append(d.notes, store.Note{Layer: d.table.Layer(), Reason: fmt.Sprintf(format, a...)})
}

// misset adds a warning about a setting that does not fit the source.
func (d *draft) misset(format string, a ...any) {
	d.notes = append(d.notes, store.Note{Layer: d.table.Layer(), Setting: true, Reason: fmt.Sprintf(format, a...)})
}

func (d *draft) refused() bool {
	return slices.ContainsFunc(d.notes, func(n store.Note) bool { return n.Refused })
}

// findGeometry selects the geometry column: the configured one, else the first that is not hidden. There may be none.
func (d *draft) findGeometry() {
	wanted := d.settings.GeometryColumn
	if d.own != nil && d.own.Geometry != nil {
		wanted = d.own.Geometry.Column
	}
	var found []catalog.Column
	for _, c := range d.table.Columns {
		if c.IsGeometry() && !slices.Contains(d.settings.HiddenColumns, c.Name) {
			found = append(found, c)
		}
	}
	at := slices.IndexFunc(found, func(c catalog.Column) bool { return wanted == "" || c.Name == wanted })
	if at >= 0 {
		d.geometry = found[at]
	}
	switch {
	case d.own != nil:
	case wanted != "" && at < 0:
		d.refuse("there is no column %q with a geometry that is served; name another one in geometry_column", wanted)
	case wanted == "" && len(found) > 1:
		for _, c := range found[1:] {
			d.warn("column %q is left out: %q is the geometry; geometry_column chooses another one", c.Name,
				d.geometry.Name)
		}
	}
}

// place determines the reference system.
func (d *draft) place(ctx context.Context, c *pgxpool.Conn) error {
	if d.srid = d.geometry.SRID; d.srid == 0 && d.geometry.Base == "geometry" {
		srids, err := d.foundSRIDs(ctx, c)
		if err != nil {
			return err
		}
		switch {
		case len(srids) > 1:
			d.refuseRows("geometries are in several reference systems (SRID %d and %d); give the column one, "+
				"with ALTER TABLE ... TYPE geometry(Geometry, SRID)", srids[0], srids[1])
			return nil
		case len(srids) == 1:
			d.srid = srids[0]
		case d.own != nil && d.own.Geometry != nil:
			d.crs = d.own.Geometry.CRS
			return nil
		}
	} else if d.srid == 0 {
		d.srid = 4326
	}
	authority, code := "EPSG", d.settings.StorageCRS
	switch {
	case d.srid == 0 && code > 0:
		d.assigned = true
	case code > 0:
		d.misset("the table states its reference system, SRID %d, so that storage_crs is not used", d.srid)
	case d.srid == 0:
		d.refuse("the reference system is not known (SRID 0); name it in storage_crs, as EPSG:25833, or set one, " +
			"with ALTER TABLE ... TYPE geometry(Geometry, SRID) USING ST_SetSRID(...)")
		return nil
	}
	text := ""
	if !d.assigned {
		var err error
		if authority, code, text, err = catalog.SystemOf(ctx, c, d.srid); err != nil {
			return err
		}
	}
	id, note, wrong := crs.ID(0), "", "unknown"
	if authority == "EPSG" || code == 900913 {
		id, note, wrong = crs.FromEPSG(code)
	}
	if wrong != "" && text != "" { // identified by its parameters
		id, note, wrong = crs.FromText(text)
	}
	switch {
	case d.own != nil && d.own.Geometry != nil && crs.Same(d.own.Geometry.CRS, crs.ID(code)):
		d.crs = d.own.Geometry.CRS // both have SRID 4326
	case wrong == "":
		if d.crs = id; note != "" {
			d.warn("%s", note)
		}
	case authority == "EPSG":
		why, to := crs.Unserved(code)
		if to == crs.ETRS89 && !d.assigned {
			d.crs, d.shift = to, true
			d.shifted(code)
			return nil
		}
		d.refuse("%s (SRID %d); serve a view with ST_Transform(%s, %d)", why, d.srid, d.geometry.Name, int(to))
	default:
		d.refuse("the reference system %s:%d (SRID %d) is not served; serve a view with ST_Transform(%s, 4326)",
			authority, code, d.srid, d.geometry.Name)
	}
	return nil
}

// shifted makes the database transform the geometries, since their EPSG system uses another datum than ours.
func (d *draft) shifted(code int) {
	before, after := d.transform()
	expr := before + quote(d.geometry.Name) + after
	d.warn("EPSG:%d is transformed by PostGIS to %v, as exactly as the grids allow that its PROJ has; "+
		"for boxes to use an index, let its owner run: CREATE INDEX ON %s USING gist (%s)",
		code, d.crs, d.table.Quoted(), expr)
}

// transform returns sqlq.Geometry.Before and After. They replace circular arcs by lines first, in metres, since an arc
// is not an arc in another system.
func (d *draft) transform() (before, after string) {
	switch {
	case d.assigned:
		return "ST_SetSRID(", fmt.Sprintf(", %d)", catalog.SRID(d.crs))
	case !d.shift:
		return "", ""
	}
	before, after = "ST_Transform(", fmt.Sprintf(", %d)", catalog.SRID(d.crs))
	switch strings.TrimRight(strings.ToUpper(d.geometry.GeometryType), "ZM") {
	case "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON":
		return before, after
	}
	return before + "ST_CurveToLine(", fmt.Sprintf(", %v, 1, 1)", wkb.ChordMetres) + after
}

// keyColumns returns the columns of the feature id and whether an index guarantees that they are unique. If there are
// none, reason says why.
func (d *draft) keyColumns() (names []string, sure bool, reason string) {
	if v := d.versions; v != nil && v.keyed && d.own == nil {
		return []string{v.id, v.start}, true, ""
	}
	configured := d.settings.IDColumns
	if d.versions != nil {
		configured = nil
	}
	if len(configured) == 0 && d.own != nil {
		configured = []string{d.own.Key.Column}
	}
	if len(configured) > 0 {
		for _, n := range configured {
			if _, ok := d.table.Column(n); !ok {
				return nil, false, fmt.Sprintf("there is no column %q for the feature id; name one in id_column", n)
			}
		}
		return configured, d.isUnique(names...), ""
	}
	if len(d.table.Keys) > 0 {
		return d.table.Keys[0], true, ""
	}
	const cure = "; name the column whose values are unique and without null, or a list of several columns, in " +
		"id_column"
	switch d.table.Kind {
	case 'v':
		return nil, false, "it is a view that does not show each row of one table with the whole of its primary key" +
			cure
	case 'm':
		return nil, false, "no unique index identifies its rows; create one with CREATE UNIQUE INDEX, or name the " +
			"column that is unique and without null in id_column"
	case 'f':
		return nil, false, "a foreign table has no primary key" + cure
	}
	return nil, false, "there is no primary key, and no unique index over columns that are declared NOT NULL, " +
		"for all of its rows" + cure
}

// isUnique reports whether an index guarantees that these columns identify rows.
func (d *draft) isUnique(names ...string) bool {
	return slices.ContainsFunc(d.table.Keys, func(k []string) bool {
		return !slices.ContainsFunc(k, func(n string) bool { return !slices.Contains(names, n) })
	})
}
