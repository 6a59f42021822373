package survey

import (
	"fmt"
	"strings"

	"grense/internal/store/gpkg/sqlite"
)

// cures maps errors of SQLite about an unreadable view or table to cures.
var cures = [...]struct{ part, cure string }{
	{"no such function", "only the functions of SQLite itself are available, not those of SpatiaLite and the like; " +
		"store the rows of the view as a table"},
	{"no such module",
		"the table needs an extension of SQLite that is not available; store its rows as an ordinary table"},
	{"no such table", "the view uses a table that was dropped or renamed; create the view again"},
	{"no such column", "the view uses a column that was dropped or renamed; create the view again"},
	{"too big",
		fmt.Sprintf("a value or a row has more than %d MiB, the most that is read; shorten it, or leave the layer "+
			"out: set hidden of the collection in the configuration", sqlite.MaxValue>>20)},
	{"", "mend it, or leave it out: set hidden of the collection in the configuration"},
}

// unreadable returns why a layer cannot be read, with the cure.
func unreadable(err error) string {
	text := err.Error()
	for _, x := range cures {
		if at := strings.Index(text, x.part); at >= 0 {
			return "it cannot be read: " + strings.TrimPrefix(text[at:], "gpkg: ") + "; " + x.cure
		}
	}
	return text
}
