package store

// Plan tells how a store answers a question, for people.
type Plan struct {
	Way  string // the name of the way that answered
	Does string // what the way does
	Cost Cost   // as it was told before
	// ways before it that take such questions and could not answer now:
	// their table is not made, or the file was changed
	Passed []string
	Steps  []string // what the database says of its statements, in its words

	Rows    int // of the page
	Matched int // -1: not counted
}
