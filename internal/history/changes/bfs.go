package changes

import (
	"slices"
	"strings"
	"time"

	"grense/internal/history"
)

// bfsColumns are the columns of the register of municipalities of BFS that describe changes, with the names that the R
// package munch gives them. Each line is a state of a municipality, which one mutation begins and another ends.
var bfsColumns = []string{
	"mId", "mLongName", "mEntryMode", "mAdmissionNumber", "mAdmissionMode", "mAdmissionDate",
	"mAbolitionNumber", "mAbolitionMode", "mAbolitionDate",
}

// bfsHeading lists the columns of the register in the order in which BFS publishes it, without a header line.
var bfsHeading = []string{
	"mHistId", "dHistId", "cAbbreviation", "mId", "mLongName", "mShortName", "mEntryMode", "mStatus",
	"mAdmissionNumber",
	"mAdmissionMode", "mAdmissionDate", "mAbolitionNumber", "mAbolitionMode", "mAbolitionDate", "mDateOfChange",
}

// bfsMutations are columns of the answer of the BFS API at /communes/mutations.
var bfsMutations = []string{
	"MutationNumber", "MutationDate", "InitialCode", "InitialName", "InitialStep", "TerminalCode", "TerminalName",
	"TerminalStep",
}

// bfsModes maps the numbers of the modes of entry, admission and abolition to their names.
var bfsModes = map[string]string{
	"11": "municipality", "12": "area not allocated to mun.", "13": "cantonal part of lake",
	"20": "first-time registration", "21": "creation", "22": "change of name (d)", "23": "change of name (m)",
	"24": "reassignment to other d/c", "26": "change of area", "27": "formal renumbering", "29": "abolition",
	"30": "mutation canceled",
}

// Modes that decide which municipalities take part in a change of territory.
const (
	bfsFirst    = "first-time registration"
	bfsCreated  = "creation"
	bfsChanged  = "change of area"
	bfsEnded    = "abolition"
	bfsCanceled = "mutation canceled"
)

// bfsState is a municipality on one side of a mutation.
type bfsState struct {
	line             int
	date             history.Date // its last day before the mutation, or its first day after it
	code, name, mode string
}

// bfsMode parses a mode, written as a number or in words.
func (t *changeTable) bfsMode(f *history.Faults, i int, column string) string {
	v := strings.ToLower(t.Value(i, column))
	if words, ok := bfsModes[v]; ok {
		return words
	}
	for _, words := range bfsModes {
		if v == words {
			return v
		}
	}
	f.Add(t.Lines[i], "%s is %q, which is no mode of BFS; write its number, such as 21 for a creation", column,
		t.Value(i, column))
	return ""
}

// withHeading adds the header line that the register of BFS lacks.
func (t *changeTable) withHeading() {
	if len(t.Columns) != len(bfsHeading) || strings.Trim(t.Columns[0]+t.Columns[8], "0123456789") != "" {
		return
	}
	t.Rows, t.Lines = slices.Insert(t.Rows, 0, t.First), slices.Insert(t.Lines, 0, 1)
	t.Columns = nil
	for _, c := range bfsHeading {
		t.Columns = append(t.Columns, strings.ToLower(c))
	}
}

// isBlank reports whether a cell is empty or holds NA, as R writes missing values.
func isBlank(v string) bool { return v == "" || v == "NA" }

// bfs reads the register of municipalities. Areas outside municipalities and lakes are left out unless the options
// include them; mutations that were cancelled are left out. States that no mutation ends form the list of the register.
func (t *changeTable) bfs() (*Register, error) {
	var faults history.Faults
	r := &Register{Form: BFS, List: &history.List{}}
	before, after := map[string][]bfsState{}, map[string][]bfsState{}
	areas := map[string]bool{} // mutations that end an area that is left out
	var numbers []string
	for i := range t.Rows {
		line := t.Lines[i]
		kind, began := t.bfsMode(&faults, i, "mEntryMode"), t.bfsMode(&faults, i, "mAdmissionMode")
		leftOut := kind == bfsModes["12"] && !t.options.Areas || kind == bfsModes["13"] && !t.options.Lakes
		if leftOut {
			areas[t.Value(i, "mAbolitionNumber")] = true
		}
		if leftOut || began == bfsCanceled {
			continue
		}
		s := bfsState{line: line, code: t.Value(i, "mId"), name: t.Value(i, "mLongName"), mode: began}
		s.date = t.date(&faults, i, "mAdmissionDate")
		r.List.At = max(r.List.At, s.date)
		if n := t.Value(i, "mAdmissionNumber"); began != bfsFirst {
			numbers = append(numbers, n)
			after[n] = append(after[n], s)
		}
		if n := t.Value(i, "mAbolitionNumber"); !isBlank(n) {
			s.mode, s.date = t.bfsMode(&faults, i, "mAbolitionMode"), t.date(&faults, i, "mAbolitionDate")
			numbers = append(numbers, n)
			before[n] = append(before[n], s)
			continue
		}
		r.List.Codes = append(r.List.Codes, history.Listed{Line: line, Code: s.code, Name: s.name})
	}
	if faults != nil {
		return nil, faults
	}
	slices.Sort(numbers)
	for _, n := range slices.Compact(numbers) {
		r.Changes = append(r.Changes, bfsMutation(&faults, n, before[n], after[n], areas[n])...)
	}
	for _, c := range r.Changes {
		r.List.At = max(r.List.At, c.Date)
	}
	return r, faults.Err()
}

// bfsMutation returns the changes of one mutation. Its day is the first day of the states after it, or if there are
// none, the day after the last day of the states before it. If area is set, the mutation ends an area outside
// municipalities, which the others take up.
func bfsMutation(f *history.Faults, number string, before, after []bfsState, area bool) (out []history.ChangeRow) {
	var date history.Date
	for _, s := range after {
		if date == 0 || s.date < date {
			date = s.date
		}
	}
	for _, s := range before {
		next := following(s.date)
		if date == 0 {
			date = next
		}
		if s.date != date && next != date {
			f.Add(s.line, "mAbolitionDate is %s, but what comes of mutation %s begins on %s; correct one of the dates",
				s.date, number, date)
		}
	}
	is := func(mode string) func(bfsState) bool { return func(s bfsState) bool { return s.mode == mode } }
	change := func(from, to bfsState, moves bool) {
		line := from.line
		if from.code == "" {
			line = to.line
		}
		out = append(out,
			history.ChangeRow{EdgeRow: history.EdgeRow{Line: line, Date: date, From: from.code, To: to.code,
				Transfer: moves, Source: "BFS, mutation " + number}, FromName: from.name, ToName: to.name})
	}
	ended, created := keep(before, is(bfsEnded)), keep(after, is(bfsCreated))
	stay := bfsPairs(f, number, rest(before, is(bfsEnded)), rest(after, is(bfsCreated)))
	alone := len(ended)+len(created) == 0
	for _, p := range stay {
		if !alone || p[0].code != p[1].code || p[0].name != p[1].name {
			change(p[0], p[1], false)
		}
	}
	givers := ended
	if len(ended) == 0 {
		for _, p := range stay {
			givers = append(givers, p[0])
		}
	}
	for _, from := range givers {
		for _, to := range created {
			change(from, to, false)
		}
		for _, p := range stay {
			if from.mode == bfsEnded {
				change(from, p[1], false)
			}
		}
		if len(created)+len(stay) == 0 {
			change(from, bfsState{}, false)
		}
	}
	if len(givers) == 0 {
		for _, to := range created {
			change(bfsState{}, to, false)
		}
	}
	if !alone || area {
		return out
	}
	for i, a := range stay { // each gave territory to each; the register does not say more
		for j, b := range stay {
			if i != j && a[0].mode == bfsChanged && b[0].mode == bfsChanged {
				change(a[0], b[1], true)
			}
		}
	}
	return out
}

// bfsPairs pairs each state before a mutation that continues with its state afterwards: those with the same code,
// otherwise those with the same name, otherwise the only two that are left.
func bfsPairs(f *history.Faults, number string, before, after []bfsState) (out [][2]bfsState) {
	pair := func(same func(a, b bfsState) bool) {
		before = rest(before, func(a bfsState) bool {
			i := slices.IndexFunc(after, func(b bfsState) bool { return same(a, b) })
			if i >= 0 {
				out = append(out, [2]bfsState{a, after[i]})
				after = slices.Delete(after, i, i+1)
			}
			return i >= 0
		})
	}
	pair(func(a, b bfsState) bool { return a.code == b.code })
	pair(func(a, b bfsState) bool { return a.name == b.name })
	if len(before) == 1 && len(after) == 1 {
		pair(func(a, b bfsState) bool { return true })
	}
	for _, s := range before {
		f.Add(s.line,
			"mAbolitionMode of %s is %q, but mutation %s does not say what it is afterwards; add its line, "+
				"or write 29 where it ends",
			s.code, s.mode, number)
	}
	for _, s := range after {
		f.Add(s.line,
			"mAdmissionMode of %s is %q, but mutation %s does not say what it was before; add its line, or write 21 "+
				"where it begins",
			s.code, s.mode, number)
	}
	return out
}

// keep returns the states for which ok returns true; rest returns the others.
func keep(all []bfsState, ok func(bfsState) bool) (out []bfsState) {
	return rest(all, func(s bfsState) bool { return !ok(s) })
}

func rest(all []bfsState, ok func(bfsState) bool) (out []bfsState) {
	for _, s := range all {
		if !ok(s) {
			out = append(out, s)
		}
	}
	return out
}

// bfsMutations reads the answer of the BFS API: pairs of a state before and a state after a mutation. A pair of two
// different municipalities that both continue to exist is a transfer.
func (t *changeTable) bfsMutations() (*Register, error) {
	var faults history.Faults
	r := &Register{Form: BFS}
	type side struct{ number, code string }
	stays := map[side]bool{}
	for i := range t.Rows {
		if from := t.Value(i, "InitialCode"); from == t.Value(i, "TerminalCode") {
			stays[side{t.Value(i, "MutationNumber"), from}] = true
		}
	}
	for i := range t.Rows {
		number := t.Value(i, "MutationNumber")
		from, to := t.Value(i, "InitialCode"), t.Value(i, "TerminalCode")
		ended, begun := t.bfsMode(&faults, i, "InitialStep"), t.bfsMode(&faults, i, "TerminalStep")
		if ended == bfsCanceled || begun == bfsCanceled {
			continue
		}
		c := history.ChangeRow{EdgeRow: history.EdgeRow{Line: t.Lines[i], Date: t.date(&faults, i, "MutationDate"),
			From: from, To: to, Source: "BFS, mutation " + number},
			FromName: t.Value(i, "InitialName"), ToName: t.Value(i, "TerminalName")}
		c.Transfer = from != to && ended == bfsChanged && begun == bfsChanged && stays[side{number, from}] &&
			stays[side{number, to}]
		r.Changes = append(r.Changes, c)
	}
	return r, faults.Err()
}

// following returns the next day.
func following(d history.Date) history.Date { return history.DateOf(d.Time(time.UTC).AddDate(0, 0, 1)) }
