package survey

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// WordColumns returns the columns that the parameter q searches (store.Collection.SearchNames), by the survey. The
// index of words is used only if it has exactly these.
func (d *Draft) wordColumns(sv *layerSurvey) []string {
	if d.own != nil {
		return d.own.WordColumns()
	}
	var cols []string
	for _, col := range d.table.Columns {
		cs := sv.Columns[col.Name]
		if cs == nil {
			continue
		}
		if t, ok, _ := d.settle(col, cs); ok && t == cql2.TypeText {
			cols = append(cols, col.Name)
		}
	}
	return cols
}

// indexWords creates the tables text_N, with the words of the texts, and words_N, a full-text index of it.
func (d *Draft) indexWords(ctx context.Context, c *sqlite.Conn, side *sideWriter, sv *layerSurvey) error {
	cols, id, n := d.wordColumns(sv), d.rowid(sv), strconv.Itoa(d.n)
	text, words := side.prefix+"text_"+n, side.prefix+"words_"+n
	if len(cols) == 0 || id == "" || side.prefix == "" && sv.Count < fewRows {
		return nil
	}
	cols = cols[:min(len(cols), store.MaxSearched)]
	from, into := []string{id}, make([]string, len(cols))
	for i, col := range cols {
		from = append(from, sqlite.Quote(col))
		into[i] = "c" + strconv.Itoa(i)
	}
	list := strings.Join(into, ", ")
	if err := side.c.Exec("CREATE TABLE " + text + " (id INTEGER PRIMARY KEY, " + list + ")"); err != nil {
		return err
	}
	insert := "INSERT INTO " + text + " VALUES (?" + strings.Repeat(", ?", len(cols)) + ")"
	values := make([]any, len(from))
	rows := 0
	err := c.Query("SELECT "+strings.Join(from, ", ")+" FROM "+d.table.Quoted(), nil, func(r sqlite.Row) error {
		if rows++; rows%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		values[0] = r.Int(0)
		for i := range cols {
			values[i+1] = nil
			if k := r.Kind(i + 1); k != sqlite.KindNull && k != sqlite.KindBlob {
				values[i+1] = cql2.Words(r.Text(i + 1))
			}
		}
		return side.c.Exec(insert, values...)
	})
	if err != nil {
		return err
	}
	sv.Words = cols
	return errors.Join(
		side.c.Exec("CREATE VIRTUAL TABLE "+words+" USING fts5("+list+", content='"+text+
			"', content_rowid='id', columnsize=0, detail=none, tokenize='ascii', prefix='1 2 3')"),
		side.c.Exec("INSERT INTO "+words+"("+words+") VALUES ('rebuild')"))
}

// fewRows is the number of rows up to which a scan is as fast as an index of words, which needs seven tables. Otherwise
// opening files with thousands of small layers would take seconds.
const fewRows = 500

// setWords lets the compiler use the index of words if it covers what q searches.
func (d *Draft) setWords(l *layer.Layer) {
	names := l.SearchNames()
	cols := make([]string, len(names))
	for i, n := range names {
		cols[i] = l.SQL.Fields[n].Column
	}
	if len(cols) == 0 || !slices.Equal(cols, d.survey.Words) {
		return
	}
	n := strconv.Itoa(d.n)
	l.SQL.Words = &sqlq.Words{Props: names, Index: d.at + "words_" + n, Table: d.at + "text_" + n,
		RowID: d.rowid(d.survey)}
}
