package store

// Plan describes how a store answered a query, for people.
type Plan struct {
	Way  string // name of the strategy that answered
	Does string // what the strategy does
	Cost Cost   // as estimated before
	// strategies that come first for such queries and were not possible now:
	// their table is not built, or the file was changed
	Passed []string
	Steps  []string // the database's own description of its statements

	Rows    int // of the page
	Matched int // -1: not counted
}
