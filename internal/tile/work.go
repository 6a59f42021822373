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

// workKey identifies the levels of a collection in a set.
type workKey struct{ collection, set string }

// work is the state of building the levels for a workKey. The Maker's mutex guards all fields.
type work struct {
	levels *levels // nil: not built yet
	// version of the rows when the levels were last found to match them, in a snapshot; "": unknown
	version store.Version
	rough   rough
	stamp   string // data version of the last build or comparison
	checked time.Time
	due     bool          // rows have changed since
	rest    time.Duration // minimum time from checked to the next comparison if due
	busy    bool
	done    int           // percent, while busy
	ended   chan struct{} // closed when busy ends; nil before the first build
	failed  string
	err     error
	at      time.Time // time of the failure
}

// rough holds the coarse levels in use while the others are being built; levels is nil if there are none.
type rough struct {
	levels  *levels
	version store.Version
	stamp   string
}

// Progress is the state of the levels of a collection in a set.
type Progress struct {
	Collection, Set string
	Ready           bool  // tiles are drawn from levels
	Busy            bool  // levels are being loaded or built
	Done            int   // percent
	Err             error // of the last attempt, which will be repeated
}

// retryAfter is the time after which a failed build is repeated.
const retryAfter = time.Minute

// retryLarge is the time after which a build that needed too much memory is repeated. It will fail again unless there
// are fewer rows.
const retryLarge = time.Hour

// restAfter is the least pause after comparing or rebuilding levels, as a multiple of the time that took, while rows
// keep changing.
const restAfter = 10

// Progress returns the state of all levels that were requested.
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

// Rev returns the Made.Rev of tiles with these collections that are built now, or a version of the data while levels
// are being built. It reads only the version from the store, and starts building only levels that a tile was requested
// from. It returns "" if the version of the data is unknown.
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

// versionPrefix returns the beginning of Made.Rev for a live source; version is that of the rows of all layers.
func versionPrefix(version store.Version) string { return string(version) + "|" }

// revOf returns the version of levels: a hash of the collection, the set and the version of the data.
func revOf(l *levels) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s %s", l.c, l.set.ID, l.side.sum.Rev)
	return strconv.FormatUint(h.Sum64(), 36) + "."
}

// hintOf combines the hints of all layers of a tile.
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

// drawn draws the layer from levels and returns its hint.
func (d *drawing) drawn(ctx context.Context, in store.Reader) (string, error) {
	err := d.draw(ctx, in)
	switch {
	case err != nil:
		return "", err
	case (d.q.chooses() || d.exact) && len(d.chosen)+len(d.others) == 0:
		return "empty", nil
	case d.window == nil && !d.q.chooses() && !d.exact && d.layer.Features() <= 1:
		return d.l.within(d.tile)
	}
	return "", nil
}

// due schedules a comparison of levels with their rows, because some rows are known to have changed.
func (m *Maker) due(st store.Store, set *Set, c *store.Collection) {
	m.mu.Lock()
	if w := m.works[workKey{c.ID, set.ID}]; w != nil {
		w.due = true
	}
	m.mu.Unlock()
	_, _ = m.levels(m.ctx, st, set, c) // starts the job; the next request gets the error
}

// stamp returns the version of the data by which levels are identified. live means that rows may change without a new
// stamp.
func stamp(ctx context.Context, st store.Store) (name string, live bool, err error) {
	cat := st.Catalog()
	if cat.Live {
		return cat.Version, true, nil
	}
	v, err := st.Version(ctx)
	return string(v), false, err
}

// want requests levels, so that the next call of Maker.levels builds them.
func (m *Maker) want(set *Set, c *store.Collection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := (workKey{c.ID, set.ID}); m.works[k] == nil {
		m.works[k] = &work{}
	}
}

// levels returns the levels of a collection; nil if they are not built yet or nobody has requested them (want).
//
// If needed, it starts a job in the background that builds them: once for each version of the data, one job at a time.
// It starts none if Options.Queue levels are waiting, for retryAfter after a failure, and while the store still reads
// its rows for the first time. For a live source the job compares the levels with their rows before it rebuilds them.
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

// idle reports whether a job may start: none is building these levels, and the last one has not failed just now.
func (w *work) idle(now string) bool {
	wait := retryAfter
	if errors.Is(w.err, coverage.ErrTooLarge) {
		wait = retryLarge
	}
	return !w.busy && (w.failed != now || time.Since(w.at) >= wait)
}

// tooLarge reports whether levels were not built because they needed too much memory.
func (m *Maker) tooLarge(collection string, set *Set) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.works[workKey{collection, set.ID}]
	return w != nil && w.levels == nil && errors.Is(w.err, coverage.ErrTooLarge)
}

// begin starts a job in the background. The caller holds the mutex.
func (m *Maker) begin(j *job, first workKey) {
	j.parts = append(j.parts, m.occupy(first))
	m.queued++
	m.group.Go(func() { m.work(j) })
}

// occupy marks levels as busy and returns their part of a job. The caller holds the mutex.
func (m *Maker) occupy(k workKey) *part {
	w := m.works[k]
	w.busy, w.done, w.ended = true, 0, make(chan struct{})
	return &part{k: k, w: w, owned: true}
}

// work runs a job and stores its results.
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

// join adds the collections whose areas share borders with the first one to a job, since their levels must be built
// together. Levels for which another job waits are built here, too; that job will then find them.
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

// settle stores the result of a part. The caller holds the mutex.
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
			"left_out", sum.Unplaced, "took_ms", p.took.Milliseconds())
	}
}

// layerIn returns the set and the collection of a workKey, and the transformation of coordinates to the set's CRS.
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

// awaited describes levels to wait for.
type awaited struct {
	st     store.Store
	set    *Set
	c      *store.Collection
	report func(done int) // called with the progress in percent
}

// await returns levels, and builds them if necessary.
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
		a.report(done)
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

// job builds or compares levels that must be of one version of the data.
type job struct {
	m     *Maker
	st    store.Store
	now   string // stamp when the job was created
	live  bool   // rows may change without a new stamp
	parts []*part
	start time.Time
}

// part is the part of a job for one collection.
type part struct {
	k       workKey
	w       *work
	owned   bool // this job has marked the levels busy; false: another job has, or none
	l       *levels
	version store.Version // of the rows in the job's snapshot
	rev     string        // summary.Rev
	with    string        // summary.With
	made    bool
	took    time.Duration
	err     error
}

// open opens the snapshot for all parts.
func (j *job) open(ctx context.Context) (in store.Reader, end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return snapshotOf(ctx, j.st)
}

// run loads or builds the levels of all parts.
func (j *job) run(ctx context.Context, st store.Reader) (err error) {
	defer func() {
		if x := recover(); x != nil { // a panic in the background would end the program
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

// name sets the version of each part's rows in the snapshot st, and which parts are built together.
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

// find returns levels of a part that exist already, in memory or in a side file; nil if they are not of the current
// rows.
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

// path returns the path of a side file, and the prefix of the names of such files for all versions of the data. Both
// are "" without a directory.
func (j *job) path(collection, set string) (path, prefix string) {
	if j.m.o.Dir == "" {
		return "", ""
	}
	h := fnv.New64a()
	h.Write([]byte(collection + "\x00" + j.now))
	prefix = collection[:min(len(collection), 80)] + "-" + set + "-"
	return filepath.Join(j.m.o.Dir, "tiles", fmt.Sprintf("%s%016x.levels", prefix, h.Sum64())), prefix
}

// read loads a side file; nil if it does not exist, is damaged or of another version.
func (j *job) read(path string, p *part, set *Set, collection string) (*levels, error) {
	s, err := openSide(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			j.m.o.Log.Warn("a side file with levels for tiles is rebuilt", "path", path, "why", err)
		}
		return nil, nil
	}
	// more memory than last time: more levels can be built
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

// make builds the levels of parts together, and writes a side file for each.
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
		makers[i] = &maker{st: st, c: c, set: set, move: move, memory: j.m.o.Memory, out: out, report: func(done int) {
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

// publish makes the coarse levels that the makers have written available for drawing, until all levels are complete.
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

// rowSum returns a hash of the ids and revisions of all rows in a collection.
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

// Close stops work in the background, waits for it and closes all levels.
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
