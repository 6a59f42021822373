package history

// inseeKinds are the kinds of changes (MOD) and of communes (TYPECOM) of INSEE.
const (
	inseeKinds = "10 20 21 30 31 32 33 34 35 41 50 70 71 72"
	inseeTypes = "COM COMA COMD ARM"
)

// insee reads the changes of communes. Changes of delegated and associated communes are skipped. MOD 21 re-establishes
// the commune COM_AP: the edges to it carry the territory of its own code (EdgeRow.Of).
func (t *table) insee() (*Register, error) {
	var faults Faults
	type restored struct {
		date Date
		code string
	}
	r := &Register{Form: Insee}
	again := map[restored]bool{}
	for i := range t.rows {
		d := t.date(&faults, i, "DATE_EFF")
		mod := t.oneOf(&faults, i, "MOD", inseeKinds)
		before, after := t.oneOf(&faults, i, "TYPECOM_AV", inseeTypes), t.oneOf(&faults, i, "TYPECOM_AP", inseeTypes)
		from, to := t.value(i, "COM_AV"), t.value(i, "COM_AP")
		if mod == "21" && after == "COM" && (before == "COM") == (from != to) {
			again[restored{d, to}] = true
		}
		if before != "COM" && before != "" || after != "COM" && after != "" || before == after && before == "" {
			continue
		}
		r.Changes = append(
			r.Changes,
			ChangeRow{EdgeRow: EdgeRow{Line: t.lines[i], Date: d, From: from, To: to, Source: "INSEE"},
				FromName: t.value(i, "LIBELLE_AV"), ToName: t.value(i, "LIBELLE_AP")},
		)
	}
	for i := range r.Changes {
		if c := &r.Changes[i]; c.From != c.To && again[restored{c.Date, c.To}] {
			c.Of, c.Loose = []string{c.To}, true
		}
	}
	return r, faults.orNil()
}
