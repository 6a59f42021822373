package store

// Plan describes to a person how a store answered a query.
type Plan struct {
	Way  string // name of the strategy that answered
	Does string // what the strategy does
	Cost Cost   // estimate before the query ran
	// strategies that would have been tried before this one but were not available: an index is not built yet, or
	// another program has written to the file
	Passed []string
	Steps  []string // the database's own description of its statements

	Rows    int // on the page
	Matched int // -1: not counted
}
