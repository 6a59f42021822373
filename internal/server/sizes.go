package server

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"grense/internal/cache"
	"grense/internal/format"
	"grense/internal/store"
)

// How large files will be is told by a few features from three places of a collection.
const (
	sampleRun   = 25               // features that follow each other
	sampleBytes = 1 << 20          // of geometries, after which no more are taken
	sampleTime  = 10 * time.Second // after which nothing is told
	sampleAgain = time.Minute      // after a failure
	sampleWait  = time.Second      // of a page, which leaves sizes out then
	sampleMost  = 100              // collections that are sampled before a page asks
	sampleRest  = 4                // times as long as one of these took nothing is sampled
)

// fileSizes are what files of some features have in bytes, and those of none, by format.
type fileSizes struct {
	features    int
	some, empty map[string]int64
}

// sizeSamples are the sizes of collections. Each is sampled once for each catalog, in the background, since a page must not wait for a store that is slow, and
// many that are asked for at once need one sample. It is safe for concurrent use.
type sizeSamples struct {
	held  *cache.Cache[string, *fileSizes] // by catalog and collection
	ctx   context.Context
	stop  context.CancelFunc
	group sync.WaitGroup
	turn  chan struct{} // one is made at a time

	mu    sync.Mutex
	works map[string]*sizeWork // under way, or failed
}

// sizeWork is the making of a sample. The mutex of sizeSamples guards it.
type sizeWork struct {
	done  chan struct{} // closed at its end
	ended bool
	again time.Time // nothing is tried before
}

func newSizeSamples(g *cache.Group) *sizeSamples {
	x := &sizeSamples{held: cache.New[string, *fileSizes](cache.Options{Name: "file_sizes", Bytes: 256 << 10, Group: g}), turn: make(chan struct{}, 1), works: map[string]*sizeWork{}}
	x.ctx, x.stop = context.WithCancel(context.Background()) // what is made serves later requests as well
	return x
}

// close ends what is being made, and waits for it.
func (x *sizeSamples) close() {
	x.mu.Lock()
	x.stop()
	x.mu.Unlock()
	x.group.Wait()
}

// begin has a sample made, unless that is under way or has failed of late; what it returns is closed when there is nothing to wait for.
func (x *sizeSamples) begin(key string, sample func(context.Context) (*fileSizes, error)) <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(x.works, func(_ string, w *sizeWork) bool { return w.ended && now.After(w.again) })
	if w := x.works[key]; w != nil {
		return w.done
	}
	w := &sizeWork{done: make(chan struct{})}
	x.works[key] = w
	if _, ok := x.held.Get(key); ok || x.ctx.Err() != nil {
		w.ended = true
		close(w.done)
		return w.done
	}
	x.group.Go(func() { x.work(key, w, sample) })
	return w.done
}

// work makes a sample.
func (x *sizeSamples) work(key string, w *sizeWork, sample func(context.Context) (*fileSizes, error)) {
	defer x.held.Make()()
	defer close(w.done)
	x.turn <- struct{}{}
	defer func() { <-x.turn }()
	ctx, cancel := context.WithTimeout(x.ctx, sampleTime)
	defer cancel()
	z, err := sample(ctx)
	if err == nil {
		x.held.Put(key, z, 1<<10)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if w.ended = true; err != nil {
		w.again = time.Now().Add(sampleAgain)
	}
}

// of estimates the size of a file of n features.
func (z *fileSizes) of(f *format.Format, n int) int64 {
	if n == 0 || z.features == 0 {
		return z.empty[f.Name]
	}
	return z.empty[f.Name] + int64(float64(z.some[f.Name]-z.empty[f.Name])*float64(n)/float64(z.features))
}

// beginSizes has the collection sampled, as sizeSamples.begin does. The key is that of its sizes.
func (s *Server) beginSizes(cat *store.Catalog, coll *store.Collection) (key string, done <-chan struct{}) {
	key = cat.Version + " " + coll.ID
	return key, s.sizes.begin(key, func(ctx context.Context) (*fileSizes, error) {
		z, err := s.sample(ctx, cat, coll)
		if err != nil && s.sizes.ctx.Err() == nil {
			s.log.WarnContext(ctx, "sizes of files left out", "collection", coll.ID, "err", redact(err.Error()))
		}
		return z, err
	})
}

// fileSizes are those of the collection; nil where they are not known yet, or cannot be, which costs a page its sizes and nothing else.
func (c *call) fileSizes() *fileSizes {
	if z, ok := c.s.sizes.held.Get(c.cat.Version + " " + c.coll.ID); ok {
		return z
	}
	key, done := c.s.beginSizes(c.cat, c.coll)
	late := time.NewTimer(sampleWait)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-c.r.Context().Done():
	}
	z, _ := c.s.sizes.held.Get(key)
	return z
}

// RunSizes samples the collections of each catalog before pages ask, until ctx ends: one by one, with rests, and none whose features the store finds with effort.
func (s *Server) RunSizes(ctx context.Context) {
	seen := ""
	for pauses(ctx, time.Second) {
		cat := s.store.Catalog()
		if cat.Version == seen {
			continue
		}
		seen = cat.Version
		for _, coll := range cat.Collections[:min(len(cat.Collections), sampleMost)] {
			if !coll.Public || s.store.Cost(sampleQuery(coll, coll.Count*2/3)) >= store.CostScan {
				continue
			}
			start := time.Now()
			_, done := s.beginSizes(cat, coll)
			select {
			case <-done:
			case <-ctx.Done():
			}
			if !pauses(ctx, sampleRest*time.Since(start)) {
				return
			}
		}
	}
}

// pauses waits; false when ctx ends first.
func pauses(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func sampleQuery(coll *store.Collection, offset int) store.Query {
	return store.Query{Collection: coll.ID, Limit: sampleRun, Offset: offset, Count: store.CountNone}
}

// sample writes some features and none in every format.
func (s *Server) sample(ctx context.Context, cat *store.Catalog, coll *store.Collection) (z *fileSizes, err error) {
	defer func() {
		if p := recover(); p != nil { // no request is there to fail
			s.log.ErrorContext(ctx, "panic", "collection", coll.ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	z = &fileSizes{}
	files, err := s.openSample(cat, coll)
	if err != nil {
		return nil, err
	}
	z.empty, err = files.close(nil)
	if err != nil {
		return nil, err
	}
	if files, err = s.openSample(cat, coll); err != nil {
		return nil, err
	}
	bytes, want := 0, files[0].Want()
	want.VersionIDs = coll.Versions != nil // several of one id have no place in a file
	for i := range 3 {
		offset := coll.Count * i / 3
		if i > 0 && offset < i*sampleRun || err != nil || bytes > sampleBytes {
			continue
		}
		var p *store.Page
		if p, err = s.store.Page(ctx, sampleQuery(coll, offset)); err != nil {
			continue
		}
		for _, row := range p.Rows { // one by one: a feature may be as large as all others
			if err != nil || bytes > sampleBytes {
				break
			}
			err = s.store.Fetch(ctx, coll.ID, []store.Row{row}, want, func(f *store.Feature) error {
				z.features++
				bytes += len(f.Geometry.WKB)
				return files.write(f)
			})
		}
	}
	z.some, err = files.close(err)
	return z, err
}

// sampleFile is a file of which only the size counts.
type sampleFile struct {
	format.Writer
	name string
	size *byteCount
}

type sampleFiles []sampleFile

type byteCount int64

func (n *byteCount) Write(b []byte) (int, error) {
	*n += byteCount(len(b))
	return len(b), nil
}

func (s *Server) openSample(cat *store.Catalog, coll *store.Collection) (files sampleFiles, err error) {
	for _, r := range s.downloadReps() {
		f, size := format.Find(r.F), new(byteCount)
		w, err := f.Open(size, format.Options{Collection: coll, Count: 3 * sampleRun, Address: s.root + "/collections/" + coll.ID, Title: coll.Title.In("nb"),
			Dated: cat.Modified, Temp: s.downloads.temp(), GeoPackage: s.newGeoPackage})
		if err != nil {
			_, err = files.close(err)
			return nil, err
		}
		files = append(files, sampleFile{w, f.Name, size})
	}
	return files, nil
}

func (s sampleFiles) write(f *store.Feature) error {
	for _, x := range s {
		if err := x.Write(f); err != nil {
			return err
		}
	}
	return nil
}

// close ends the files and tells their sizes; after an error it only ends them.
func (s sampleFiles) close(err error) (map[string]int64, error) {
	sizes := map[string]int64{}
	for _, x := range s {
		if closed := x.Close(err != nil); err == nil {
			err = closed
		}
		sizes[x.name] = int64(*x.size)
	}
	return sizes, err
}
