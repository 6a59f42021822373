package changes

import (
	"cmp"
	"slices"
	"strings"

	"grense/internal/history"
)

// onsChanges are columns of Changes.csv of the Code History Database of ONS; onsHistory are those of ChangeHistory.csv.
var (
	onsChanges = []string{"GEOGCD", "GEOGNM", "GEOGCD_P", "GEOGNM_P", "OPER_DATE"}
	onsHistory = []string{"GEOGCD", "GEOGNM", "OPER_DATE", "TERM_DATE", "STATUS"}
)

const (
	onsSource = "ONS, Code History Database"
	onsDate   = "2/1/2006"
)

// onsChanges reads the predecessors of codes.
func (t *changeTable) onsChanges() (*Register, error) {
	var faults history.Faults
	r := &Register{Form: ONS}
	for i := range t.Rows {
		c := history.ChangeRow{
			EdgeRow: history.EdgeRow{Line: t.Lines[i], Date: t.date(&faults, i, "OPER_DATE", onsDate),
				From: t.Value(i, "GEOGCD_P"),
				To:   t.Value(i, "GEOGCD"), Source: t.Value(i, "SI_TITLE")},
			FromName: t.Value(i, "GEOGNM_P"),
			ToName:   t.Value(i, "GEOGNM"),
		}
		c.Source = cmp.Or(c.Source, onsSource)
		if c.To == "" {
			faults.Add(c.Line, "GEOGCD is empty; write the code that begins, or leave the line out")
		}
		r.Changes = append(r.Changes, c)
	}
	return r, faults.Err()
}

// onsHistory reads the periods in which codes were in use, and their names. Codes introduced by the recoding of 2009
// have no known start.
func (t *changeTable) onsHistory() (*Register, error) {
	var faults history.Faults
	var all []state
	for i := range t.Rows {
		s := state{
			line: t.Lines[i],
			code: t.Value(i, "GEOGCD"),
			name: t.Value(i, "GEOGNM"),
			from: t.date(&faults, i, "OPER_DATE", onsDate),
		}
		status := t.oneOf(&faults, i, "STATUS", "live Live terminated Terminated")
		switch ended := strings.EqualFold(status, "terminated"); {
		case t.Value(i, "TERM_DATE") != "":
			s.to = following(t.date(&faults, i, "TERM_DATE", onsDate))
		case ended:
			faults.Add(s.line, "TERM_DATE of %s is empty, but STATUS is %q; write its last day", s.code, status)
		}
		s.old = strings.Contains(strings.ToLower(t.Value(i, "SI_TITLE")), "coding strategy")
		all = append(all, s)
	}
	r := statesRegister(&faults, ONS, onsSource, all)
	return r, faults.Err()
}

// state is a code with a name during a period, from a table that does not state its successors.
type state struct {
	line       int
	code, name string
	from, to   history.Date // to is the first day after the period; 0 while the code is in use
	old        bool         // the start is not known
}

// statesRegister converts states to changes. They are weak (ChangeRow.Weak), because another table may state what
// became of a code. States that begin on the first day of the table have no known start.
func statesRegister(f *history.Faults, form Form, source string, all []state) *Register {
	r := &Register{Form: form, List: &history.List{}}
	slices.SortStableFunc(all,
		func(a, b state) int { return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.from, b.from)) })
	first := history.Date(0)
	for _, s := range all {
		if r.List.At = max(r.List.At, s.from, s.to); first == 0 || s.from < first {
			first = s.from
		}
	}
	change := func(line int, d history.Date, from, fromName, to, toName string) {
		r.Changes = append(r.Changes,
			history.ChangeRow{EdgeRow: history.EdgeRow{Line: line, Date: d, From: from, To: to, Source: source},
				FromName: fromName, ToName: toName, Weak: true})
	}
	for i, s := range all {
		again := i > 0 && all[i-1].code == s.code
		switch {
		case s.to != 0 && s.to <= s.from:
			f.Add(s.line, "%s begins on %s and has ended by %s; correct one of the days", s.code, s.from, s.to)
		case again && (all[i-1].to == 0 || all[i-1].to > s.from):
			f.Add(s.line, "%s begins on %s, but is in use then by line %d; correct one of the days", s.code, s.from,
				all[i-1].line)
		case again && all[i-1].to == s.from:
			change(s.line, s.from, s.code, all[i-1].name, s.code, s.name)
		case again || !s.old && s.from != first:
			change(s.line, s.from, "", "", s.code, s.name)
		}
		if s.to == 0 {
			r.List.Codes = append(r.List.Codes, history.Listed{Line: s.line, Code: s.code, Name: s.name})
		} else if i+1 == len(all) || all[i+1].code != s.code || all[i+1].from != s.to {
			change(s.line, s.to, s.code, s.name, "", "")
		}
	}
	return r
}
