package postgis

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// survey is the result of reading a whole table.
type survey struct {
	Count int
	Key   []string // columns of the feature id
	Sure  bool     // an index guarantees that they are unique
	store.Spread
	Empty       int    // geometries without positions
	Broken      int    // invalid geometries (package wkb)
	FirstBroken string // id of the first one
	Z           bool
	Temporal    [2]*time.Time
	Items       []string // Property.Items of each property
	Members     [][]store.Member
	SRID        int // of the geometries
}

// foundSRIDs returns up to two SRIDs that occur in geometries.
func (d *draft) foundSRIDs(ctx context.Context, c *pgxpool.Conn) (list []int, err error) {
	if d.own != nil && d.own.Geometry != nil { // a constraint guarantees it
		return []int{int(catalog.SRID(d.own.Geometry.CRS))}, nil
	}
	if d.stored && d.measured != nil && d.measured.SRID != 0 {
		return []int{d.measured.SRID}, nil
	}
	g := quote(d.geometry.Name)
	err = conn.Each(ctx, c, "SELECT DISTINCT ST_SRID("+g+") FROM "+d.table.Quoted()+" WHERE "+g+" IS NOT NULL LIMIT 2",
		func(rows pgx.Rows) error {
			var srid int
			err := rows.Scan(&srid)
			list = append(list, srid)
			return err
		})
	slices.Sort(list)
	return list, err
}

// examine reads the whole table; false if it is refused.
func (d *draft) examine(ctx context.Context, c *pgxpool.Conn) (*survey, bool, error) {
	sv := &survey{}
	if ok, err := d.chooseKey(ctx, c, sv); err != nil || !ok {
		return nil, false, err
	}
	if m := d.measured; m != nil && d.stored {
		sv.Temporal, sv.Count = m.Temporal, m.Count
	} else if err := d.moments(ctx, c, sv); err != nil {
		return nil, false, err
	}
	if d.geometry.Name == "" {
		if d.measured != nil && d.stored {
			return sv, true, nil
		}
		return sv, true, c.QueryRow(ctx, "SELECT count(*) FROM "+d.table.Quoted()).Scan(&sv.Count)
	}
	degree, err := crs.Between(d.crs, crs.CRS84)
	if err != nil {
		return nil, false, conn.Own(err)
	}
	x := quote(d.geometry.Name)
	if d.geometry.Base == "geography" {
		x += "::geometry"
	}
	before, after := d.transform()
	x = before + x + after
	if m := d.measured; m != nil {
		key, sure, temporal := sv.Key, sv.Sure, sv.Temporal
		*sv = *m
		sv.Key, sv.Sure, sv.Temporal, sv.Items = key, sure, temporal, nil
	} else {
		err = d.measure(ctx, c, sv, x, degree)
	}
	if err != nil {
		return nil, false, err
	}
	if wrong, note := sv.Misplaced(d.placing()); wrong != "" {
		d.refuseRows("%s", wrong)
	} else if note != "" {
		d.warn("%s", note)
	}
	if sv.Broken > 0 {
		d.warn("%d features have a geometry that cannot be read (the first is %s); they are served without", sv.Broken,
			sv.FirstBroken)
	}
	return sv, !d.refused(), nil
}

// placing returns how to interpret the geometries.
func (d *draft) placing() store.Placing {
	return store.Placing{CRS: d.crs, Geodesic: d.geometry.Base == "geography", Ours: d.own != nil, Uncut: d.uncut}
}

// measure reads all geometries through an expression.
func (d *draft) measure(ctx context.Context, c *pgxpool.Conn, sv *survey, expr string, degree crs.Func) error {
	var id []string
	for _, n := range sv.Key {
		id = append(id, quote(n))
	}
	return conn.Each(ctx, c, "SELECT ST_AsBinary("+expr+"), concat_ws(';', "+strings.Join(id, ", ")+") FROM "+
		d.table.Quoted(), func(rows pgx.Rows) error {
		if sv.Count++; sv.Count%10000 == 0 && d.progress != nil {
			d.progress(sv.Count)
		}
		sv.add(rows.RawValues()[0], d.crs, string(rows.RawValues()[1]), degree)
		return nil
	})
}

func (sv *survey) add(geometry []byte, system crs.ID, id string, degree crs.Func) {
	if geometry == nil {
		return
	}
	geometry, in, err := wkb.Lines(geometry, store.Chord(system))
	if err != nil {
		if sv.Broken++; sv.Broken == 1 {
			sv.FirstBroken = id
		}
		return
	}
	sv.Z = sv.Z || in.HasZ
	if in.Positions == 0 {
		sv.Empty++
		return
	}
	sv.Add(geometry, system, degree)
}

// chooseKey selects the columns of the feature id. If no index guarantees that they are unique, it counts.
func (d *draft) chooseKey(ctx context.Context, c *pgxpool.Conn, sv *survey) (bool, error) {
	v, fault, err := d.findVersions(ctx, c)
	if err != nil {
		return false, err
	}
	if fault != "" {
		d.refuse("%s", fault)
		return false, nil
	}
	d.versions = v
	names, sure, reason := d.keyColumns()
	if names == nil {
		d.refuse("%s", reason)
		return false, nil
	}
	if !sure || d.table.Nullable {
		var quoted, text []string
		for _, n := range names {
			quoted, text = append(quoted, quote(n)), append(text, quote(n)+`::text COLLATE "C"`)
		}
		var rows, nulls, different int
		err = c.QueryRow(ctx, "SELECT count(*), count(*) FILTER (WHERE num_nulls("+strings.Join(quoted, ", ")+
			") > 0), count(DISTINCT ("+
			strings.Join(text, ", ")+")) FROM "+d.table.Quoted()).Scan(&rows, &nulls, &different)
		name := strings.Join(names, ", ")
		switch {
		case err != nil:
			return false, err
		case nulls > 0:
			d.refuseRows("column %q cannot be the feature id: %d values are null; name one that is unique and "+
				"without null in id_column", name, nulls)
			return false, nil
		case different < rows:
			d.refuseRows("column %q cannot be the feature id: %d of %d values occur more than once; "+
				"name one that is unique and without null in id_column",
				name, rows-different, rows)
			return false, nil
		}
	}
	sv.Key, sv.Sure = names, sure && !d.table.Nullable
	return true, nil
}

// moments finds the first and the last moment of all rows.
func (d *draft) moments(ctx context.Context, c *pgxpool.Conn, sv *survey) error {
	columns, begin, end := d.momentColumns()
	if len(columns) == 0 {
		return nil
	}
	const years = " BETWEEN '0001-01-01' AND '9999-12-31'"
	closing := func(column string) string {
		if column == "" {
			return "TRUE"
		}
		return "bool_and(coalesce(" + column + years + ", FALSE)) IS NOT FALSE"
	}
	var first, last []string
	for _, x := range columns {
		first = append(first, "min("+x+") FILTER (WHERE "+x+years+")::timestamptz")
		last = append(last, "max("+x+") FILTER (WHERE "+x+years+")::timestamptz")
	}
	var begins, ends bool
	err := c.QueryRow(ctx, "SELECT least("+strings.Join(first, ", ")+"), greatest("+strings.Join(last, ", ")+"), "+
		closing(begin)+", "+closing(end)+" FROM "+d.table.Quoted()).
		Scan(&sv.Temporal[0], &sv.Temporal[1], &begins, &ends)
	for i, t := range sv.Temporal {
		if t != nil {
			utc := t.UTC()
			sv.Temporal[i] = &utc
		}
	}
	if !begins {
		sv.Temporal[0] = nil
	}
	if !ends {
		sv.Temporal[1] = nil
	}
	return err
}

// momentColumns returns the expressions with the time of features, and those whose null means an open begin or end; ""
// if there are none.
func (d *draft) momentColumns() (columns []string, begin, end string) {
	var c store.Collection
	if d.own != nil {
		c = *d.own
	} else {
		for _, col := range d.table.Columns {
			switch t, ok := col.Type(); {
			case !ok || slices.Contains(d.settings.HiddenColumns, col.Name):
			case col.IsRange():
				for _, p := range rangeParts(col) {
					c.Properties = append(c.Properties, p.Property)
				}
			default:
				c.Properties = append(c.Properties, store.Property{Name: col.Name, Column: col.Name, Type: t})
			}
		}
	}
	d.setRoles(&c)
	e, _ := c.During()
	if c.Timeless != "" {
		return d.rangeEnds(&c)
	}
	for _, n := range e.Props() {
		p, _ := c.Find(n)
		columns = append(columns, quote(p.Column))
		if n == c.IntervalEnd {
			end = quote(p.Column)
		}
	}
	return columns, "", end
}

// rangeEnds is momentColumns for a range column. A null or empty range is not open.
func (d *draft) rangeEnds(c *store.Collection) (columns []string, begin, end string) {
	p, _ := c.Find(c.Timeless)
	col, _ := d.table.Column(p.Column)
	for _, part := range rangeParts(col)[:2] {
		x := sqlq.PostgreSQL{}.Normal(quote(col.Name), &sqlq.Field{Normal: part.normal})
		columns = append(columns, "("+x+")")
	}
	timed := "CASE WHEN isempty(" + quote(col.Name) + ") IS NOT FALSE THEN '2000-01-01' ELSE "
	return columns, "(" + timed + columns[0] + " END)", "(" + timed + columns[1] + " END)"
}
