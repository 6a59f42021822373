package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
)

// explained is the query of `check --explain`: a CQL2 filter as text or JSON; "" selects all features.
type explained struct{ collection, filter string }

// print runs the query as the items page does, with 10 features and the number of matches, and prints the plan.
func (e explained) print(ctx context.Context, w io.Writer, st store.Store) error {
	if e.collection == "" {
		return errors.New("--explain needs --collection with the id of a collection; they are listed above")
	}
	c, ok := st.Catalog().Collection(e.collection)
	if !ok {
		return fmt.Errorf("there is no collection %q; they are listed above", e.collection)
	}
	x, err := e.parse(c)
	if err != nil {
		return fmt.Errorf("the filter: %w", err)
	}
	p, err := st.Explain(ctx, store.Query{Collection: c.ID, Filter: x, SortBy: c.DefaultSort, Limit: 10})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s", c.ID)
	if x != nil {
		fmt.Fprintf(w, ", %s", strings.TrimSpace(e.filter))
	}
	fmt.Fprintf(w, "\nway   %s: %s\ncost  %s\n", p.Way, p.Does, p.Cost)
	for _, name := range p.Passed {
		fmt.Fprintf(w, "      not %s: what it needs is not there yet, or the file was changed\n", name)
	}
	fmt.Fprintf(w, "found %s, of %d of the collection\n", count(p.Matched, "feature"), c.Count)
	for _, s := range p.Steps {
		fmt.Fprintf(w, "step  %s\n", s)
	}
	return nil
}

func (e explained) parse(c *store.Collection) (cql2.Expr, error) {
	text := strings.TrimSpace(e.filter)
	if text == "" {
		return nil, nil
	}
	x, err := cql2.ParseText(text)
	if strings.HasPrefix(text, "{") {
		x, err = cql2.ParseJSON([]byte(text))
	}
	if err != nil {
		return nil, err
	}
	return cql2.Check(x, c)
}
