package postgis

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"grense/internal/store"
)

// collectionID is the id that the name of a table gives: with its schema unless that is public, so that a table of one
// schema never takes the place of a table of another.
func collectionID(t *table) string {
	if t.schema == "public" {
		return store.CollectionID(t.name)
	}
	return store.CollectionID(t.schema + "_" + t.name)
}

// assignIDs gives each table its collection id. Where several want one, it goes to the one that the settings say it of,
// then to the table of public that is called exactly so, then to a collection of ours, then to the oldest.
// The others have the schema before theirs where that is ours, else a sum of their name behind it.
// Refused tables keep theirs, too.
func assignIDs(drafts []*draft) map[*draft]string {
	rank := func(d *draft) int {
		switch {
		case d.settings.ID != "":
			return 0
		case d.table.schema == "public" && store.CollectionID(d.table.name) == d.table.name:
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
		case a.table.oid < b.table.oid:
			return -1
		case a.table.oid > b.table.oid:
			return 1
		}
		return strings.Compare(a.table.quoted(), b.table.quoted())
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
			id = store.CollectionID(ownSchema + "_" + d.own.ID)
		}
		if taken[id] {
			sum := sha256.Sum256([]byte(d.table.quoted()))
			id = store.Unique(fmt.Sprintf("%s_%x", id, sum[:3]), func(s string) bool { return taken[s] })
		}
		ids[d], taken[id] = id, true
	}
	return ids
}
