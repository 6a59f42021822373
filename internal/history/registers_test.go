package history_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/history"
	"grense/internal/history/changes"
	"grense/internal/sharedtest"
)

// register is a made-up table of a register, with every kind of row that it can have.
type register struct {
	tables  []string
	options changes.Options
	list    *history.List     // where the register has none
	only    []string          // prefixes of codes
	events  string            // kinds of events, by day
	on      map[string]string // codes and names on a day
	became  string            // translations: code day day: codes
	wrong   map[string]string // lines behind those of the first table, and what is wrong with them
}

// bfsTable is a table of municipalities of BFS of lines with code, name, kind, and number, mode and date of admission
// and abolition.
func bfsTable(lines string) string {
	var b strings.Builder
	b.WriteString(
		"mHistId,dHistId,cAbbreviation,mId,mLongName,mShortName,mEntryMode,mStatus,mAdmissionNumber,mAdmissionMode," +
			"mAdmissionDate,mAbolitionNumber,mAbolitionMode,mAbolitionDate,mDateOfChange\n",
	)
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
		events: "2000 merge, 2005 split, 2006 absorb, 2007 rename, 2008 renumber, 2009 renumber, 2011 transfer, " +
			"2012 split",
		on: map[string]string{
			"1970-01-01": "1 Ask, 2 Birch, 20 Juniper, 21 Kapok, 31 Never, 5 Elm, 6 Fir, 7 Gorse, 8 Hazel, 9 Ivy",
			"2013-01-01": "11 Ask, 12 Birch, 18 Hazel, 20 Juniper, 21 Kapok, 22 Larch, 31 Never, 5 Elm, " +
				"7 Great Gorse, 8 Ivy",
		},
		became: "1 1970 2004: 3; 1 1970 2013: 11? 12?; 8 2000 2013: 18; 8 2013 2000: 9; 6 1960 2013: 5; " +
			"20 2000 2013: 20; 22 2013 2000: 21",
		wrong: map[string]string{
			bfsLine("31,Never,Municipality,100,Marriage,1960-01-01"): `line 28: mAdmissionMode ` +
				`is "Marriage", which is no mode of BFS; write its number, such as 21 for a creation`,
			bfsLine("31,Never,Municipality,100,20,1960-13-01"): `line 28: mAdmissionDate ` +
				`is "1960-13-01"; write a day, such as 2020-01-31 or 31.01.2020`,
			bfsLine("31,Never,Municipality,100,20,1960-01-01,112,24,1999-12-31"): `line 28: mAbolitionMode ` +
				`of 31 is "reassignment to other d/c", but mutation 112 does not say what it is afterwards; ` +
				`add its line, or write 29 where it ends`,
			bfsLine("31,Never,Municipality,112,26,1999-12-31"): `line 28: mAdmissionMode ` +
				`of 31 is "change of area", but mutation 112 does not say what it was before; add its line, ` +
				`or write 21 where it begins`,
			bfsLine("31,Never,Municipality,100,20,1960-01-01,101,29,2001-12-31"): `line 28: mAbolitionDate ` +
				`is 2001-12-31, but what comes of mutation 101 begins on 2000-01-01; correct one of the dates`,
			bfsLine("11,Ask,Municipality,112,21,2004-01-01"): `line 28: "11" stands ` +
				`twice in the list, or is no code`,
			bfsLine("31,Never,Municipality,100,20,1960-01-01,113,29,2004-12-31") +
				"\n\"": `line 29: extraneous or missing " in quoted-field`,
		},
	},
	// Lakes and areas of no municipality: a lake changes its district, a moor its name and its number before Elm takes
	// it up, and Fir gives land to Gorse and a wood, which stays.
	"BFS with lakes": {
		options: changes.Options{Areas: true, Lakes: true},
		tables: []string{
			bfsTable(`5,Elm,Municipality,100,First-time registration,1960-01-01,103,Change of area,2005-12-31
5,Elm,Municipality,103,Change of area,2006-01-01
6,Fir,Municipality,100,First-time registration,1960-01-01,104,Change of area,2006-12-31
6,Fir,Municipality,104,Change of area,2007-01-01
7,Gorse,Municipality,100,First-time registration,1960-01-01,104,Change of area,2006-12-31
7,Gorse,Municipality,104,Change of area,2007-01-01
9001,The Lake,Cantonal part of lake,100,First-time registration,1960-01-01,105,Reassignment to other d/c,2007-12-31
9001,The Lake,Cantonal part of lake,105,Reassignment to other d/c,2008-01-01
90,The Moor,Area not allocated to mun.,100,First-time registration,1960-01-01,101,Change of name (m),1999-12-31
90,The Great Moor,Area not allocated to mun.,101,Change of name (m),2000-01-01,102,Formal renumbering,2003-12-31
91,The Great Moor,Area not allocated to mun.,102,Formal renumbering,2004-01-01,103,Abolition,2005-12-31
92,The Wood,Area not allocated to mun.,100,First-time registration,1960-01-01,104,Change of area,2006-12-31
92,The Wood,Area not allocated to mun.,104,Change of area,2007-01-01`)},
		events: "2000 rename, 2004 renumber, 2006 absorb, 2007 transfer, 2007 transfer, 2007 transfer",
		on: map[string]string{
			"1970-01-01": "5 Elm, 6 Fir, 7 Gorse, 90 The Moor, 9001 The Lake, 92 The Wood",
			"2004-01-01": "5 Elm, 6 Fir, 7 Gorse, 9001 The Lake, 91 The Great Moor, 92 The Wood",
			"2008-01-01": "5 Elm, 6 Fir, 7 Gorse, 9001 The Lake, 92 The Wood",
		},
		became: "90 1999 2003: 90; 90 1999 2005: 91; 90 1999 2008: 5; 5 2008 1999: 5 90; 9001 1970 2008: 9001; " +
			"92 1970 2008: 92",
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
		tables: []string{
			"MutationNumber,MutationDate,InitialHistoricalCode,InitialCode,InitialName,InitialStep," +
				"TerminalHistoricalCode," +
				"TerminalCode,TerminalName,TerminalStep\n101,01.01.2000,1,1,Ask,29,5,2,Birch,26\n101,01.01.2000,2,2," +
				"Birch,26,5,2,Birch,26\n" +
				"102,01.01.2001,3,3,Cedar,26,6,3,Cedar,26\n102,01.01.2001,3,3,Cedar,26,7,4,Dogwood,26\n102," +
				"01.01.2001,4,4,Dogwood,26,7,4,Dogwood,26\n",
		},
		events: "2000 absorb, 2001 transfer",
		on: map[string]string{
			"1999-12-31": "1 Ask, 2 Birch, 3 Cedar, 4 Dogwood",
			"2001-01-01": "2 Birch, 3 Cedar, 4 Dogwood",
		},
		became: "1 1999 2001: 2; 3 1999 2001: 3",
		wrong: map[string]string{
			"103,01.01.2002,1,2,Birch,31,1,9,Ivy,21": `line 7: InitialStep is "31", which is no mode of BFS; ` +
				`write its number, such as 21 for a creation`,
		},
	},
	// Ask and Birch merge; Cedar loses a few houses to Dogwood, and both get new codes; Elm is renamed, with a row and
	// without; Fir is parted; Gorse begins and ends, and its code is used again; Hazel always was.
	"ONS": {
		tables: []string{`GEOGCD,GEOGNM,GEOGNMW,GEOGCD_P,GEOGNM_P,GEOGNMW_P,SI_ID,SI_TITLE,OPER_DATE,ENTITYCD,YEAR
E06000010,Acorn,,E07000001,Ask,,1/2009,The Acorn Order,01/04/2009,E06,2009
E06000010,Acorn,,E07000002,Birch,,1/2009,The Acorn Order,01/04/2009 00:00:00,E06,2009
E07000013,Cedar,,E07000003,Cedar,,1/2010,The Cedar Order,01/04/2010,E07,2010
E07000014,Dogwood,,E07000003,Cedar,,1/2010,The Cedar Order,01/04/2010,E07,2010
E07000014,Dogwood,,E07000004,Dogwood,,1/2010,The Cedar Order,01/04/2010,E07,2010
E07000005,Great Elm,,E07000005,Elm,,1/2011,Name Change,01/04/2011,E07,2011
E07000016,Fir East,,E07000006,Fir,,1/2013,The Fir Order,01/04/2013,E07,2013
E07000017,Fir West,,E07000006,Fir,,1/2013,The Fir Order,01/04/2013,E07,2013
E06000001,Old,,00AA,Old,,1/2009,GSS re-coding strategy,01/01/2009,E06,2009
`, `GEOGCD,GEOGNM,GEOGNMW,SI_ID,SI_TITLE,OPER_DATE,TERM_DATE,PARENTCD,ENTITYCD,OWNER,STATUS
E06000010,Acorn,,1/2009,The Acorn Order,01/04/2009,,,E06,LGBC,live
E07000001,Ask,,,GSS re-coding strategy,01/01/2009,31/03/2009,,E07,LGBC,terminated
E07000002,Birch,,,GSS re-coding strategy,01/01/2009,31/03/2009,,E07,LGBC,terminated
E07000003,Cedar,,,GSS re-coding strategy,01/01/2009,31/03/2010,,E07,LGBC,terminated
E07000004,Dogwood,,,GSS re-coding strategy,01/01/2009,31/03/2010,,E07,LGBC,terminated
E07000013,Cedar,,1/2010,The Cedar Order,01/04/2010,,,E07,LGBC,live
E07000014,Dogwood,,1/2010,The Cedar Order,01/04/2010,,,E07,LGBC,live
E07000005,Elm,,,GSS re-coding strategy,01/01/2009,31/03/2011,,E07,LGBC,terminated
E07000005,Great Elm,,1/2011,Name Change,01/04/2011,31/03/2012,,E07,LGBC,terminated
E07000005,Greater Elm,,1/2012,Name Change,01/04/2012,,,E07,LGBC,live
E07000006,Fir,,,GSS re-coding strategy,01/01/2009,31/03/2013,,E07,LGBC,terminated
E07000016,Fir East,,1/2013,The Fir Order,01/04/2013,,,E07,LGBC,live
E07000017,Fir West,,1/2013,The Fir Order,01/04/2013,,,E07,LGBC,live
E07000020,Gorse,,1/2014,The Gorse Order,01/04/2014,31/03/2015,,E07,LGBC,terminated
E07000020,Gorse,,1/2016,The Gorse Order,01/04/2016,,,E07,LGBC,live
E07000008,Hazel,,,GSS re-coding strategy,02/01/2009,,,E07,LGBC,live
W05000008,Ward,,,GSS re-coding strategy,02/01/2009,,,W05,LGBC,live
`},
		only:   []string{"E06", "E07"},
		events: "2009 merge, 2010 transfer, 2011 rename, 2012 rename, 2013 split, 2014 create, 2015 end, 2016 create",
		on: map[string]string{
			"2009-01-01": "E07000001 Ask, E07000002 Birch, E07000003 Cedar, E07000004 Dogwood, E07000005 Elm, " +
				"E07000006 Fir, E07000008 Hazel",
			"2012-04-01": "E06000010 Acorn, E07000005 Greater Elm, E07000006 Fir, E07000008 Hazel, E07000013 Cedar, " +
				"E07000014 Dogwood",
		},
		became: "E07000001 2008 2012: E06000010; E07000003 2009 2012: E07000013 E07000014; E07000020 2014 2017: ; " +
			"E07000017 2017 2009: E07000006",
		wrong: map[string]string{
			"E07000030,Ivy,,E07000031,Ivy,,,,2009/04/31,E07,2009": `line 11: OPER_DATE is "2009/04/31"; write a day, ` +
				`such as 2020-01-31 or 31.01.2020 or 31/01/2020`,
			",Ivy,,E07000008,Hazel,,,,01/04/2009,E07,2009": `line 11: GEOGCD is empty; ` +
				`write the code that begins, or leave the line out`,
		},
	},
	"ONS states": {
		tables: []string{"GEOGCD,GEOGNM,OPER_DATE,TERM_DATE,STATUS\nA,Ask,01/01/2009,,live\n"},
		on:     map[string]string{"2009-01-01": "A Ask"},
		became: "A 2009 2010: A",
		wrong: map[string]string{
			"A,Ash,01/01/2010,,live": `line 3: A begins on 2010-01-01, but is in use then by line 2; ` +
				`correct one of the days`,
			"B,Birch,01/01/2010,,gone": `line 3: STATUS is "gone", which is not known; ` +
				`correct it to one of live, Live, terminated, Terminated, or leave the line out`,
			"B,Birch,01/01/2010,,terminated": `line 3: TERM_DATE of B is empty, but STATUS is "terminated"; ` +
				`write its last day`,
			"B,Birch,01/01/2010,01/01/2008,live": `line 3: B begins on 2010-01-01 and has ended by 2008-01-02; ` +
				`correct one of the days`,
		},
	},
	// Ask ends in Birch, which was there; Cedar and Dogwood merge into Elm, which was not; Fir is parted between Birch
	// and Gorse; Hazel gives territory to Ivy, and gets some; Juniper gets a new number, Kapok a new name;
	// an association.
	"Destatis": {
		tables: []string{`Gebietsänderungen;;;;;;;;;;;;
Kennziffer;Regionaleinheit;Abgebende / Aufgelöste Gemeinde;;;;;;Aufnehmende / Neugebildete Gemeinde;;;Wirksamkeitsdatum;
;;Amtlicher Regionalschlüssel (ARS);Amtlicher Gemeinde-schlüssel (AGS);Name;Änderungs-art 1);Fläche qm;Einwohner;Amtlicher Regionalschlüssel (ARS);Amtlicher Gemeinde-schlüssel (AGS);Name;juristisch;statistisch
1;Gemeindeverband;010010001;;Ask;1;;;010010002;;Birch;01.01.2021;01.01.2021
1;Gemeinde;010010001001;1001001;Ask;1;1.000.000;100;010010002002;01001002;Birch;01.01.2021;01.01.2021
2;Gemeinde;010010003003;01001003;Cedar;1;2000;200;010010005005;01001005;Elm;01.01.2022;01.01.2022
2;Gemeinde;010010004004;01001004;Dogwood;1;3000;300;010010005005;01001005;Elm;01.01.2022;01.01.2022
3;Gemeinde;010010006006;01001006;Fir;1;4000;0;010010002002;01001002;Birch;01.01.2023;01.02.2023
3;Gemeinde;010010006006;01001006;Fir;1;6000;50;010010007007;01001007;Gorse;01.01.2023;01.02.2023
4;Gemeinde;010010008008;01001008;Hazel;2;1000;10;010010009009;01001009;Ivy;01.01.2024;01.01.2024
4;Gemeinde;010010008008;01001008;Hazel;2;9000;90;010010008008;01001008;Hazel;01.01.2024;01.01.2024
4;Gemeinde;010010009009;01001009;Ivy;2;2000;0;010010008008;01001008;Hazel;01.01.2024;01.01.2024
4;Gemeinde;010010009009;01001009;Ivy;2;8000;80;010010009009;01001009;Ivy;01.01.2024;01.01.2024
5;Gemeinde;010010010010;01001010;Juniper;3;;;010020010010;01002010;Juniper;01.01.2025;01.01.2025
6;Gemeinde;010010011011;01001011;Kapok;3, 4;;;010020011011;01001011;Kapok, Stadt;01.01.2025;01.01.2025
7;Gemeinde;010010012012;01001012;Larch;3;;;010020012012;01001012;Larch;01.01.2025;01.01.2025
`},
		list: &history.List{
			At: 20200101,
			Codes: []history.Listed{
				{Code: "01001001", Name: "Ask"},
				{Code: "01001002", Name: "Birch"},
				{Code: "01001003", Name: "Cedar"},
				{
					Code: "01001004",
					Name: "Dogwood",
				},
				{Code: "01001006", Name: "Fir"},
				{Code: "01001007", Name: "Gorse"},
				{Code: "01001008", Name: "Hazel"},
				{Code: "01001009", Name: "Ivy"},
				{Code: "01001010", Name: "Juniper"},
				{Code: "01001011", Name: "Kapok"},
				{Code: "01001012", Name: "Larch"},
			},
		},
		events: "2021 absorb, 2022 merge, 2023 absorb, 2024 transfer, 2025 renumber, 2025 rename",
		on: map[string]string{
			"2020-06-01": "01001001 Ask, 01001002 Birch, 01001003 Cedar, 01001004 Dogwood, 01001006 Fir, " +
				"01001007 Gorse, 01001008 Hazel, 01001009 Ivy, 01001010 Juniper, 01001011 Kapok, 01001012 Larch",
			"2025-01-01": "01001002 Birch, 01001005 Elm, 01001007 Gorse, 01001008 Hazel, 01001009 Ivy, " +
				"01001011 Kapok, Stadt, 01001012 Larch, 01002010 Juniper",
		},
		became: "01001001 2020 2025: 01001002; 01001005 2025 2020: 01001003 01001004; 01001006 2020 2025: " +
			"01001002 01001007; 01001008 2020 2025: 01001008",
		wrong: map[string]string{
			"8;Gemeinde;;123;Maple;1;;;;01001002;Birch;01.01.2025;": `line 17: AGS (abgebende Gemeinde) is ` +
				`"123"; write the 8 digits of the AGS`,
			"8;Gemeinde;;01001013;Maple;5;;;;01001002;Birch;01.01.2025;": `line 17: Änderungsart is "5"; ` +
				`write 1 (Auflösung), 2 (Teilausgliederung), 3 (Schlüsseländerung) or 4 (Namensänderung)`,
			"8;Gemeinde;;01001013;Maple;1;x;;;01001002;Birch;01.01.2025;": `line 17: Fläche is "x"; ` +
				`write a whole number, or nothing if it is not known`,
			"8;Gemeinde;;01001013;Maple;1;;;;01001002;Birch;bald;": `line 17: Wirksamkeitsdatum (juristisch) ` +
				`is "bald"; write a day, such as 2020-01-31 or 31.01.2020`,
			"8;Gemeinde;;01001013;Maple;1;;;;01001002;Birch;01.01.2025;": `line 17: 01001013 changes on 2025-01-01, ` +
				`but is not in use before`,
		},
	},
	// Ask and Birch merge into Cedar; Dogwood joins Elm, which stays; Fir, with a new code, is called Great Fir;
	// Gorse is parted between Elm and Hazel, which is new; Ivy gives land to Hazel; Juniper begins, Kapok ends.
	"CBS": {
		tables: []string{
			`ingangsdatum;soort;oude_gemeentecode;oude_gemeentenaam;nieuwe_gemeentecode;nieuwe_gemeentenaam;inwoners;oppervlakte_land_ha;bron
2017-01-01;samenvoeging;GM0001;Ask;GM0003;Cedar;1200;3,5;
2017-01-01;samenvoeging;2;Birch;0003;Cedar;800;2;Wet
2018-01-01;toevoeging;0004;Dogwood;0005;Elm;;;
2019-01-01;naamswijziging;0006;Fir;0016;Great Fir;;;
2020-01-01;splitsing;0007;Gorse;0005;Elm;300;10;
2020-01-01;splitsing;0007;Gorse;0008;Hazel;100;5;
2020-01-01;splitsing;0005;Elm;0005;Elm;;;
2021-01-01;grenscorrectie;0009;Ivy;0008;Hazel;20;1;
2022-01-01;instelling;;;0010;Juniper;;;
2022-01-01;opheffing;0011;Kapok;;;;;
`,
		},
		events: "2017 merge, 2018 absorb, 2019 renumber, 2020 transfer, 2021 transfer, 2022 end, 2022 create",
		on: map[string]string{
			"2016-12-31": "0001 Ask, 0002 Birch, 0004 Dogwood, 0005 Elm, 0006 Fir, 0007 Gorse, 0009 Ivy, 0011 Kapok",
			"2022-01-01": "0003 Cedar, 0005 Elm, 0008 Hazel, 0009 Ivy, 0010 Juniper, 0016 Great Fir",
		},
		became: "0001 2016 2022: 0003; 0004 2016 2022: 0005; 0006 2016 2022: 0016; 0007 2016 2022: 0005 0008; " +
			"0009 2016 2022: 0009; 0011 2016 2023: ",
		wrong: map[string]string{
			"2023-01-01;fusie;0009;Ivy;0012;Larch;;;": `line 12: soort is "fusie", which is not known; ` +
				`correct it to one of naamswijziging, codewijziging, samenvoeging, toevoeging, splitsing, ` +
				`instelling, opheffing, grenscorrectie, or leave the line out`,
			"2023-01-01;opheffing;0009;Ivy;0012;Larch;;;": `line 12: nieuwe_gemeentecode is "0012"; ` +
				`soort opheffing has none, every other has one`,
			"2023-01-01;samenvoeging;;;0012;Larch;;;": `line 12: oude_gemeentecode is ""; ` +
				`soort instelling has none, every other has one`,
			"2023-01-01;samenvoeging;00009;Ivy;0012;Larch;;;": `line 12: oude_gemeentecode is "00009"; ` +
				`write four digits, such as 0014, or GM0014`,
			"2023-01-01;samenvoeging;0009;Ivy;0012;Larch;x;;": `line 12: inwoners is "x"; write a number, ` +
				`or nothing if it is not known`,
			"1 januari;samenvoeging;0009;Ivy;0012;Larch;;;": `line 12: ingangsdatum is "1 januari"; write a day, ` +
				`such as 2020-01-31 or 31.01.2020`,
		},
	},
	// Japan's table, with the columns of our own CSV: a town joins another, three become a city, a town becomes a city
	// with a new number, a city is parted into wards, land moves, and a town changes its name.
	"plain": {
		tables: []string{`date,from,from_name,to,to_name,transfer
2005-04-01,010019,東町,010027,西町,
2005-04-01,010027,西町,010027,西町,
2006-01-01,023019,甲町,022098,丙市,
2006-01-01,023027,乙町,022098,丙市,
2006-01-01,023035,丁村,022098,丙市,
2008-01-01,043214,戊町,042161,戊市,
2010-01-01,042161,戊市,022098,丙市,true
2012-04-01,440019,北市,441007,北市,
2012-04-01,440019,北市,441015,中央区,
2014-01-01,010027,西町,010027,大西町,
`},
		events: "2005 absorb, 2006 merge, 2008 renumber, 2010 transfer, 2012 split, 2014 rename",
		on: map[string]string{
			"2004-01-01": "010019 東町, 010027 西町, 023019 甲町, 023027 乙町, 023035 丁村, 043214 戊町, 440019 北市",
			"2006-01-01": "010027 西町, 022098 丙市, 043214 戊町, 440019 北市",
			"2013-01-01": "010027 西町, 022098 丙市, 042161 戊市, 441007 北市, 441015 中央区",
			"2014-01-01": "010027 大西町, 022098 丙市, 042161 戊市, 441007 北市, 441015 中央区",
		},
		became: "010019 2004 2013: 010027; 440019 2004 2013: 441007 441015; 043214 2007 2013: 042161; " +
			"022098 2013 2004: 023019 023027 023035",
	},
	// Birch is merged into Ask and comes back; a delegated commune begins nothing; Cedar changes its department.
	"INSEE": {
		tables: []string{`MOD,DATE_EFF,TYPECOM_AV,COM_AV,LIBELLE_AV,TYPECOM_AP,COM_AP,LIBELLE_AP
33,1972-01-01,COM,01001,Ask,COM,01001,Ask
33,1972-01-01,COM,01002,Birch,COM,01001,Ask
33,1972-01-01,COM,01002,Birch,COMA,01002,Birch
21,1987-01-01,COM,01001,Ask,COM,01001,Ask
21,1987-01-01,COM,01001,Ask,COM,01002,Birch
41,1997-01-01,COM,01003,Cedar,COM,02003,Cedar
32,2016-01-01,COM,02003,Cedar,COMD,02003,Cedar
10,2017-01-01,COM,02003,Cedar,COM,02003,Great Cedar
`},
		events: "1972 absorb, 1987 split, 1997 renumber, 2017 rename",
		on: map[string]string{
			"1971-12-31": "01001 Ask, 01002 Birch, 01003 Cedar",
			"2018-01-01": "01001 Ask, 01002 Birch, 02003 Great Cedar",
		},
		became: "01002 1970 2018: 01002; 01001 1970 2018: 01001; 01002 1970 1980: 01001; 01003 1970 2018: 02003",
		wrong: map[string]string{
			"99,2018-01-01,COM,01001,Ask,COM,01009,Elm": `line 10: MOD is "99", which is not known; ` +
				`correct it to one of 10, 20, 21, 30, 31, 32, 33, 34, 35, 41, 50, 70, 71, 72, or leave the line out`,
			"10,2018-01-01,VILLE,01001,Ask,COM,01009,Elm": `line 10: TYPECOM_AV is "VILLE", which is not known; ` +
				`correct it to one of COM, COMA, COMD, ARM, or leave the line out`,
			"10,2018,COM,01001,Ask,COM,01009,Elm": `line 10: DATE_EFF is "2018"; write a day, such as 2020-01-31 or ` +
				`31.01.2020`,
		},
	},
}

// read builds the scheme of a register.
func (r register) read() (*history.Scheme, error) {
	all := &changes.Register{}
	for _, table := range r.tables {
		one, err := changes.Read(strings.NewReader(table), r.options)
		if err != nil {
			return nil, err
		}
		all.Add(one, 0)
	}
	if r.only != nil {
		all.Only(r.only)
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

// TestTranslationsOverRegistersHoldTogether: at random, none lost or invented, symmetric, and A to C within A to B to
// C; totals of series are conserved.
func TestTranslationsOverRegistersHoldTogether(t *testing.T) {
	t.Parallel()
	times := sharedtest.Rounds(t, 2000)
	for name, reg := range registers {
		s, err := reg.read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var days []history.Date
		for _, e := range s.Events {
			first := e.Date.Time(time.UTC)
			days = append(days, history.DateOf(first.AddDate(0, 0, -1)), e.Date, history.DateOf(first.AddDate(0, 6, 0)))
		}
		if days == nil {
			continue
		}
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 4))
		if !t.Run(name, func(t *testing.T) { holdsTogether(t, r, s, days, times) }) {
			t.Errorf("%s: seed %d", name, seed)
		}
		for range times / 20 {
			conservesTotals(t, r, s, days[r.IntN(len(days))], days[r.IntN(len(days))],
				fmt.Sprintf("%s, seed %d", name, seed))
		}
	}
}

// TestMovementsOfInseeAgreeWithTheListOf2026 checks the published list forwards and backwards, by code.
func TestMovementsOfInseeAgreeWithTheListOf2026(t *testing.T) {
	t.Parallel()
	reg, err := changes.Read(bytes.NewReader(sharedFile(t, "lineage/fr-mouvements-communes-cog2026.csv.gz")),
		changes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := changes.ReadList(bytes.NewReader(sharedFile(t, "lineage/fr-communes-2026-com.csv.gz")), 20260101,
		changes.Insee)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range history.Check(reg.Changes, nil, nil, list) {
		t.Errorf("%s, line %d: %s", d.Date, d.Line, d.Text)
	}
}

// TestRegistersAgreeWithListsOfTheirDays checks each register forwards and backwards against lists of codes and
// names; a code that is added to a list differs in both directions.
func TestRegistersAgreeWithListsOfTheirDays(t *testing.T) {
	t.Parallel()
	for name, r := range registers {
		all := &changes.Register{}
		for _, table := range r.tables {
			one, err := changes.Read(strings.NewReader(table), r.options)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all.Add(one, 0)
		}
		if r.only != nil {
			all.Only(r.only)
		}
		var lists []*history.List
		for d, codes := range r.on {
			l := &history.List{At: day(t, d)}
			for one := range strings.SplitSeq(codes, ", ") {
				if code, text, ok := strings.Cut(one, " "); ok {
					l.Codes = append(l.Codes, history.Listed{Code: code, Name: text})
				} else { // the name before has a comma
					l.Codes[len(l.Codes)-1].Name += ", " + one
				}
			}
			lists = append(lists, l)
		}
		for _, d := range history.Check(all.Changes, nil, all.List, lists...) {
			t.Errorf("%s: %+v", name, d)
		}
		more := *lists[0]
		more.Codes = append(slices.Clone(more.Codes), history.Listed{Code: "unknown"})
		lists[0] = &more
		ways := map[bool]bool{}
		for _, d := range history.Check(all.Changes, nil, all.List, lists...) {
			ways[d.Back] = ways[d.Back] || d.Code == "unknown"
		}
		if len(lists) > 1 && !(ways[false] && ways[true]) {
			t.Errorf("%s: a code too many is not found in both directions", name)
		}
	}
}
