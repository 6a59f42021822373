package register

import (
	_ "embed"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

//go:embed stems.txt
var stemText string

//go:embed stems_sami.txt
var samiText string

// kind is a kind of generated place. It determines the endings of the names.
type kind uint8

const (
	kindVann kind = iota
	kindElv
	kindFjell
	kindDal
	kindOy
	kindVik
	kindGard
	kindMyr
	kindHytte
	kindVeg
	kinds
)

// kindTable holds, for each kind, its share in percent and its endings, in the order in which they are chosen. types
// are the name types that fit an ending; a "gard" may be one of several.
var kindTable = [kinds]struct {
	percent int
	endings []ending
}{
	kindVann: {
		13,
		[]ending{{"vatnet", []string{"vann", "innsjø"}}, {"tjønna", []string{"tjern"}}, {"tjernet", []string{"tjern"}},
			{"vannet", []string{"vann", "innsjø"}}},
	},
	kindElv: {9, []ending{{"elva", []string{"elv"}}, {"åa", []string{"elv", "bekk"}}, {"bekken", []string{"bekk"}}}},
	kindFjell: {18, []ending{{"fjellet", []string{"fjell"}}, {"nuten", []string{"topp"}}, {"tinden", []string{"topp"}},
		{
			"høgda",
			[]string{"høyde"},
		}, {"berget", []string{"berg"}}, {"haugen", []string{"haug"}}, {"toppen", []string{"topp"}},
		{"åsen", []string{"ås"}}}},
	kindDal: {6, []ending{{"dalen", []string{"dal", "dalføre"}}}},
	kindOy: {9, []ending{{"øya", []string{"øyISjø", "øy"}}, {"holmen", []string{"holmeISjø", "holme"}},
		{"skjeret", []string{"skjærISjø", "skjær"}}}},
	kindVik: {
		14,
		[]ending{
			{"vika", []string{"vikISjø", "vik"}},
			{"bukta", []string{"vikISjø", "vik"}},
			{"sundet", []string{"sundISjø", "sund"}},
			{"fjorden", []string{"fjord"}},
			{"neset", []string{"nesISjø", "nes"}},
			{"odden", []string{"nesISjø", "nes"}},
		},
	},
	kindGard: {
		17,
		[]ending{{"gard", garder}, {"stad", garder}, {"heim", garder}, {"land", garder}, {"vik", garder},
			{"moen", garder},
			{"rud", garder}, {"set", garder}, {"bø", garder}, {"lia", garder}},
	},
	kindMyr: {5, []ending{{"myra", []string{"myr"}}, {"mosen", []string{"myr"}}}},
	kindHytte: {
		4,
		[]ending{
			{"hytta", []string{"fritidsbolig", "turisthytte"}},
			{"bu", []string{"fritidsbolig"}},
			{"setra", []string{"seterStøl"}},
		},
	},
	kindVeg: {
		5,
		[]ending{{"vegen", []string{"adressenavn"}}, {"veien", []string{"adressenavn"}},
			{"gata", []string{"adressenavn"}}},
	},
}

var garder = []string{"gard", "bruk", "bruk", "navnegard", "grend"}

// ending is the last part of a name.
type ending struct {
	text  string
	types []string // name types; a place with this ending has one of them
}

// modifiers are separate words that precede one name in nine.
var modifiers = [12]string{
	"Store",
	"Litle",
	"Nordre",
	"Søre",
	"Øvre",
	"Nedre",
	"Indre",
	"Ytre",
	"Gamle",
	"Vesle",
	"Austre",
	"Vestre",
}

// words holds the stems of names.
type words struct {
	stems  []string
	length []int    // length of each stem in characters
	lower  []string // each stem in lower case
	upto   []uint64 // cumulative weights
	sami   map[string][]string
}

func newWords() *words {
	w := &words{stems: strings.Fields(stemText), sami: map[string][]string{}}
	total := uint64(0)
	for r, s := range w.stems {
		total += 10_000_000 / uint64(r+25)
		w.upto = append(w.upto, total)
		w.length = append(w.length, utf8.RuneCountInString(s))
		w.lower = append(w.lower, strings.ToLower(s))
	}
	for line := range strings.Lines(samiText) {
		f := strings.Fields(line)
		w.sami[f[0]] = f[1:]
	}
	return w
}

// stem returns the index of the stem that the random number a selects; common stems are more probable.
func (w *words) stem(a uint64) int {
	a %= w.upto[len(w.upto)-1]
	return sort.Search(len(w.upto), func(r int) bool { return w.upto[r] > a })
}

// built is a generated name and its parts.
type built struct {
	kind     kind
	ending   ending
	stem     int
	modifier string // "" for most names
	core     string // the name without the modifier
}

// name returns the name of a record, determined by the first six values of its chain.
func (w *words) name(c *chain) built {
	var b built
	r := int(c[0] % 100)
	for b.kind = 0; r >= kindTable[b.kind].percent; b.kind++ {
		r -= kindTable[b.kind].percent
	}
	endings := kindTable[b.kind].endings
	b.ending = endings[c[2]%uint64(len(endings))]
	b.stem = w.stem(c[1])
	second := ""
	if c[3]%100 < 34 {
		if s := w.stem(c[4]); w.length[b.stem]+w.length[s] < 13 {
			second = w.lower[s]
		}
	}
	b.core = w.stems[b.stem] + second + b.ending.text
	if c[5]%100 < 11 {
		b.modifier = modifiers[c[5]>>32%uint64(len(modifiers))]
	}
	return b
}

// samiEndings holds the endings of Sami and Kven names by language, with the kinds of places that they fit.
var samiEndings = map[string][]struct {
	text string
	kind kind
}{
	"sme": {{"jávri", kindVann}, {"várri", kindFjell}, {"johka", kindElv}, {"čohkka", kindFjell}, {"oaivi", kindFjell}},
	"smj": {{"jåvrre", kindVann}, {"várre", kindFjell}},
	"sma": {{"jaevrie", kindVann}, {"vaerie", kindFjell}},
	"fkv": {{"järvi", kindVann}, {"vaara", kindFjell}, {"joki", kindElv}},
}

// samiName returns a name in one of the languages of samiEndings. Its ending fits kind k if the language has such an
// ending.
func (w *words) samiName(s *source, language string, k kind) (stem, end string) {
	all := samiEndings[language]
	var fit []string
	for _, e := range all {
		if e.kind == k {
			fit = append(fit, e.text)
		}
	}
	stem = pick(s, w.sami[language])
	if len(fit) == 0 {
		return stem, pick(s, all).text
	}
	return stem, pick(s, fit)
}

// inflections holds other forms of the endings of Northern Sami names: genitive-accusative, illative and locative.
var inflections = map[string][3]string{
	"jávri":  {"jávrri", "jávrái", "jávrris"},
	"várri":  {"vári", "várrái", "váris"},
	"johka":  {"joga", "johkii", "jogas"},
	"čohkka": {"čohka", "čohkkii", "čohkas"},
	"oaivi":  {"oaivvi", "oaivái", "oaivvis"},
}

// respellings are rules for other spellings: the first text, at the end of a name, is replaced by the second.
var respellings = [...][2]string{
	{
		"vatnet",
		"vannet",
	}, {"vannet", "vatnet"}, {"tjønna", "tjenna"}, {"tjernet", "tjennet"}, {"øya", "øyi"}, {"skjeret", "skjæret"},
	{"høgda", "høyda"}, {"vegen", "veien"}, {"veien", "vegen"}, {"hytta", "hytten"}, {"elva", "elven"},
	{"vika", "viken"},
	{"bukta", "bukten"}, {"setra", "sætra"}, {"lia", "lien"}, {"åa", "åen"}, {"fjellet", "fjeldet"}, {"dalen", "dal’n"},
	{
		"haugen",
		"hougen",
	}, {"neset", "nesset"}, {"sundet", "sunnet"}, {"mosen", "mossen"}, {"heim", "hjem"}, {"stad", "sta"},
	{"moen", "moan"}, {"tinden", "tinnen"}, {"myra", "myren"}, {"nuten", "nutten"}, {"gata", "gaten"}, {"gard", "gård"},
	{
		"jávri",
		"jaure",
	}, {"várri", "varre"}, {"johka", "jokka"}, {"čohkka", "cokka"}, {"oaivi", "oaive"}, {"jåvrre", "jaure"},
	{
		"várre",
		"varre",
	}, {"jaevrie", "jaevrje"}, {"vaerie", "varie"}, {"järvi", "jærvi"}, {"vaara", "vara"}, {"joki", "jokki"},
	{
		"å",
		"aa",
	}, {"Å", "Aa"}, {"aa", "å"}, {"tt", "t"}, {"nn", "n"}, {"ll", "l"}, {"ss", "s"}, {"mm", "m"},
	{"kk", "k"}, {"pp", "p"},
	{"s", "ss"}, {"m", "mm"}, {"l", "ll"},
}

// respell returns at most want different spellings of a name according to the rules, none equal to the name.
func respell(name string, want int) []string {
	var out []string
	for _, r := range respellings {
		at := strings.LastIndex(name, r[0])
		doubled := len(r[1]) > len(r[0]) && strings.Contains(name, r[1])
		if len(out) == want || at < 0 || doubled {
			continue
		}
		if other := name[:at] + r[1] + name[at+len(r[0]):]; !slices.Contains(out, other) {
			out = append(out, other)
		}
	}
	return out
}
