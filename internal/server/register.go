package server

import (
	"context"

	"grense/internal/cql2"
	"grense/internal/problem"
	"grense/internal/store"
)

const CodeCollection = "kode"

type CodeDoc struct {
	Code   string            `json:"code"`            // what records hold
	Value  string            `json:"value,omitempty"` // as published, where records hold a shorter form
	Name   map[string]string `json:"name"`            // by language: nb, nn, en, se
	Parent string            `json:"parent,omitempty"`
}

// errNoCodes answers the code lists of a source that has none.
func (c *Call) errNoCodes() error {
	return problem.NotFoundf("the data served here have no code lists; those of a place-name register have")
}

// Codes reads the codes of one list in their order.
func (c *Call) Codes(list string) ([]CodeDoc, error) {
	if _, ok := c.Catalog.Collection(CodeCollection); !ok {
		return nil, c.errNoCodes()
	}
	var out []CodeDoc
	err := c.Ask(func(ctx context.Context) error {
		q := store.Query{Collection: CodeCollection, Limit: MaxLimit, SortBy: []store.Sort{{Property: "rekkefoelge"}},
			Count:  store.CountNone,
			Filter: cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: "liste"}, R: cql2.Text(list)}}
		p, err := c.s.Store.Page(ctx, q)
		if err != nil {
			return err
		}
		out = make([]CodeDoc, 0, len(p.Rows))
		want := store.Want{Properties: []string{"verdi", "kort", "forelder", "navn_nb", "navn_nn", "navn_en",
			"navn_se"}}
		return c.s.Store.Fetch(ctx, CodeCollection, p.Rows, want, func(f *store.Feature) error {
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

// SoapPath is where the place-name service lies below a mount.
const SoapPath = "/soap/stedsnavn/v1"

// HasRegister reports whether the data have a place-name register.
func (c *Call) HasRegister() bool { return holdsRegister(c.Catalog) }

func holdsRegister(cat *store.Catalog) bool {
	coll, ok := cat.Collection("skrivemaate")
	return ok && len(coll.Relations) > 0
}
