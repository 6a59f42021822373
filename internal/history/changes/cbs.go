package changes

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"grense/internal/history"
)

// cbsColumns are the required columns of a table of changes of Dutch municipalities. CBS publishes changes as prose;
// the table has one line per change, with the area and the people that CBS states.
var cbsColumns = []string{"ingangsdatum", "soort", "oude_gemeentecode", "nieuwe_gemeentecode"}

// cbsKnown are all columns that the table may have.
var cbsKnown = append(slices.Clone(cbsColumns), "oude_gemeentenaam", "nieuwe_gemeentenaam", "inwoners",
	"oppervlakte_land_ha", "bron")

// cbsKinds are the kinds of changes: change of name or code, mergers, partial additions, splits, beginnings, ends, and
// border changes.
const cbsKinds = "naamswijziging codewijziging samenvoeging toevoeging splitsing instelling opheffing grenscorrectie"

// cbs reads changes of Dutch municipalities. Codes have four digits; GM0014 and 14 are accepted for 0014. Areas are in
// hectares.
func (t *changeTable) cbs() (*Register, error) {
	faults := t.only(cbsKnown)
	r := &Register{Form: CBS}
	for i := range t.Rows {
		line := t.Lines[i]
		kind := t.oneOf(&faults, i, "soort", cbsKinds)
		if kind == "" {
			faults.Add(line, "soort is empty; write one of %s", strings.Join(strings.Fields(cbsKinds), ", "))
		}
		code := func(column string) string {
			v := strings.TrimPrefix(strings.ToUpper(t.Value(i, column)), "GM")
			if v == "" {
				return ""
			}
			if len(v) > 4 || strings.Trim(v, "0123456789") != "" {
				faults.Add(line, "%s is %q; write four digits, such as 0014, or GM0014", column, t.Value(i, column))
			}
			return strings.Repeat("0", max(0, 4-len(v))) + v
		}
		number := func(column string, unit float64) history.Count {
			v := strings.Replace(t.Value(i, column), ",", ".", 1)
			n, err := strconv.ParseFloat(v, 64)
			if v != "" && (err != nil || !(n >= 0 && n <= history.MaxCount/unit)) {
				faults.Add(line, "%s is %q; write a number, or nothing if it is not known", column, t.Value(i, column))
				return history.Count{}
			}
			if unit == 1 && n != math.Trunc(n) { // 1.234 would be one person
				faults.Add(line, "%s is %q; write a whole number without separators", column, t.Value(i, column))
			}
			return history.Count{N: int64(n*unit + 0.5), Known: v != ""}
		}
		c := history.ChangeRow{
			EdgeRow: history.EdgeRow{
				Line:     line,
				Date:     t.date(&faults, i, "ingangsdatum"),
				From:     code("oude_gemeentecode"),
				To:       code("nieuwe_gemeentecode"),
				People:   number("inwoners", 1),
				Area:     number("oppervlakte_land_ha", 10_000),
				Source:   t.Value(i, "bron"),
				Transfer: kind == "grenscorrectie",
			},
			FromName: t.Value(i, "oude_gemeentenaam"),
			ToName:   t.Value(i, "nieuwe_gemeentenaam"),
		}
		if c.Source == "" {
			c.Source = "CBS"
		}
		switch {
		case kind == "instelling" && c.From != "" || kind != "instelling" && kind != "" && c.From == "":
			faults.Add(line, "oude_gemeentecode is %q; soort instelling has none, every other has one",
				t.Value(i, "oude_gemeentecode"))
		case kind == "opheffing" && c.To != "" || kind != "opheffing" && kind != "" && c.To == "":
			faults.Add(line, "nieuwe_gemeentecode is %q; soort opheffing has none, every other has one",
				t.Value(i, "nieuwe_gemeentecode"))
		}
		c.Joins = kind == "toevoeging" && c.From != c.To
		r.Changes = append(r.Changes, c)
	}
	return r, faults.Err()
}
