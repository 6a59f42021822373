package tile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/paulmach/orb"

	"grense/internal/archive"
	"grense/internal/store"
)

// archivedSet is the only tile matrix set of archives, since other programs support no other.
const archivedSet = "WebMercatorQuad"

// archivedVersion is the version of the part of document that is our own.
const archivedVersion = 2

// document is the JSON metadata of an archive: the standard list of vector layers, and our own part.
type document struct {
	Vector []VectorLayer `json:"vector_layers"`
	Grense struct {
		Version int             `json:"version"`
		Layers  []archivedLayer `json:"layers"`
	} `json:"grense"`
}

// VectorLayer describes a layer of tiles to map libraries (TileJSON 3.0.0, 3.3).
type VectorLayer struct {
	ID          string            `json:"id"`
	Description string            `json:"description"`
	MinZoom     int               `json:"minzoom"`
	MaxZoom     int               `json:"maxzoom"`
	Fields      map[string]string `json:"fields"` // types by property name: String, Number or Boolean
}

// archivedLayer is our own metadata about a layer of an archive.
type archivedLayer struct {
	ID         string     `json:"id"`
	Labels     string     `json:"labels,omitempty"` // name of the layer with its labels; "": none
	First      int        `json:"first"`            // levels with features, even if the archive lacks them
	Last       int        `json:"last"`
	Bound      *orb.Bound `json:"bound"` // in metres; nil: no features
	Features   int        `json:"features"`
	Side       float64    `json:"side,omitempty"` // see summary
	Properties []string   `json:"properties"`
	Content    string     `json:"content"` // hash of the features; see contentOf
}

// Archive is a file of tiles that Export has written. It is safe for concurrent use.
type Archive struct {
	r      *archive.Reader
	path   string
	rev    string
	layers map[string]*archivedLayer
}

// OpenArchive opens an archive. It refuses files that Export of this version has not written.
func OpenArchive(path string) (*Archive, error) {
	r, err := archive.Open(path)
	if err != nil {
		return nil, fmt.Errorf("tile: %s: %w", path, err)
	}
	a := &Archive{r: r, path: path, layers: map[string]*archivedLayer{}}
	var d document
	if err := json.Unmarshal(r.Layers, &d); err != nil || d.Grense.Version != archivedVersion {
		return nil,
			errors.Join(fmt.Errorf("tile: %s was not made by this version of grense tiles export", path), r.Close())
	}
	for i := range d.Grense.Layers {
		a.layers[d.Grense.Layers[i].ID] = &d.Grense.Layers[i]
	}
	sum := sha256.Sum256(r.Layers)
	a.rev = "archive " + hex.EncodeToString(sum[:8]) + "."
	return a, nil
}

// Close closes the file. Close the Maker that uses it first.
func (a *Archive) Close() error { return a.r.Close() }

// Zooms returns the first and the last level in the file.
func (a *Archive) Zooms() (first, last int) { return a.r.First, a.r.Last }

// Fits returns an error if the archive cannot be of the collections of a catalog: a layer has no collection, or the
// number of features or the properties differ. A Maker compares the values later, in the background.
func (a *Archive) Fits(cat *store.Catalog) error {
	var errs []error
	for _, id := range a.Layers() {
		l := a.layers[id]
		c, ok := cat.Collection(id)
		switch {
		case !ok || !c.Public || c.Geometry == nil:
			errs = append(errs,
				fmt.Errorf("it has tiles of %s, and the source has no such collection with geometries", id))
		case c.Count != l.Features:
			errs = append(errs, fmt.Errorf("it has tiles of %d features of %s, and the source has %d",
				l.Features, id, c.Count))
		case !slices.Equal(l.Properties, newTagger(c, nil).kept()):
			errs = append(
				errs,
				fmt.Errorf("its tiles of %s have the properties %s, and the source has %s", id,
					strings.Join(l.Properties, ", "), strings.Join(newTagger(c, nil).kept(), ", ")),
			)
		}
	}
	return errors.Join(errs...)
}

// Layers returns the ids of the collections with tiles in the file, sorted.
func (a *Archive) Layers() []string {
	ids := make([]string, 0, len(a.layers))
	for id := range a.layers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// holds reports whether the file includes a level of a set.
func (a *Archive) holds(set *Set, z int) bool {
	return set.ID == archivedSet && z >= a.r.First && z <= a.r.Last
}

// layer returns one layer of a tile with that of its labels, encoded as by Layer.Append; nil if they are empty. It
// reads at most most bytes.
func (a *Archive) layer(t Tile, of *archivedLayer, most int64) (layers []byte, err error) {
	packed, err := a.r.Tile(t.Z, t.Row, t.Col)
	if packed == nil || err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("tile: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(z, most))
	if err != nil {
		return nil, fmt.Errorf("tile: %w", err)
	}
	for len(b) > 0 {
		whole := b
		if b[0] != 3<<3|lengthed {
			return nil, archive.ErrFormat
		}
		n, k := binary.Uvarint(b[1:])
		if k <= 0 || n > uint64(len(b)-1-k) {
			return nil, archive.ErrFormat
		}
		message := b[1+k : 1+k+int(n)]
		b = b[1+k+int(n):]
		if name, ok := layerName(message); ok && (name == of.ID || name == of.Labels) {
			layers = append(layers, whole[:1+k+int(n)]...)
		}
	}
	return layers, nil
}

// layerName returns the name in an encoded layer; ok is false if Layer.Append did not encode it.
func layerName(m []byte) (string, bool) {
	if len(m) < 3 || m[0] != 15<<3|varint || m[2] != 1<<3|lengthed {
		return "", false
	}
	n, k := binary.Uvarint(m[3:])
	if k <= 0 || n > uint64(len(m)-3-k) {
		return "", false
	}
	return string(m[3+k : 3+k+int(n)]), true
}

// fit is the result of comparing a collection with the archive. The Maker's mutex guards all fields.
type fit struct {
	stamp   string // data version of the comparison; "" before the first one
	content string
	sum     uint64 // hash of ids and revisions (rowSum)
	ok      bool
	version store.Version // version of the rows that were compared
	busy    bool
	due     bool // rows have changed since the comparison
	checked time.Time
	rest    time.Duration // minimum time from checked to the next comparison if due
}

// archived returns the archive's layer of a collection, or nil if it has none or the data differ. The first call, and
// each call after a change of the data, starts a comparison in the background. During the first comparison the data
// count as equal, during later ones as different.
func (m *Maker) archived(ctx context.Context, st store.Store, set *Set, c *store.Collection) *archivedLayer {
	a := m.o.Archive
	if a == nil || set.ID != archivedSet || a.layers[c.ID] == nil {
		return nil
	}
	now, live, err := stamp(ctx, st)
	if err != nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.fits[c.ID]
	if f == nil {
		f = &fit{ok: true}
		m.fits[c.ID] = f
	}
	old := live && (time.Since(f.checked) > m.o.Check || f.due && time.Since(f.checked) > f.rest)
	if (f.stamp != now || old) && !f.busy && !m.closed {
		f.busy = true
		f.ok = f.ok && (f.stamp == "" || f.stamp == now)
		m.group.Go(func() { m.compare(f, st, c.ID, now) })
	}
	if !f.ok || f.stamp != "" && f.stamp != now {
		return nil
	}
	return a.layers[c.ID]
}

// compare compares a collection with the archive and stores the result in f.
func (m *Maker) compare(f *fit, st store.Store, collection, now string) {
	defer m.cache.Make()()
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-m.ctx.Done():
	}
	start := time.Now()
	content, version, sum, err := m.contentNow(f, st, collection)
	m.mu.Lock()
	defer m.mu.Unlock()
	f.busy = false
	if m.ctx.Err() != nil {
		return
	}
	was := f.ok
	f.stamp, f.checked, f.content, f.version, f.sum, f.due = now, time.Now(), content, version, sum, false
	f.rest = min(max(restAfter*time.Since(start), time.Second), m.o.Check)
	f.ok = err == nil && content == m.o.Archive.layers[collection].Content
	if err != nil {
		f.stamp, f.ok = "", was
		m.o.Log.Warn("the data could not be compared with the archive of tiles", "collection", collection, "error", err)
	} else if was && !f.ok {
		m.o.Log.Warn("the archive of tiles holds other data than the source; its tiles are rebuilt. "+
			"Export them again, and start with the new file", "collection", collection, "archive", m.o.Archive.path)
	}
}

// contentNow returns contentOf the current rows, with their version. It reuses the result in f if no row has changed.
func (m *Maker) contentNow(f *fit, st store.Store,
	collection string) (content string, version store.Version, sum uint64, err error) {
	in, end, err := snapshotOf(m.ctx, st)
	if err != nil {
		return "", "", 0, err
	}
	defer end()
	c, ok := in.Catalog().Collection(collection)
	if !ok {
		return "", "", 0, nil
	}
	if version, err = in.Version(m.ctx, collection); err != nil {
		return "", "", 0, err
	}
	m.mu.Lock()
	before, content := f.sum, f.content
	m.mu.Unlock()
	if content != "" {
		if sum, err := rowSum(m.ctx, in, collection); err != nil || sum == before {
			return content, version, sum, err
		}
	}
	content, sum, err = contentOf(m.ctx, in, c)
	return content, version, sum, err
}

// comparedWith returns the version of the rows in the last comparison with the archive; "" before the first one.
// changed means that the rows now have another version; then a new comparison becomes due.
func (m *Maker) comparedWith(collection string, changed bool) store.Version {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.fits[collection]
	f.due = f.due || changed
	return f.version
}

// snapshotOf opens a snapshot of a store. The caller must call end.
func snapshotOf(ctx context.Context, st store.Store) (in store.Reader, end func(), err error) {
	snap, err := st.Snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	return snap, func() { snap.Close() }, nil
}

// contentOf hashes the ids, values and geometries of a collection; the hash does not depend on the kind of store. sum
// is what rowSum returns.
func contentOf(ctx context.Context, st store.Reader, c *store.Collection) (name string, sum uint64, err error) {
	m := maker{st: st, c: c, tags: newTagger(c, nil)}
	h := sha256.New()
	fmt.Fprintln(h, c.Geometry.CRS, m.tags.kept())
	var record []byte
	err = m.scan(ctx, store.Want{Properties: m.tags.want}, func(_ int, f *store.Feature) (err error) {
		sum = addRow(sum, f.ID, f.Rev)
		if record, err = m.tags.record(record[:0], f); err != nil {
			return err
		}
		h.Write(binary.LittleEndian.AppendUint64(record, uint64(len(f.Geometry.WKB))))
		h.Write(f.Geometry.WKB)
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), sum, err
}

// span restricts an estimate to the levels and the extent of an archived layer.
func (l *archivedLayer) span(r Range) Range {
	return narrowed(r, l.First, l.Last, l.Bound)
}
