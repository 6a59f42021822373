package placename

import (
	"context"
	"strings"

	api "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/store"
)

// codeCollection is the collection with the codes of all lists of a register.
const codeCollection = "kode"

// codeLists holds the code lists of a register by name. If a register lacks a list, any code is accepted.
type codeLists struct {
	catalog *store.Catalog
	lists   map[string]*codeList
}

// codeList is one code list. Records hold the short form of a code if it has one; searches may use either form.
type codeList struct {
	codes  []string          // in the published form and order
	stored map[string]string // stored form, by either form, and in lower case if unambiguous; "" if ambiguous
}

// add adds a code; stored is its form in records.
func (l *codeList) add(code, stored string) {
	l.codes = append(l.codes, code)
	for _, form := range []string{code, stored} {
		l.stored[form] = stored
	}
	for _, form := range []string{fold.CaseI(code), fold.CaseI(stored)} {
		if other, ok := l.stored[form]; ok && other != stored && other != form {
			l.stored[form] = ""
		} else if !ok {
			l.stored[form] = stored
		}
	}
}

// find returns the stored form of a code. Case is ignored unless two codes differ only by case.
func (l *codeList) find(code string) (stored string, ok bool) {
	if stored, ok = l.stored[code]; !ok || stored == "" {
		stored = l.stored[fold.CaseI(code)]
	}
	return stored, stored != ""
}

// nearest returns up to three codes that are similar to code, separated by commas; "" if none is.
func (l *codeList) nearest(code string) string {
	var near []string
	left := l.codes
	for len(near) < 3 {
		best := cql2.Nearest(code, left)
		if best == "" {
			break
		}
		near = append(near, best)
		rest := make([]string, 0, len(left))
		for _, c := range left {
			if c != best {
				rest = append(rest, c)
			}
		}
		left = rest
	}
	return strings.Join(near, ", ")
}

// readCodeLists reads the code lists of the register. It caches them until the data are opened again.
func (s *Service) readCodeLists(ctx context.Context) (*codeLists, error) {
	lists := &codeLists{s.store.Catalog(), map[string]*codeList{}}
	if _, ok := lists.catalog.Collection(codeCollection); !ok {
		return lists, nil
	}
	const most = 100_000
	page, err := s.store.Page(
		ctx,
		store.Query{
			Collection: codeCollection,
			Limit:      most,
			SortBy:     []store.Sort{{Property: "rekkefoelge"}},
			Count:      store.CountNone,
		},
	)
	if err != nil {
		return nil, classify(err)
	}
	want := store.Want{Properties: []string{"liste", "verdi", "kort"}, NoGeometry: true}
	err = s.store.Fetch(ctx, codeCollection, page.Rows, want, func(f *store.Feature) error {
		text := func(i int) string { t, _ := f.Values[i].(string); return t }
		l := lists.lists[text(0)]
		if l == nil {
			l = &codeList{stored: map[string]string{}}
			lists.lists[text(0)] = l
		}
		stored := text(1)
		if short := text(2); short != "" && (text(0) == "spraak" || text(0) == "land") {
			stored = short
		}
		l.add(text(1), stored)
		return nil
	})
	if err != nil {
		return nil, classify(err)
	}
	s.codes.Store(lists)
	return lists, nil
}

// stored returns the stored form of a code of a list. If the list does not have the code, it records a fault; if
// Options say that unknown codes match nothing, it returns the code unchanged instead.
func (c *criteria) stored(field, list, code string) string {
	if c.lists == nil {
		c.unknown = true
		return code
	}
	l := c.lists.lists[list]
	if l == nil {
		return code
	}
	stored, ok := l.find(code)
	switch {
	case ok:
		return stored
	case c.s.options.UnknownCodes == NoMatch:
		return code
	}
	if c.unknown = true; len(c.faults) >= maxFaults { // before nearest, which is slow
		return code
	}
	if near := l.nearest(code); near != "" {
		c.faultRight(field, code, api.UnknownCode, near)
	} else {
		c.faultRight(field, code, api.UnknownCodeOf, "/codelists/"+list)
	}
	return code
}

// faultRight records a fault with suggestions in right. There must be room for another fault.
func (c *criteria) faultRight(field, value string, reason api.Reason, right string) {
	c.fault(field, value, reason, 0)
	c.faults[len(c.faults)-1].Right = right
}

// criteriaOf calls build with the cached code lists. If they lack a code of the request, it reads the lists again and
// calls build once more, because the code may have been added to the register.
func (s *Service) criteriaOf(ctx context.Context, build func(*codeLists) *criteria) (*criteria, error) {
	lists := s.codes.Load()
	if lists != nil && lists.catalog != s.store.Catalog() {
		lists = nil
	}
	c := build(lists)
	if !c.unknown {
		return c, nil
	}
	lists, err := s.readCodeLists(ctx)
	if err != nil {
		return nil, err
	}
	return build(lists), nil
}
