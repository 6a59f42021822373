package postgis

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// versionColumns are the columns by which rows are versions of features.
type versionColumns struct {
	id, start, end string
	inclusive      bool
}

// findVersions finds the columns of versions: those of our definition, those that the settings name, or, where the configured id repeats, those of
// the usual names. Fault tells why they cannot be versions although the settings say so. A unique index has to tell versions apart, and finds
// those of a feature.
func (d *draft) findVersions(ctx context.Context, c *pgxpool.Conn) (v *versionColumns, fault string, err error) {
	s := &d.settings
	if d.own != nil && d.own.Versions != nil && s.ValidFrom == "" {
		x := d.own.Versions
		column := func(name string) string {
			p, _ := d.own.Find(name)
			return p.Column
		}
		return &versionColumns{column(x.ID), column(x.Start), column(x.End), x.Inclusive}, "", nil
	}
	id := s.SingleID()
	if id == "" {
		return nil, "", nil
	}
	start, end, told := s.ValidityOf(func(lower string) (string, bool) {
		for _, col := range d.table.columns {
			if strings.ToLower(col.name) == lower {
				return col.name, true
			}
		}
		return "", false
	})
	v = &versionColumns{id, start, end, s.Inclusive}
	if told {
		return v, d.versionFault(v), nil
	}
	if start == "" || d.isUnique(v.id) || !d.isUnique(v.id, start) || d.versionFault(v) != "" {
		return nil, "", nil
	}
	repeat := false
	err = c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM "+d.table.quoted()+" GROUP BY "+quote(v.id)+" HAVING count(*) > 1)").Scan(&repeat)
	if !repeat || err != nil {
		return nil, "", err
	}
	d.warn("the ids in column %q repeat, so that rows are versions of features, valid from %q until before %q; say so in roles (valid_from, valid_to), and valid_to: inclusive where the end is the last day", v.id, start, end)
	return v, "", nil
}

// versionFault tells why rows cannot be versions by these columns; "" when they can.
func (d *draft) versionFault(v *versionColumns) string {
	var c store.Collection
	for _, col := range d.table.columns {
		if t, ok := typeOf(col); ok {
			c.Properties = append(c.Properties, store.Property{Name: col.name, Column: col.name, Type: t})
		}
	}
	if fault := c.SetVersions(v.id, v.start, v.end, v.inclusive); fault != "" {
		return "rows cannot be versions of features: " + fault
	}
	if d.table.nullable || !d.isUnique(v.id, v.start) {
		return fmt.Sprintf("rows cannot be versions of features: no unique index tells them apart; make one over columns that are NOT NULL, with CREATE UNIQUE INDEX ON %s (%s, %s)",
			d.table.quoted(), quote(v.id), quote(v.start))
	}
	return ""
}

var _ store.Dated = (*Store)(nil)

// Life finds the versions of a feature and what is beside it in one statement.
func (s *Store) Life(ctx context.Context, q store.LifeQuery) (*store.Life, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	l, err := s.current.Load().layer(q.Collection)
	if err != nil || l.Versions == nil {
		return nil, err
	}
	is, ok := l.IsFeature(q.ID)
	if !ok || !storable(q.ID) {
		return &store.Life{}, nil
	}
	st, of, err := l.lifeStatement(q, is.(cql2.Compare))
	if err != nil {
		return nil, err
	}
	var life *store.Life
	err = s.ask(ctx, l, func(c *pgxpool.Conn) error {
		life = &store.Life{}
		return l.one(ctx, c, st, func(r pgx.Rows) error { return l.addVersion(life, of, r.RawValues()) })
	})
	if err != nil {
		return nil, err
	}
	return life, nil
}

// lifeStatement selects the rows of a feature with their ids, revisions, starts and ends, the features before and after it, whether they are valid at the moment, and columns for a fetcher; nil
// where none are wanted.
func (l *layer) lifeStatement(q store.LifeQuery, is cql2.Compare) (st expecting, of *fetcher, err error) {
	d, v, at := sqlq.PostgreSQL{}, l.Versions, l.Moment(q.At)
	id, start, end := l.source.Fields[v.ID], l.source.Fields[v.Start], l.source.Fields[v.End]
	st.expects = append(l.idExpects(), expectValue(start), expectValue(end), expectValue(id), expectValue(id), expectType(cql2.TypeBool))
	b := sqlq.New(d).Text("SELECT ", l.idText(alias), ", ", l.stateExpr, ", ", valueExpr(alias, start), ", ", valueExpr(alias, end))
	for _, x := range [...]struct {
		op    cql2.CompareOp
		order string
	}{{cql2.Lt, " DESC"}, {cql2.Gt, ""}} {
		const other = "o"
		is.Op = x.op
		b.Text(", (SELECT ", valueExpr(other, id), " FROM ", l.source.Table, " AS ", other, " WHERE (").Add(sqlq.Compile(d, l.source, other, is).Where).Text(") AND ").
			Add(sqlq.Valid(d, l.source, other, at)).Text(" ORDER BY ", sqlq.Column(d, other, id), x.order, " LIMIT 1)")
	}
	b.Text(", coalesce(").Add(sqlq.Valid(d, l.source, alias, at)).Text(", FALSE)")
	if q.Ahead != nil {
		if of, err = newFetcher(l, *q.Ahead); err != nil {
			return st, nil, err
		}
		columns := of.columns
		if of.geometry {
			geometry := l.wkb(alias)
			columns = strings.TrimPrefix(columns, ", "+geometry)
			b.Text(", CASE WHEN ").Add(sqlq.Valid(d, l.source, alias, at)).Text(" THEN ", geometry, " END")
		}
		b.Text(columns)
		st.expects = append(st.expects, of.expects...)
	}
	is.Op = cql2.Eq
	b.Text(" FROM ", l.source.Table, " AS ", alias, " WHERE (").Add(sqlq.Compile(d, l.source, alias, is).Where).Text(") ORDER BY ", sqlq.Column(d, alias, start))
	for _, k := range l.idOrder {
		b.Text(", ").Add(k.Expr)
	}
	st.sql, st.args = b.Text(" LIMIT ").Arg(int64(q.Limit)).SQL()
	return st, of, nil
}

// addVersion reads a row of lifeStatement.
func (l *layer) addVersion(life *store.Life, of *fetcher, raw [][]byte) error {
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
	x := store.Version{Row: store.Row{ID: l.printed(raw[0]), Rev: rev}}
	x.Start, _ = text(2, v.Start).(string)
	x.End, _ = text(3, v.End).(string)
	life.Prev, life.Next = store.FeatureID(text(4, v.ID)), store.FeatureID(text(5, v.ID))
	if of != nil && raw[6][0] != 0 {
		x.Feature = &store.Feature{ID: x.Row.ID, Rev: x.Row.Rev}
		if err := of.members(x.Feature, raw[7:]); err != nil {
			return err
		}
	}
	life.Versions = append(life.Versions, x)
	return nil
}
