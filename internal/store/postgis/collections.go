package postgis

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
)

// collectionID returns the default collection id of a table. It includes the schema unless that is public, so that
// tables of different schemas do not collide.
func collectionID(t *catalog.Table) string {
	if t.Schema == "public" {
		return store.CollectionID(t.Name)
	}
	return store.CollectionID(t.Schema + "_" + t.Name)
}

// assignIDs gives each table, also refused ones, its collection id. If several want the same, it goes to the table with
// a setting for it, else to the table in public with exactly that name, else to a collection of ours, else to the
// oldest. The others get a prefix with the schema if it is ours, else a suffix with a hash of their name.
func assignIDs(drafts []*draft) map[*draft]string {
	rank := func(d *draft) int {
		switch {
		case d.settings.ID != "":
			return 0
		case d.table.Schema == "public" && store.CollectionID(d.table.Name) == d.table.Name:
			return 1
		case d.own != nil:
			return 2
		}
		return 3
	}
	order := slices.Clone(drafts)
	slices.SortStableFunc(order, func(a, b *draft) int {
		if x, y := rank(a), rank(b); x != y {
			return x - y
		}
		switch {
		case a.table.OID < b.table.OID:
			return -1
		case a.table.OID > b.table.OID:
			return 1
		}
		return strings.Compare(a.table.Quoted(), b.table.Quoted())
	})
	ids, taken := map[*draft]string{}, map[string]bool{}
	for _, d := range order {
		id := collectionID(d.table)
		switch {
		case d.settings.ID != "":
			id = store.CollectionID(d.settings.ID)
		case d.own != nil:
			id = store.CollectionID(d.own.ID)
		}
		if taken[id] && d.own != nil {
			id = store.CollectionID(catalog.OwnSchema + "_" + d.own.ID)
		}
		if taken[id] {
			sum := sha256.Sum256([]byte(d.table.Quoted()))
			id = store.Unique(fmt.Sprintf("%s_%x", id, sum[:3]), func(s string) bool { return taken[s] })
		}
		ids[d], taken[id] = id, true
	}
	return ids
}
