package postgis

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// versionColumns are the columns that make rows versions of features.
type versionColumns struct {
	id, start, end string
	inclusive      bool
	keyed          bool // a unique index on id and start identifies rows; otherwise another key does
}

// findVersions finds the columns of versions: those in our definition, those in the configuration or, if ids repeat,
// those with usual names. If configured columns cannot be used, fault says why.
func (d *draft) findVersions(ctx context.Context, c *pgxpool.Conn) (v *versionColumns, fault string, err error) {
	s := &d.settings
	if d.own != nil && d.own.Versions != nil && s.ValidFrom == "" {
		x := d.own.Versions
		column := func(name string) string {
			p, _ := d.own.Find(name)
			return p.Column
		}
		return &versionColumns{id: column(x.ID), start: column(x.Start), end: column(x.End), inclusive: x.Inclusive},
			"", nil
	}
	id := s.SingleID()
	if id == "" {
		return nil, "", nil
	}
	start, end, told := s.ValidityOf(func(lower string) (string, bool) {
		for _, col := range d.table.Columns {
			if strings.ToLower(col.Name) == lower {
				return col.Name, true
			}
		}
		return "", false
	})
	if start == "" || !told && d.isUnique(id) {
		return nil, "", nil
	}
	v = &versionColumns{id: id, start: start, end: end, inclusive: s.Inclusive,
		keyed: !d.table.Nullable && d.isUnique(id, start)}
	if fault = d.versionFault(v); fault == "" && !v.keyed {
		fault, err = d.readVersions(ctx, c, v)
	}
	if told && fault != "" || err != nil {
		return v, fault, err
	}
	repeat := false
	if !told && fault == "" {
		err = c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+d.table.Quoted()+" GROUP BY "+quote(v.id)+
			" HAVING count(*) > 1)").Scan(&repeat)
	}
	if !told && !repeat || err != nil {
		return nil, "", err
	}
	if !slices.Contains(d.table.Indexed, v.id) {
		d.warn("no index finds the versions of a feature, so that each request reads the whole table; "+
			"make one, with CREATE INDEX ON %s (%s, %s)",
			d.table.Quoted(), quote(v.id), quote(v.start))
	}
	if told {
		return v, "", nil
	}
	d.warn("the ids in column %q repeat, so that rows are versions of features, valid from %q until before %q; "+
		"say so in roles (valid_from, valid_to), and valid_to: inclusive where the end is the last day",
		v.id, start, end)
	return v, "", nil
}

// versionFault returns why these columns cannot describe versions; "" if they can.
func (d *draft) versionFault(v *versionColumns) string {
	var c store.Collection
	for _, col := range d.table.Columns {
		if t, ok := col.Type(); ok {
			c.Properties = append(c.Properties, store.Property{Name: col.Name, Column: col.Name, Type: t})
		}
	}
	if fault := c.SetVersions(v.id, v.start, v.end, v.inclusive); fault != "" {
		for _, name := range [...]string{v.start, v.end} {
			if col, ok := d.table.Column(name); ok && col.Category == "S" {
				fault += fmt.Sprintf("; %[1]s is text: change it, with ALTER TABLE %[2]s ALTER COLUMN %[1]s TYPE "+
					"date USING nullif(%[1]s, '')::date",
					quote(name), d.table.Quoted())
			}
		}
		return "rows cannot be versions of features: " + fault
	}
	if v.keyed || len(d.table.Keys) > 0 {
		return ""
	}
	cure := "serve a table with a primary key, or a materialized view with a unique index over them"
	if d.table.Kind == 'r' || d.table.Kind == 'p' {
		cure = fmt.Sprintf("run ALTER TABLE %[1]s ALTER COLUMN %[2]s SET NOT NULL, ALTER COLUMN %[3]s SET NOT NULL, "+
			"ADD UNIQUE (%[2]s, %[3]s)",
			d.table.Quoted(), quote(v.id), quote(v.start))
	}
	return fmt.Sprintf("rows cannot be versions of features: there is no primary key, and no unique index over %q "+
		"and %q, declared NOT NULL, tells them apart; %s",
		v.id, v.start, cure)
}

// readVersions returns which rows are not valid versions, unless an index guarantees it; "" if all are.
func (d *draft) readVersions(ctx context.Context, c *pgxpool.Conn, v *versionColumns) (fault string, err error) {
	id, start, from := quote(v.id), quote(v.start), d.table.Quoted()
	noID, noStart, twice := false, "", []string{"", ""}
	err = c.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+from+" WHERE coalesce("+id+"::text, '') = ''), "+
		"coalesce((SELECT "+id+"::text FROM "+from+" WHERE "+start+" IS NULL LIMIT 1), ''), "+
		"coalesce((SELECT ARRAY["+id+"::text, "+start+"::text] FROM "+from+" GROUP BY "+id+", "+start+
		" HAVING count(*) > 1 LIMIT 1), ARRAY['', ''])").
		Scan(&noID, &noStart, &twice)
	switch {
	case err != nil:
	case noID:
		fault = fmt.Sprintf("column %q is null or empty in some rows; each version needs the id of its feature", v.id)
	case noStart != "":
		fault = fmt.Sprintf("column %q of %q is null; each version needs its start", v.start, noStart)
	case twice[0] != "":
		fault = fmt.Sprintf("two versions of %q in column %q begin at %s; each needs a start of its own", twice[0],
			v.id, twice[1])
	}
	d.curable = fault != ""
	return fault, err
}

// Life reads the versions of a feature and its neighbours with one statement.
func (s *Store) Life(ctx context.Context, q store.LifeQuery) (*store.Life, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	l, err := s.current.Load().layer(q.Collection)
	if err != nil {
		return nil, err
	}
	is, ok := cql2.Expr(nil), false
	if l.Versions != nil && conn.Storable(q.ID) {
		is, ok = l.IsFeature(q.ID)
	}
	if !ok {
		return &store.Life{}, nil
	}
	st := l.lifeStatement(q, is.(cql2.Compare))
	var life *store.Life
	err = s.ask(ctx, l, func(c *pgxpool.Conn) error {
		life = &store.Life{}
		return l.one(ctx, c, st, func(r pgx.Rows) error { return l.addVersion(life, r.RawValues()) })
	})
	if err != nil {
		return nil, err
	}
	return life, nil
}

// lifeStatement returns a statement for the rows of a feature, with ids, revisions, starts and ends, and for the
// features before and after it among those that are valid at q.At.
func (l *layer) lifeStatement(q store.LifeQuery, is cql2.Compare) (st expecting) {
	d, v, at := sqlq.PostgreSQL{}, l.Versions, l.Moment(q.At)
	id, start, end := l.source.Fields[v.ID], l.source.Fields[v.Start], l.source.Fields[v.End]
	st.expects = append(l.idExpects(), expectValue(start), expectValue(end), expectValue(id), expectValue(id))
	b := sqlq.New(d).Text("SELECT ", l.idText(alias), ", ", l.revisionSQL, ", ", valueExpr(alias, start), ", ",
		valueExpr(alias, end))
	for _, x := range [...]struct {
		op    cql2.CompareOp
		order string
	}{{cql2.Lt, " DESC"}, {cql2.Gt, ""}} {
		const other = "o"
		is.Op = x.op
		b.Text(", (SELECT ", valueExpr(other, id), " FROM ", l.source.Table, " AS ", other, " WHERE (").
			Add(sqlq.Compile(d, l.source, other, is).Where).Text(") AND ").
			Add(sqlq.Valid(d, l.source, other, at)).Text(" ORDER BY ", sqlq.Column(d, other, id), x.order, " LIMIT 1)")
	}
	is.Op = cql2.Eq
	b.Text(" FROM ", l.source.Table, " AS ", alias, " WHERE (").Add(sqlq.Compile(d, l.source, alias, is).Where).
		Text(") AND ", sqlq.Column(d, alias, start), " IS NOT NULL ORDER BY ", sqlq.Column(d, alias, start))
	for _, k := range l.idOrder {
		b.Text(", ").Add(k.Expr)
	}
	st.sql, st.args = b.Text(" LIMIT ").Arg(int64(q.Limit)).SQL()
	return st
}

// addVersion adds a row of lifeStatement to life.
func (l *layer) addVersion(life *store.Life, raw [][]byte) error {
	v := l.Versions
	text := func(i int, property string) any {
		if raw[i] == nil {
			return nil
		}
		x, _ := decodeValue(raw[i], l.source.Fields[property])
		return x
	}
	rev, err := l.revision(raw[1])
	if err != nil {
		return err
	}
	x := store.FeatureVersion{Row: store.Row{ID: l.printed(raw[0]), Rev: rev}}
	x.Start, _ = text(2, v.Start).(string)
	x.End, _ = text(3, v.End).(string)
	life.Prev, life.Next = store.FeatureID(text(4, v.ID)), store.FeatureID(text(5, v.ID))
	life.Versions = append(life.Versions, x)
	return nil
}
