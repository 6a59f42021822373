package features

import (
	"context"
	"errors"
	"hash/fnv"

	"grense/internal/feature"
	"grense/internal/server"
	"grense/internal/server/limit"
	"grense/internal/server/selection"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// encoder returns an encoder with the options of the request.
func (c *call) encoder(skipGeometry bool) (*feature.Encoder, error) {
	return feature.NewEncoder(c.written(),
		feature.Options{CRS: c.Output().Crs, Properties: c.Output().Properties, SkipGeometry: skipGeometry,
			Precision:  c.Output().Precision,
			Vocabulary: c.Base() + "/collections/" + c.Collection.ID + "/schema#"})
}

// parts returns a hash of the requested parts of a feature; 0 if the whole feature is requested.
func (c *call) parts() uint64 {
	if c.Output().Properties == nil && !c.Output().SkipGeometry && c.simple == nil && !c.Output().VersionIDs &&
		c.Output().Precision == nil {
		return 0
	}
	h := fnv.New64a()
	if c.simple != nil {
		h.Write([]byte(c.simple.Rev()))
	}
	if c.Output().SkipGeometry {
		h.Write([]byte{1})
	}
	if c.Output().VersionIDs {
		h.Write([]byte{3})
	}
	if p := c.Output().Precision; p != nil {
		h.Write([]byte{4, byte(*p)})
	}
	for _, p := range c.Output().Properties {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	if c.Output().Properties == nil {
		h.Write([]byte{2})
	}
	return h.Sum64() | 1
}

// The store reads server.Batch features at a time, but firstBatch first for a large response, so that it begins soon.
// A batch ends early after pieceBytes.
const (
	firstBatch = 50
	pieceBytes = 1 << 20
)

// nextBatch returns the size of the next batch, when left of all features are still to be read.
func nextBatch(left, all int) int {
	if left == all && all >= limit.LargeAnswer {
		return firstBatch
	}
	return min(left, server.Batch)
}

// errPiece ends a batch that has reached pieceBytes.
var errPiece = errors.New("server: enough for now")

// fragments returns the encoded members, without braces, of the first rows, at least one, in order. They come from
// the cache, or from the store until pieceBytes are read. If the client accepts gzip (gz) and the page has large
// features, cached fragments also have their compressed form.
func (c *call) fragments(rows []store.Row, gz bool) (frags []*feature.Fragment, err error) {
	many := len(rows) >= limit.ManyFeatures
	if many {
		if err = c.Writing(c.Request.Context()); err != nil {
			return nil, err
		}
	}
	frags, err = c.findFragments(rows, gz)
	if err == nil && many {
		err = c.Writing(c.Request.Context()) // again, after a query
	}
	return frags, err
}

// findFragments is fragments without a place in the queue.
func (c *call) findFragments(rows []store.Row, gz bool) ([]*feature.Fragment, error) {
	m := missing{c: c, frags: make([]*feature.Fragment, len(rows)), key: c.fragmentKey()}
	key := m.key
	for i, r := range rows {
		key.ID, key.Rev = r.ID, r.Rev
		if f, ok := c.s.Fragments.Get(key); ok {
			m.frags[i] = f
		} else {
			m.rows, m.at = append(m.rows, r), append(m.at, i)
		}
	}
	if gz {
		c.s.Fragments.Deflate(m.frags)
	}
	if len(m.rows) == 0 {
		return m.frags, nil
	}
	c.s.ahead.add(fragmentsOf{catalog: c.Catalog, coll: c.Collection, key: m.key}, len(m.rows))
	return m.read()
}

// fragmentKey returns the part of the cache key that all fragments of the call share.
func (c *call) fragmentKey() feature.Key {
	return feature.Key{Collection: c.Collection.ID, CRS: c.Output().Crs, Properties: c.parts(), Kind: c.membersKind()}
}

// missing holds the rows without a cached fragment, and their places in the page.
type missing struct {
	c     *call
	frags []*feature.Fragment
	key   feature.Key
	rows  []store.Row
	at    []int // of rows, in frags
	enc   selection.MembersEncoder
	n     int // number of rows read
	size  int // bytes of their fragments
}

// read reads the rows.
func (m *missing) read() (frags []*feature.Fragment, err error) {
	c := m.c
	if m.enc, err = c.members(); err != nil {
		return nil, err
	}
	buf := wire.TakeBuffer()
	defer func() { wire.GiveBuffer(buf) }()
	err = c.Ask(func(ctx context.Context) error {
		err := c.fetch(ctx, m.rows, m.enc.Want(), func(f *store.Feature) (err error) {
			buf, err = m.put(f, buf[:0])
			return err
		})
		if err == errPiece {
			return nil
		}
		return err
	})
	if m.n < len(m.rows) {
		m.frags = m.frags[:m.at[m.n]]
	}
	return m.frags, err
}

// put encodes the next row into buf and caches its fragment. It returns errPiece if the batch has reached pieceBytes.
func (m *missing) put(f *store.Feature, buf []byte) ([]byte, error) {
	buf, err := m.enc.AppendMembers(buf, f)
	if err != nil {
		return buf, err
	}
	m.key.ID, m.key.Rev = m.rows[m.n].ID, f.Rev
	m.frags[m.at[m.n]] = m.c.s.Fragments.Put(m.key, append(make([]byte, 0, len(buf)), buf...))
	m.n++
	if m.size += len(buf); m.size > pieceBytes && m.n < len(m.rows) {
		return buf, errPiece
	}
	return buf, nil
}

// eachBatch reads the features of a page in batches; fn appends one feature to dst. Between batches the response may
// be flushed.
func (c *call) eachBatch(out *server.Sink, rows []store.Row, want store.Want,
	fn func(dst []byte, f *store.Feature) ([]byte, error)) error {
	for all := len(rows); len(rows) > 0; {
		n, most, start := 0, nextBatch(len(rows), all), len(out.Buf)
		err := c.Ask(func(ctx context.Context) error {
			err := c.fetch(ctx, rows[:most], want, func(f *store.Feature) (err error) {
				if out.Buf, err = fn(out.Buf, f); err != nil {
					return err
				}
				if n++; len(out.Buf)-start > pieceBytes && n < most {
					return errPiece
				}
				return nil
			})
			if err == errPiece {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		if rows = rows[n:]; n >= limit.ManyFeatures && out.Writer != nil {
			if err := c.Writing(c.Request.Context()); err != nil {
				return err
			}
		}
		if err := out.SpillAt(all-len(rows), all); err != nil {
			return err
		}
	}
	c.letGo()
	return nil
}
