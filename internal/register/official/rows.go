package official

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"grense/internal/ingest"
)

// A row is a feature with one spelling of one name of a place. It maps the names of the product's properties to values,
// as in CSV, GeoJSON and GeoPackages converted from the GML. Names are folded (foldName); of a name with dots or bars,
// the last part is used.
type row map[string]string

// rowNames lists names for each property of the product, best first.
var rowNames = map[string][]string{
	"stedsnummer":            {"stedsnummer"},
	"stedsnavnnummer":        {"stedsnavnnummer"},
	"skrivemaatenummer":      {"skrivemaatenummer"},
	"komplettskrivemaate":    {"komplettskrivemaate", "langnavn", "fulltekst", "skrivemaate", "stedsnavn", "navn"},
	"skrivemaatestatus":      {"skrivemaatestatus"},
	"statusdato":             {"statusdato", "skrivemaatestatusdato"},
	"navnestatus":            {"navnestatus"},
	"navnesakstatus":         {"navnesakstatus"},
	"spraak":                 {"spraak"},
	"opphavsspraak":          {"opphavsspraak"},
	"eksonym":                {"eksonym"},
	"prioritert":             {"prioritert"},
	"oppdateringsdato":       {"oppdateringsdato", "oppdatert"},
	"datauttaksdato":         {"datauttaksdato"},
	"registreringsdato":      {"registreringsdato", "registrert"},
	"navneobjekttype":        {"navneobjekttype"},
	"navneobjektgruppe":      {"navneobjektgruppe"},
	"navneobjekthovedgruppe": {"navneobjekthovedgruppe"},
	"stedstatus":             {"stedstatus"},
	"land":                   {"land"},
	"spraakprioritering":     {"spraakprioritering"},
	"vedtaksmyndighet":       {"vedtaksmyndighet"},
	"sortering1":             {"sortering", "sortering1", "sortering1kode"},
	"sortering2":             {"sortering2", "sortering2kode"},
	"avallmenninteresse":     {"avallmenninteresse"},
	"kommunenummer":          {"kommunenummer"},
	"kommunenavn":            {"kommunenavn"},
	"fylkesnummer":           {"fylkesnummer"},
	"fylkesnavn":             {"fylkesnavn"},
	"lokalid":                {"lokalid"},
	"gaardsnummer":           {"gaardsnummer", "gardsnummer"},
	"bruksnummer":            {"bruksnummer"},
	"festenummer":            {"festenummer"},
	"seksjonsnummer":         {"seksjonsnummer"},
	"adressekode":            {"adressekode"},
}

// rowDefaults are default values of codes that some formats of the product leave out. A report states where they were
// used.
var rowDefaults = map[string]string{"navnestatus": "hovednavn", "skrivemaatestatus": "uvurdert", "spraak": "norsk"}

// rowReader converts the rows of a layer to places.
type rowReader struct {
	columns map[string]string // name in the file to name in the product; "" if unknown
	taken   map[string]bool   // properties of the product that the file has
	missing []string          // missing properties that have a default value
}

// seen returns the product's name of a property in the file. Properties may differ between features.
func (r *rowReader) seen(name string) string {
	key, ok := r.columns[name]
	if ok {
		return key
	}
	last := name[strings.LastIndexAny(name, ".|:/")+1:]
	folded, rank := foldName(last), -1
	for k, list := range rowNames {
		if i := slices.Index(list, folded); i >= 0 && (rank < 0 || i < rank || i == rank && k < key) {
			key, rank = k, i
		}
	}
	if r.columns == nil {
		r.columns, r.taken = map[string]string{}, map[string]bool{}
	}
	if len(r.columns) < 10_000 {
		r.columns[name] = key
	}
	if key != "" {
		r.taken[key] = true
	}
	return key
}

// read calls fn with a place for each row of a feature.
func (r *rowReader) read(f *ingest.Feature, fn func(*place, *refusal, string) error) error {
	rows, bad := r.rows(f)
	if bad != nil {
		return fn(nil, bad, "")
	}
	for _, x := range rows {
		p, bad := r.place(x, f)
		if err := fn(p, bad, short(x["stedsnummer"])); err != nil {
			return err
		}
	}
	return nil
}

// rows returns the rows of a feature. If its properties are arrays, there is one row per element.
func (r *rowReader) rows(f *ingest.Feature) ([]row, *refusal) {
	rank := map[string]int{}
	one, lists, n := row{}, map[string][]string{}, 1
	for _, p := range f.Properties {
		if folded := foldName(p.Name); folded == "enhssrid" || folded == "enhsnavn" {
			return nil, &refusal{
				refusedForm,
				"it is of the register as it was before 2015, whose numbers and codes are others; " +
					"import the current product, StedsnavnForVanligBruk",
			}
		}
		key := r.seen(p.Name)
		if key == "" || p.Text == "" {
			continue
		}
		if at := slices.Index(rowNames[key], foldName(p.Name[strings.LastIndexAny(p.Name, ".|:/")+1:])); lists[key] !=
			nil ||
			one[key] != "" {
			if at >= rank[key] {
				continue
			}
			rank[key] = at
		} else {
			rank[key] = at
		}
		delete(lists, key)
		delete(one, key)
		if !p.JSON {
			one[key] = p.Text
			continue
		}
		list, err := texts(p.Text)
		if err != nil {
			return nil,
				&refusal{refusedForm, fmt.Sprintf("the property %q is neither a value nor a list of values", p.Name)}
		}
		if len(list) > maxPart || len(list) == 0 {
			return nil, &refusal{refusedForm, fmt.Sprintf("the property %q has %d values", p.Name, len(list))}
		}
		lists[key] = list
		if len(list) > 1 {
			if n > 1 && n != len(list) {
				return nil, &refusal{
					refusedForm,
					fmt.Sprintf("the property %q has %d values, another one %d", p.Name, len(list), n),
				}
			}
			n = len(list)
		}
	}
	out := make([]row, n)
	for i := range out {
		out[i] = row{}
		for k, v := range one {
			out[i][k] = v
		}
		for k, v := range lists {
			out[i][k] = v[min(i, len(v)-1)]
		}
	}
	return out, nil
}

// texts parses a JSON array of values.
func texts(s string) ([]string, error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var list []any
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	out := make([]string, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case nil:
		case string:
			out[i] = v
		case json.Number:
			out[i] = v.String()
		case bool:
			out[i] = strconv.FormatBool(v)
		default:
			return nil, fmt.Errorf("%T", v)
		}
	}
	return out, nil
}

// code returns a code, or the default value if the format leaves it out.
func (r *rowReader) code(b *builder, x row, key string) string {
	if x[key] == "" {
		if d := rowDefaults[key]; d != "" {
			if !slices.Contains(r.missing, key) {
				r.missing = append(r.missing, key)
			}
			return d
		}
	}
	return b.code(key, x[key], false)
}

func (r *rowReader) place(x row, f *ingest.Feature) (*place, *refusal) {
	b := &builder{place: &place{Row: true}}
	p := b.place
	p.Number = b.integer("stedsnummer", x["stedsnummer"], 1, maxNumber)
	p.LocalID = b.text("lokalId", x["lokalid"], false)
	b.times(x["oppdateringsdato"], x["datauttaksdato"], x["registreringsdato"])
	p.Type = b.code("navneobjekttype", x["navneobjekttype"], true)
	p.Group, p.MainGroup = b.code(
		"navneobjektgruppe",
		x["navneobjektgruppe"],
		false,
	), b.code("navneobjekthovedgruppe", x["navneobjekthovedgruppe"], false)
	p.Status, p.Land = b.code("stedstatus", x["stedstatus"], false), b.code("land", x["land"], false)
	p.Priority, p.Authority = b.code(
		"spraakprioritering",
		x["spraakprioritering"],
		false,
	), b.code("vedtaksmyndighet", x["vedtaksmyndighet"], false)
	p.Sort1, p.Sort2 = b.code("sortering1", x["sortering1"], false), b.code("sortering2", x["sortering2"], false)
	p.General = b.boolean("avAllmennInteresse", x["avallmenninteresse"])
	if x["kommunenummer"] != "" {
		b.kommune(x["kommunenummer"], x["kommunenavn"], x["fylkesnummer"], x["fylkesnavn"])
	}
	if x["gaardsnummer"] != "" {
		b.unit("", x["gaardsnummer"], x["bruksnummer"], x["festenummer"], x["seksjonsnummer"], "")
	}
	if x["adressekode"] != "" {
		b.road(x["kommunenummer"], x["adressekode"])
	}
	b.add(placeName{
		Number: int(b.integer("stedsnavnnummer", cmp.Or(x["stedsnavnnummer"], "1"), 1, maxPart)),
		Status: r.code(b, x, "navnestatus"), State: b.code("navnesakstatus", x["navnesakstatus"], false),
		Language: r.code(b, x,
			"spraak"), Origin: b.code("spraak", x["opphavsspraak"], false), Exonym: b.boolean("eksonym", x["eksonym"]),
		Spellings: []placeSpelling{{
			Number: int(b.integer("skrivemåtenummer", cmp.Or(x["skrivemaatenummer"], "1"), 1, maxPart)),
			Text:   b.name("komplettskrivemåte", x["komplettskrivemaate"]), Status: r.code(b, x, "skrivemaatestatus"),
			Date: b.day("statusdato", x["statusdato"]), Preferred: b.boolean("prioritert", x["prioritert"]),
		}},
	})
	if b.refusal == nil && !f.Geometry.IsNull() && len(f.Geometry.WKB) > 0 {
		b.position(f.CRS, f.Geometry.WKB, nil)
	}
	return b.done()
}

// mergeRows merges the rows of a place from one file. It collects names and spellings; other values come from the first
// row that has them, and times from the latest.
func mergeRows(rows []*place) (*place, *refusal) {
	b := &builder{place: rows[0]}
	p := b.place
	for _, x := range rows[1:] {
		for _, to := range [...]struct{ to, from *string }{{&p.LocalID, &x.LocalID}, {&p.Group, &x.Group},
			{&p.MainGroup, &x.MainGroup}, {&p.Status, &x.Status}, {&p.Land, &x.Land},
			{&p.Priority, &x.Priority}, {&p.Authority, &x.Authority}, {&p.Sort1, &x.Sort1}, {&p.Sort2, &x.Sort2}} {
			*to.to = cmp.Or(*to.to, *to.from)
		}
		if x.Updated.After(p.Updated) {
			p.Updated = x.Updated
		}
		if x.Extracted.After(p.Extracted) {
			p.Extracted = x.Extracted
		}
		if x.Registered.Before(p.Registered) {
			p.Registered = x.Registered
		}
		p.General = p.General || x.General
		if p.Position == nil {
			p.Position = x.Position
		}
		for _, k := range x.Kommuner {
			b.kommune(k.Nr, k.Navn, k.FylkeNr, k.FylkeNavn)
		}
		for _, u := range x.Units {
			if !slices.Contains(p.Units, u) {
				p.Units = append(p.Units, u)
			}
		}
		for _, r := range x.Roads {
			if !slices.Contains(p.Roads, r) {
				p.Roads = append(p.Roads, r)
			}
		}
		for _, n := range x.Names {
			if i := slices.IndexFunc(p.Names, func(o placeName) bool { return o.Number == n.Number }); i >= 0 {
				p.Names[i].Spellings = append(p.Names[i].Spellings, n.Spellings...)
			} else {
				p.Names = append(p.Names, n)
			}
		}
	}
	p.Row = false
	p, bad := b.done()
	if bad != nil {
		return nil, bad
	}
	for i := range p.Names { // some formats do not state which spelling is preferred
		list := p.Names[i].Spellings
		if !slices.ContainsFunc(list, func(s placeSpelling) bool { return s.Preferred }) {
			list[0].Preferred = true
		}
	}
	return p, nil
}
