package placename

import (
	"strings"

	api "grense/api/placename"
	"grense/internal/store"
)

// boeker asks for books in which every word occurs. A word may be a single letter beside a longer one; an ISBN may have hyphens.
func (s *Service) boeker(r *api.FindBoeker) *criteria {
	const field = "soeketekst"
	c := s.criteria(r, "")
	if strings.TrimSpace(r.Soeketekst) == "" {
		c.fault(field, r.Soeketekst, api.Blank, 0)
		return c
	}
	if !c.fits(field, r.Soeketekst, s.options.MaxText) {
		return c
	}
	longest := 0
	for word := range strings.FieldsSeq(r.Soeketekst) {
		if digits := strings.ReplaceAll(word, "-", ""); isISBN(digits) {
			word = digits
		}
		if p, n := foldPattern("norm", likePattern(word)); n > 0 {
			longest = max(longest, n)
			c.where = append(c.where, like("norm", "%"+p+"%")(field))
		}
	}
	if longest < minLiterals {
		c.fault(field, r.Soeketekst, api.FewLiterals, minLiterals)
	}
	return c
}

// isISBN reports whether s may be an ISBN or the beginning of one, without hyphens: digits, the last of ten may be X.
func isISBN(s string) bool {
	return isDigits(s) || len(s) == 10 && isDigits(s[:9]) && (s[9] == 'X' || s[9] == 'x')
}

func (s *Service) kartprodukter(r *api.FindKartprodukter) *criteria {
	c := s.criteria(r, "")
	c.add(code("karttype", r.ProduktkodeId), c.contains("kartblad", "kartblad", r.Kartblad), number("utgivelsesaar", r.Utgivelsesaar))
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
