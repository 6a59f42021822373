package gpkg

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

var _ store.DatedAtHand = (*Store)(nil)

// lives is the versions of all features of a layer, in the order of features and starts. It is immutable.
type lives struct {
	texts   []string // ids of features, ascending
	numbers []int64  // the same, where they are whole numbers
	from    []uint32 // where the versions of each begin; and one more
	rows    []lived
	times   []string // each once; the first is "", for null
}

// lived is one version, with its times by their places.
type lived struct {
	id           int64
	start, end   uint32 // as they are served
	begins, ends uint32 // as they compare with a moment
}

func (x *lives) size() int {
	n := 16*cap(x.texts) + 8*cap(x.numbers) + 4*cap(x.from) + 24*cap(x.rows) + 16*cap(x.times)
	for _, list := range [...][]string{x.texts, x.times} {
		for _, s := range list {
			n += len(s)
		}
	}
	return n
}

// feature is where a feature is by its id.
func (x *lives) feature(id string) (int, bool) {
	if x.numbers == nil {
		return slices.BinarySearch(x.texts, id)
	}
	n, ok := parseID(id)
	i, found := slices.BinarySearch(x.numbers, n)
	return i, ok && found
}

func (x *lives) featureID(i int) string {
	if x.numbers == nil {
		return x.texts[i]
	}
	return strconv.FormatInt(x.numbers[i], 10)
}

// valid reports whether a feature has a version that is valid at a moment.
func (x *lives) valid(i int, moment string, inclusive bool) bool {
	return slices.ContainsFunc(x.rows[x.from[i]:x.from[i+1]], func(v lived) bool {
		begins, ends := x.times[v.begins], x.times[v.ends]
		return begins != "" && begins <= moment && (ends == "" || ends > moment || inclusive && ends == moment)
	})
}

// mostInvalid is how many features beside one are looked at that are not valid at the moment.
const mostInvalid = 1000

// LifeAtHand answers from the versions in memory, where the file is known to be as it was when they were read. They are read in the background when they are first wanted.
func (s *Store) LifeAtHand(q store.LifeQuery) (*store.Life, bool) {
	r, err := s.acquire()
	if err != nil {
		return nil, false
	}
	defer r.release()
	l, err := r.layer(q.Collection)
	if err != nil || l.Versions == nil || l.view || l.text || l.Count > mostIDs || r.columns.tables.Limit() == 0 {
		return nil, false
	}
	start, end, moment, ok := sqlq.Spans(sqlq.SQLite{}, l.source, alias, l.Moment(q.At))
	if rev, known := r.glance(); !ok || !known || rev != r.rev {
		return nil, false
	}
	x := r.livesOf(l, start, end)
	if x == nil {
		return nil, false
	}
	at, ok := x.feature(q.ID)
	if !ok || int(x.from[at+1]-x.from[at]) > q.Limit {
		return nil, false
	}
	life := &store.Life{Versions: make([]store.Version, 0, x.from[at+1]-x.from[at])}
	for _, v := range x.rows[x.from[at]:x.from[at+1]] {
		life.Versions = append(life.Versions, store.Version{Row: store.Row{ID: strconv.FormatInt(v.id, 10), Rev: r.rev}, Start: x.times[v.start], End: x.times[v.end]})
	}
	for _, to := range [...]struct {
		id   *string
		step int
	}{{&life.Prev, -1}, {&life.Next, 1}} {
		i, left := at+to.step, mostInvalid
		for ; i >= 0 && i < len(x.from)-1 && !x.valid(i, moment, l.Versions.Inclusive); i += to.step {
			if left--; left == 0 {
				return nil, false
			}
		}
		if i >= 0 && i < len(x.from)-1 {
			*to.id = x.featureID(i)
		}
	}
	return life, true
}

// livesOf returns the versions of a layer, with start and end as they compare; nil where they are not at hand, and then they are read.
func (r *revision) livesOf(l *layer, start, end string) *lives {
	name := "lives\x00" + l.ID + "\x00" + start + "\x00" + end
	key := tableKey{r.rev, name}
	if x, ok := r.columns.tables.Get(key); ok {
		return x.(*lives)
	}
	if r.makeTable(name, func() error { return r.makeLives(l, start, end, key) }) && r.columns.limits.wait {
		if x, ok := r.columns.tables.Get(key); ok {
			return x.(*lives)
		}
	}
	return nil
}

// makeLives reads the versions of a layer, and keeps them; an error where they cannot be kept.
func (r *revision) makeLives(l *layer, start, end string, key tableKey) error {
	m := &livesMaker{l: l, x: &lives{times: []string{""}}, known: map[string]uint32{"": 0}}
	d, v := sqlq.SQLite{}, l.Versions
	from, until := l.source.Fields[v.Start], l.source.Fields[v.End]
	id := sqlq.Column(d, alias, l.source.Fields[v.ID])
	table := l.source.Table
	if l.narrow != "" {
		table = l.narrow
	}
	err := r.use(context.Background(), func(c *conn) error {
		if same, err := c.unchanged(); err != nil || !same || c.encoding != utf8Texts {
			return errors.Join(err, errNoRoom)
		}
		return c.query("SELECT "+id+", "+l.idExpr(alias)+", "+selectExpr(alias, from)+", "+selectExpr(alias, until)+", "+start+", "+end+" FROM "+table+" AS "+alias+
			" ORDER BY 1, "+sqlq.Column(d, alias, from)+", 2", nil, m.add)
	})
	if err != nil {
		return err
	}
	x := m.x
	x.from = append(x.from, uint32(len(x.rows)))
	x.texts, x.numbers, x.from, x.rows, x.times = slices.Clip(x.texts), slices.Clip(x.numbers), slices.Clip(x.from), slices.Clip(x.rows), slices.Clip(x.times)
	if x.size() > int(r.columns.tables.Limit()) || r.refs.Load() <= 1 || !r.columns.tables.Put(key, x, int64(x.size())) {
		return errNoRoom
	}
	return nil
}

// livesMaker gathers versions row by row.
type livesMaker struct {
	l     *layer
	x     *lives
	known map[string]uint32
}

// add takes the next row; an error where ids are not in order, or times no texts.
func (m *livesMaker) add(r row) error {
	x, v := m.x, m.l.Versions
	if r.Kind(1) != kindInt || !m.addFeature(r) {
		return errNoRoom
	}
	row := lived{id: r.Int(1)}
	for i, to := range [...]*uint32{&row.start, &row.end, &row.begins, &row.ends} {
		if r.Null(2 + i) {
			continue
		}
		s := r.Text(2 + i)
		if i < 2 {
			property := [...]string{v.Start, v.End}[i]
			s, _ = readValue(r, 2+i, m.l.source.Fields[property].Type).(string)
		}
		if r.Kind(2+i) != kindText || s == "" {
			return errNoRoom
		}
		n, ok := m.known[s]
		if !ok {
			n = uint32(len(x.times))
			m.known[s] = n
			x.times = append(x.times, s)
		}
		*to = n
	}
	x.rows = append(x.rows, row)
	return nil
}

// addFeature begins another feature where the next row is of one; false where ids are not in order or of another type.
func (m *livesMaker) addFeature(r row) bool {
	x, at := m.x, uint32(len(m.x.rows))
	if m.l.source.Fields[m.l.Versions.ID].Type == cql2.TypeInteger {
		id, n := r.Int(0), len(x.numbers)
		if n == 0 || x.numbers[n-1] != id {
			x.numbers, x.from = append(x.numbers, id), append(x.from, at)
		}
		return r.Kind(0) == kindInt && (n == 0 || x.numbers[n-1] <= id)
	}
	id, n := r.Text(0), len(x.texts)
	if n == 0 || x.texts[n-1] != id {
		x.texts, x.from = append(x.texts, id), append(x.from, at)
	}
	return r.Kind(0) == kindText && id != "" && (n == 0 || x.texts[n-1] <= id)
}
