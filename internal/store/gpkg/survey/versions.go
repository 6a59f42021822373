package survey

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/moment"
	"grense/internal/store/gpkg/sqlite"
)

// versionSurvey describes the columns that make rows versions of features.
type versionSurvey struct {
	ID, Start, End string // columns
	Inclusive      bool
	Overlap        bool   // some versions of a feature overlap
	Example        string // id of a feature with such versions
	Found          bool   // found by the names of columns and repeated ids, not configured
}

// findVersions finds the columns of versions: those in our definition, those in the configuration or, if ids repeat,
// those with usual names. If configured columns cannot be used, fault says why.
func (d *Draft) findVersions(c *sqlite.Conn) (v *versionSurvey, fault string, err error) {
	v = &versionSurvey{ID: d.settings.SingleID(), Inclusive: d.settings.Inclusive}
	own := d.own != nil && d.own.Versions != nil
	switch {
	case d.settings.ValidFrom != "":
		v.Start, v.End = d.settings.ValidFrom, d.settings.ValidTo
	case own && (v.ID == "" || strings.EqualFold(v.ID, d.own.Column(d.own.Versions.ID))):
		x := d.own.Versions
		v = &versionSurvey{ID: d.own.Column(x.ID), Start: d.own.Column(x.Start), End: d.own.Column(x.End),
			Inclusive: x.Inclusive}
	case v.ID == "":
		return nil, "", nil
	default:
		v.Start, v.End, _ = d.settings.ValidityOf(func(n string) (string, bool) {
			col, ok := d.table.Column(n)
			return col.Name, ok
		})
		if v.Found = true; v.Start == "" {
			return nil, "", nil
		}
	}
	for _, n := range [...]*string{&v.ID, &v.Start, &v.End} {
		col, ok := d.table.Column(*n)
		if !ok {
			return nil, fmt.Sprintf("there is no column %q for its versions", *n), nil
		}
		*n = col.Name
	}
	repeat, fault, err := v.read(c, d.table.Quoted())
	if v.Found && (fault != "" || !repeat) {
		return nil, "", err
	}
	return v, fault, err
}

// read reads all versions. It reports whether ids repeat, sets Overlap, and returns why the columns cannot describe
// versions, or "".
func (v *versionSurvey) read(c *sqlite.Conn, table string) (repeat bool, fault string, err error) {
	type span struct {
		start, end time.Time // end is zero if open
	}
	var spans []span
	var last string
	ends := func() { // end of a feature's versions
		slices.SortFunc(spans, func(a, b span) int { return a.start.Compare(b.start) })
		for i := 1; i < len(spans); i++ {
			before, next := spans[i-1], spans[i].start
			repeat = true
			switch {
			case before.start.Equal(next):
				fault = cmp.Or(fault,
					fmt.Sprintf("two versions of %q in column %q begin at %s; each needs a start of its own", last,
						v.ID, next.Format(time.RFC3339)))
			case before.end.IsZero() || before.end.After(next) || v.Inclusive && before.end.Equal(next):
				v.Overlap, v.Example = true, cmp.Or(v.Example, last)
			}
		}
		spans = spans[:0]
	}
	err = c.Query("SELECT "+sqlite.Quote(v.ID)+", "+sqlite.Quote(v.Start)+", "+sqlite.Quote(v.End)+" FROM "+table+
		" ORDER BY 1 COLLATE BINARY", nil, func(r sqlite.Row) error {
		if id := r.Text(0); id != last {
			ends()
			last = id
		}
		if r.Null(0) || last == "" {
			fault = cmp.Or(fault,
				fmt.Sprintf("column %q is null or empty in some rows; each version needs the id of its feature", v.ID))
		}
		var s span
		ok := false
		if s.start, ok = moment.Parse(r.Text(1)); !ok {
			fault = cmp.Or(fault,
				fmt.Sprintf("column %q of %q holds %q, which is no day or moment; each version needs its start",
					v.Start, last, r.Text(1)))
		}
		if s.end, ok = moment.Parse(r.Text(2)); !ok && !r.Null(2) {
			fault = cmp.Or(fault, fmt.Sprintf("column %q of %q holds %q, which is no day or moment", v.End,
				last, r.Text(2)))
		}
		spans = append(spans, s)
		return nil
	})
	ends()
	return repeat, fault, err
}

// setVersions makes the rows of the layer versions if its survey says so.
func (d *Draft) setVersions(l *layer.Layer) {
	v := d.versions
	if v == nil {
		return
	}
	if fault := l.SetVersions(v.ID, v.Start, v.End, v.Inclusive); fault != "" {
		d.refuse("rows cannot be versions of features: %s", fault)
		return
	}
	l.SQL.Versions = l.Versions
	if l.Versions.Overlap = v.Overlap; v.Overlap {
		if !l.SQL.Indexed[v.ID] {
			d.refuse("versions of %q in column %q overlap; put them right, or make an index, with CREATE INDEX ... "+
				"(%s, %s): then the one that begins last is served", v.Example, v.ID, sqlite.Quote(v.ID),
				sqlite.Quote(v.Start))
			return
		}
		d.warn("some versions of a feature overlap (those of %q); of several the one that begins last is served",
			v.Example)
	}
	if v.Found {
		d.warn("the ids in column %q repeat, so that rows are versions of features, valid from %q until before %q; "+
			"say so in roles (valid_from, valid_to), and valid_to: inclusive where the end is the last day", v.ID,
			v.Start, v.End)
	}
	if l.DefaultSort == nil {
		l.DefaultSort = []store.Sort{{Property: l.Versions.ID}, {Property: l.Versions.Start}}
	}
}
