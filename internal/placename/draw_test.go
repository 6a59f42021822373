package placename_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	api "grense/api/placename"
)

// drawing is what draws draw with.
type drawing struct {
	*rand.Rand
	f    *fixture
	path string // of the field that is drawn for
}

func (d *drawing) one(value any) []setting { return []setting{{d.path, value}} }

func pick[T any](d *drawing, list []T) T { return list[d.IntN(len(list))] }

// moment is at, or up to a year before or after, the record's.
func moment(column string, sign int) draw {
	return func(d *drawing, r row) []setting {
		zone := pick(d, []*time.Location{time.UTC, time.FixedZone("", 3600), time.FixedZone("", -7*3600-1800)})
		return d.one(r.time(column).Add(time.Duration(sign*pick(d, []int{0, 1, 3600, 365 * 86400})) * time.Second).
			In(zone))
	}
}

func day(column string, sign int) draw {
	return func(d *drawing, r row) []setting {
		t, ok := r.day(column)
		if !ok {
			return nil
		}
		return d.one(t.AddDate(0, 0, sign*pick(d, []int{0, 1, 400})))
	}
}

func number64(column string) draw {
	return func(d *drawing, r row) []setting { return d.one(r.number(column)) }
}

func number32(column string) draw {
	return func(d *drawing, r row) []setting { return d.one(int32(r.number(column))) }
}

// rarer is number32 of numbers above 1, which every owner of parts has.
func rarer(column string) draw {
	return func(d *drawing, r row) []setting {
		if r.number(column) == 1 {
			return nil
		}
		return d.one(int32(r.number(column)))
	}
}

func flag(column string) draw {
	return func(d *drawing, r row) []setting { return d.one(r.flag(column)) }
}

func code(column string) draw {
	return func(d *drawing, r row) []setting { return d.one(r.text(column)) }
}

// codes is the record's code, alone or beside one that nothing has.
func codes(column string) draw {
	return func(d *drawing, r row) []setting {
		if d.IntN(2) == 0 && column != "kommunenummer" {
			return d.one([]string{"finnesIkke", r.text(column)})
		}
		return d.one([]string{r.text(column)})
	}
}

// column draws from some row of a table whose column owner has the value of the record's column key.
func column(table, owner, key string, inner draw) draw {
	return func(d *drawing, r row) []setting {
		list := d.f.where(table, owner, r[key])
		if len(list) == 0 {
			return nil
		}
		return inner(d, pick(d, list))
	}
}

// documented draws from some row of documentation of a spelling, or from what it refers to.
func documented(what string, inner draw) draw {
	return func(d *drawing, r row) []setting {
		o := d.f.oracle
		var found []row
		for _, x := range o.where("dokumentasjon", "skrivemaate_id", r["id"]) {
			y := x
			switch what {
			case "bok":
				y = o.one("bok", x["bok_id"])
			case "kart+", "kart-":
				if x.flag("offentlig") != (what == "kart+") {
					continue
				}
				y = o.one("kartprodukt", x["kartprodukt_id"])
			case "vedtak":
				y = o.one("vedtak", x["vedtak_id"])
			case "navnesak":
				y = o.one("navnesak", o.one("vedtak", x["vedtak_id"])["navnesak_id"])
			case "del":
				y = o.one("del_av_samlevedtak", x["del_av_samlevedtak_id"])
			case "samlevedtak":
				y = o.one("samlevedtak", o.one("del_av_samlevedtak", x["del_av_samlevedtak_id"])["samlevedtak_id"])
			case "klage":
				y = o.one("klage", x["klage_id"])
			case "opplysning", "lokalInnsamling", "dokument":
				if x.text("art") != what {
					continue
				}
			}
			if len(y) > 0 {
				found = append(found, y)
			}
		}
		if found == nil {
			return nil
		}
		return inner(d, pick(d, found))
	}
}

func entry(d *drawing, r row) []setting {
	e := api.DokumentSoekEntry{Key: r.text("dokumenttype")}
	if d.IntN(4) > 0 {
		e.Value = freeText(d, r.text("tekst"))
	}
	return d.one([]api.DokumentSoekEntry{e})
}

func spellingsOf(column, key string) func(*drawing, row) []row {
	return func(d *drawing, r row) []row { return d.f.where("skrivemaate", column, r[key]) }
}

func itself(_ *drawing, r row) []row { return []row{r} }

// placeName is a spelling as it is, written otherwise, or a pattern of it.
func placeName(path string, spellings func(*drawing, row) []row) draw {
	return func(d *drawing, r row) []setting {
		text := pick(d, spellings(d, r)).text("langnavn")
		return []setting{{path, disguise(d, text)}}
	}
}

// disguise writes a text so that it still matches.
func disguise(d *drawing, text string) string {
	rs := []rune(text)
	i := 1 + d.IntN(len(rs)-1)
	var p string
	switch d.IntN(9) {
	case 0:
		return text
	case 1:
		return strings.ToUpper(text)
	case 2:
		return d.f.fold(text)
	case 3:
		return "  " + text + " "
	case 4:
		p = string(rs[:i]) + "*"
	case 5:
		p = "*" + string(rs[i:])
	case 6:
		p = "*" + string(rs[i/2:i]) + "*"
	case 7:
		p = string(rs[:i/2]) + "*" + string(rs[i:])
	default:
		p = string(rs[:i]) + "?*"
	}
	if utf8.RuneCountInString(d.f.fold(strings.Trim(p, "*? "))) < 3 { // folding may take a letter, but not two
		return text
	}
	return p
}

// word is one word of a spelling as an expression.
func word(spellings func(*drawing, row) []row) draw {
	return func(d *drawing, r row) []setting {
		text := pick(d, strings.Fields(pick(d, spellings(d, r)).text("langnavn")))
		if utf8.RuneCountInString(d.f.fold(text)) < 2 || strings.ContainsAny(text, `|-=~"*?`) {
			return nil
		}
		return []setting{{"Stedsnavn", text}, {"AvansertSoek", true}}
	}
}

func free(column string) draw {
	return func(d *drawing, r row) []setting {
		text := r.text(column)
		if text == "" {
			return nil
		}
		if v := freeText(d, text); v != "" {
			return d.one(v)
		}
		return nil
	}
}

// freeText is part of a text, the whole written otherwise, or a pattern.
func freeText(d *drawing, text string) string {
	if utf8.RuneCountInString(d.f.fold(text)) < 2 {
		return ""
	}
	words := slices.DeleteFunc(strings.Fields(text),
		func(w string) bool { return utf8.RuneCountInString(d.f.fold(w)) < 3 })
	if d.IntN(2) == 0 && len(words) > 0 {
		return pick(d, words)
	}
	if utf8.RuneCountInString(text) < 2 {
		return text
	}
	return disguise(d, text)
}

// numbers is a list or range with the record's number.
func numbers(column string) draw {
	return func(d *drawing, r row) []setting {
		n := r.number(column)
		return d.one(
			fmt.Sprintf(
				pick(d, []string{"%[1]d", "00%[1]d", "%[1]d-%[2]d", " 9999, %[1]d", "5-7 , %[1]d - %[2]d,8888"}),
				n,
				n+1,
			),
		)
	}
}

func anyFarm(d *drawing, _ row) []setting { return d.one("0-99999") }

// bookWords is some words of a book, or its ISBN.
func bookWords(d *drawing, r row) []setting {
	switch words := strings.Fields(r.text("tittel")); d.IntN(4) {
	case 0:
		return d.one(words[len(words)-1])
	case 1:
		return d.one(strings.ToUpper(words[len(words)-1]) + " " + r.text("forfatter"))
	case 2:
		return d.one(r.text("utgiver"))
	}
	if r.text("isbn") == "" {
		return nil
	}
	return d.one(r.text("isbn"))
}
