package placename

import (
	"strings"
	"unicode"

	api "grense/api/placename"
	"grense/internal/cql2/fold"
	"grense/internal/store"
)

// boeker returns the criteria for books: every word of a text must occur. Punctuation is not part of a word. A word may
// be a single letter if another is longer. ISBNs may contain hyphens.
func (s *Service) boeker(l *codeLists, r *api.FindBoeker) *criteria {
	const field = "soeketekst"
	c := s.criteria(l, r, "")
	if strings.TrimSpace(r.Soeketekst) == "" {
		c.fault(field, r.Soeketekst, api.Blank, 0)
		return c
	}
	if !c.fits(field, r.Soeketekst, s.options.MaxText) {
		return c
	}
	longest := 0
	for word := range strings.FieldsFuncSeq(r.Soeketekst, separates) {
		if digits := strings.ReplaceAll(word, "-", ""); isISBN(digits) {
			word = digits
		}
		if p, n := foldPattern("norm", likePattern(word)); n > 0 {
			longest = max(longest, n)
			c.where = append(c.where, like("norm", "%"+p+"%")(field))
		}
	}
	if longest < minLiterals {
		c.fault(field, r.Soeketekst, api.ShortWords, minLiterals)
	}
	return c
}

// separates reports whether a character separates words: it is neither a letter, digit, mark, wildcard nor hyphen.
// Hyphens occur in names and ISBNs; folding removes apostrophes.
func separates(r rune) bool {
	return unicode.IsSpace(r) ||
		!unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Pd) && !strings.ContainsRune(wildcards, r) &&
			fold.Norm(string(r)) != ""
}

// isISBN reports whether s, without hyphens, may be an ISBN or the beginning of one: digits, and X as the tenth
// character.
func isISBN(s string) bool {
	return isDigits(s) || len(s) == 10 && isDigits(s[:9]) && (s[9] == 'X' || s[9] == 'x')
}

func (s *Service) kartprodukter(l *codeLists, r *api.FindKartprodukter) *criteria {
	c := s.criteria(l, r, "")
	c.add(c.code("produktkodeId", "karttype", r.ProduktkodeId), c.contains("kartblad", "kartblad", r.Kartblad),
		number("utgivelsesaar", r.Utgivelsesaar))
	return c
}

var bokTreff = kind[api.BokTreff]{
	collection: "bok", order: byRang,
	id:   func(h *api.BokTreff) *string { return &h.Id },
	list: func(l []api.BokTreff) api.Hits { return api.BokTreffList(l) },
	fields: func(h *api.BokTreff, _ api.Flags) []field {
		return []field{
			{"tittel", &h.Tittel},
			{"isbn", &h.Isbn},
			{"utgave", &h.Utgave},
			{"forfatter", &h.Forfatter},
			{"utgiver", &h.Utgiver},
			{"utgivelsesaar", &h.Utgivelsesaar},
		}
	},
}

var kartproduktTreff = kind[api.KartproduktTreff]{
	collection: "kartprodukt",
	order:      []store.Sort{{Property: "karttype"}, {Property: "kartblad"}, {Property: "utgivelsesaar"}},
	id:         func(h *api.KartproduktTreff) *string { return &h.Id },
	list:       func(l []api.KartproduktTreff) api.Hits { return api.KartproduktTreffList(l) },
	fields: func(h *api.KartproduktTreff, _ api.Flags) []field {
		return []field{
			{"kartblad", &h.Kartblad},
			{"karttype", &h.ProduktkodeId},
			{"utgivelsesaar", &h.Utgivelsesaar},
		}
	},
}
