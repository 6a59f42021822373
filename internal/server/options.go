package server

import (
	"context"
	"slices"
	"time"

	"grense/internal/cql2"
	"grense/internal/server/page"
	"grense/internal/store"
)

// optionsMost is how many values the form offers for choice, at most.
const OptionsMost = 500

// optionsKey names the features of a collection of a catalog that forms offer.
type optionsKey struct{ version, collection, lang string }

type offeredList struct {
	made    time.Time
	state   store.Version // of the data, where the answer that it was made for is kept; else ""
	choices page.Choices  // immutable
}

// optionsFrom are the features of a small collection, by id. The caller owns them.
func (c *Call) OptionsFrom(coll *store.Collection) (page.Choices, error) {
	key := optionsKey{c.Catalog.Version, coll.ID, c.Lang}
	if l, ok := c.s.offered.Get(key); ok && l.choices != nil && time.Since(l.made) < optionsFresh && c.fits(l) {
		return slices.Clone(l.choices), nil
	}
	out, err := c.readOptions(coll)
	if err != nil {
		return nil, err
	}
	size := len(key.version) + len(key.collection)
	for _, x := range out {
		size += choiceSize + len(x.Value) + len(x.Title)
	}
	c.s.offered.Put(key, offeredList{time.Now(), c.keptState(), out}, int64(size))
	return slices.Clone(out), nil
}

// optionsFresh is how long the features that a form offers are cached. Rows of a database may change within it: then the form offers those that were.
const optionsFresh = time.Minute

// choiceSize is what a choice takes besides its texts, in bytes.
const choiceSize = 64

// keptState is the state of the data that an answer that is to be kept is made of; "" for any other.
func (c *Call) keptState() store.Version {
	if c.keep == nil {
		return ""
	}
	return c.keep.state
}

// fits reports whether a list may stand in the answer: in one that is to be kept only a list of the same state of the data.
func (c *Call) fits(l offeredList) bool { return c.keep == nil || l.state == c.keep.state }

// readOptions asks the store for the features of a small collection.
func (c *Call) readOptions(coll *store.Collection) (out page.Choices, err error) {
	var pg *store.Page
	err = c.Ask(func(ctx context.Context) (err error) {
		pg, err = c.s.Store.Page(ctx, c.Current(coll, store.Query{Limit: OptionsMost, Count: store.CountNone}))
		return err
	})
	if err != nil {
		return nil, err
	}
	ids, err := c.publicIDs(coll, pg.Rows)
	if err != nil {
		return nil, err
	}
	titles, err := c.Titles(coll, ids)
	for _, id := range ids {
		s := page.Value{Text: id}.Named(titles[id], "")
		s.Number = s.Number && coll.Key.Type == cql2.TypeText
		out = append(out, page.Choice{Value: id, Title: s.Label(), Lang: s.Lang})
	}
	return out, err
}

// publicIDs are the ids of features by their rows.
func (c *Call) publicIDs(coll *store.Collection, rows []store.Row) ([]string, error) {
	ids := make([]string, 0, len(rows))
	if IsPlain(coll) {
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		return ids, nil
	}
	err := c.Ask(func(ctx context.Context) error {
		ids = ids[:0]
		return c.s.Store.Fetch(ctx, coll.ID, rows, store.Want{Properties: []string{}, NoGeometry: true}, func(f *store.Feature) error {
			ids = append(ids, f.Public())
			return nil
		})
	})
	return ids, err
}

// OneOf is what one feature of a collection is called; the title of the collection where no catalogue knows it.
func (c *Call) OneOf(coll *store.Collection) string {
	switch coll.ID {
	case "fylker":
		return c.Text("one.fylker")
	case "kommuner":
		return c.Text("one.kommuner")
	}
	return c.TitleOf(coll)
}
