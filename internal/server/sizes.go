package server

import (
	"context"
	"time"

	"grense/internal/cache"
	"grense/internal/format"
	"grense/internal/store"
)

// How large files will be is told by a few features from three places of a collection.
const (
	sampleRun   = 25              // features that follow each other
	sampleBytes = 1 << 20         // of geometries, after which no more are taken
	sampleTime  = 2 * time.Second // after which nothing is told
)

// fileSizes are what files of some features have in bytes, and those of none, by format.
type fileSizes struct {
	features    int
	some, empty map[string]int64
}

// sizeCache holds what is known of collections, by catalog and id.
type sizeCache = cache.Cache[string, *fileSizes]

func newSizeCache(g *cache.Group) *sizeCache {
	return cache.New[string, *fileSizes](cache.Options{Name: "file_sizes", Bytes: 256 << 10, Group: g})
}

// of estimates the size of a file of n features.
func (z *fileSizes) of(f *format.Format, n int) int64 {
	if n == 0 || z.features == 0 {
		return z.empty[f.Name]
	}
	return z.empty[f.Name] + int64(float64(z.some[f.Name]-z.empty[f.Name])*float64(n)/float64(z.features))
}

// fileSizes samples the collection, once for each catalog; nil where that fails, which costs a page its sizes and nothing else.
func (c *call) fileSizes() *fileSizes {
	key := c.cat.Version + " " + c.coll.ID
	if z, ok := c.s.fileSizes.Get(key); ok {
		return z
	}
	ctx, cancel := context.WithTimeout(c.asking(c.r.Context()), sampleTime)
	defer cancel()
	z, err := c.sample(ctx)
	if err != nil {
		c.s.log.WarnContext(c.r.Context(), "sizes of files left out", "request", c.id, "collection", c.coll.ID, "err", redact(err.Error()))
		return nil
	}
	c.s.fileSizes.Put(key, z, 1<<10)
	return z
}

// sample writes some features and none in every format.
func (c *call) sample(ctx context.Context) (*fileSizes, error) {
	z := &fileSizes{}
	files, err := c.openSample()
	if err != nil {
		return nil, err
	}
	z.empty, err = files.close(nil)
	if err != nil {
		return nil, err
	}
	if files, err = c.openSample(); err != nil {
		return nil, err
	}
	bytes := 0
	for i := range 3 {
		offset := c.coll.Count * i / 3
		if i > 0 && offset < i*sampleRun || err != nil || bytes > sampleBytes {
			continue
		}
		var p *store.Page
		if p, err = c.s.store.Page(ctx, store.Query{Collection: c.coll.ID, Limit: sampleRun, Offset: offset, Count: store.CountNone}); err != nil {
			continue
		}
		for _, row := range p.Rows { // one by one: a feature may be as large as all others
			if err != nil || bytes > sampleBytes {
				break
			}
			err = c.s.store.Fetch(ctx, c.coll.ID, []store.Row{row}, files[0].Want(), func(f *store.Feature) error {
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

func (c *call) openSample() (files sampleFiles, err error) {
	for _, r := range c.s.downloadReps() {
		f, size := format.Find(r.F), new(byteCount)
		w, err := f.Open(size, format.Options{Collection: c.coll, Count: 3 * sampleRun, Address: c.base() + "/collections/" + c.coll.ID, Title: c.coll.Title.In("nb"),
			Dated: c.cat.Modified, Temp: c.s.downloads.temp(), GeoPackage: c.s.newGeoPackage})
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
