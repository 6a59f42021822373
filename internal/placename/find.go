package placename

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	api "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/feature"
	"grense/internal/problem"
	"grense/internal/store"
)

// kind describes a kind of hit: the collection of its records, their order, and how a record is converted to a hit.
type kind[H any] struct {
	collection string
	order      []store.Sort
	// id returns the field for the id of the record. It is nil if hits have none.
	id func(*H) *string
	// fields assigns properties to the fields of an empty hit. It returns the same properties in the same order for
	// every hit.
	fields func(*H, api.Flags) []field
	apart  bool // fields allocates memory for each hit, so it is called for every hit
	// place returns the id of the place, after the fields have been filled, and the field for its geometry. It is nil
	// if hits have no geometry.
	place func(*H) (id string, wkt *string)
	list  func([]H) api.Hits
}

// batch is the number of hits that one call of Next returns.
const batch = 1000

// find executes a search. build returns its criteria.
func find[H any](
	ctx context.Context,
	s *Service,
	k *kind[H],
	build func(*codeLists) *criteria,
	f api.Flags,
) (api.Answer, error) {
	c, err := s.criteriaOf(ctx, build)
	if err != nil {
		return api.Answer{}, err
	}
	if len(c.few) > 0 && !c.narrow && !narrows(c.where) {
		c.faults = append(c.faults, c.few[:min(len(c.few), maxFaults-len(c.faults))]...)
	}
	if len(c.faults) > 0 {
		return api.Answer{}, &api.Refusal{Faults: c.faults}
	}
	state := s.store.Catalog()
	var version store.Version // data version of a file; geometries must be read from the same version as the hits
	if f.InkluderGeometri && !state.Live {
		var err error
		if version, err = s.store.Version(ctx); err != nil {
			return api.Answer{}, classify(err)
		}
	}
	for _, later := range c.later {
		x, err := later(ctx)
		if err != nil {
			return api.Answer{}, err
		}
		c.where = append(c.where, x)
	}
	rows, err := s.rows(ctx, k.collection, k.order, c)
	if err == nil {
		err = s.still(state)
	}
	if err != nil || len(rows) == 0 {
		return api.Answer{}, err
	}
	r := &reader[H]{s: s, state: state, version: version, kind: k, op: c.op, flags: f, rows: rows}
	if f.InkluderGeometri && k.place != nil {
		if err := r.geometries(); err != nil {
			return api.Answer{}, err
		}
	}
	return api.Answer{Count: len(rows), Next: r.next, Only: r.only}, nil
}

// still returns an error of store.ErrChanged if the data have been opened again since state was read, so that results
// may be of two versions of the data.
func (s *Service) still(state *store.Catalog) error {
	if s.store.Catalog() != state {
		return classify(fmt.Errorf("placename: the data were opened again: %w", store.ErrChanged))
	}
	return nil
}

// rows returns the rows of all hits in order. It returns an *api.Refusal if there are more than Options.MaxHits.
func (s *Service) rows(ctx context.Context, collection string, order []store.Sort, c *criteria) ([]store.Row, error) {
	all := func(where cql2.Expr) ([]store.Row, error) {
		filter, err := s.check(collection, where)
		if err != nil {
			return nil, err
		}
		q := store.Query{Collection: collection, Filter: filter, SortBy: order, Limit: s.options.MaxHits}
		a, err := s.store.All(ctx, store.AllQuery{Query: q})
		if err != nil {
			return nil, classify(err)
		}
		if a.More {
			return nil,
				&api.Refusal{Faults: []api.Fault{{Path: c.op, Reason: api.TooManyHits, N: int64(s.options.MaxHits)}}}
		}
		return a.Rows, nil
	}
	rows, err := all(c.where)
	if err != nil || len(rows) < 2 || c.exact == nil {
		return rows, err
	}
	first, err := all(cql2.And{c.where, c.exact})
	if err != nil {
		return nil, err
	}
	exact := make(map[store.Row]bool, len(first))
	for _, r := range first {
		exact[r] = true
	}
	sorted := make([]store.Row, 0, len(rows))
	for _, is := range [...]bool{true, false} {
		for _, r := range rows {
			if exact[r] == is {
				sorted = append(sorted, r)
			}
		}
	}
	return sorted, nil
}

// collection returns the collection of a kind of record.
func (s *Service) collection(id string) (*store.Collection, error) {
	c, ok := s.store.Catalog().Collection(id)
	if !ok {
		return nil, problem.New(problem.Unavailable, fmt.Errorf("placename: no collection %q", id),
			"the data hold no register of place names")
	}
	return c, nil
}

// check validates a filter against a collection.
func (s *Service) check(collection string, filter cql2.Expr) (cql2.Expr, error) {
	c, err := s.collection(collection)
	if err != nil {
		return nil, err
	}
	x, err := cql2.Check(filter, c)
	if err != nil { // the register lacks a property; the request is valid
		return nil, problem.New(problem.Internal, fmt.Errorf("placename: collection %q: %w", collection, err), "")
	}
	return x, nil
}

// reader reads the hits of one answer in batches.
type reader[H any] struct {
	s       *Service
	state   *store.Catalog // the catalog at the time when rows were read
	version store.Version  // the data version at that time; "" if not known
	kind    *kind[H]
	op      string
	flags   api.Flags
	rows    []store.Row // rows of the hits that have not been read yet
	hits    []H         // the current batch; its memory is reused
	filler  filler[H]

	wkt    *feature.Geometry // writes geometries; nil if they are not requested
	own    bool              // the records have geometries; otherwise their places do
	buffer []byte
}

// geometries prepares the reader for writing geometries.
func (r *reader[H]) geometries() error {
	c, err := r.s.collection(r.kind.collection)
	if err != nil {
		return err
	}
	if r.own = c.Geometry != nil; !r.own {
		if c, err = r.s.collection("sted"); err != nil {
			return err
		}
	}
	g, err := feature.NewGeometry(c.StorageCRS(), r.s.options.CRS)
	if err != nil {
		return problem.New(problem.Internal, err, "")
	}
	r.wkt = &g
	return nil
}

// only drops the first from rows, and keeps at most n of the others.
func (r *reader[H]) only(from, n int) {
	r.rows = r.rows[min(from, len(r.rows)):]
	r.rows = r.rows[:min(n, len(r.rows))]
}

// next returns the next batch; nil after the last.
func (r *reader[H]) next(ctx context.Context) (api.Hits, error) {
	if len(r.rows) == 0 {
		return nil, nil
	}
	n := min(len(r.rows), batch)
	r.hits = slices.Grow(r.hits[:0], n)[:n]
	clear(r.hits)
	err := r.read(ctx, r.rows[:n])
	if err == nil && r.wkt != nil && !r.own {
		err = r.places(ctx)
	}
	if err != nil {
		return nil, classify(err)
	}
	if err := r.s.still(r.state); err != nil {
		return nil, err
	}
	if r.version != "" {
		if now, err := r.s.store.Version(ctx); err != nil || now != r.version {
			return nil, classify(cmp.Or(err, fmt.Errorf("placename: the data were written to: %w", store.ErrChanged)))
		}
	}
	r.rows = r.rows[n:]
	return r.kind.list(r.hits), nil
}

// read fills the batch from rows.
func (r *reader[H]) read(ctx context.Context, rows []store.Row) error {
	if r.filler.fields == nil {
		r.filler.bind(r.kind, r.flags)
	}
	want := store.Want{Properties: r.filler.properties(), NoGeometry: r.wkt == nil || !r.own}
	i := 0
	return r.s.store.Fetch(ctx, r.kind.collection, rows, want, func(f *store.Feature) error {
		h := &r.hits[i]
		i++
		if err := r.fill(h, f); err != nil || want.NoGeometry {
			return err
		}
		_, wkt := r.kind.place(h)
		r.write(wkt, f.Geometry)
		return nil
	})
}

// fill converts a record to a hit.
func (r *reader[H]) fill(h *H, f *store.Feature) error {
	if property, err := r.filler.fill(f.Values); err != nil {
		return fmt.Errorf("placename: property %s of record %s in %s: %w", property, f.ID, r.kind.collection, err)
	}
	if *h = r.filler.hit; r.kind.id != nil {
		*r.kind.id(h) = f.ID
	}
	if r.kind.apart {
		r.filler.bind(r.kind, r.flags)
	}
	return nil
}

// places reads the geometries of the places of the batch. It reads each place once.
func (r *reader[H]) places(ctx context.Context) error {
	texts := map[string]string{}
	var ids []string
	for i := range r.hits {
		id, _ := r.kind.place(&r.hits[i])
		if _, ok := texts[id]; !ok {
			texts[id] = ""
			ids = append(ids, id)
		}
	}
	err := r.s.store.Fetch(
		ctx,
		"sted",
		store.Current(ids...),
		store.Want{Properties: []string{}},
		func(f *store.Feature) error {
			var text string
			r.write(&text, f.Geometry)
			texts[f.ID] = text
			return nil
		},
	)
	if err != nil {
		return err
	}
	for i := range r.hits {
		id, wkt := r.kind.place(&r.hits[i])
		*wkt = texts[id]
	}
	return nil
}

// write writes a geometry as well-known text (WKT); "" if the geometry is null or empty.
func (r *reader[H]) write(to *string, g store.Geometry) {
	if g.IsNull() {
		return
	}
	var err error
	if r.buffer, err = r.wkt.AppendWKT(r.buffer[:0], g.WKB); err == nil {
		*to = string(r.buffer)
	}
}
