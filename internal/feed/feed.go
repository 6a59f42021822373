// Package feed finds what has changed in the data and keeps it in a log, so that a copy need not be fetched again.
//
// The data are compared as a whole with what was recorded of them last: a Recorder reads each public collection from
// one snapshot, makes a digest of the public properties and the geometry of each feature, or of each version of one by
// its store.VersionID, and adds what differs to the log. It asks for nothing while the data are in the same state.
// What is between two looks leaves no trace: a feature that was changed twice is recorded once, and a change that
// was taken back not at all.
//
// A look takes about 100 bytes of memory for each feature of the largest collection, a few microseconds of CPU for each
// kilobyte that is read, and one connection to the store. It rests half of its time, so that requests are answered
// beside it. Collections above a bound are left out, unless they are requested.
package feed

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"grense/internal/state"
	"grense/internal/store"
)

// Options are what a Recorder works with.
type Options struct {
	Store store.Store          // whose catalog says what is public, and, where it can, the state of the data
	From  store.Store          // what is read
	Kept  *state.DB            // prepared
	Log   *slog.Logger         // nil: none
	Most  int                  // features of a collection that is recorded without being asked for
	Now   func() time.Time     // nil: time.Now
	Whole func(id string) bool // whether a collection that is new is one entry; else each feature is. nil: always
}

// Recorder compares the data with what was recorded. Make one with New. It is safe for concurrent use.
type Recorder struct {
	Options
	mu   sync.Mutex
	seen map[string]string // states of collections in which they were recorded
	woke chan struct{}
}

// New returns a Recorder.
func New(o Options) *Recorder {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Recorder{Options: o, seen: map[string]string{}, woke: make(chan struct{}, 1)}
}

// How often Run looks, and how many times as long as a look took it rests after one that read data.
const (
	pause = 5 * time.Second
	rests = 20
)

// Run looks at the data until ctx ends.
func (r *Recorder) Run(ctx context.Context) {
	failed := ""
	for {
		start := time.Now()
		read, err := r.Look(ctx)
		wait := pause
		if read {
			wait = max(pause, rests*time.Since(start))
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && !errors.Is(err, store.ErrChanged) && err.Error() != failed {
			r.Log.WarnContext(ctx, "changes are not recorded", "err", err)
			failed = err.Error()
		} else if err == nil {
			failed = ""
		}
		select {
		case <-ctx.Done():
			return
		case <-r.woke:
		case <-time.After(wait):
		}
	}
}

// Wake lets Run look soon, since the data were opened again.
func (r *Recorder) Wake() {
	select {
	case r.woke <- struct{}{}:
	default:
	}
}

// Records reports whether changes of a collection are recorded.
func (o *Options) Records(c *store.Collection) bool {
	if c.Changes != nil {
		return c.Public && *c.Changes
	}
	return c.Public && c.Count <= o.Most
}

// Look records what has changed since the last look, of this or another process, and reports whether data were read for
// that. An error is the first one; other collections are recorded all the same.
func (r *Recorder) Look(ctx context.Context) (read bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tracked, err := r.Kept.Tracked(ctx)
	if err != nil {
		return false, err
	}
	cat := r.Store.Catalog()
	if cat.Survey != nil { // types may turn out to be others
		return false, nil
	}
	for _, c := range cat.Collections {
		if !r.Records(c) {
			continue
		}
		was := tracked[c.ID]
		delete(tracked, c.ID)
		did, e := r.collection(ctx, cat, c, was)
		read = read || did
		if e != nil && err == nil {
			err = fmt.Errorf("feed: %s: %w", c.ID, e)
		}
		if ctx.Err() != nil {
			return read, ctx.Err()
		}
	}
	for id, was := range tracked {
		if _, refused := cat.Refusal(id); refused { // the data are there, and may be served again
			continue
		}
		e := r.Kept.Record(ctx, state.Recording{Collection: id, Was: was, At: r.Now().UTC(), Afresh: true,
			Changes: []state.Change{{Op: state.ChangeDrop}}})
		if e != nil && err == nil {
			err = fmt.Errorf("feed: %s: %w", id, e)
		}
		delete(r.seen, id)
	}
	return read, err
}

// state names the state of a collection: to this process, and to all that use the data, where it has such a name.
// "" for what is unknown.
func (r *Recorder) state(ctx context.Context, cat *store.Catalog, id string) (own, lasting string, err error) {
	v, err := r.From.Version(ctx, id)
	if own = string(v); cat.Live { // any transaction makes another one
		return own, "", err
	}
	return own, own, err
}

// collection records one collection, and reports whether it was read.
func (r *Recorder) collection(ctx context.Context, cat *store.Catalog, c *store.Collection,
	was state.Tracked) (read bool, err error) {
	own, lasting, err := r.state(ctx, cat, c.ID)
	if err != nil {
		return false, err
	}
	schema := schemaOf(c)
	if was.Pass > 0 && was.Schema == schema && own != "" &&
		(own == r.seen[c.ID] || lasting != "" && lasting == was.State) {
		r.seen[c.ID] = own
		return false, nil
	}
	x := &look{r: r, c: c, rec: state.Recording{Collection: c.ID, Was: was, Now: state.Tracked{Schema: schema,
		State: lasting}, At: r.Now().UTC(), Afresh: was.Pass == 0 || was.Schema != schema},
		old: map[string][16]byte{}, sum: sha256.New()}
	if !x.rec.Afresh {
		if err := r.Kept.Digests(ctx, c.ID, func(id string, d [16]byte) error {
			x.old[id] = d
			return nil
		}); err != nil {
			return true, err
		}
	}
	if err := x.read(ctx); err != nil {
		return true, err
	}
	if len(x.rec.Changes) > 0 || x.rec.Afresh || lasting != was.State {
		if err := r.Kept.Record(ctx, x.rec); err != nil {
			return true, err
		}
	}
	r.seen[c.ID] = own
	return true, nil
}

// digestForm is part of the schema of what is recorded, so that another way to make digests is no change of features.
const digestForm = "1"

// schemaOf names the public properties of a collection, with what else all digests depend on.
func schemaOf(c *store.Collection) string {
	h := sha256.New()
	fmt.Fprintln(h, digestForm)
	for _, p := range c.Properties {
		if !p.Hidden {
			fmt.Fprintf(h, "%q %d\n", p.Name, p.Type)
		}
	}
	if g := c.Geometry; g != nil {
		fmt.Fprintf(h, "%q %d\n", g.Name, g.CRS)
	}
	if v := c.Versions; v != nil {
		fmt.Fprintf(h, "%q %q\n", v.ID, v.Start)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// look is one comparison of a collection.
type look struct {
	r    *Recorder
	c    *store.Collection
	rec  state.Recording
	old  map[string][16]byte // what was recorded and was not met yet
	sum  hash.Hash
	buf  []byte
	last *state.Digest // the feature that was read last; several rows of one id are one
	n    int64
}

// batch is how many features are read at once.
const batch = 500

func (x *look) read(ctx context.Context) error {
	snap, err := x.r.From.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	if err := x.rows(ctx, snap); err != nil {
		return err
	}
	x.settle()
	if x.rec.Afresh && (x.rec.Was.Pass > 0 || x.r.Whole == nil || x.r.Whole(x.c.ID)) {
		x.rec.Changes = []state.Change{{Op: state.ChangeLoad, Count: x.n}}
		return nil
	}
	var gone []state.Change
	for id := range x.old {
		gone = append(gone, state.Change{Op: state.ChangeRemove, ID: id})
	}
	sortChanges(gone)
	x.rec.Changes = append(gone, x.rec.Changes...)
	return nil
}

func (x *look) rows(ctx context.Context, snap store.Snapshot) error {
	title := -1
	want := store.Want{Properties: []string{}, VersionIDs: true}
	for _, p := range x.c.Properties {
		if p.Hidden {
			continue
		}
		if p.Name == x.c.TitleProperty {
			title = len(want.Properties)
		}
		want.Properties = append(want.Properties, p.Name)
	}
	q := store.Query{Collection: x.c.ID, Limit: batch, Count: store.CountNone}
	if p, ok := x.c.Find("seq"); ok && !p.Hidden && x.rec.Was.Pass == 0 && x.r.Whole != nil && !x.r.Whole(x.c.ID) {
		q.SortBy = []store.Sort{{Property: "seq"}}
	}
	for {
		start := time.Now()
		page, err := snap.Page(ctx, q)
		if err != nil {
			return err
		}
		err = snap.Fetch(ctx, x.c.ID, page.Rows, want, func(f *store.Feature) error {
			name := ""
			if title >= 0 {
				name, _ = f.Values[title].(string)
			}
			return x.feature(f, name)
		})
		if err != nil {
			return err
		}
		if page.Next == "" {
			return nil
		}
		q.Cursor = page.Next
		select { // requests come first
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(start)):
		}
	}
}

// titleBytes is how much is kept of a title.
const titleBytes = 200

func (x *look) feature(f *store.Feature, title string) error {
	d, err := x.digest(f)
	if err != nil {
		return err
	}
	if len(title) > titleBytes {
		title = strings.ToValidUTF8(title[:titleBytes], "") + "…"
	}
	if x.last != nil && x.last.ID == f.Public() {
		x.sum.Reset()
		x.sum.Write(x.last.Digest[:])
		x.sum.Write(d[:])
		x.last.Digest = [16]byte(x.sum.Sum(x.buf[:0])[:16])
		return nil
	}
	x.settle()
	x.last = &state.Digest{ID: strings.Clone(f.Public()), Title: strings.Clone(title), Digest: d}
	return nil
}

// settle compares the feature that was read last with what was recorded of it.
func (x *look) settle() {
	d := x.last
	if d == nil {
		return
	}
	x.last = nil
	x.n++
	was, known := x.old[d.ID]
	delete(x.old, d.ID)
	if known && was == d.Digest {
		return
	}
	x.rec.Digests = append(x.rec.Digests, *d)
	op := state.ChangeAdd
	if known {
		op = state.ChangeUpdate
	}
	x.rec.Changes = append(x.rec.Changes, state.Change{Op: op, ID: d.ID, Title: d.Title})
}

// digest is that of all that is public of a row.
func (x *look) digest(f *store.Feature) (d [16]byte, err error) {
	b := x.buf[:0]
	for _, v := range f.Values {
		switch v := v.(type) {
		case nil:
			b = append(b, 0)
		case string:
			b = append(binary.AppendUvarint(append(b, 1), uint64(len(v))), v...)
		case store.JSON:
			b = append(binary.AppendUvarint(append(b, 2), uint64(len(v))), v...)
		case int64:
			b = binary.AppendVarint(append(b, 3), v)
		case float64:
			b = binary.BigEndian.AppendUint64(append(b, 4), math.Float64bits(v))
		case bool:
			b = strconv.AppendBool(append(b, 5), v)
		default:
			return d, fmt.Errorf("feed: a value is a %T", v)
		}
	}
	b = append(append(b, 6), f.Geometry.WKB...)
	x.sum.Reset()
	x.sum.Write(b)
	x.buf = b
	return [16]byte(x.sum.Sum(nil)[:16]), nil
}

func sortChanges(list []state.Change) {
	slices.SortFunc(list, func(a, b state.Change) int { return cmp.Compare(a.ID, b.ID) })
}
