package history

import (
	"slices"
	"strconv"
	"strings"
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
func (t *table) cbs() (*Register, error) {
	faults := t.only(cbsKnown)
	r := &Register{Form: CBS}
	for i := range t.rows {
		line := t.lines[i]
		kind := t.oneOf(&faults, i, "soort", cbsKinds)
		if kind == "" {
			faults.add(line, "soort is empty; write one of %s", strings.Join(strings.Fields(cbsKinds), ", "))
		}
		code := func(column string) string {
			v := strings.TrimPrefix(strings.ToUpper(t.value(i, column)), "GM")
			if v == "" {
				return ""
			}
			if len(v) > 4 || strings.Trim(v, "0123456789") != "" {
				faults.add(line, "%s is %q; write four digits, such as 0014, or GM0014", column, t.value(i, column))
			}
			return strings.Repeat("0", max(0, 4-len(v))) + v
		}
		number := func(column string, unit float64) Count {
			v := strings.Replace(t.value(i, column), ",", ".", 1)
			n, err := strconv.ParseFloat(v, 64)
			if v != "" && (err != nil || n < 0 || n > mostNumber/unit) {
				faults.add(line, "%s is %q; write a number, or nothing if it is not known", column, t.value(i, column))
				return Count{}
			}
			return Count{int64(n*unit + 0.5), v != ""}
		}
		c := ChangeRow{
			EdgeRow: EdgeRow{
				Line:     line,
				Date:     t.date(&faults, i, "ingangsdatum"),
				From:     code("oude_gemeentecode"),
				To:       code("nieuwe_gemeentecode"),
				People:   number("inwoners", 1),
				Area:     number("oppervlakte_land_ha", 10_000),
				Source:   t.value(i, "bron"),
				Transfer: kind == "grenscorrectie",
			},
			FromName: t.value(i, "oude_gemeentenaam"),
			ToName:   t.value(i, "nieuwe_gemeentenaam"),
		}
		if c.Source == "" {
			c.Source = "CBS"
		}
		switch {
		case kind == "instelling" && c.From != "" || kind != "instelling" && kind != "" && c.From == "":
			faults.add(line, "oude_gemeentecode is %q; soort instelling has none, every other has one",
				t.value(i, "oude_gemeentecode"))
		case kind == "opheffing" && c.To != "" || kind != "opheffing" && kind != "" && c.To == "":
			faults.add(line, "nieuwe_gemeentecode is %q; soort opheffing has none, every other has one",
				t.value(i, "nieuwe_gemeentecode"))
		}
		c.Joins = kind == "toevoeging" && c.From != c.To
		r.Changes = append(r.Changes, c)
	}
	return r, faults.orNil()
}
