package official

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/internal/cql2/fold"
	"grense/internal/format/input"
	"grense/internal/ingest"
	"grense/internal/register"
	"grense/internal/store"
)

// Values that the tables require and the products lack. Places of the product exist. The deciding authority and the
// second sorting are not published; they become no authority and the lowest sorting.
const (
	defaultStatus   = "aktiv"
	defaultSort1    = "viktighetA"
	defaultSort2    = "viktighet01"
	defaultPriority = "norsk-nordsamisk-lulesamisk-sørsamisk-kvensk"
	defaultState    = "ubehandlet"
	defaultCountry  = "ZZ" // code for "not specified"
)

// codeBook holds the code lists, and counts codes that they lack.
type codeBook struct {
	lists  []register.CodeList
	byList map[string]map[string]*register.Code // by the form in records
	byName map[string]map[string]string         // for languages and countries: form in records, by published value
	extra  map[string]map[string]*extraCode
}

type extraCode struct {
	UnknownCode
	name, parent string
}

func newCodeBook(lists []register.CodeList) *codeBook {
	b := &codeBook{
		lists:  lists,
		byList: map[string]map[string]*register.Code{},
		byName: map[string]map[string]string{},
		extra:  map[string]map[string]*extraCode{},
	}
	for i := range lists {
		l := &lists[i]
		b.byList[l.ID], b.byName[l.ID] = map[string]*register.Code{}, map[string]string{}
		for k := range l.Codes {
			c := &l.Codes[k]
			b.byList[l.ID][c.ID] = c
			b.byName[l.ID][c.Value] = c.ID
		}
	}
	return b
}

// maxExtraCodes is the largest number of unknown codes that are kept.
const maxExtraCodes = 10_000

// code returns the form of a code in records, and records it if the list lacks it. name and parent describe a new code;
// "" if not known.
func (b *codeBook) code(list, value, name, parent string, at ingest.Fault) string {
	if value == "" {
		return ""
	}
	if id, ok := b.byName[list][value]; ok {
		return id
	}
	if _, ok := b.byList[list][value]; ok {
		return value
	}
	if b.extra[list] == nil {
		b.extra[list] = map[string]*extraCode{}
	}
	x := b.extra[list][value]
	if x == nil {
		if len(b.extra[list]) >= maxExtraCodes {
			return value
		}
		x = &extraCode{UnknownCode: UnknownCode{List: list, Value: value, First: at}, name: name, parent: parent}
		for known := range b.byName[list] {
			if strings.EqualFold(known, value) && (x.Near == "" || known < x.Near) {
				x.Near = known
			}
		}
		b.extra[list][value] = x
	}
	x.Count++
	// // If a code has several names, the smallest is kept, so that the order of the files does not matter.
	if name != "" && (x.name == "" || name < x.name) {
		x.name = name
	}
	if parent != "" && (x.parent == "" || parent < x.parent) {
		x.parent = parent
	}
	return value
}

// unknown returns the codes that are in no list.
func (b *codeBook) unknown() (out []UnknownCode) {
	for _, codes := range b.extra {
		for _, x := range codes {
			c := x.UnknownCode
			c.First.Action = input.Warning
			c.First.Reason = "the list " + c.List + " has no code " + strconv.Quote(c.Value) +
				"; it is kept and added to the list, and searches find it"
			if c.Near != "" {
				c.First.Reason += "; the list has " + strconv.Quote(c.Near) + ": if that is meant, correct the file"
			}
			out = append(out, c)
		}
	}
	return out
}

// complete replaces published codes by their form in records, and adds what the product lacks.
func (b *codeBook) complete(p *place, at ingest.Fault) {
	if t := b.byList["navneobjekttype"][p.Type]; t != nil {
		p.Group = cmp.Or(p.Group, t.Parent)
	}
	if g := b.byList["navneobjektgruppe"][p.Group]; g != nil {
		p.MainGroup = cmp.Or(p.MainGroup, g.Parent)
	}
	p.MainGroup = b.code("navneobjekthovedgruppe", p.MainGroup, "", "", at)
	p.Group = b.code("navneobjektgruppe", p.Group, "", p.MainGroup, at)
	p.Type = b.code("navneobjekttype", p.Type, "", p.Group, at)
	p.Status = b.code("stedstatus", cmp.Or(p.Status, defaultStatus), "", "", at)
	p.Land = b.code("land", cmp.Or(p.Land, defaultCountry), "", "", at)
	p.Priority = b.code("spraakprioritering", cmp.Or(p.Priority, defaultPriority), "", "", at)
	p.Authority = b.code("vedtaksmyndighet", p.Authority, "", "", at)
	p.Sort1 = b.code("sortering1", cmp.Or(p.Sort1, defaultSort1), "", "", at)
	p.Sort2 = b.code("sortering2", cmp.Or(p.Sort2, defaultSort2), "", "", at)
	for _, k := range p.Kommuner {
		b.code("fylke", k.FylkeNr, k.FylkeNavn, "", at)
		b.code("kommune", k.Nr, k.Navn, k.FylkeNr, at)
	}
	for i := range p.Names {
		n := &p.Names[i]
		n.Status = b.code("navnestatus", n.Status, "", "", at)
		n.State = b.code("navnesakstatus", cmp.Or(n.State, defaultState), "", "", at)
		n.Language = b.code("spraak", n.Language, "", "", at)
		n.Origin = b.code("spraak", n.Origin, "", "", at)
		for k := range n.Spellings {
			s := &n.Spellings[k]
			s.Status = b.code("skrivemaatestatus", s.Status, "", "", at)
			s.Date = cmp.Or(s.Date, p.Updated.Format(time.DateOnly))
		}
	}
}

// importance returns the importance by which places are ranked first. It is 0 for an unknown code.
func (b *codeBook) importance(p *place) int {
	n := 0
	if c := b.byList["sortering1"][p.Sort1]; c != nil {
		n = c.Order << 8
	}
	if c := b.byList["sortering2"][p.Sort2]; c != nil {
		n |= c.Order
	}
	return n
}

// write writes the code lists, with added codes last.
func (b *codeBook) write(out *register.Output) {
	for i := range b.lists {
		l := &b.lists[i]
		out.PutList(i, l)
		last := 0
		for _, c := range l.Codes {
			last = max(last, c.Order)
		}
		var values []string
		for v := range b.extra[l.ID] {
			values = append(values, v)
		}
		slices.Sort(values)
		for _, v := range values {
			x := b.extra[l.ID][v]
			last++
			var short any
			if l.ID == "spraak" || l.ID == "land" {
				short = v
			}
			out.Put("kode", out.Next("kode"), l.ID, v, short, register.OrNull(x.parent), int64(last), cmp.Or(x.name, v),
				nil, nil, nil)
		}
	}
}

// write writes the rows of a place.
func (p *place) write(out *register.Output, at rank) {
	numbers := make([]string, len(p.Kommuner))
	kommune, fylke := "", ""
	for i, k := range p.Kommuner {
		numbers[i] = k.Nr
		if i == 0 {
			kommune, fylke = k.Nr, k.FylkeNr
		}
		out.Put("sted_kommune", k.Nr, int64(at.sted), p.Number, p.Type)
	}
	kommuner := register.JSONList(numbers)
	names := p.shown()
	display := register.DisplayName(names, p.Priority)
	first := register.FirstName(names, p.Priority).Best().Core
	geom := store.Geometry{WKB: p.Position}
	out.Put("sted", p.Number, geom, p.Number, display, first, p.Type, p.Group, p.MainGroup, p.Status, p.Land, kommune,
		kommuner, fylke, p.Priority, p.Authority, p.Sort1, p.Sort2, p.General,
		cmp.Or(p.LocalID, strconv.FormatInt(p.Number, 10)), p.Registered, p.Updated, nil, int64(0), int64(0),
		fold.Norm(display), int64(at.sted))
	for _, r := range p.Roads {
		out.Put("vegreferanse", out.Next("vegreferanse"), p.Number, r.Kommune, r.Code)
	}
	for _, u := range p.Units {
		out.Put(
			"matrikkel_sted",
			u.values(out, "matrikkel_sted", p.Number, p.Number, first, display, p.Type, p.General, int64(at.sted))...)
	}
	spellings := int64(at.skrivemaate)
	for i := range p.Names {
		n, shown := &p.Names[i], &names[i]
		id, rang := nameID(p.Number, n.Number), int64(at.stedsnavn)+int64(i)
		leading := shown.Leading()
		together := cores(leading)
		best := shown.Best()
		bestAt := slices.IndexFunc(shown.Spellings, func(s register.Spelling) bool { return s == *best })
		head := &n.Spellings[slices.IndexFunc(shown.Spellings, func(s register.Spelling) bool {
			return s == *leading[0]
		})]
		out.Put("stedsnavn", id, geom, p.Number, p.Number, int64(n.Number), best.Core, n.Status, n.State, n.Language,
			register.OrNull(n.Origin), n.Exonym, false, nil, together,
			int64(len(n.Spellings)), int64(len(leading)), head.Status, head.Date,
			spellingID(id, n.Spellings[bestAt].Number), display, p.Type, p.Authority, p.Land,
			kommune, kommuner, fylke, p.General, p.Registered, p.Updated, int64(0), int64(0),
			fold.Norm(best.Core), rang)
		for _, u := range p.Units {
			out.Put(
				"matrikkel_stedsnavn",
				u.values(out, "matrikkel_stedsnavn", p.Number, id, p.Number, int64(n.Number), together, display,
					head.Status, head.Date, n.State, n.Status, n.Language, p.Type, p.General, rang)...)
		}
		kasus := "nevneform"
		if n.Language != "nor" {
			kasus = "nominativ"
		}
		for k := range n.Spellings {
			s := &n.Spellings[k]
			sid, norm := spellingID(id, s.Number), fold.Norm(s.Text)
			out.Put("skrivemaate", sid, p.Number, id, p.Number, int64(n.Number), int64(s.Number), s.Text, nil, "kjerne",
				kasus, s.Status, s.Date, s.Preferred, nil, n.Language, n.Status, n.State, display, p.Type, p.Authority,
				p.Land, kommuner, p.General, p.Registered, p.Updated, int64(0), fold.CaseI(s.Text), norm,
				register.Reverse(norm), spellings)
			for _, u := range p.Units {
				out.Put(
					"matrikkel_skrivemaate",
					u.values(out, "matrikkel_skrivemaate", p.Number, id, sid, p.Number, int64(n.Number),
						int64(s.Number), s.Text, display, s.Status, s.Date, n.State, n.Status, p.Type, p.General,
						spellings)...)
			}
			spellings++
		}
	}
}

// cores returns the texts of spellings, one after another.
func cores(list []*register.Spelling) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = s.Core
	}
	return strings.Join(texts, ", ")
}

// values returns a row of a cadastral table.
func (u placeUnit) values(out *register.Output, table string, rest ...any) []any {
	var remark, norm any
	if u.Remark != "" {
		remark, norm = u.Remark, fold.Norm(u.Remark)
	}
	return append([]any{out.Next(table), u.Kommune, u.Gnr, u.Bnr, u.Fnr, u.Snr, remark, norm}, rest...)
}
