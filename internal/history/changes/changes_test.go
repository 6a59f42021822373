package changes_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"grense/internal/history"
	"grense/internal/history/changes"
)

// show writes a change as line, day, codes with names, and whatever else is set.
func show(c history.ChangeRow) string {
	s := fmt.Sprintf("%d: %s %s/%s>%s/%s", c.Line, c.Date, c.From, c.FromName, c.To, c.ToName)
	for _, flag := range []struct {
		name string
		set  bool
	}{{"transfer", c.Transfer}, {"joins", c.Joins}, {"part", c.Part}, {"weak", c.Weak}, {"loose", c.Loose}} {
		if flag.set {
			s += " " + flag.name
		}
	}
	for _, x := range []struct{ name, value string }{{"of", strings.Join(c.Of, "+")}, {"people", c.People.String()},
		{"area", c.Area.String()}, {"source", c.Source}, {"recorded", c.Recorded}} {
		if x.value != "" {
			s += " " + x.name + "=" + x.value
		}
	}
	return s
}

// showList writes the codes of a list.
func showList(l *history.List) string {
	if l == nil {
		return ""
	}
	s := l.At.String()
	for _, c := range l.Codes {
		s += fmt.Sprintf("; %d: %s %s", c.Line, c.Code, c.Name)
	}
	return s
}

// formCase is a table of one form: its rows below a heading, the changes and the list that they are, or the faults.
type formCase struct {
	name, rows string
	want, list string // changes, one a line, and the codes in use
	fault      string // beginnings of faults, one a line
}

func readForms(t *testing.T, form changes.Form, heading string, cases []formCase) {
	t.Helper()
	for _, x := range cases {
		r, err := changes.Read(strings.NewReader(heading+x.rows), changes.Options{})
		if x.fault != "" {
			faults, ok := errors.AsType[history.Faults](err)
			got := strings.Split(message(err), "\n")
			want := strings.Split(x.fault, "\n")
			if !ok || len(faults) != len(want) || !slices.EqualFunc(got, want, strings.HasPrefix) {
				t.Errorf("%s: %v\nwant %s", x.name, err, x.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		var got []string
		for _, c := range r.Changes {
			got = append(got, show(c))
		}
		if s := strings.Join(got, "\n"); s != x.want || showList(r.List) != x.list || r.Form != form {
			t.Errorf("%s: %s\n%s\n%s\nwant\n%s\n%s", x.name, r.Form, s, showList(r.List), x.want, x.list)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestDaysAreRealDays: months of 28 to 31 days, leap years of the Gregorian calendar, each way of writing.
func TestDaysAreRealDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2020-01-31": "2020-01-31", "31.01.2020": "2020-01-31", "1.2.2020": "2020-02-01", "30.4.2021": "2021-04-30",
		"2024-02-29": "2024-02-29", "29.02.2000": "2000-02-29", "2020-12-31T23:59:60Z": "2020-12-31",
		"2020-01-31 00:00:00": "2020-01-31", " 2020-01-31\t": "2020-01-31", "0001-01-01": "0001-01-01",
		"9999-12-31": "9999-12-31",
		"2023-02-29": "", "29.02.1900": "", "2021-04-31": "", "31.6.2021": "", "2021-13-01": "", "0.1.2021": "",
		"0000-01-01": "", "10000-01-01": "", "2020-1-31": "", "31/01/2020": "", "20200131": "", "31.01.20": "",
		"2020": "", "": "", "2020-01-31Z": "", "１.1.2020": "", "2020−01−31": "",
	} {
		r, err := changes.Read(strings.NewReader("date,from,to\n\""+text+"\",A,B\n"), changes.Options{})
		if want == "" {
			if !strings.HasPrefix(message(err), "line 2: date is \""+text+"\"; write a day, such as 2020-01-31 or "+
				"31.01.2020") {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := r.Changes[0].Date.String(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestOwnForm(t *testing.T) {
	t.Parallel()
	readForms(t, changes.Plain, "Date,From,From_Name,To,To_Name,made_of,transfer,people,area,source,recorded\n",
		[]formCase{
			{"no rows", "", "", "", ""},
			{"all columns", "2020-01-01,A,Ask,B,Birch,X Y,yes,10,0,law,2019-12-31T23:59:59+01:00\n",
				"2: 2020-01-01 A/Ask>B/Birch transfer of=X+Y people=10 area=0 source=law " +
					"recorded=2019-12-31T23:59:59+01:00", "", ""},
			{"a beginning and an end", "2020-01-01,,,B,,,,,,,\n2020-01-02,B,,,,,,,,,\n",
				"2: 2020-01-01 />B/\n3: 2020-01-02 B/>/", "", ""},
			{"codes in any script", "2020-01-01,東町,ß,İ,e\u0301,,,,,,\n", "2: 2020-01-01 東町/ß>İ/e\u0301", "", ""},
			{"what spreadsheets write of truth", "2020-01-01,A,,B,,,TRUE,,,,\n2020-01-01,A,,C,,,False,,,,\n",
				"2: 2020-01-01 A/>B/ transfer\n3: 2020-01-01 A/>C/", "", ""},
			{"no code", "2020-01-01,,Ask,,Birch,,,,,,\n", "", "", "line 2: a change names no code"},
			{"every fault of a row", "2020-02-30,A,,B,,,maybe,-1,1.5,,today\n2020-01-01,A,,B,,,,1 000,1e3,,\n", "", "",
				"line 2: date is \"2020-02-30\"\nline 2: recorded is \"today\"; write a moment\n" +
					"line 2: transfer is \"maybe\"; write true or false\nline 2: people is \"-1\"; write a whole\n" +
					"line 2: area is \"1.5\"; write a whole\nline 3: people is \"1 000\"\nline 3: area is \"1e3\""},
			{"more people than a number holds", "2020-01-01,A,,B,,,,9223372036854775808,,,\n", "", "",
				"line 2: people is \"9223372036854775808\""},
		})
	readForms(t, changes.Plain, "", []formCase{
		{"columns that there are not", "date,from,to,peple,to\n2020-01-01,A,B,1,C\n", "", "",
			"line 1: there is no column \"peple\"; write people, or leave it out\n" +
				"line 1: the column \"to\" stands twice; name each once"},
		{"a line that is no CSV", "date,from,to\n2020-01-01,A\n", "", "", "line 2: wrong number of fields"},
	})
}

// TestKlassNamesLoseTheirLabels, in JSON, whose entries are counted from 1, and in CSV.
func TestKlassNamesLoseTheirLabels(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, want string }{
		{"Våler", "Våler"}, {"Våler (Østfold)", "Våler"}, {"Os (gammel) (ny)", "Os (gammel)"}, {"(Os)", "(Os)"},
		{" (Os)", "(Os)"}, {"Os (ny) og By", "Os (ny) og By"}, {"Os(ny)", "Os(ny)"}, {"Os (ny", "Os (ny"},
		{"Os ()", "Os"}, {"", ""},
	} {
		asJSON := fmt.Sprintf(`{"codeChanges":[{"oldCode":" 1 ","oldName":%q,"newCode":"2","newName":"N",`+
			`"changeOccurred":"2020-01-01"}]}`, x.name)
		asCSV := fmt.Sprintf("oldCode;oldName;newCode;newName;changeOccurred\n 1 ;%s;2;N;2020-01-01\n", x.name)
		for text, want := range map[string]string{asJSON: "1: 2020-01-01 1/" + x.want + ">2/N",
			"\ufeff \n" + asJSON: "1: 2020-01-01 1/" + x.want + ">2/N", asCSV: "2: 2020-01-01 1/" + x.want + ">2/N"} {
			r, err := changes.Read(strings.NewReader(text), changes.Options{})
			if err != nil || len(r.Changes) != 1 || show(r.Changes[0]) != want {
				t.Errorf("%q: %+v, %v, want %s", text, r, err, want)
			}
		}
	}
	for text, want := range map[string]string{
		`{"codeChanges":[]}`: "",
		`{"codeChanges":[{"changeOccurred":"2020-02-30"},{"changeOccurred":""}]}`: "line 1: \"2020-02-30\" is no " +
			"day; write it as 2020-01-01\nline 2: \"\" is no day; write it as 2020-01-01",
		`{}`:                     "the document is no table of changes of KLASS: it has no list codeChanges",
		`{"codes":[]}`:           "the document is no table of changes of KLASS: it has no list codeChanges",
		`{"codeChanges":null}`:   "the document is no table of changes of KLASS: it has no list codeChanges",
		`{"codeChanges":[]} {}`:  "the document is no table of changes of KLASS: invalid character",
		`{"codeChanges":[1]}`:    "the document is no table of changes of KLASS: json: cannot unmarshal",
		`{"codeChanges":["`:      "the document is no table of changes of KLASS: unexpected end",
		"{\"codeChanges\":[\xff": "the document is no table of changes of KLASS: invalid character",
	} {
		r, err := changes.Read(strings.NewReader(text), changes.Options{})
		if want == "" && (err != nil || len(r.Changes) != 0 || r.Form != changes.KlassJSON) ||
			want != "" && !strings.HasPrefix(message(err), want) {
			t.Errorf("%s: %+v, %v, want %s", text, r, err, want)
		}
	}
}

// TestNumbersOfCBS: areas in hectares with a comma or a point, people as whole numbers.
func TestNumbersOfCBS(t *testing.T) {
	t.Parallel()
	const heading = "ingangsdatum;soort;oude_gemeentecode;nieuwe_gemeentecode;inwoners;oppervlakte_land_ha\n"
	const change = "2017-01-01;samenvoeging;GM0001;2"
	const shown = "2: 2017-01-01 0001/>0002/"
	readForms(t, changes.CBS, heading, []formCase{
		{"none", change + ";;\n", shown + " source=CBS", "", ""},
		{"nought", change + ";0;0\n", shown + " people=0 area=0 source=CBS", "", ""},
		{"a decimal comma", change + ";1200;3,5\n", shown + " people=1200 area=35000 source=CBS", "", ""},
		{"a decimal point", change + ";1200;0.0001\n", shown + " people=1200 area=1 source=CBS", "", ""},
		{"less than half a square metre", change + ";;0,00004\n", shown + " area=0 source=CBS", "", ""},
		{"people with a thousands separator", change + ";1.234;\n", "", "",
			`line 2: inwoners is "1.234"; write a whole number without separators`},
		{"people with a thousands separator as comma", change + ";1,234;\n", "", "", `line 2: inwoners is "1,234"`},
		{"an area with both", change + ";;1.234,5\n", "", "",
			`line 2: oppervlakte_land_ha is "1.234,5"; write a number`},
		{"no number", change + ";NaN;NaN\n", "", "",
			"line 2: inwoners is \"NaN\"; write a number\nline 2: oppervlakte_land_ha is \"NaN\"; write a number"},
		{"infinite", change + ";Inf;-inf\n", "", "",
			"line 2: inwoners is \"Inf\"; write a number\nline 2: oppervlakte_land_ha is \"-inf\"; write a number"},
		{"negative", change + ";-1;-0,5\n", "", "",
			"line 2: inwoners is \"-1\"; write a number\nline 2: oppervlakte_land_ha is \"-0,5\"; write a number"},
		{"the largest", change + ";1000000000000000;100000000000\n", shown +
			" people=1000000000000000 area=1000000000000000 source=CBS", "", ""},
		{"more than the largest", change + ";1000000000000001;100000000001\n", "", "",
			"line 2: inwoners is \"1000000000000001\"\nline 2: oppervlakte_land_ha is \"100000000001\""},
	})
}

// TestKindsOfCBS: which codes each has, and how codes are written.
func TestKindsOfCBS(t *testing.T) {
	t.Parallel()
	const heading = "ingangsdatum;soort;oude_gemeentecode;nieuwe_gemeentecode\n"
	var cases []formCase
	for _, kind := range []string{"naamswijziging", "codewijziging", "samenvoeging", "toevoeging", "splitsing",
		"instelling", "opheffing", "grenscorrectie"} {
		flag := map[string]string{"toevoeging": " joins", "grenscorrectie": " transfer"}[kind]
		for _, codes := range []struct{ from, to string }{{"0001", "0002"}, {"0001", ""}, {"", "0002"}, {"", ""}} {
			x := formCase{name: fmt.Sprintf("%s of %q and %q", kind, codes.from, codes.to),
				rows: "2017-01-01;" + kind + ";" + codes.from + ";" + codes.to + "\n"}
			switch {
			case (kind == "instelling") == (codes.from != ""):
				x.fault = `line 2: oude_gemeentecode is "` + codes.from + `"; soort instelling has none`
			case (kind == "opheffing") == (codes.to != ""):
				x.fault = `line 2: nieuwe_gemeentecode is "` + codes.to + `"; soort opheffing has none`
			}
			x.want = "2: 2017-01-01 " + codes.from + "/>" + codes.to + "/" + flag + " source=CBS"
			cases = append(cases, x)
		}
	}
	cases = append(cases,
		formCase{"itself, with others", "2017-01-01;toevoeging;14;GM0014\n",
			"2: 2017-01-01 0014/>0014/ source=CBS", "", ""},
		formCase{"codes in small letters", "2017-01-01;samenvoeging;gm0001;gm2\n",
			"2: 2017-01-01 0001/>0002/ source=CBS", "", ""},
		formCase{"no kind", "2017-01-01;;1;2\n", "", "", "line 2: soort is empty; write one of naamswijziging, "},
		formCase{"another kind", "2017-01-01;Samenvoeging;1;2\n", "", "",
			`line 2: soort is "Samenvoeging", which is not known`},
		formCase{"five digits", "2017-01-01;samenvoeging;00001;2\n", "", "", `line 2: oude_gemeentecode is "00001"`},
		formCase{"letters", "2017-01-01;samenvoeging;1;GMGM\n", "", "", `line 2: nieuwe_gemeentecode is "GMGM"`},
		formCase{"digits of another script", "2017-01-01;samenvoeging;١;2\n", "", "",
			`line 2: oude_gemeentecode is "١"`})
	readForms(t, changes.CBS, heading, cases)
}

// destatisHead is the heading of a table of Destatis, on three lines.
const destatisHead = "Gebietsänderungen 2020;;;;;;;;;\n;Regionaleinheit;abgebende Gemeinde;;;;;aufnehmende Gemeinde;;" +
	"Wirksamkeitsdatum\n;;Gemeinde-schlüssel (AGS);Name;Änderungs-art;Fläche in qm;Einwohner;Gemeinde-schlüssel " +
	"(AGS);" +
	"Name;juristisch\n"

func TestRowsOfDestatis(t *testing.T) {
	t.Parallel()
	row := func(from, kind, area, people, to string) string {
		return ";Gemeinde;" + from + ";Ask;" + kind + ";" + area + ";" + people + ";" + to + ";Elm;01.01.2020\n"
	}
	const shown = "4: 2020-01-01 01001001/Ask>01001002/Elm"
	readForms(t, changes.Destatis, destatisHead, []formCase{
		{"no rows", "", "", "", ""},
		{"other levels", strings.ReplaceAll(row("1", "9", "x", "x", "2"), "Gemeinde", "Kreis"), "", "", ""},
		{"an end", row("01001001", "1", "1.000.000", "100", "01001002"),
			shown + " joins people=100 area=1000000 source=Destatis", "", ""},
		{"a part", row("01001001", "2", "1", "0", "01001002"), shown + " joins part people=0 area=1 source=Destatis",
			"",
			""},
		{"the part that stays", row("01001001", "2", "1", "0", "01001001"),
			"4: 2020-01-01 01001001/Ask>01001001/Elm people=0 area=1 source=Destatis", "", ""},
		{"a code and a name", row("01001001", "3, 4", "", "", "01001002"), shown + " source=Destatis", "", ""},
		{"a leading zero that is lost", row("1001001", "3", "", "", "1001002"), shown + " source=Destatis", "", ""},
		{"one part without numbers", row("01001001", "1", "5", "", "01001002") +
			row("01001001", "1", "", "7", "01001003") + row("01001009", "1", "1", "1", "01001003"),
			shown + " joins source=Destatis\n5: 2020-01-01 01001001/Ask>01001003/Elm joins source=Destatis\n" +
				"6: 2020-01-01 01001009/Ask>01001003/Elm joins people=1 area=1 source=Destatis", "", ""},
		{"faults", row("1", "5", "1,5", "-1", "0100100200"), "", "",
			"line 4: AGS (abgebende Gemeinde) is \"1\"; write the 8 digits\n" +
				"line 4: AGS (aufnehmende Gemeinde) is \"0100100200\"\nline 4: Fläche is \"1,5\"\n" +
				"line 4: Einwohner is \"-1\"\nline 4: Änderungsart is \"5\""},
		{"no kind", row("01001001", "", "", "", "01001002"), "", "", "line 4: Änderungsart is \"\""},
		{"a thousands separator in the wrong place", row("01001001", "1", "1.00", "1.0000", "01001002"), "", "",
			"line 4: Fläche is \"1.00\"\nline 4: Einwohner is \"1.0000\""},
		{"no day", strings.Replace(row("01001001", "1", "", "", "01001002"), "01.01.2020", "31.02.2020", 1), "", "",
			"line 4: Wirksamkeitsdatum (juristisch) is \"31.02.2020\""},
	})
	latin1 := []byte{}
	for _, r := range destatisHead + row("01001001", "1", "", "", "01001002") {
		latin1 = append(latin1, byte(r))
	}
	r, err := changes.Read(strings.NewReader(string(latin1)), changes.Options{})
	if err != nil || len(r.Changes) != 1 || show(r.Changes[0]) != shown+" joins source=Destatis" {
		t.Errorf("Latin-1: %+v, %v", r, err)
	}
}

// TestRowsOfInsee: only changes of communes; what is restored carries its own territory.
func TestRowsOfInsee(t *testing.T) {
	t.Parallel()
	const heading = "MOD,DATE_EFF,TYPECOM_AV,COM_AV,LIBELLE_AV,TYPECOM_AP,COM_AP,LIBELLE_AP\n"
	readForms(t, changes.Insee, heading, []formCase{
		{"a merger", "32,2016-01-01,COM,01001,Ask,COM,01002,Elm\n", "2: 2016-01-01 01001/Ask>01002/Elm source=INSEE",
			"",
			""},
		{"a beginning and an end", "20,2016-01-01,,,,COM,01002,Elm\n30,2016-01-02,COM,01002,Elm,,,\n",
			"2: 2016-01-01 />01002/Elm source=INSEE\n3: 2016-01-02 01002/Elm>/ source=INSEE", "", ""},
		{"communes of other kinds", "32,2016-01-01,COM,01001,Ask,COMD,01001,Ask\n32,2016-01-01,COMA,1,A,COM,2,B\n" +
			"10,2016-01-01,ARM,75101,A,ARM,75101,B\n70,2016-01-01,,,,,,\n", "", "", ""},
		{"one restored", "21,1987-01-01,COM,01001,Ask,COM,01001,Ask\n21,1987-01-01,COM,01001,Ask,COM,01002,Elm\n",
			"2: 1987-01-01 01001/Ask>01001/Ask source=INSEE\n" +
				"3: 1987-01-01 01001/Ask>01002/Elm loose of=01002 source=INSEE", "", ""},
		{"one restored from an associated commune", "21,1987-01-01,COMA,01002,Elm,COM,01002,Elm\n" +
			"21,1987-01-01,COM,01001,Ask,COM,01002,Elm\n", "3: 1987-01-01 01001/Ask>01002/Elm loose of=01002 " +
			"source=INSEE",
			"", ""},
		{"faults", "99,2016-02-30,VILLE,1,,com,2,\n", "", "",
			"line 2: DATE_EFF is \"2016-02-30\"\nline 2: MOD is \"99\"\nline 2: TYPECOM_AV is \"VILLE\"\n" +
				"line 2: TYPECOM_AP is \"com\""},
	})
}

// TestPeriodsOfONS: a code ends on the day after its last one, whatever the month.
func TestPeriodsOfONS(t *testing.T) {
	t.Parallel()
	const source = " weak source=ONS, Code History Database"
	var cases []formCase
	for last, next := range map[string]string{"28/02/2011": "2011-03-01", "28/02/2012": "2012-02-29",
		"29/02/2012": "2012-03-01", "30/04/2012": "2012-05-01", "31/12/2012": "2013-01-01", "25/03/2012": "2012-03-26",
		"27/10/2012": "2012-10-28"} {
		cases = append(cases, formCase{"until " + last, "A,Ask,01/04/2009," + last + ",terminated\n",
			"2: " + next + " A/Ask>/" + source, next, ""})
	}
	cases = append(cases,
		formCase{"in use", "A,Ask,01/04/2009,,live\nB,Elm,02/04/2009,,live\n", "3: 2009-04-02 />B/Elm" + source,
			"2009-04-02; 2: A Ask; 3: B Elm", ""},
		formCase{"a new name", "A,Elm,01/04/2010,,live\nA,Ask,01/04/2009,31/03/2010,terminated\n",
			"2: 2010-04-01 A/Ask>A/Elm" + source, "2010-04-01; 2: A Elm", ""},
		formCase{"a gap", "A,Ask,01/04/2009,30/03/2010,terminated\nA,Elm,01/04/2010,,live\n",
			"2: 2010-03-31 A/Ask>/" + source + "\n3: 2010-04-01 />A/Elm" + source, "2010-04-01; 3: A Elm", ""},
		formCase{"periods that overlap", "A,Ask,01/04/2009,01/04/2010,terminated\nA,Elm,01/04/2010,,live\n", "", "",
			"line 3: A begins on 2010-04-01, but is in use then by line 2"},
		formCase{"an end before the beginning", "A,Ask,01/04/2009,30/03/2009,terminated\n", "", "",
			"line 2: A begins on 2009-04-01 and has ended by 2009-03-31"},
		formCase{"one day", "A,Ask,01/04/2009,01/04/2009,terminated\n", "2: 2009-04-02 A/Ask>/" + source, "2009-04-02",
			""},
		formCase{"an end that is not known", "A,Ask,01/04/2009,,terminated\n", "", "",
			"line 2: TERM_DATE of A is empty, but STATUS is \"terminated\""},
		formCase{"the order of days in America", "A,Ask,04/13/2009,,live\n", "", "",
			"line 2: OPER_DATE is \"04/13/2009\"; write a day, such as 2020-01-31 or 31.01.2020 or 31/01/2020"})
	readForms(t, changes.ONS, "GEOGCD,GEOGNM,OPER_DATE,TERM_DATE,STATUS\n", cases)
}

// bfsHeading names the columns of the register of BFS.
const bfsHeading = "mHistId,dHistId,cAbbreviation,mId,mLongName,mShortName,mEntryMode,mStatus,mAdmissionNumber," +
	"mAdmissionMode,mAdmissionDate,mAbolitionNumber,mAbolitionMode,mAbolitionDate,mDateOfChange\n"

// TestMutationsOfBFS: modes as numbers and in words, gaps as R writes them, lakes and areas by options.
func TestMutationsOfBFS(t *testing.T) {
	t.Parallel()
	row := func(id, name, kind, began, day, ended string) string {
		if ended == "" {
			ended = ",,"
		}
		return "1,1,ZH," + id + "," + name + "," + name + "," + kind + ",1," + began + "," + day + "," + ended + ",\n"
	}
	readForms(t, changes.BFS, bfsHeading, []formCase{
		{"in use", row("1", "Ask", "11", "100,20", "1960-01-01", "NA,NA,NA"), "", "1960-01-01; 2: 1 Ask", ""},
		{"an end", row("1", "Ask", "11", "100,20", "1960-01-01", "101,29,1999-12-31"),
			"2: 2000-01-01 1/Ask>/ source=BFS, mutation 101", "2000-01-01", ""},
		{"an end after a leap day", row("1", "Ask", "Municipality", "100,First-time registration", "1960-01-01",
			"101,Abolition,29.02.2000"), "2: 2000-03-01 1/Ask>/ source=BFS, mutation 101", "2000-03-01", ""},
		{"a beginning from nothing", row("1", "Ask", "11", "101,21", "2000-01-01", ""),
			"2: 2000-01-01 />1/Ask source=BFS, mutation 101", "2000-01-01; 2: 1 Ask", ""},
		{"a new name", row("1", "Ask", "11", "100,20", "1960-01-01", "101,23,1999-12-31") +
			row("1", "Elm", "11", "101,23", "2000-01-01", ""), "2: 2000-01-01 1/Ask>1/Elm source=BFS, mutation 101",
			"2000-01-01; 3: 1 Elm", ""},
		{"a new district alone", row("1", "Ask", "11", "100,20", "1960-01-01", "101,24,1999-12-31") +
			row("1", "Ask", "11", "101,24", "2000-01-01", ""), "", "2000-01-01; 3: 1 Ask", ""},
		{"a cancelled mutation", row("1", "Ask", "11", "101,30", "2000-01-01", ""), "", "", ""},
		{"a lake and an area of no municipality", row("9001", "Lake", "13", "100,20", "1960-01-01", "") +
			row("92", "Moor", "12", "100,20", "1960-01-01", ""), "", "", ""},
		{"days that do not fit", row("1", "Ask", "11", "100,20", "1960-01-01", "101,23,1999-12-30") +
			row("1", "Elm", "11", "101,23", "2000-01-01", ""), "", "",
			"line 2: mAbolitionDate is 1999-12-30, but what comes of mutation 101 begins on 2000-01-01"},
		{"what does not end", row("1", "Ask", "11", "100,20", "1960-01-01", "101,26,1999-12-31"), "", "",
			"line 2: mAbolitionMode of 1 is \"change of area\", but mutation 101 does not say what it is afterwards"},
		{"no modes", row("1", "Ask", "", "100,", "1960-01-01", ""), "", "",
			"line 2: mEntryMode is \"\", which is no mode of BFS\nline 2: mAdmissionMode is \"\""},
	})
	lakes := bfsHeading + row("9001", "Lake", "13", "100,20", "1960-01-01", "") +
		row("92", "Moor", "12", "100,20", "1961-01-01", "")
	for o, want := range map[changes.Options]string{{Lakes: true}: "1960-01-01; 2: 9001 Lake",
		{Areas: true}: "1961-01-01; 3: 92 Moor", {Areas: true, Lakes: true}: "1961-01-01; 2: 9001 Lake; 3: 92 Moor"} {
		r, err := changes.Read(strings.NewReader(lakes), o)
		if err != nil || showList(r.List) != want {
			t.Errorf("%+v: %v, %v, want %s", o, r, err, want)
		}
	}
}

// TestTablesOfNoKnownForm name the columns of all forms.
func TestTablesOfNoKnownForm(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a,b\n1,2\n", "date,from\n2020-01-01,A\n", "[]\n"} {
		_, err := changes.Read(strings.NewReader(text), changes.Options{})
		for _, want := range []string{"KLASS: oldCode", "INSEE: MOD", "BFS: mId", "ONS (Changes.csv)",
			"CBS: ingangsdatum",
			"a CSV of your own: date, from, to", "Destatis: Regionaleinheit"} {
			if !strings.Contains(message(err), want) {
				t.Errorf("%q: %v does not name %s", text, err, want)
			}
		}
	}
	for _, text := range []string{"", "\ufeff", "\n"} {
		if _, err := changes.Read(strings.NewReader(text), changes.Options{}); message(err) != "the table is empty" {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := changes.ReadRows(nil, nil, changes.Options{}); message(err) != "the table is empty" {
		t.Errorf("no rows: %v", err)
	}
	broken := io.MultiReader(strings.NewReader("date,from,to\n"), broken{})
	if _, err := changes.Read(broken, changes.Options{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken connection: %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestRowsOfSpreadsheetsKeepTheirLines, and may end at their last value.
func TestRowsOfSpreadsheetsKeepTheirLines(t *testing.T) {
	t.Parallel()
	r, err := changes.ReadRows([][]string{{"date", "from", "to", "people"}, {"2020-01-01", "A"}, {},
		{"2020-01-01", "A", "B", "5"}}, []int{3, 5, 6, 9}, changes.Options{})
	if want := "line 6: date is \"\""; !strings.HasPrefix(message(err), want) {
		t.Errorf("%+v, %v, want %s", r, err, want)
	}
	r, err = changes.ReadRows([][]string{{"date", "from", "to", "people"}, {"2020-01-01", "A"},
		{"2020-01-01", "A", "B", "5"}}, []int{3, 5, 9}, changes.Options{})
	if err != nil || len(r.Changes) != 2 || show(r.Changes[0]) != "5: 2020-01-01 A/>/" ||
		show(r.Changes[1]) != "9: 2020-01-01 A/>B/ people=5" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestTablesAreJoined: lines are shifted, lists are one.
func TestTablesAreJoined(t *testing.T) {
	t.Parallel()
	read := func(text string) *changes.Register {
		r, err := changes.Read(strings.NewReader(text), changes.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const heading = "GEOGCD,GEOGNM,OPER_DATE,TERM_DATE,STATUS\n"
	all := &changes.Register{}
	all.Add(read("date,from,to\n2020-01-01,E01,E02\n2020-01-01,E03,W04\n2020-01-01,W01,W02\n2020-01-01,W03,\n"), 0)
	if all.List != nil || all.Form != changes.Plain {
		t.Errorf("%+v", all)
	}
	all.Add(read(heading+"E02,Elm,01/01/2022,,live\nW02,Willow,01/01/2022,,live\n"), 1000)
	all.Add(read(heading+"E05,Elder,01/01/2021,,live\n"), 2000)
	all.Add(read("oldCode,oldName,newCode,newName,changeOccurred\nE07,,E08,,2023-01-01\n"), 3000)
	if got := showList(all.List); got != "2022-01-01; 1002: E02 Elm; 1003: W02 Willow; 2002: E05 Elder" ||
		all.Form != changes.KlassCSV {
		t.Errorf("%s, %s", all.Form, got)
	}
	all.Only([]string{"E", "X"})
	var got []string
	for _, c := range all.Changes {
		got = append(got, show(c))
	}
	if s := strings.Join(got, "; "); s != "2: 2020-01-01 E01/>E02/; 3002: 2023-01-01 E07/>E08/" ||
		showList(all.List) != "2022-01-01; 1002: E02 Elm; 2002: E05 Elder" {
		t.Errorf("only E: %s, list %s", s, showList(all.List))
	}
}

func TestListsOfCodes(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, text string
		form       changes.Form
		want       string
	}{
		{"code and name", "code;name\n0301;Oslo\n", changes.Plain, "2020-01-01; 2: 0301 Oslo"},
		{"codes alone", "CODE\n0301\n1103\n", changes.Plain, "2020-01-01; 2: 0301 ; 3: 1103 "},
		{"of INSEE", "TYPECOM,COM,LIBELLE\nCOM,01001,Ask\nCOMD,01002,Elm\nARM,75101,A\n", changes.Insee,
			"2020-01-01; 2: 01001 Ask"},
		{"of KLASS", "code,name\n0301,Oslo (ny)\n9999,Uoppgitt\n", changes.KlassJSON, "2020-01-01; 2: 0301 Oslo"},
		{"9999 of others", "code,name\n9999,Elm\n", changes.CBS, "2020-01-01; 2: 9999 Elm"},
		{"no codes", "code,name\n", changes.Plain, "2020-01-01"},
	} {
		l, err := changes.ReadList(strings.NewReader(x.text), 20200101, x.form)
		if err != nil || showList(l) != x.want {
			t.Errorf("%s: %s, %v, want %s", x.name, showList(l), err, x.want)
		}
	}
	for text, want := range map[string]string{"name\nOslo\n": "a list of codes has a column code, and name",
		"": "the table is empty", "code\n1,2\n": "line 2: wrong number of fields"} {
		if _, err := changes.ReadList(strings.NewReader(text), 20200101, changes.Plain); message(err) != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestOwnTablesAreReadAsWritten: random changes, written by encoding/csv with any separator.
func TestOwnTablesAreReadAsWritten(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 1))
	texts := []string{"", "A", "0301", "Ærø", "a;b", "a,b", "a\tb", `"`, "a\nb", "ß", "e\u0301", "x"}
	for range 300 {
		var b strings.Builder
		w := csv.NewWriter(&b)
		w.Comma = []rune{',', ';', '\t'}[r.IntN(3)]
		w.Write([]string{"date", "from", "to", "from_name", "to_name", "people", "area", "transfer"})
		var want []string
		line := 2
		for range r.IntN(5) {
			c := history.ChangeRow{FromName: texts[r.IntN(len(texts))], ToName: texts[r.IntN(len(texts))]}
			c.Line, c.Date = line, history.Date(20200101+r.IntN(28))
			c.From, c.To, c.Transfer = texts[1+r.IntN(len(texts)-1)], texts[r.IntN(len(texts))], r.IntN(2) == 0
			row := []string{c.Date.String(), c.From, c.To, c.FromName, c.ToName, "", "", strconv.FormatBool(c.Transfer)}
			if r.IntN(2) == 0 {
				c.People, c.Area = history.CountOf(r.Int64N(1e6)), history.CountOf(r.Int64N(1e15))
				row[5], row[6] = c.People.String(), c.Area.String()
			}
			line += 1 + strings.Count(strings.Join(row, ""), "\n")
			want = append(want, show(c))
			w.Write(row)
		}
		w.Flush()
		got, err := changes.Read(strings.NewReader(b.String()), changes.Options{})
		if err != nil {
			t.Fatalf("%q: %v", b.String(), err)
		}
		var all []string
		for _, c := range got.Changes {
			all = append(all, show(c))
		}
		if !slices.Equal(all, want) {
			t.Fatalf("%q: %q, want %q", b.String(), all, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"date,from,to\n2020-01-01,A,B\n", destatisHead + ";Gemeinde;1001001;A;1;1.000;;;;1\n",
		bfsHeading + "1,1,ZH,1,A,A,11,1,101,26,2000-01-01,102,26,9999-12-31,\n",
		"GEOGCD,GEOGNM,OPER_DATE,TERM_DATE,STATUS\nA,Ask,01/01/2009,31/12/9999,live\n",
		"ingangsdatum,soort,oude_gemeentecode,nieuwe_gemeentecode,inwoners\n2017-01-01,opheffing,GM,,NaN\n",
		"1\t1\tZH\t1\tA\tA\t11\t1\t100\t20\t01.01.1960\t\t\t\t\n", `{"codeChanges":[{"changeOccurred":"2020-01-01"}]}`,
		"MOD,DATE_EFF,TYPECOM_AV,COM_AV,TYPECOM_AP,COM_AP\n21,2020-01-01,COM,1,COM,2\n",
		"MutationNumber,MutationDate,InitialCode,InitialName,InitialStep,TerminalCode,TerminalName,TerminalStep\n" +
			"1,01.01.2000,1,A,26,2,B,26\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := changes.Read(strings.NewReader(string(b)), changes.Options{Areas: true})
		if faults, ok := errors.AsType[history.Faults](err); ok && len(faults) == 0 {
			t.Fatalf("%q: no fault of an error", b)
		}
		if err != nil {
			return
		}
		for _, c := range r.Changes {
			if c.Line < 1 || c.Date <= 0 || c.People.N < 0 || c.Area.N < 0 {
				t.Errorf("%q: %s", b, show(c))
			}
		}
		r.Only([]string{"0"})
	})
}
