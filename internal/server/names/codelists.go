package names

import (
	"context"

	"grense/internal/cql2"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/store"
)

// listKey identifies a code list of a catalog.
type listKey struct{ version, list string }

// nameSize is the approximate size of a code in a NameList besides its texts, in bytes.
const nameSize = 400

// NameList holds the codes of a list in their order, with their names. It is immutable.
type NameList struct {
	Codes []string
	Of    map[string]store.Text
}

// CodeNames returns the names of the codes of one of our lists; an empty list if there is none.
func (c Namer) CodeNames(list string) (*NameList, error) {
	key := listKey{c.Catalog.Version, list}
	if l, ok := c.names.codeNames.Get(key); ok {
		return l, nil
	}
	l := &NameList{Of: map[string]store.Text{}}
	if _, ok := c.Catalog.Collection(CodeCollection); !ok {
		return l, nil
	}
	codes, err := c.Codes(list)
	if err != nil {
		return nil, err
	}
	size := len(key.version) + len(key.list)
	for _, d := range codes {
		l.Codes = append(l.Codes, d.Code)
		l.Of[d.Code] = d.Name
		size += nameSize + len(d.Code)
		for lang, name := range d.Name {
			size += len(lang) + len(name)
		}
	}
	c.names.codeNames.Put(key, l, int64(size))
	return l, nil
}

const CodeCollection = "kode"

type CodeDoc struct {
	Code   string            `json:"code"`            // as in records
	Value  string            `json:"value,omitempty"` // as published, if records hold a shorter form
	Name   map[string]string `json:"name"`            // by language: nb, nn, en, se
	Parent string            `json:"parent,omitempty"`
}

// errNoCodes returns the error for data without code lists.
func (c Namer) errNoCodes() error {
	return problem.NotFoundf("the data served here have no code lists; those of a place-name register have")
}

// Codes reads the codes of a list in their order.
func (c Namer) Codes(list string) ([]CodeDoc, error) {
	if _, ok := c.Catalog.Collection(CodeCollection); !ok {
		return nil, c.errNoCodes()
	}
	var out []CodeDoc
	err := c.Ask(func(ctx context.Context) error {
		q := store.Query{Collection: CodeCollection, Limit: server.MaxLimit,
			SortBy: []store.Sort{{Property: "rekkefoelge"}},
			Count:  store.CountNone,
			Filter: cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: "liste"}, R: cql2.Text(list)}}
		p, err := c.names.Store.Page(ctx, q)
		if err != nil {
			return err
		}
		out = make([]CodeDoc, 0, len(p.Rows))
		want := store.Want{Properties: []string{"verdi", "kort", "forelder", "navn_nb", "navn_nn", "navn_en",
			"navn_se"}}
		return c.names.Store.Fetch(ctx, CodeCollection, p.Rows, want, func(f *store.Feature) error {
			text := func(i int) string { s, _ := f.Values[i].(string); return s }
			d := CodeDoc{Code: text(0), Parent: text(2), Name: map[string]string{}}
			if short := text(1); short != "" && (list == "spraak" || list == "land") {
				d.Code, d.Value = short, text(0)
			}
			for i, lang := range []string{"nb", "nn", "en", "se"} {
				if s := text(3 + i); s != "" {
					d.Name[lang] = s
				}
			}
			out = append(out, d)
			return nil
		})
	})
	return out, err
}

func (d CodeDoc) NameIn(lang string) string { return store.Text(d.Name).In(lang) }
