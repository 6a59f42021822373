package tile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"grense/internal/geo/coverage"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/store"
)

// workKey names levels of a Maker.
type workKey struct{ collection, set string }

// work is the making of levels, and what came of it. All is guarded by the Maker's mutex.
type work struct {
	levels *levels // nil: there are none yet
	// of the collection's rows that the levels were seen to be of last in their snapshot; "": it is unknown
	version store.Version
	rough   rough
	stamp   string // of the data that levels were made of or last compared with
	checked time.Time
	due     bool          // rows have changed since
	rest    time.Duration // after checked, before which that alone has them not compared again
	busy    bool
	done    int           // in hundredths, while busy
	ended   chan struct{} // closed when it is not busy any more; nil before it was
	failed  string
	err     error
	at      time.Time // of the failure
}

// rough is coarse levels that stand in for others while these are made; its levels are nil when there are none.
type rough struct {
	levels  *levels
	version store.Version
	stamp   string
}

// Progress describes what a Maker does.
type Progress struct {
	Collection, Set string
	Ready           bool  // tiles are made from levels
	Busy            bool  // levels are being read or made
	Done            int   // of those, in hundredths
	Err             error // why they could not be made the last time; they are tried again
}

// retryAfter is how long after a failure levels are tried again.
const retryAfter = time.Minute

// retryLarge is the same where levels took too much memory, as they will again unless rows become fewer.
const retryLarge = time.Hour

// restAfter is how many times as long as comparing levels with their rows, and rebuilding them, has taken is rested
// where rows go on to change.
const restAfter = 10

// Progress describes all levels that were requested.
func (m *Maker) Progress() []Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Progress, 0, len(m.works))
	for k, w := range m.works {
		list = append(list,
			Progress{Collection: k.collection, Set: k.set, Ready: w.levels != nil, Busy: w.busy,
				Done: w.done, Err: w.err})
	}
	return list
}

// Rev names the state that tiles of these collections in a set are made from now, as Made.Rev does; while levels are
// being made it is that of the data. It reads from the store only the version of its data, and begins no levels
// that no tile was requested of. It is "" where the version of the data is unknown.
func (m *Maker) Rev(st store.Store, set *Set, collections ...string) string {
	cat := st.Catalog()
	var list []*store.Collection
	var ids []string
	for _, id := range collections {
		if c, ok := cat.Collection(id); ok && c.Geometry != nil {
			list, ids = append(list, c), append(ids, id)
		}
	}
	now, live, err := stamp(m.ctx, st)
	if err != nil {
		return ""
	}
	rev := ""
	if live && len(list) > 0 {
		v, err := st.Version(m.ctx, ids...)
		if v == "" || err != nil {
			return ""
		}
		rev = versionPrefix(v)
	}
	for _, c := range list {
		if m.archived(m.ctx, st, set, c) != nil {
			rev += m.o.Archive.rev
			continue
		}
		l, err := m.levels(m.ctx, st, set, c)
		if err != nil || l == nil {
			return rev + "made from " + now
		}
		rev += l.rev
	}
	return rev
}

// versionPrefix begins Made.Rev where rows may change at any moment: version is that of the rows of all layers.
func versionPrefix(version store.Version) string { return string(version) + "|" }

// revOf differs for any two levels of any data.
func revOf(l *levels) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s %s", l.c, l.set.ID, l.side.sum.Rev)
	return strconv.FormatUint(h.Sum64(), 36) + "."
}

// hintOf puts the hints of layers together.
func hintOf(hints []string) string {
	full := 0
	for _, h := range hints {
		switch h {
		case "full":
			full++
		case "":
			return ""
		}
	}
	switch full {
	case 0:
		return "empty"
	case 1:
		return "full"
	}
	return ""
}

// drawn adds what lies in the tile, from levels, and sets its hint.
func (d *drawing) drawn(ctx context.Context, in store.Reader) (string, error) {
	err := d.draw(ctx, in)
	switch {
	case err != nil:
		return "", err
	case (d.q.chooses() || d.exact) && len(d.chosen)+len(d.others) == 0:
		return "empty", nil
	case !d.q.chooses() && !d.exact && d.layer.Features() <= 1:
		return d.l.within(d.tile)
	}
	return "", nil
}

// due has levels compared with their rows soon, since some are known to have changed.
func (m *Maker) due(st store.Store, set *Set, c *store.Collection) {
	m.mu.Lock()
	if w := m.works[workKey{c.ID, set.ID}]; w != nil {
		w.due = true
	}
	m.mu.Unlock()
	_, _ = m.levels(m.ctx, st, set, c) // begins it; the next request gets the error
}

// stamp names the state of the data; live says that rows may change without another stamp.
func stamp(ctx context.Context, st store.Store) (name string, live bool, err error) {
	cat := st.Catalog()
	if cat.Live {
		return cat.Version, true, nil
	}
	v, err := st.Version(ctx)
	return string(v), false, err
}

// want has the next request for levels build them.
func (m *Maker) want(set *Set, c *store.Collection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := (workKey{c.ID, set.ID}); m.works[k] == nil {
		m.works[k] = &work{}
	}
}

// levels returns those of a collection; nil while they are being made, which is begun here where they are wanted, and
// while nobody wants any.
//
// Levels are built once for each collection, set and state of the data, one after another, and after a
// failure again in retryAfter; none while the store reads its rows for the first time. Where as many as Options.Queue
// are made or wait for that, another request starts them later. Where rows may change at any moment, all levels of a
// set that there are are made or compared with their rows in one go, so that they are of one state.
func (m *Maker) levels(ctx context.Context, st store.Store, set *Set, c *store.Collection) (*levels, error) {
	if c.Geometry == nil {
		return nil, nil
	}
	now, live, err := stamp(ctx, st)
	if err != nil {
		return nil, err
	}
	k := workKey{c.ID, set.ID}
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.works[k]
	if w == nil {
		return nil, nil
	}
	fresh := w.levels != nil && w.stamp == now
	old := fresh && live && (time.Since(w.checked) > m.o.Check || w.due && time.Since(w.checked) > w.rest)
	if (!fresh || old) && w.idle(now) && !m.closed && m.queued < m.o.Queue && st.Catalog().Survey == nil {
		m.begin(&job{m: m, st: st, now: now, live: live}, k)
	}
	if fresh {
		return w.levels, nil
	}
	return nil, nil
}

// idle reports whether levels may be begun: they are not being made, and have not just failed.
func (w *work) idle(now string) bool {
	wait := retryAfter
	if errors.Is(w.err, coverage.ErrTooLarge) {
		wait = retryLarge
	}
	return !w.busy && (w.failed != now || time.Since(w.at) >= wait)
}

// tooLarge reports whether there are no levels because they take too much memory.
func (m *Maker) tooLarge(collection string, set *Set) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.works[workKey{collection, set.ID}]
	return w != nil && w.levels == nil && errors.Is(w.err, coverage.ErrTooLarge)
}

// begin has a job make levels. The mutex is held.
func (m *Maker) begin(j *job, first workKey) {
	j.parts = append(j.parts, m.occupy(first))
	m.queued++
	m.group.Go(func() { m.work(j) })
}

// occupy begins the part of a job for idle levels. The mutex is held.
func (m *Maker) occupy(k workKey) *part {
	w := m.works[k]
	w.busy, w.done, w.ended = true, 0, make(chan struct{})
	return &part{k: k, w: w, owned: true}
}

// work does a job in the background.
func (m *Maker) work(j *job) {
	defer m.cache.Make()()
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-m.ctx.Done():
	}
	j.start = time.Now()
	st, end, err := j.open(m.ctx)
	if err == nil {
		defer end()
		err = j.join(m.ctx, st)
	}
	if err == nil {
		err = j.run(m.ctx, st)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range j.parts {
		if err != nil {
			p.l, p.err = nil, err
		}
		m.settle(j, p)
	}
}

// join adds the collections to a job whose areas share borders with those of its first one: their levels are made
// together. Those that another job is for are made here already; that job then finds them.
func (j *job) join(ctx context.Context, st store.Reader) error {
	first := j.parts[0].k
	set, c, _, err := layerIn(st.Catalog(), first)
	if err != nil || set.ID == wholeID {
		return err
	}
	mates, err := j.m.mates(ctx, st, set, c)
	if err != nil {
		return err
	}
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	for _, id := range mates {
		k := workKey{id, set.ID}
		if k == first {
			continue
		}
		if j.m.works[k] == nil {
			j.m.works[k] = &work{}
		}
		p := &part{k: k, w: j.m.works[k]}
		if p.w.idle(j.now) {
			p = j.m.occupy(k)
			j.m.queued++
		}
		j.parts = append(j.parts, p)
	}
	slices.SortFunc(j.parts, func(a, b *part) int { return cmp.Compare(a.k.collection, b.k.collection) })
	return nil
}

// settle ends a part of a job. The mutex is held.
func (m *Maker) settle(j *job, p *part) {
	w := p.w
	w.rough = rough{}
	if p.owned {
		w.busy, w.err, w.due = false, p.err, false
		w.rest = min(max(restAfter*time.Since(j.start), time.Second), m.o.Check)
		m.queued--
		close(w.ended)
	}
	switch {
	case m.ctx.Err() != nil:
		if p.l != nil && p.l != w.levels {
			p.l.side.close()
		}
		return
	case p.err != nil && !p.owned:
		return
	case errors.Is(p.err, coverage.ErrTooLarge):
		w.failed, w.at = j.now, time.Now()
		m.o.Log.Warn(
			"the levels for tiles need more memory than the limit: tiles are built from features on request, "+
				"and those of too many are refused; raise limits.memory, or serve an archive (grense tiles)",
			"collection",
			p.k.collection,
			"set",
			p.k.set,
			"most_bytes",
			m.o.Memory,
		)
		return
	case p.err != nil:
		w.failed, w.at = j.now, time.Now()
		m.o.Log.Warn("the levels for tiles could not be made", "collection", p.k.collection, "set", p.k.set, "error",
			p.err, "again_after", retryAfter)
		return
	}
	w.levels, w.version, w.stamp, w.checked, w.failed = p.l, p.version, j.now, time.Now(), ""
	if p.made {
		sum := &p.l.side.sum
		m.o.Log.Info("the levels for tiles are ready", "collection", p.k.collection, "set", p.k.set, "features",
			sum.Features, "first", sum.First, "last", sum.Last, "made_when_asked", sum.Live, "coverage", sum.Coverage,
			"left_out", sum.Unplaced, "took", p.took.Round(time.Millisecond))
	}
}

// layerIn finds what levels are made of, and for.
func layerIn(cat *store.Catalog, k workKey) (*Set, *store.Collection, crs.Func, error) {
	if k.set == wholeID {
		c, ok := cat.Collection(k.collection)
		if !ok || c.Geometry == nil {
			return nil, nil, nil, fmt.Errorf("%w: collection %s", store.ErrNotFound, k.collection)
		}
		set, err := wholeOf(c)
		return set, c, func(x, y float64) (float64, float64) { return x, y }, err
	}
	set, ok := Find(k.set)
	if !ok {
		return nil, nil, nil, fmt.Errorf("tile: no set %s", k.set)
	}
	c, move, err := layerOf(cat, set, k.collection)
	return set, c, move, err
}

// awaited says which levels are waited for.
type awaited struct {
	st   store.Store
	set  *Set
	c    *store.Collection
	told func(done int) // hears how far they are, in hundredths
}

// await returns levels, which it has made where there are none.
func (m *Maker) await(ctx context.Context, a awaited) (*levels, error) {
	m.want(a.set, a.c)
	for {
		l, err := m.levels(ctx, a.st, a.set, a.c)
		if l != nil || err != nil {
			return l, err
		}
		m.mu.Lock()
		w := m.works[workKey{a.c.ID, a.set.ID}]
		busy, done, ended, err := w.busy, w.done, w.ended, w.err
		m.mu.Unlock()
		if !busy && errors.Is(err, coverage.ErrTooLarge) {
			err = problem.New(problem.TooLarge, err,
				"The shared borders of %s take more memory than this server may use for them. "+
					"Its operator can raise limits.memory.",
				a.c.ID)
		}
		if !busy && err != nil {
			return nil, err
		}
		a.told(done)
		select {
		case <-ended:
		case <-time.After(time.Second / 5):
		case <-m.ctx.Done():
			return nil, m.ctx.Err()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// job is one making of levels, of one state of the data.
type job struct {
	m     *Maker
	st    store.Store
	now   string // the stamp that it is for
	live  bool   // rows may change without another stamp
	parts []*part
	start time.Time
}

// part is what a job does for one collection.
type part struct {
	k       workKey
	w       *work
	owned   bool // the levels are busy for this job; else for another, or not at all
	l       *levels
	version store.Version // of the rows, in the snapshot of the job
	rev     string        // see summary
	with    string        // see summary
	made    bool
	took    time.Duration
	err     error
}

// open takes the state that all parts are of.
func (j *job) open(ctx context.Context) (in store.Reader, end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return snapshotOf(ctx, j.st)
}

// run makes the levels of all parts, or finds them.
func (j *job) run(ctx context.Context, st store.Reader) (err error) {
	defer func() {
		if x := recover(); x != nil { // no request is there to fail
			err = fmt.Errorf("tile: %v\n%s", x, debug.Stack())
		}
	}()
	if err := j.name(ctx, st); err != nil {
		return err
	}
	found := 0
	for _, p := range j.parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.l, err = j.find(p); err != nil {
			return err
		}
		if p.l != nil {
			found++
		}
	}
	if found == len(j.parts) {
		return nil
	}
	err = j.make(ctx, st, j.parts)
	if len(j.parts) > 1 &&
		(errors.Is(err, coverage.ErrApart) || errors.Is(err, coverage.ErrPlanar) ||
			errors.Is(err, coverage.ErrTooLarge)) {
		j.m.o.Log.Warn(
			"layers for tiles are simplified each by itself, since their borders cross too often or take too much "+
				"memory together",
			"set",
			j.parts[0].k.set,
			"error",
			err,
		)
		for _, p := range j.parts {
			p.err = j.make(ctx, st, []*part{p})
		}
		return nil
	}
	return err
}

// name sets the data version of each part, as the snapshot st has it, and the name of all parts together.
func (j *job) name(ctx context.Context, st store.Reader) error {
	all := ""
	for _, p := range j.parts {
		var err error
		if p.version, err = st.Version(ctx, p.k.collection); err != nil {
			return err
		}
		p.rev = j.now
		if j.live {
			sum, err := rowSum(ctx, st, p.k.collection)
			if err != nil {
				return err
			}
			p.rev = fmt.Sprintf("%s/%x", p.rev, sum)
		}
		all += p.k.collection + "\x00" + p.rev + "\x00"
	}
	if len(j.parts) > 1 {
		for _, p := range j.parts {
			p.with = all
		}
	}
	return nil
}

// find returns the levels of a part that were made before; nil where there are none of the present rows.
func (j *job) find(p *part) (*levels, error) {
	j.m.mu.Lock()
	before := p.w.levels
	j.m.mu.Unlock()
	if before != nil && before.side.sum.Rev == p.rev && before.side.sum.With == p.with {
		return before, nil
	}
	path, _ := j.path(p.k.collection, p.k.set)
	if path == "" {
		return nil, nil
	}
	set, c, _, err := layerIn(j.st.Catalog(), p.k)
	if err != nil {
		return nil, err
	}
	return j.read(path, p, set, c.ID)
}

// path returns where the side file lies, and how the names of such files of all states begin; "" without a folder.
func (j *job) path(collection, set string) (path, prefix string) {
	if j.m.o.Dir == "" {
		return "", ""
	}
	h := fnv.New64a()
	h.Write([]byte(collection + "\x00" + j.now))
	prefix = collection[:min(len(collection), 80)] + "-" + set + "-"
	return filepath.Join(j.m.o.Dir, "tiles", fmt.Sprintf("%s%016x.levels", prefix, h.Sum64())), prefix
}

// read reads a side file; nil when there is none of that revision that can be used.
func (j *job) read(path string, p *part, set *Set, collection string) (*levels, error) {
	s, err := openSide(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			j.m.o.Log.Warn("a side file with levels for tiles is rebuilt", "path", path, "why", err)
		}
		return nil, nil
	}
	// with more memory, more levels are made
	if s.sum.Rev != p.rev || s.sum.With != p.with ||
		s.sum.Live > 0 && (j.m.o.Memory == 0 || j.m.o.Memory > s.sum.Memory) {
		return nil, s.close()
	}
	l, err := j.m.newLevels(set, collection, s, j.live)
	if err != nil {
		j.m.o.Log.Warn("a side file with levels for tiles is rebuilt", "path", path, "why", err)
		return nil, s.close()
	}
	return l, nil
}

// make makes the levels of parts together, and writes a side file for each.
func (j *job) make(ctx context.Context, st store.Reader, parts []*part) error {
	start := time.Now()
	makers := make([]*maker, len(parts))
	for i, p := range parts {
		set, c, move, err := layerIn(st.Catalog(), p.k)
		if err != nil {
			return err
		}
		path, _ := j.path(c.ID, set.ID)
		out, err := newSideWriter(path)
		if err != nil {
			return err
		}
		defer out.abandon()
		out.sum.Memory, out.sum.With = j.m.o.Memory, p.with
		logged := time.Now()
		makers[i] = &maker{st: st, c: c, set: set, move: move, memory: j.m.o.Memory, out: out, told: func(done int) {
			j.m.mu.Lock()
			p.w.done = done
			j.m.mu.Unlock()
			if time.Since(logged) > 5*time.Second {
				logged = time.Now()
				j.m.o.Log.Info("the levels for tiles are being made", "collection", c.ID, "set", set.ID,
					"percent", done)
			}
		}}
		j.m.o.Log.Info("the levels for tiles are being made", "collection", c.ID, "set", set.ID, "features", c.Count)
	}
	if err := makeLevels(ctx, makers, j.m.o.Coarse, func() error { return j.publish(parts, makers) }); err != nil {
		return err
	}
	now, live, err := stamp(ctx, j.st)
	if err != nil {
		return err
	}
	if now != j.now {
		return fmt.Errorf("tile: %w", store.ErrChanged)
	}
	for i, p := range parts {
		b := makers[i]
		if b.out.sum.Rev = now; live {
			b.out.sum.Rev = fmt.Sprintf("%s/%x", now, b.sum)
		}
		path, prefix := j.path(b.c.ID, b.set.ID)
		s, err := b.out.finish()
		if err != nil {
			return err
		}
		if path != "" {
			tidy(path, prefix)
		}
		p.made, p.took = true, time.Since(start)
		if p.l, err = j.m.newLevels(b.set, b.c.ID, s, live); err != nil {
			return err
		}
	}
	return nil
}

// publish has tiles drawn from the coarse levels that makers have written, until all are made.
func (j *job) publish(parts []*part, makers []*maker) error {
	for i, p := range parts {
		b := makers[i]
		s, err := b.out.coarse()
		if err != nil {
			return err
		}
		l, err := j.m.newLevels(b.set, b.c.ID, s, j.live)
		if err != nil {
			return err
		}
		l.rough = true
		j.m.mu.Lock()
		p.w.rough = rough{levels: l, version: p.version, stamp: j.now}
		j.m.mu.Unlock()
		j.m.o.Log.Info("tiles are drawn from coarse levels until all are ready", "collection", b.c.ID, "set", b.set.ID,
			"last", s.sum.drawn())
	}
	return nil
}

// rowSum adds up the ids and revisions of a collection.
func rowSum(ctx context.Context, st store.Reader, collection string) (sum uint64, err error) {
	q := store.Query{Collection: collection, Limit: 10_000, Count: store.CountNone}
	for {
		page, err := st.Page(ctx, q)
		if err != nil {
			return 0, err
		}
		for _, r := range page.Rows {
			sum = addRow(sum, r.ID, r.Rev)
		}
		if page.Next == "" {
			return sum, nil
		}
		q.Cursor = page.Next
	}
}

// Close ends what is made in the background, and waits for it.
func (m *Maker) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stop()
	m.group.Wait()
	var errs []error
	for _, w := range m.works {
		if w.levels != nil {
			errs = append(errs, w.levels.side.close())
		}
	}
	m.cache.Clear()
	return errors.Join(errs...)
}
