package changes

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"grense/internal/history"
	"grense/internal/history/table"
)

// destatis holds the column numbers of a table of territorial changes of Destatis, whose header has several lines.
type destatis struct {
	unit, from, fromName, kind, area, people, to, toName, date int
}

// destatisHeading finds the columns of a table of territorial changes. lines is the number of lines of its header.
func destatisHeading(rows [][]string) (d destatis, lines int) {
	const most = 10 // largest number of lines of the header
	for h := range min(len(rows), most) {
		find := func(what string, n int) int {
			for _, row := range rows[:h+1] {
				seen := 0
				for k, v := range row {
					v = strings.ToLower(strings.NewReplacer("-", "", "\n", "", " ", "").Replace(v))
					if strings.Contains(v, what) && (what != "name" || v == what) {
						if seen++; seen == n {
							return k
						}
					}
				}
			}
			return -1
		}
		d = destatis{
			find("regionaleinheit", 1),
			find("(ags)", 1),
			find("name", 1),
			find("änderungsart", 1),
			find("fläche", 1),
			find("einwohner", 1),
			find("(ags)", 2),
			find("name", 2),
			find("juristisch", 1),
		}
		if !slices.Contains([]int{d.unit, d.from, d.fromName, d.kind, d.area, d.people, d.to, d.toName, d.date}, -1) {
			return d, h + 1
		}
	}
	return d, 0
}

// Kinds of changes in tables of Destatis.
const (
	destatisEnds  = "1"
	destatisParts = "2"
	destatisCode  = "3"
	destatisName  = "4"
)

// read reads the changes of municipalities; lines about associations and districts are skipped. The table does not
// state whether a municipality that takes up others existed before, so its changes have ChangeRow.Joins set.
func (d destatis) read(t *changeTable) (*Register, error) {
	var faults history.Faults
	r := &Register{Form: Destatis}
	for i, row := range t.Rows {
		line := t.Lines[i]
		cell := func(k int) string {
			if k >= len(row) {
				return ""
			}
			return strings.TrimSpace(row[k])
		}
		if cell(d.unit) != "Gemeinde" {
			continue
		}
		code := func(column string, k int) string {
			v := cell(k)
			if len(v) == 7 { // lost its leading zero
				v = "0" + v
			}
			if len(v) != 8 || strings.Trim(v, "0123456789") != "" {
				faults.Add(line, "%s is %q; write the 8 digits of the AGS", column, cell(k))
			}
			return v
		}
		number := func(column string, k int) history.Count {
			v := cell(k)
			if thousands.MatchString(v) {
				v = strings.ReplaceAll(v, ".", "")
			}
			n, err := strconv.ParseInt(v, 10, 64)
			if v != "" && (err != nil || n < 0) {
				faults.Add(line, "%s is %q; write a whole number, or nothing if it is not known", column, v)
			}
			return history.Count{N: max(n, 0), Known: v != ""}
		}
		c := history.ChangeRow{
			EdgeRow: history.EdgeRow{
				Line:   line,
				From:   code("AGS (abgebende Gemeinde)", d.from),
				To:     code("AGS (aufnehmende Gemeinde)", d.to),
				Area:   number("Fläche", d.area),
				People: number("Einwohner", d.people),
				Source: "Destatis",
			},
			FromName: cell(d.fromName),
			ToName:   cell(d.toName),
		}
		day := &changeTable{Table: table.New([]string{"Wirksamkeitsdatum (juristisch)"})}
		day.Rows, day.Lines = [][]string{{cell(d.date)}}, []int{line}
		c.Date = day.date(&faults, 0, "Wirksamkeitsdatum (juristisch)")
		for kind := range strings.SplitSeq(cell(d.kind), ",") {
			switch kind = strings.TrimSpace(kind); {
			case kind == destatisEnds || kind == destatisParts && c.From != c.To:
				c.Joins, c.Part = true, kind == destatisParts
			case kind == destatisParts || kind == destatisCode || kind == destatisName:
			default:
				faults.Add(line,
					"Änderungsart is %q; write 1 (Auflösung), 2 (Teilausgliederung), 3 (Schlüsseländerung) or 4 "+
						"(Namensänderung)",
					kind)
			}
		}
		r.Changes = append(r.Changes, c)
	}
	r.forgetParts()
	return r, faults.Err()
}

var thousands = regexp.MustCompile(`^\d{1,3}(\.\d{3})+$`)

// forgetParts clears all numbers of the changes of one code on one day if one of the numbers is not known, because
// shares need all of them.
func (r *Register) forgetParts() {
	type end struct {
		date history.Date
		code string
	}
	people, area := map[end]bool{}, map[end]bool{}
	for _, c := range r.Changes {
		if !c.Part && c.From != c.To {
			k := end{c.Date, c.From}
			people[k], area[k] = people[k] || !c.People.Known, area[k] || !c.Area.Known
		}
	}
	for i := range r.Changes {
		c := &r.Changes[i]
		if k := (end{c.Date, c.From}); people[k] {
			c.People = history.Count{}
		}
		if k := (end{c.Date, c.From}); area[k] {
			c.Area = history.Count{}
		}
	}
}
