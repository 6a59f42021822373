package server

import (
	"context"
	"net/http"
	"runtime/debug"
	"time"

	"grense/internal/format"
	"grense/internal/store"
)

// Files of small collections are made before somebody asks, so that the links to them tell their lengths.
const (
	aheadMost  = 8 << 20     // bytes of one, by its estimate
	aheadShare = 4           // of what files may have together, one of so many parts
	aheadRest  = 19          // times as long as one took nothing is made
	aheadCalm  = time.Minute // for which later data have not changed
)

// RunFiles makes the files of small collections of each catalog, until ctx ends: one at a time, with rests. Data that change all the time have none made. Where links
// cannot name a state of the data, as those of a database, there is nothing to make.
func (s *Server) RunFiles(ctx context.Context) {
	if !s.ofFile() || !s.downloads.keeps() {
		return
	}
	seen, done := "", false
	var since time.Time
	for pauses(ctx, time.Second) {
		cat := s.store.Catalog()
		if cat.Version != seen {
			if since = time.Now(); seen == "" {
				since = time.Time{}
			}
			seen, done = cat.Version, false
		}
		if !done && time.Since(since) >= aheadCalm {
			done = true
			s.filesAhead(ctx, cat, aheadRest)
		}
	}
}

// filesAhead makes the files of small collections, for both mounts, until the catalog is another; after each it rests so many times as long as that took.
func (s *Server) filesAhead(ctx context.Context, cat *store.Catalog, rest time.Duration) {
	left := s.downloads.most / aheadShare
	for _, coll := range cat.Collections[:min(len(cat.Collections), sampleMost)] {
		if !coll.Public || !isPlain(coll) || s.store.Cost(sampleQuery(coll, coll.Count*2/3)) >= store.CostScan {
			continue
		}
		key, done := s.beginSizes(cat, coll)
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
		sizes, ok := s.sizes.held.Get(key)
		if !ok {
			continue
		}
		if left = s.filesOf(ctx, filesWanted{cat, coll, sizes, rest}, left); left < 0 {
			return
		}
	}
}

// filesWanted are the files of one collection.
type filesWanted struct {
	cat   *store.Catalog
	coll  *store.Collection
	sizes *fileSizes
	rest  time.Duration // as of filesAhead
}

// filesOf makes the files of one collection, of left bytes at most, and returns how many are left for others; below 0: no more are to be made. What tells of these files
// does so once all are there.
func (s *Server) filesOf(ctx context.Context, w filesWanted, left int64) int64 {
	defer s.downloads.changes.together(w.coll.ID)()
	for _, r := range s.downloadReps() {
		f := format.Find(r.F)
		n := w.sizes.of(f, w.coll.Count)
		if n > aheadMost || f.Most > 0 && w.coll.Count > f.Most {
			continue
		}
		for _, mount := range mounts {
			if left -= n; left < 0 || ctx.Err() != nil || s.store.Catalog().Version != w.cat.Version {
				return -1
			}
			start := time.Now()
			s.fileAhead(ctx, &call{s: s, root: s.root, mount: mount, cat: w.cat, coll: w.coll, rep: r}, f)
			pauses(ctx, w.rest*time.Since(start))
		}
	}
	return left
}

// fileAhead makes one file as a request for it would, unless it is there. A failure is left to who asks for it.
func (s *Server) fileAhead(ctx context.Context, c *call, f *format.Format) {
	defer s.sizes.held.Make()() // whose sizes are known then
	defer func() {
		if p := recover(); p != nil { // no request is there to fail
			s.log.ErrorContext(ctx, "panic", "collection", c.coll.ID, "format", f.Name, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base()+"/collections/"+c.coll.ID+"/download", nil)
	if err != nil {
		return
	}
	c.r, c.params = r, newDownloadParams(c)
	snap, err := s.snapshotFor(ctx, c.owner(), true)
	if err != nil {
		return
	}
	defer snap.Close()
	if snap.Catalog().Version != c.cat.Version {
		return
	}
	state, err := snap.Revision(ctx, c.coll.ID)
	if err != nil {
		return
	}
	if file, err := c.load(f, snap, state, func(*diskWriter) {}); err == nil {
		file.Close()
	}
}
