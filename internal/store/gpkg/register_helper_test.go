package gpkg_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

func norm(property string) cql2.Expr {
	return cql2.Func{Name: "norm", Args: []cql2.Expr{cql2.Prop{Name: property}}}
}

func liked(pattern string) cql2.Expr {
	return cql2.Like{X: norm("langnavn"), Pattern: cql2.Text(pattern)}
}

// manyNames writes a register that is large enough for tables in memory, generated once for all tests.
func manyNames(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "register.gpkg")
	b, err := manyNamesFile()
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var manyNamesFile = sync.OnceValues(func() (b []byte, err error) {
	dir, err := os.MkdirTemp("", "register")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path, ctx := filepath.Join(dir, "register.gpkg"), context.Background()
	w, err := gpkg.Create(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err = register.Generate(ctx, w, register.Options{Places: 2500, Seed: 3}); err != nil {
		return nil, err
	}
	if err = w.Commit(ctx); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// namedQuestion asks for a name, of which those come first that are the same but for case, or for what begins with a text.
func namedQuestion(t *testing.T, s store.Store, collection, text string, begins bool) store.Query {
	t.Helper()
	q := store.Query{Collection: collection, SortBy: []store.Sort{{Property: "rang"}}, Count: store.CountNone, AllOrNothing: true, Limit: 100_000}
	if begins {
		q.Filter = liked(strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(cql2.Norm(text)) + "%")
	} else {
		q.Filter = cql2.Compare{Op: cql2.Eq, L: norm("langnavn"), R: cql2.Text(cql2.Norm(text))}
		q.First = cql2.Compare{Op: cql2.Eq, L: cql2.Func{Name: "exact", Args: []cql2.Expr{cql2.Prop{Name: "langnavn"}}}, R: cql2.Text(cql2.CaseI(text))}
	}
	c, _ := s.Catalog().Collection(collection)
	for _, x := range []*cql2.Expr{&q.Filter, &q.First} {
		if *x == nil {
			continue
		}
		if collection != "skrivemaate" {
			*x = cql2.Related{Relation: "skrivemaater", X: *x}
		}
		var err error
		if *x, err = cql2.Check(*x, c); err != nil {
			t.Fatal(err)
		}
	}
	return q
}

// timedQuestion asks for what was changed between two moments, or since one, with or without these.
func timedQuestion(t *testing.T, s store.Store, collection string, at []time.Time) store.Query {
	t.Helper()
	q := store.Query{Collection: collection, SortBy: []store.Sort{{Property: "rang"}}, Count: store.CountNone, AllOrNothing: true, Limit: 100_000}
	list := cql2.And{}
	for i, x := range at {
		op := [][]cql2.CompareOp{{cql2.Gt, cql2.Ge, cql2.Eq}, {cql2.Lt, cql2.Le}}[i]
		list = append(list, cql2.Compare{Op: op[x.Nanosecond()/7%len(op)], L: cql2.Prop{Name: "oppdatert"}, R: cql2.Timestamp{T: x}})
		if len(at) == 2 && i == 0 {
			list[0] = cql2.Compare{Op: op[x.Second()%2], L: cql2.Prop{Name: "oppdatert"}, R: cql2.Timestamp{T: x}}
		}
	}
	c, _ := s.Catalog().Collection(collection)
	var err error
	if q.Filter, err = cql2.Check(list, c); err != nil {
		t.Fatal(err)
	}
	return q
}
