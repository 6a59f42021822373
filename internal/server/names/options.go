package names

import (
	"context"
	"slices"
	"time"

	"grense/internal/cql2"
	"grense/internal/server"
	"grense/internal/server/page"
	"grense/internal/store"
)

// OptionsMost limits the values that a form offers.
const OptionsMost = 500

// optionsKey identifies the choices of a collection of a catalog.
type optionsKey struct{ version, collection, lang string }

type offeredList struct {
	made    time.Time
	state   store.Version // data version of a response that may be cached; else ""
	choices page.Choices  // immutable
}

// OptionsFrom returns the features of a small collection, by id. The caller owns them.
func (c Namer) OptionsFrom(coll *store.Collection) (page.Choices, error) {
	key := optionsKey{c.Catalog.Version, coll.ID, c.Lang}
	if l, ok := c.names.offered.Get(key); ok && l.choices != nil && time.Since(l.made) < optionsFresh &&
		(c.CachedVersion() == "" || c.CachedVersion() == l.state) {
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
	c.names.offered.Put(key, offeredList{time.Now(), c.CachedVersion(), out}, int64(size))
	return slices.Clone(out), nil
}

// optionsFresh is how long choices are cached. Rows of a database may change within that time.
const optionsFresh = time.Minute

// choiceSize is the size of a choice besides its texts, in bytes.
const choiceSize = 64

// readOptions reads the features of a small collection.
func (c Namer) readOptions(coll *store.Collection) (out page.Choices, err error) {
	var pg *store.Page
	err = c.Ask(func(ctx context.Context) (err error) {
		pg, err = c.names.Store.Page(ctx, c.Current(coll, store.Query{Limit: OptionsMost, Count: store.CountNone}))
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

// publicIDs returns the ids of features by their rows.
func (c Namer) publicIDs(coll *store.Collection, rows []store.Row) ([]string, error) {
	ids := make([]string, 0, len(rows))
	if server.IsPlain(coll) {
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		return ids, nil
	}
	err := c.Ask(func(ctx context.Context) error {
		ids = ids[:0]
		return c.names.Store.Fetch(ctx, coll.ID, rows, store.Want{Properties: []string{}, NoGeometry: true},
			func(f *store.Feature) error {
				ids = append(ids, f.Public())
				return nil
			})
	})
	return ids, err
}

// OneOf returns what one feature of a collection is called; the title of the collection if the catalogue has no word.
func (c Namer) OneOf(coll *store.Collection) string {
	switch coll.ID {
	case "fylker":
		return c.Text("one.fylker")
	case "kommuner":
		return c.Text("one.kommuner")
	}
	return coll.TitleIn(c.Lang)
}
