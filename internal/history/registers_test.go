package history_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"grense/internal/history"
)

// register is a made-up table of a register, with every kind of row that it can have.
type register struct {
	tables []string
	list   *history.List     // where the register has none
	events string            // kinds of events, by day
	on     map[string]string // codes and names on a day
	became string            // translations: code day day: codes
	wrong  map[string]string // lines behind those of the first table, and what is wrong with them
}

// bfsTable is a table of municipalities of BFS of lines with code, name, kind, and number, mode and date of admission and
// abolition.
func bfsTable(lines string) string {
	var b strings.Builder
	b.WriteString("mHistId,dHistId,cAbbreviation,mId,mLongName,mShortName,mEntryMode,mStatus,mAdmissionNumber,mAdmissionMode," +
		"mAdmissionDate,mAbolitionNumber,mAbolitionMode,mAbolitionDate,mDateOfChange\n")
	for line := range strings.Lines(lines) {
		b.WriteString(bfsLine(strings.TrimSpace(line)) + "\n")
	}
	return b.String()
}

func bfsLine(line string) string {
	f := strings.Split(line+",NA,NA,NA", ",")
	return fmt.Sprintf("1,10,XX,%s,%s,,%s,1,%s,", f[0], f[1], f[2], strings.Join(f[3:9], ","))
}

// registers are by name. All days are the first of a year.
var registers = map[string]register{
	// Ask and Birch merge into Cedar and part again under new codes; Elm takes up Fir; Gorse is renamed; Hazel gets a
	// new number, and its former one to Ivy; Juniper and Kapok exchange territory; a lake, an area of no municipality
	// that ends, a district that is renamed, and a mutation that was cancelled.
	"BFS": {
		tables: []string{bfsTable(`1,Ask,Municipality,100,First-time registration,1960-01-01,101,Abolition,1999-12-31
2,Birch,Municipality,100,First-time registration,1960-01-01,101,Abolition,1999-12-31
3,Cedar,Municipality,101,Creation,2000-01-01,102,Abolition,2004-12-31
11,Ask,Municipality,102,Creation,2005-01-01
12,Birch,Municipality,102,Creation,2005-01-01
5,Elm,Municipality,100,First-time registration,1960-01-01,103,Change of area,2005-12-31
6,Fir,Municipality,100,First-time registration,1960-01-01,103,Abolition,2005-12-31
5,Elm,Municipality,103,Change of area,2006-01-01,110,Change of area,2012-12-31
7,Gorse,Municipality,100,First-time registration,1960-01-01,104,Change of name (m),2006-12-31
7,Great Gorse,Municipality,104,Change of name (m),2007-01-01
8,Hazel,Municipality,100,First-time registration,1960-01-01,105,Formal renumbering,2007-12-31
18,Hazel,Municipality,105,Formal renumbering,2008-01-01
9,Ivy,Municipality,100,First-time registration,1960-01-01,106,Reassignment to other d/c,2008-12-31
8,Ivy,Municipality,106,Reassignment to other d/c,2009-01-01,107,Change of name (d),2009-12-31
8,Ivy,Municipality,107,Change of name (d),2010-01-01
20,Juniper,Municipality,100,First-time registration,1960-01-01,108,Change of area,2010-12-31
20,Juniper,Municipality,108,Change of area,2011-01-01
21,Kapok,Municipality,100,First-time registration,1960-01-01,108,Change of area,2010-12-31
21,Kapok,Municipality,108,Change of area,2011-01-01,109,Change of area,2011-12-31
21,Kapok,Municipality,109,Change of area,2012-01-01
22,Larch,Municipality,109,Creation,2012-01-01
9001,The Lake,Cantonal part of lake,100,First-time registration,1960-01-01
9002,The Moor,Area not allocated to mun.,100,First-time registration,1960-01-01,110,Abolition,2012-12-31
5,Elm,Municipality,110,Change of area,2013-01-01
30,Maple,Municipality,111,Mutation canceled,2014-01-01
31,Never,Municipality,100,First-time registration,1960-01-01`)},
		events: "2000 merge, 2005 split, 2006 absorb, 2007 rename, 2008 renumber, 2009 renumber, 2011 transfer, 2012 split",
		on: map[string]string{
			"1970-01-01": "1 Ask, 2 Birch, 20 Juniper, 21 Kapok, 31 Never, 5 Elm, 6 Fir, 7 Gorse, 8 Hazel, 9 Ivy",
			"2013-01-01": "11 Ask, 12 Birch, 18 Hazel, 20 Juniper, 21 Kapok, 22 Larch, 31 Never, 5 Elm, 7 Great Gorse, 8 Ivy",
		},
		became: "1 1970 2004: 3; 1 1970 2013: 11? 12?; 8 2000 2013: 18; 8 2013 2000: 9; 6 1960 2013: 5; 20 2000 2013: 20; 22 2013 2000: 21",
		wrong: map[string]string{
			bfsLine("31,Never,Municipality,100,Marriage,1960-01-01"):                      `line 28: mAdmissionMode is "Marriage", which is no mode of BFS; write its number, such as 21 for a creation`,
			bfsLine("31,Never,Municipality,100,20,1960-13-01"):                            `line 28: mAdmissionDate is "1960-13-01"; write a day, such as 2020-01-31 or 31.01.2020`,
			bfsLine("31,Never,Municipality,100,20,1960-01-01,112,24,1999-12-31"):          `line 28: mAbolitionMode of 31 is "reassignment to other d/c", but mutation 112 does not say what it is afterwards; add its line, or write 29 where it ends`,
			bfsLine("31,Never,Municipality,112,26,1999-12-31"):                            `line 28: mAdmissionMode of 31 is "change of area", but mutation 112 does not say what it was before; add its line, or write 21 where it begins`,
			bfsLine("31,Never,Municipality,100,20,1960-01-01,101,29,2001-12-31"):          `line 28: mAbolitionDate is 2001-12-31, but what comes of mutation 101 begins on 2000-01-01; correct one of the dates`,
			bfsLine("11,Ask,Municipality,112,21,2004-01-01"):                              `line 28: "11" stands twice in the list, or is no code`,
			bfsLine("31,Never,Municipality,100,20,1960-01-01,113,29,2004-12-31") + "\n\"": `line 29: extraneous or missing " in quoted-field`,
		},
	},
	// The same register as BFS publishes it: numbers for modes, tabs, and no heading.
	"BFS as text": {
		tables: []string{"1\t10\tXX\t1\tAsk\tAsk\t11\t1\t100\t20\t01.01.1960\t101\t29\t31.12.1999\t31.12.1999\n" +
			"2\t10\tXX\t2\tB\xfcchs\tB\t11\t1\t100\t20\t01.01.1960\t101\t26\t31.12.1999\t31.12.1999\n" +
			"3\t10\tXX\t2\tB\xfcchs\tB\t11\t1\t101\t26\t01.01.2000\t\t\t\t01.01.2000\n"},
		events: "2000 absorb",
		on:     map[string]string{"1999-12-31": "1 Ask, 2 Büchs", "2000-01-01": "2 Büchs"},
		became: "1 1999 2000: 2",
	},
	// What the service of BFS answers. Ask ends in Birch, Cedar and Dogwood exchange territory.
	"BFS mutations": {
		tables: []string{"MutationNumber,MutationDate,InitialHistoricalCode,InitialCode,InitialName,InitialStep,TerminalHistoricalCode," +
			"TerminalCode,TerminalName,TerminalStep\n101,01.01.2000,1,1,Ask,29,5,2,Birch,26\n101,01.01.2000,2,2,Birch,26,5,2,Birch,26\n" +
			"102,01.01.2001,3,3,Cedar,26,6,3,Cedar,26\n102,01.01.2001,3,3,Cedar,26,7,4,Dogwood,26\n102,01.01.2001,4,4,Dogwood,26,7,4,Dogwood,26\n"},
		events: "2000 absorb, 2001 transfer",
		on:     map[string]string{"1999-12-31": "1 Ask, 2 Birch, 3 Cedar, 4 Dogwood", "2001-01-01": "2 Birch, 3 Cedar, 4 Dogwood"},
		became: "1 1999 2001: 2; 3 1999 2001: 3",
		wrong:  map[string]string{"103,01.01.2002,1,2,Birch,31,1,9,Ivy,21": `line 7: InitialStep is "31", which is no mode of BFS; write its number, such as 21 for a creation`},
	},
}

// read builds the scheme of a register.
func (r register) read() (*history.Scheme, error) {
	all := &history.Register{}
	for _, table := range r.tables {
		one, err := history.ReadRegister(strings.NewReader(table))
		if err != nil {
			return nil, err
		}
		all.Add(one, 0)
	}
	if r.list != nil {
		all.List = r.list
	}
	rows, err := history.Replay("x", all.Changes, all.List)
	if err != nil {
		return nil, err
	}
	h, err := history.New(rows)
	if err != nil {
		return nil, err
	}
	return h.Scheme("x"), nil
}

func TestRegistersOfOtherCountries(t *testing.T) {
	t.Parallel()
	for name, r := range registers {
		s, err := r.read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var events []string
		for _, e := range s.Events {
			events = append(events, fmt.Sprintf("%d %s", e.Date/10000, e.Kind))
		}
		if got := strings.Join(events, ", "); got != r.events {
			t.Errorf("%s: events %s, want %s", name, got, r.events)
		}
		for d, want := range r.on {
			var got []string
			for _, v := range s.On(day(t, d)) {
				got = append(got, v.Code+" "+v.Name)
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("%s on %s: %s, want %s", name, d, strings.Join(got, ", "), want)
			}
		}
		for one := range strings.SplitSeq(r.became, "; ") {
			var code string
			var from, to int
			q, want, _ := strings.Cut(one, ": ")
			if _, err := fmt.Sscanf(q, "%s %d %d", &code, &from, &to); err != nil {
				t.Fatalf("%q: %v", one, err)
			}
			if got := became(t, s, code, history.Date(from*10000+701), history.Date(to*10000+701)); got != want {
				t.Errorf("%s: %s is %s, want %s", name, q, got, want)
			}
		}
		for _, line := range slices.Sorted(maps.Keys(r.wrong)) {
			bad := r
			bad.tables = slices.Clone(r.tables)
			bad.tables[0] += line + "\n"
			if _, err := bad.read(); err == nil || !strings.HasPrefix(err.Error()+"\n", r.wrong[line]+"\n") {
				t.Errorf("%s: %s: %v, want %s", name, line, err, r.wrong[line])
			}
		}
	}
}
