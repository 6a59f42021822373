package ingest

import (
	"strings"

	"grense/internal/cql2"
	"grense/internal/format/input"
	"grense/internal/store"
)

// validity returns the properties with the beginning and the end of a version: those that are set, else those with the
// usual names; "" if there are none.
func (p *Plan) validity() (start, end string) {
	s := store.Settings{ValidFrom: p.target.ValidFrom, ValidTo: p.target.ValidTo}
	start, end, _ = s.ValidityOf(func(lower string) (string, bool) {
		for _, c := range p.columns {
			if strings.ToLower(c.name) == lower {
				return c.name, true
			}
		}
		return "", false
	})
	return start, end
}

// versionOf returns the id of a feature with the beginning of its version, of which no two may be the same.
func (p *Plan) versionOf(r *input.Record) (v input.Value) {
	text, ok := idText(p.idOf(p.field, r))
	if !ok {
		return v
	}
	for _, x := range r.Fields {
		if lower := strings.ToLower(x.Name); x.Name == p.target.ValidFrom ||
			p.target.ValidFrom == "" && store.IsUsualStart(lower) {
			if start, ok := idText(x.Value); ok {
				v = input.Value{Kind: input.Plain, Text: text + " " + start}
			}
			return v
		}
	}
	return v
}

// chooseVersions treats features as versions if the ids of --id-field repeat and there is a validity.
// It reports whether it does.
func (p *Plan) chooseVersions() bool {
	start, end := p.validity()
	if p.target.IDField == "" || start == "" || p.field.repeats == 0 || p.field.missing > 0 ||
		p.version.stated < p.field.stated {
		return false
	}
	p.versioned = true
	p.warn("ids repeat, so that features are versions: those of one %s are one feature, valid from %s until %s",
		p.target.IDField, start, end)
	return true
}

// defineVersions sets the properties of the collection that make versions.
func (p *Plan) defineVersions() {
	start, end := p.validity()
	id, from, to := p.byName[p.target.IDField], p.byName[start], p.byName[end]
	if fault := p.Collection.SetVersions(id.store, from.store, to.store, p.target.Inclusive); fault != "" {
		p.refuse("features cannot be versions: %s", fault)
		return
	}
	p.Collection.Key.Property = "" // rows have their own
	if p.Collection.DefaultSort == nil {
		p.Collection.DefaultSort = []store.Sort{{Property: p.Collection.Versions.ID},
			{Property: p.Collection.Versions.Start}}
	}
}

// typeVersions sets the type of the property with the id, and gives an end that is open in all
// features the type of the start.
func (p *Plan) typeVersions() {
	start, end := p.validity()
	id, from, to := p.byName[p.target.IDField], p.byName[start], p.byName[end]
	if id.typ = cql2.TypeInteger; p.field.texts {
		id.typ = cql2.TypeText
	}
	if to.kinds[input.Null] == sum(to.kinds[:]) {
		to.typ = from.typ
	}
}
