package sqlq

import (
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
)

// Columns is the list of columns of a CREATE TABLE, without duplicates: the first declaration of a name counts.
type Columns struct {
	Dialect Dialect
	Type    func(cql2.Type) string // the declared type of the values of a property
	Folds   bool                   // names that differ only in case are equal

	list []string
	seen map[string]bool
}

// Add declares a column, unless its name is empty.
func (l *Columns) Add(name, declaration string) {
	key := name
	if l.Folds {
		key = strings.ToLower(name)
	}
	if name == "" || l.seen[key] {
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[key] = true
	l.list = append(l.list, l.Dialect.Quote(name)+" "+declaration)
}

// AddProperties declares the columns of properties and their search columns.
func (l *Columns) AddProperties(ps []store.Property) {
	for _, p := range ps {
		if p.NotNull {
			l.Add(p.Column, l.Type(p.Type)+" NOT NULL")
		}
		l.Add(p.Column, l.Type(p.Type))
		for _, s := range [...]string{p.Search.Exact, p.Search.Norm, p.Search.Rev} {
			l.Add(s, l.Type(cql2.TypeText))
		}
	}
}

// String returns the list, separated by commas.
func (l *Columns) String() string { return strings.Join(l.list, ", ") }
