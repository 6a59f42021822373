package history_test

import (
	"fmt"
	"strings"
	"testing"

	"grense/internal/history"
)

// TestListsAreComparedForwardsAndBackwards: what a table and lists do not agree on, in each direction.
func TestListsAreComparedForwardsAndBackwards(t *testing.T) {
	t.Parallel()
	const table = "date,from,from_name,to,to_name\n2010-01-01,A,Ask,C,Cedar\n2010-01-01,B,Birch,C,Cedar\n2015-01-01," +
		"D,Dogwood,D,Dogrose\n2020-01-01,C,Cedar,E,Elm\n"
	const oneDay = "date,from,from_name,to,to_name\n"
	list := func(at history.Date, codes string) *history.List {
		l := &history.List{At: at}
		for i, one := range strings.Fields(codes) {
			code, name, _ := strings.Cut(one, ":")
			l.Codes = append(l.Codes, history.Listed{Line: i + 2, Code: code, Name: name})
		}
		return l
	}
	for _, tt := range []struct {
		name, table string
		lists       []*history.List
		want        string
	}{
		{"all agree", table, []*history.List{list(20120101, "C:Cedar D:Dogwood F"), list(20240101, "D:Dogrose E F")},
			""},
		{"a code is missing in a list", table, []*history.List{list(20120101, "D")},
			"forwards 2012-01-01 C is in use, but not in the list: it began on 2010-01-01; backwards 2012-01-01 C is " +
				"in use, but not in the list: it ended on 2020-01-01"},
		{"a list has a code too many", table, []*history.List{list(20120101, "A C D")},
			"forwards 2012-01-01:2 A is in the list, but not in use: it ended on 2010-01-01; " +
				"backwards 2010-01-01:2 A ends, but is in use afterwards: it is in the list of 2012-01-01"},
		{"names differ", table, []*history.List{list(20120101, "C:Sidar D:Dogrose")},
			`forwards 2012-01-01:2 C is "Sidar" in the list, and "Cedar" by the changes: it began on 2010-01-01; ` +
				`backwards 2012-01-01:2 C is "Sidar" in the list, and "Cedar" by the changes: ` +
				`it ended on 2020-01-01; ` +
				`backwards 2012-01-01:3 D is "Dogrose" in the list, and "Dogwood" by the changes: ` +
				`it ended on 2015-01-01`},
		{"a change is missing between two lists", table,
			[]*history.List{list(20120101, "C D F G"), list(20240101, "D E F H")},
			"forwards 2024-01-01:5 H is in the list, but not in use: no change begins it since the last list; " +
				"forwards 2024-01-01 G is in use, but not in the list: it is in the list of 2012-01-01; " +
				"backwards 2012-01-01:5 G is in the list, but not in use: no change ends it before the next list; " +
				"backwards 2012-01-01 H is in use, but not in the list: it is in the list of 2024-01-01"},
		{"a code ends twice", table + "2022-01-01,C,,G,\n", []*history.List{list(20120101, "C D")},
			"forwards 2022-01-01:6 C changes, but is not in use before: it ended on 2020-01-01; " +
				"backwards 2020-01-01:5 C ends, but is in use afterwards: it ended on 2022-01-01"},
		{"a code of one day, and one that stays",
			"date,from,to\n2010-01-01,A,X\n2010-01-01,X,B\n2010-01-01,C,C\n2010-01-01,D,C\n",
			[]*history.List{list(20120101, "B C")}, ""},
		{"one that takes up others was there before",
			"ingangsdatum,soort,oude_gemeentecode,nieuwe_gemeentecode\n2020-01-01,toevoeging,0001,0002\n2020-01-01," +
				"toevoeging,0003,0002\n",
			[]*history.List{list(20190101, "0001 0002 0003"), list(20210101, "0002")}, ""},
		{"one that takes up others gets a new code that day",
			oneDay + "2010-01-01,A,Ask,X,Xan\n2010-01-01,X,Xan,X,Xan\n2010-01-01,X,Xan,Z,Zed\n",
			[]*history.List{list(20090101, "A:Ask X:Xan"), list(20120101, "Z:Zed")}, ""},
		{"the same, and both go on",
			oneDay + "2010-01-01,A,Ask,X,Xan\n2010-01-01,X,Xan,X,Xan\n2010-01-01,X,Xan,Z,Zed\n",
			[]*history.List{list(20090101, "A:Ask X:Xan"), list(20120101, "X:Xan Z:Zed")}, ""},
		{"one gets a new name and a new code that day", oneDay + "2010-01-01,X,Xenia,Z,Zed\n2010-01-01,X,Xan,X,Xenia\n",
			[]*history.List{list(20090101, "X:Xan"), list(20120101, "Z:Zed")}, ""},
		{"one takes up others and gets a new name that day",
			oneDay + "2010-01-01,A,Ask,X,Xan\n2010-01-01,X,Xan,X,Xan\n2010-01-01,X,Xan,X,Xenia\n",
			[]*history.List{list(20090101, "A:Ask X:Xan"), list(20120101, "X:Xenia")}, ""},
		{"a list stands twice", table, []*history.List{list(20240101, "D E E")},
			"forwards 2024-01-01:4 E stands twice in the list"},
	} {
		changes, _, err := readChanges(strings.NewReader(tt.table))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range history.Check(changes, nil, nil, tt.lists...) {
			text := map[bool]string{false: "forwards ", true: "backwards "}[d.Back] + d.Date.String()
			if d.Line > 0 {
				text += fmt.Sprintf(":%d", d.Line)
			}
			got = append(got, text+" "+d.Text)
		}
		if strings.Join(got, "; ") != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, strings.Join(got, "; "), tt.want)
		}
	}
}
