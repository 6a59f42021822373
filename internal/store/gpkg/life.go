package gpkg

import (
	"context"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// Life reads the versions of a feature and its neighbours with one statement.
func (s *Store) Life(ctx context.Context, q store.LifeQuery) (*store.Life, error) {
	r, err := s.acquire()
	if err != nil {
		return nil, err
	}
	defer r.release()
	qu, err := newQuery(r, store.Query{Collection: q.Collection})
	if err != nil {
		return nil, err
	}
	life := &store.Life{}
	is, ok := cql2.Expr(nil), false
	if qu.l.Versions != nil {
		is, ok = qu.l.IsFeature(q.ID)
	}
	if !ok {
		return life, nil
	}
	look := r.look(s.settled)
	err = r.use(ctx, func(c *sqlite.Conn) error {
		*life = store.Life{}
		rev, err := r.revOf(ctx, c)
		if err != nil {
			return err
		}
		qu.table = qu.l.SQL.Table
		sql, args := qu.lifeStatement(q, is.(cql2.Compare))
		if err := c.Query(sql, args, func(row sqlite.Row) error {
			qu.addVersion(life, row,
				rev)
			return nil
		}); err != nil {
			return err
		}
		return look.see(c, rev)
	})
	return life, err
}

// lifeStatement returns a statement for the rows of a feature with their starts and ends, and for the features before
// and after it among those that are valid at q.At.
func (qu *query) lifeStatement(q store.LifeQuery, is cql2.Compare) (string, []any) {
	d, source, v, at := sqlq.SQLite{}, qu.l.SQL, qu.l.Versions, qu.l.Moment(q.At)
	id, start, end := source.Fields[v.ID], source.Fields[v.Start], source.Fields[v.End]
	b := sqlq.New(d).Text("SELECT ", layer.Select(layer.Alias, start), ", ", layer.Select(layer.Alias, end))
	for _, x := range [...]struct {
		op    cql2.CompareOp
		order string
	}{{cql2.Lt, " DESC"}, {cql2.Gt, ""}} {
		const other = "o"
		is.Op = x.op
		b.Text(", (SELECT ", layer.Select(other, id), " FROM ", qu.table, " AS ", other, " WHERE (").
			Add(sqlq.Compile(d, source, other, is).Where).Text(") AND ").
			Add(sqlq.Valid(d, source, other, at)).Text(" ORDER BY ", sqlq.Column(d, other, id), x.order, " LIMIT 1)")
	}
	is.Op = cql2.Eq
	b.Text(", ", qu.l.IDExpr(layer.Alias), " FROM ", qu.table, " AS ", layer.Alias, " WHERE (").
		Add(sqlq.Compile(d, source, layer.Alias, is).Where).
		Text(") AND ", sqlq.Column(d, layer.Alias, start), " IS NOT NULL ORDER BY ", sqlq.Column(d, layer.Alias, start),
			", ",
			qu.l.IDExpr(layer.Alias))
	return b.Text(" LIMIT ").Arg(int64(q.Limit)).SQL()
}

// addVersion adds a row of lifeStatement to life.
func (qu *query) addVersion(life *store.Life, r sqlite.Row, rev uint64) {
	source, v := qu.l.SQL, qu.l.Versions
	text := func(i int, property string) any { return layer.Value(r, i, source.Fields[property].Type) }
	x := store.FeatureVersion{Row: store.Row{ID: qu.idText(r, 4), Rev: rev}}
	x.Start, _ = text(0, v.Start).(string)
	x.End, _ = text(1, v.End).(string)
	life.Prev, life.Next = store.FeatureID(text(2, v.ID)), store.FeatureID(text(3, v.ID))
	life.Versions = append(life.Versions, x)
}
