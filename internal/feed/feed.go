// Package feed finds changes of the data and records them in a log, so that clients can update a copy without fetching
// it again.
//
// A Recorder reads each public collection from one snapshot and hashes the public properties and the geometry of each
// feature, or version of a feature (store.VersionID). It compares the hashes with the recorded ones and adds the
// differences to the log. It reads nothing while the data have the same version. Changes between two comparisons are
// not distinguished: a feature that was changed twice is recorded once, and a change that was undone is not recorded.
//
// A comparison needs about 100 bytes of memory for each feature of the largest collection, some microseconds of CPU for
// each kilobyte of data, and one connection to the store. The Recorder pauses half of the time, to leave room for
// requests. Collections with more features than a limit are excluded unless configured.
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

// Options configure a Recorder.
type Options struct {
	Store store.Store          // its catalog shows what is public and, if possible, the version of the data
	From  store.Store          // rows are read from it
	Kept  *state.DB            // prepared
	Log   *slog.Logger         // nil: none
	Most  int                  // largest number of features of a collection that is recorded without configuration
	Now   func() time.Time     // nil: time.Now
	Whole func(id string) bool // whether a new collection is a single entry, not one for each feature; nil: always
}

// Recorder compares the data with what is recorded. Use New. It is safe for concurrent use.
type Recorder struct {
	Options
	mu   sync.Mutex
	seen map[string]string // by collection: version that is recorded
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

// Interval of comparisons by Run, and the pause after one that read data, as a multiple of its duration.
const (
	pause = 5 * time.Second
	rests = 20
)

// Run compares the data regularly until ctx ends.
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

// Wake makes Run compare soon, after a reload of the data.
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

// Look records all changes since the last comparison, by this or another process. read reports whether it read rows. It
// returns the first error, but continues with other collections.
func (r *Recorder) Look(ctx context.Context) (read bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tracked, err := r.Kept.Tracked(ctx)
	if err != nil {
		return false, err
	}
	cat := r.Store.Catalog()
	if cat.Survey != nil { // types may change after the survey
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
		if _, refused := cat.Refusal(id); refused { // the collection still exists and may be served again
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

// state returns the version of a collection: own for this process and, if available, lasting for all processes that use
// the data. "" means unknown.
func (r *Recorder) state(ctx context.Context, cat *store.Catalog, id string) (own, lasting string, err error) {
	v, err := r.From.Version(ctx, id)
	if own = string(v); cat.Live { // changes with any transaction
		return own, "", err
	}
	return own, own, err
}

// collection records the changes of one collection, and reports whether it read rows.
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

// digestForm is part of Tracked.Schema: if digests are computed differently, collections are loaded again.
const digestForm = "1"

// schemaOf returns a hash of the public properties and of everything else that all digests depend on.
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

// look is a comparison of one collection.
type look struct {
	r    *Recorder
	c    *store.Collection
	rec  state.Recording
	old  map[string][16]byte // recorded digests of features that have not been read yet
	sum  hash.Hash
	buf  []byte
	last *state.Digest // of the last feature; several rows may have the same id
	n    int64
}

// batch is the number of features that are read at a time.
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
		select { // gives way to requests
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(start)):
		}
	}
}

// titleBytes is the largest length of a recorded title.
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

// settle compares the digest of the last feature with the recorded one, and records a change if they differ.
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

// digest returns a hash of everything public in a row.
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
