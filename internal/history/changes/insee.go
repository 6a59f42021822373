package changes

import "grense/internal/history"

// inseeKinds are the kinds of changes (MOD) and of communes (TYPECOM) of INSEE.
const (
	inseeKinds = "10 20 21 30 31 32 33 34 35 41 50 70 71 72"
	inseeTypes = "COM COMA COMD ARM"
)

// insee reads the changes of communes. Changes of delegated and associated communes are skipped. MOD 21 re-establishes
// the commune COM_AP: the edges to it carry the territory of its own code (EdgeRow.Of).
func (t *changeTable) insee() (*Register, error) {
	var faults history.Faults
	type restored struct {
		date history.Date
		code string
	}
	r := &Register{Form: Insee}
	again := map[restored]bool{}
	for i := range t.Rows {
		d := t.date(&faults, i, "DATE_EFF")
		mod := t.oneOf(&faults, i, "MOD", inseeKinds)
		before, after := t.oneOf(&faults, i, "TYPECOM_AV", inseeTypes), t.oneOf(&faults, i, "TYPECOM_AP", inseeTypes)
		from, to := t.Value(i, "COM_AV"), t.Value(i, "COM_AP")
		if mod == "21" && after == "COM" && (before == "COM") == (from != to) {
			again[restored{d, to}] = true
		}
		if before != "COM" && before != "" || after != "COM" && after != "" || before == after && before == "" {
			continue
		}
		r.Changes = append(
			r.Changes,
			history.ChangeRow{EdgeRow: history.EdgeRow{Line: t.Lines[i], Date: d, From: from, To: to, Source: "INSEE"},
				FromName: t.Value(i, "LIBELLE_AV"), ToName: t.Value(i, "LIBELLE_AP")},
		)
	}
	for i := range r.Changes {
		if c := &r.Changes[i]; c.From != c.To && again[restored{c.Date, c.To}] {
			c.Of, c.Loose = []string{c.To}, true
		}
	}
	return r, faults.Err()
}
