package placename_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	api "grense/api/placename"
	"grense/internal/cql2/fold"
)

// The oracle answers the searches from the rows as the generator wrote them, with loops and no index. It knows the
// fold of texts, which has tests of its own, and nothing of filters, stores or ranks.

// row is one row as it was written, by column.
type row map[string]any

func (r row) text(column string) string {
	s, _ := r[column].(string)
	return s
}
func (r row) number(column string) int64 {
	n, _ := r[column].(int64)
	return n
}
func (r row) flag(column string) bool      { b, _ := r[column].(bool); return b }
func (r row) time(column string) time.Time { t, _ := r[column].(time.Time); return t }
func (r row) id() string                   { return strconv.FormatInt(r.number("id"), 10) }

// day reads a date; false when it is null.
func (r row) day(column string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, r.text(column))
	return t, err == nil
}

type oracle struct {
	rows    map[string][]row
	place   map[int64]int // id of a place -> its position in the order of places
	folds   sync.Map      // text -> folded
	indexes sync.Map      // table, column -> rows by value
}

// norwegian is the order æ, ø, å after z, with aa as å, which Danish shares; package collate lacks it for Bokmål.
func norwegian() *collate.Collator { return collate.New(language.Danish) }

func newOracle(rows map[string][]row) *oracle {
	o := &oracle{rows: rows, place: map[int64]int{}}
	order := norwegian()
	sorted := slices.SortedFunc(slices.Values(rows["sted"]), func(a, b row) int {
		return cmp.Or(
			cmp.Compare(b.text("sortering1"), a.text("sortering1")),
			cmp.Compare(b.text("sortering2"), a.text("sortering2")),
			order.CompareString(a.text("visningsnavn"), b.text("visningsnavn")),
			cmp.Compare(a.number("stedsnummer"), b.number("stedsnummer")),
		)
	})
	for i, r := range sorted {
		o.place[r.number("id")] = i
	}
	return o
}

// where returns the rows of a table with a value in a column.
func (o *oracle) where(table, column string, value any) []row {
	key := table + "." + column
	index, ok := o.indexes.Load(key)
	if !ok {
		m := map[any][]row{}
		for _, r := range o.rows[table] {
			m[r[column]] = append(m[r[column]], r)
		}
		index, _ = o.indexes.LoadOrStore(key, m)
	}
	return index.(map[any][]row)[value]
}

// one returns the row with an id; an empty one for null.
func (o *oracle) one(table string, id any) row {
	if list := o.where(table, "id", id); len(list) > 0 {
		return list[0]
	}
	return row{}
}

func (o *oracle) fold(s string) string {
	if f, ok := o.folds.Load(s); ok {
		return f.(string)
	}
	f := fold.Norm(s)
	o.folds.Store(s, f)
	return f
}

// like matches a whole folded text with a pattern of * and ?.
func (o *oracle) like(pattern, text string) bool {
	key := "\x00" + pattern
	re, ok := o.folds.Load(key)
	if !ok {
		p := fold.Norm(strings.NewReplacer("*", "\uE123", "?", "\uE124").Replace(pattern))
		p = regexp.QuoteMeta(p)
		re = regexp.MustCompile(`^(?s:` + strings.NewReplacer("\uE123", ".*", "\uE124", ".").Replace(p) + `)$`)
		o.folds.Store(key, re)
	}
	return re.(*regexp.Regexp).MatchString(o.fold(text))
}

// name matches a place name as avansertSoek false does, or a single word of an expression.
func (o *oracle) name(v *string, advanced *bool, spellings []row) bool {
	return v == nil || slices.ContainsFunc(spellings, func(r row) bool {
		text := r.text("langnavn")
		return slices.ContainsFunc(o.names(*v), func(v string) bool {
			switch {
			case strings.ContainsAny(v, "*?"):
				return o.like(v, text)
			case advanced != nil && *advanced:
				return strings.Contains(o.fold(text), o.fold(v))
			}
			return o.fold(text) == o.fold(v)
		})
	})
}

// names returns a name, the names on both sides of its slashes and of its dashes between blanks, and all of them
// without full stops at the end.
func (o *oracle) names(v string) []string {
	list := []string{v}
	for _, name := range strings.Split(strings.NewReplacer("/", "\n", " - ", "\n", " – ", "\n").Replace(v), "\n") {
		for _, text := range []string{v, strings.TrimSpace(name)} {
			if text = strings.TrimRight(strings.TrimSpace(text), "."); text != "" {
				list = append(list, text)
			}
		}
	}
	return list
}

// free matches a free text.
func (o *oracle) free(v *string, r row, column string) bool {
	if v == nil {
		return true
	}
	text, ok := r[column].(string)
	if !ok {
		return false
	}
	if strings.ContainsAny(*v, "*?") {
		return o.like(*v, text)
	}
	if utf8.RuneCountInString(strings.TrimSpace(*v)) == 1 {
		return o.fold(text) == o.fold(*v)
	}
	return strings.Contains(o.fold(text), o.fold(*v))
}

func same[V comparable](v *V, x V) bool { return v == nil || *v == x }

func number[N int32 | int64](v *N, x int64) bool { return v == nil || int64(*v) == x }

func oneOf(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }

func between(after, before *time.Time, t time.Time) bool {
	return (after == nil || t.After(*after)) && (before == nil || t.Before(*before))
}

func betweenDays(after, before *time.Time, r row, column string) bool {
	if after == nil && before == nil {
		return true
	}
	d, ok := r.day(column)
	return ok && between(after, before, d)
}

// remarks matches type and text of some row of a table that belongs to the owner.
func (o *oracle) remarks(table, owner string, id any, typeColumn string, types []string, text *string) bool {
	if types == nil && text == nil {
		return true
	}
	return slices.ContainsFunc(o.where(table, owner, id), func(r row) bool {
		return oneOf(types, r.text(typeColumn)) && o.free(text, r, "tekst")
	})
}

// inKommuner matches the municipalities of a place.
func (o *oracle) inKommuner(list []string, sted any) bool {
	return list == nil || slices.ContainsFunc(o.where("sted_kommune", "sted_id", sted), func(r row) bool {
		return slices.Contains(list, r.text("kommunenummer"))
	})
}

func (o *oracle) steder(q *api.StedSoek) []row {
	spellings := func(r row) []row { return o.where("skrivemaate", "sted_id", r["id"]) }
	return o.exactFirst(q.Stedsnavn, q.AvansertSoek, spellings, o.sorted("sted", func(r row) bool {
		return between(q.RegistrertEtter, q.RegistrertFoer, r.time("registrert")) &&
			between(q.OppdatertEtter, q.OppdatertFoer, r.time("oppdatert")) &&
			number(q.Stedsnummer, r.number("stedsnummer")) && o.name(q.Stedsnavn, q.AvansertSoek, spellings(r)) &&
			oneOf(q.NavneobjekttyperIds, r.text("navneobjekttype")) && oneOf(q.StedstatuserIds, r.text("stedstatus")) &&
			same(q.LandId, r.text("land")) &&
			o.inKommuner(q.KommunerIds, r["id"]) &&
			oneOf(q.SpraakprioriteringerIds, r.text("spraakprioritering")) &&
			oneOf(q.VedtaksmyndigheterIds, r.text("vedtaksmyndighet")) &&
			o.remarks("sted_tilleggsopplysning", "sted_id", r["id"], "tilleggsopplysningstype",
				q.TilleggsopplysningstyperIds, q.Tilleggsopplysningtekst) &&
			o.remarks("sted_merknad", "sted_id", r["id"], "merknadstype", q.MerknadstyperIds, q.Merknadstekst) &&
			same(q.AvAllmennInteresse, r.flag("av_allmenn_interesse"))
	}))
}

func (o *oracle) stedsnavn(q *api.StedsnavnSoek) []row {
	spellings := func(r row) []row { return o.where("skrivemaate", "stedsnavn_id", r["id"]) }
	return o.exactFirst(q.Stedsnavn, q.AvansertSoek, spellings, o.sorted("stedsnavn", func(r row) bool {
		sted := o.one("sted", r["sted_id"])
		return between(q.RegistrertEtter, q.RegistrertFoer, r.time("registrert")) &&
			between(q.OppdatertEtter, q.OppdatertFoer, r.time("oppdatert")) &&
			number(q.Stedsnummer, sted.number("stedsnummer")) &&
			number(q.Stedsnavnnummer, r.number("stedsnavnnummer")) &&
			o.name(q.Stedsnavn, q.AvansertSoek, spellings(r)) &&
			oneOf(q.NavneobjekttyperIds, sted.text("navneobjekttype")) &&
			oneOf(q.VedtaksmyndigheterIds, sted.text("vedtaksmyndighet")) &&
			same(q.LandId, sted.text("land")) && o.inKommuner(q.KommunerIds, r["sted_id"]) &&
			oneOf(q.SpraakIds, r.text("spraak")) &&
			oneOf(q.NavnesakstatuserIds, r.text("navnesakstatus")) &&
			oneOf(q.NavnestatuserIds, r.text("navnestatus")) &&
			same(q.HarPrimaerfunksjon, r["primaerfunksjon_id"] != nil) &&
			o.remarks("stedsnavn_tilleggsopplysning", "stedsnavn_id", r["id"], "tilleggsopplysningstype",
				q.TilleggsopplysningstyperIds, q.Tilleggsopplysningtekst) &&
			o.remarks("stedsnavn_merknad", "stedsnavn_id", r["id"], "merknadstype", q.MerknadstyperIds,
				q.Merknadstekst) &&
			same(q.AvAllmennInteresse, sted.flag("av_allmenn_interesse"))
	}))
}

func (o *oracle) skrivemaater(q *api.SkrivemaateSoek) []row {
	self := func(r row) []row { return []row{r} }
	return o.exactFirst(q.Stedsnavn, q.AvansertSoek, self, o.sorted("skrivemaate", func(r row) bool {
		sted, navn := o.one("sted", r["sted_id"]), o.one("stedsnavn", r["stedsnavn_id"])
		return between(q.RegistrertEtter, q.RegistrertFoer, r.time("registrert")) &&
			between(q.OppdatertEtter, q.OppdatertFoer, r.time("oppdatert")) &&
			number(q.Stedsnummer, sted.number("stedsnummer")) &&
			number(q.Stedsnavnnummer, navn.number("stedsnavnnummer")) &&
			number(q.Skrivemaatenummer, r.number("skrivemaatenummer")) &&
			o.name(q.Stedsnavn, q.AvansertSoek, self(r)) &&
			oneOf(q.SkrivemaatestatuserIds, r.text("skrivemaatestatus")) && same(q.Prioritert, r.flag("prioritert")) &&
			betweenDays(q.SkrivemaatestatusdatoEtter, q.SkrivemaatestatusdatoFoer, r, "skrivemaatestatusdato") &&
			oneOf(q.NavneobjekttyperIds, sted.text("navneobjekttype")) &&
			oneOf(q.VedtaksmyndigheterIds, sted.text("vedtaksmyndighet")) &&
			same(q.LandId, sted.text("land")) && o.inKommuner(q.KommunerIds, r["sted_id"]) &&
			oneOf(q.SpraakIds, navn.text("spraak")) &&
			oneOf(q.NavnesakstatuserIds, navn.text("navnesakstatus")) &&
			o.documented(q, r) &&
			o.remarks("skrivemaate_merknad", "skrivemaate_id", r["id"], "merknadstype", q.MerknadstyperIds,
				q.Merknadstekst) &&
			same(q.AvAllmennInteresse, sted.flag("av_allmenn_interesse"))
	}))
}

// documented matches the nested searches: for each, some row of documentation.
func (o *oracle) documented(q *api.SkrivemaateSoek, r row) bool {
	some := func(test func(d row) bool) bool {
		return slices.ContainsFunc(o.where("dokumentasjon", "skrivemaate_id", r["id"]), test)
	}
	sak := func(x row, aar, saksnummer *int32, arkivreferanse, beskrivelse *string) bool {
		return len(x) > 0 && number(aar, x.number("aar")) && number(saksnummer, x.number("saksnummer")) &&
			o.free(arkivreferanse, x, "arkivreferanse") && o.free(beskrivelse, x, "beskrivelse")
	}
	kart := func(k *api.KartforekomstSoek, public bool) bool {
		return k == nil || some(func(d row) bool {
			x := o.one("kartprodukt", d["kartprodukt_id"])
			return d.flag("offentlig") == public && len(x) > 0 && same(k.ProduktId, x.text("karttype")) &&
				o.free(k.Kartblad, x, "kartblad")
		})
	}
	return (q.DokumentasjonsdatoEtter == nil && q.DokumentasjonsdatoFoer == nil ||
		some(func(d row) bool {
			return betweenDays(q.DokumentasjonsdatoEtter, q.DokumentasjonsdatoFoer, d, "dato")
		})) &&
		(q.BokSoek == nil || some(func(d row) bool {
			x := o.one("bok", d["bok_id"])
			return len(x) > 0 && o.free(q.BokSoek.Tittel, x, "tittel") && o.free(q.BokSoek.Utgave, x, "utgave") &&
				o.free(q.BokSoek.Utgiver, x, "utgiver")
		})) &&
		kart(q.OffentligKartforekomstSoek, true) && kart(q.AnnenKartforekomstSoek, false) &&
		(q.OpplysningSoek == nil || some(func(d row) bool {
			return d.text("art") == "opplysning" && o.free(q.OpplysningSoek.Informant, d, "person")
		})) &&
		(q.LokaleInnsamlingerSoek == nil || some(func(d row) bool {
			return d.text("art") == "lokalInnsamling" && o.free(q.LokaleInnsamlingerSoek.Innsamler, d, "person")
		})) &&
		(q.VedtakSoek == nil || some(func(d row) bool {
			v := o.one("vedtak", d["vedtak_id"])
			return number(q.VedtakSoek.Arkivloepenummer, v.number("arkivloepenummer")) &&
				sak(o.one("navnesak", v["navnesak_id"]), q.VedtakSoek.Aar, q.VedtakSoek.Saksnummer,
					q.VedtakSoek.Arkivreferanse, q.VedtakSoek.Beskrivelse)
		})) &&
		(q.SamlevedtakSoek == nil || some(func(d row) bool {
			v := o.one("del_av_samlevedtak", d["del_av_samlevedtak_id"])
			return number(q.SamlevedtakSoek.Arkivloepenummer, v.number("arkivloepenummer")) &&
				sak(o.one("samlevedtak", v["samlevedtak_id"]), q.SamlevedtakSoek.Aar, q.SamlevedtakSoek.Saksnummer,
					q.SamlevedtakSoek.Arkivreferanse, q.SamlevedtakSoek.Beskrivelse)
		})) &&
		(q.KlageSoek == nil || some(func(d row) bool {
			return sak(o.one("klage", d["klage_id"]), q.KlageSoek.Aar, q.KlageSoek.Saksnummer,
				q.KlageSoek.Arkivreferanse, q.KlageSoek.Beskrivelse)
		})) &&
		(q.DokumentSoek == nil || !slices.ContainsFunc(q.DokumentSoek.Entry, func(e api.DokumentSoekEntry) bool {
			return !some(func(d row) bool { return d.text("dokumenttype") == e.Key && o.free(&e.Value, d, "tekst") })
		}))
}

func (o *oracle) navnesaker(q *api.NavnesakSoek) []row {
	return o.sorted("navnesak", func(r row) bool {
		var spellings []row
		for _, p := range o.where("navnesak_stedsnavn", "navnesak_id", r["id"]) {
			spellings = append(spellings, o.where("skrivemaate", "stedsnavn_id", p["stedsnavn_id"])...)
		}
		return between(q.RegistrertEtter, q.RegistrertFoer, r.time("registrert")) &&
			between(q.OppdatertEtter, q.OppdatertFoer, r.time("oppdatert")) &&
			number(q.Aar, r.number("aar")) && number(q.Saksnummer, r.number("saksnummer")) &&
			same(q.Klagesak, r["klage_id"] != nil) &&
			same(q.Avsluttet, r["sluttdato"] != nil) && o.free(q.Beskrivelse, r, "beskrivelse") &&
			same(q.VedtaksmyndighetId, r.text("vedtaksmyndighet")) && same(q.OmraadeId, r.text("omraade")) &&
			o.free(q.Arkivreferanse, r, "arkivreferanse") &&
			o.name(q.Stedsnavn, nil, spellings) &&
			o.caseIn(q.KommunerIds, r["id"])
	})
}

// caseIn matches the municipalities of a case.
func (o *oracle) caseIn(list []string, navnesak any) bool {
	return list == nil || slices.ContainsFunc(o.where("navnesak_kommune", "navnesak_id", navnesak), func(r row) bool {
		return slices.Contains(list, r.text("kommunenummer"))
	})
}

func (o *oracle) vedtak(q *api.VedtakSoek) []row {
	return o.sorted("vedtak", func(r row) bool {
		var spellings []row
		for _, p := range o.where("vedtak_skrivemaate", "vedtak_id", r["id"]) {
			spellings = append(spellings, o.one("skrivemaate", p["skrivemaate_id"]))
		}
		return number(q.Aar, r.number("aar")) && number(q.Saksnummer, r.number("saksnummer")) &&
			number(q.Arkivloepenummer, r.number("arkivloepenummer")) &&
			betweenDays(q.VedtattEtter, q.VedtattFoer, r, "vedtaksdato") && o.name(q.Skrivemaate, nil, spellings) &&
			same(q.VedtaksmyndighetId, r.text("vedtaksmyndighet")) &&
			same(q.OmraadeId, r.text("omraade")) &&
			o.caseIn(q.KommunerIds, r["navnesak_id"])
	})
}

func (o *oracle) samlevedtak(q *api.SamlevedtakSoek) []row {
	return o.sorted("samlevedtak", func(r row) bool {
		var spellings []row
		part := q.Stedsnummer == nil && q.Stedsnavnnummer == nil
		for _, p := range o.where("del_av_samlevedtak", "samlevedtak_id", r["id"]) {
			spellings = append(spellings, o.where("skrivemaate", "stedsnavn_id", p["stedsnavn_id"])...)
			part = part ||
				number(q.Stedsnummer, p.number("stedsnummer")) && number(q.Stedsnavnnummer, p.number("stedsnavnnummer"))
		}
		return between(q.RegistrertEtter, q.RegistrertFoer, r.time("registrert")) &&
			between(q.OppdatertEtter, q.OppdatertFoer, r.time("oppdatert")) &&
			number(q.Aar, r.number("aar")) && number(q.Saksnummer, r.number("saksnummer")) &&
			o.free(q.Beskrivelse, r, "beskrivelse") &&
			o.free(q.Arkivreferanse, r, "arkivreferanse") &&
			o.name(q.Stedsnavn, nil, spellings) &&
			part
	})
}

// matrikkel answers a cadastral search from its table; column names the spellings' column for what is searched.
func (o *oracle) matrikkel(table, column string, q *api.StedMatrikkelenhetreferanseSoek) []row {
	spellings := func(r row) []row {
		if column == "skrivemaate_id" {
			return o.where("skrivemaate", "id", r[column])
		}
		return o.where("skrivemaate", column, r[column])
	}
	return o.exactFirst(q.Stedsnavn, nil, spellings, o.sorted(table, func(r row) bool {
		return r.text("kommunenummer") == q.Kommunenummer && listed(&q.Gaardsnummer, r.number("gaardsnummer")) &&
			listed(q.Bruksnummer, r.number("bruksnummer")) &&
			number(q.Festenummer, r.number("festenummer")) &&
			number(q.Seksjonsnummer, r.number("seksjonsnummer")) &&
			o.free(q.Tilleggsopplysningtekst, r, "tilleggsopplysning") &&
			o.name(q.Stedsnavn, nil, spellings(r)) &&
			oneOf(q.NavneobjekttypeIds, o.one("sted", r["sted_id"]).text("navneobjekttype"))
	}))
}

// listed reports whether a list such as "1-5,7" has a number.
func listed(list *string, n int64) bool {
	return list == nil || slices.ContainsFunc(strings.Split(*list, ","), func(part string) bool {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		low, _ := strconv.ParseInt(strings.TrimSpace(from), 10, 64)
		high, _ := strconv.ParseInt(strings.TrimSpace(to), 10, 64)
		return low <= n && n <= high
	})
}

func (o *oracle) boeker(soeketekst string) []row {
	return o.sorted("bok", func(r row) bool {
		all := o.fold(r.text("tittel") + " " + r.text("forfatter") + " " + r.text("utgiver") + " " +
			strings.ReplaceAll(r.text("isbn"), "-", ""))
		for word := range strings.FieldsSeq(strings.NewReplacer(",", " ", ":", " ", ".", " ", "(", " ", ")", " ", ";",
			" ", "«", " ", "»", " ").Replace(soeketekst)) {
			if digits := strings.ReplaceAll(word, "-", ""); digits != "" && strings.Trim(digits, "0123456789") == "" {
				word = digits
			}
			if !o.like("*"+word+"*", all) {
				return false
			}
		}
		return true
	})
}

func (o *oracle) kartprodukter(q *api.FindKartprodukter) []row {
	return o.sorted("kartprodukt", func(r row) bool {
		return same(q.ProduktkodeId, r.text("karttype")) && o.free(q.Kartblad, r, "kartblad") &&
			number(q.Utgivelsesaar, r.number("utgivelsesaar"))
	})
}

// sorted returns the rows of a table that match, in the order of its hits.
func (o *oracle) sorted(table string, match func(row) bool) []row {
	list := slices.DeleteFunc(slices.Clone(o.rows[table]), func(r row) bool { return !match(r) })
	numbers := func(columns string) func(a, b row) int {
		return func(a, b row) int {
			for c := range strings.FieldsSeq(columns) {
				name, desc := strings.CutPrefix(c, "-")
				n := cmp.Compare(a.number(name), b.number(name))
				if desc {
					n = -n
				}
				if n != 0 {
					return n
				}
			}
			return 0
		}
	}
	byPlace := func(columns string) func(a, b row) int {
		return func(a, b row) int {
			return cmp.Or(cmp.Compare(o.place[a.number("sted_id")], o.place[b.number("sted_id")]),
				numbers(columns)(a, b))
		}
	}
	const unit = " gaardsnummer bruksnummer festenummer seksjonsnummer"
	title := norwegian()
	orders := map[string]func(a, b row) int{
		"sted": func(a, b row) int {
			return cmp.Compare(o.place[a.number("id")], o.place[b.number("id")])
		},
		"stedsnavn":             byPlace("stedsnavnnummer"),
		"skrivemaate":           byPlace("stedsnavnnummer skrivemaatenummer"),
		"matrikkel_sted":        byPlace(unit),
		"matrikkel_stedsnavn":   byPlace("stedsnavnnummer" + unit),
		"matrikkel_skrivemaate": byPlace("stedsnavnnummer skrivemaatenummer" + unit),
		"navnesak":              numbers("-aar -saksnummer"),
		"vedtak":                numbers("-aar -saksnummer arkivloepenummer"),
		"samlevedtak":           numbers("-aar -saksnummer"),
		"bok": func(a, b row) int {
			return cmp.Or(title.CompareString(a.text("tittel"), b.text("tittel")), numbers("utgivelsesaar id")(a, b))
		},
		"kartprodukt": func(a, b row) int {
			return cmp.Or(cmp.Compare(a.text("karttype"), b.text("karttype")),
				cmp.Compare(a.text("kartblad"), b.text("kartblad")), numbers("utgivelsesaar id")(a, b))
		},
	}
	if orders[table] == nil {
		panic(fmt.Sprintf("oracle: no order of %s", table))
	}
	slices.SortStableFunc(list, orders[table])
	return list
}

// exactFirst puts rows with a spelling that is equal but for case before the others, when the name has no wildcard.
func (o *oracle) exactFirst(name *string, advanced *bool, spellings func(row) []row, list []row) []row {
	if name == nil || advanced != nil && *advanced || strings.ContainsAny(*name, "*?") {
		return list
	}
	var first, rest []row
	for _, r := range list {
		if slices.ContainsFunc(spellings(r), func(s row) bool {
			return slices.ContainsFunc(o.names(*name),
				func(name string) bool { return strings.EqualFold(s.text("langnavn"), strings.TrimSpace(name)) })
		}) {
			first = append(first, r)
		} else {
			rest = append(rest, r)
		}
	}
	return append(first, rest...)
}
