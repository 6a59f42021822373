package register

import (
	"slices"
	"sort"
	"strings"
	"time"
)

// place is a place with its names and spellings. It has everything that does not depend on the order of the records.
type place struct {
	id          int64 // the first is 1
	block       int   // number of its block of blockSize places
	chain       chain
	stedsnummer int64
	types       string // navneobjekttype
	kommuner    []int  // indexes of municipalities; the first is the one in which it lies
	fylkesnr    string
	land        string
	status      string
	sluttdato   string // "" if the place still exists
	authority   string
	letter      byte // sortering1, 'A' to 'N'
	number      int  // sortering2, 1 to 99
	general     bool // av allmenn interesse
	priority    string
	shape       shape
	registered  time.Time
	updated     time.Time
	kind        kind

	state     string // navnesakstatus of its names
	raised    time.Time
	decided   time.Time // zero if there is no decision
	complaint time.Time // zero if there is none
	appealed  time.Time // zero if the board of appeal has not decided
	samling   samling   // the combined decision of which it is part
	book      bool      // the book about the local history of its municipality documents its name
	names     []Name
	display   string // visningsnavn
	spellings int
}

// shape is the kind of geometry of a place.
type shape uint8

const (
	shapePoint shape = iota
	shapeMultiPoint
	shapeLine
	shapeArea
)

// Name is one name of a place. Its number is its position in the list, from 1. The display name depends on the exported
// fields only.
type Name struct {
	Language   string // spraak, ISO 639-3
	Status     string // navnestatus
	state      string // navnesakstatus
	origin     string // opphavsspråk; "" if there is none
	exonym     bool
	primary    int64 // id of the name from which this one is derived; 0 if there is none
	registered time.Time
	updated    time.Time
	Spellings  []Spelling
}

// Spelling is one way to write a name. Its number is its position in the list, from 1.
type Spelling struct {
	modifier   string // variasjonstillegg; "" if there is none
	Core       string // kjernenavn; the whole text if there is no modifier
	stem       string // the part before the ending, of a Sami name whose inflection is known; otherwise ""
	ending     string
	kasus      string
	Status     string // skrivemaatestatus
	date       string // of the status, "2006-01-02"
	earlier    string // former status, in force from firstDay; "" if there is none
	Preferred  bool   // prioritert
	registered time.Time
	updated    time.Time
}

// langnavn returns the whole text: variasjonstillegg and kjernenavn in the order given by rekkefølge.
func (s *Spelling) langnavn() string {
	if s.modifier == "" {
		return s.Core
	}
	return s.modifier + " " + s.Core
}

// kortnavn returns the name without variasjonstillegg; nil if it has none.
func (s *Spelling) kortnavn() any {
	if s.modifier == "" {
		return nil
	}
	return s.Core
}

func (s *Spelling) rekkefoelge() string {
	if s.modifier == "" {
		return "kjerne"
	}
	return "variasjon-Kjerne"
}

// Ids are derived from the id of the place, so that a record can refer to another that is not generated yet. A place
// has at most nine names, a name at most nine spellings, and a case at most nine decisions.

func nameID(place int64, n int) int64        { return place*10 + int64(n) }
func spellingID(name int64, n int) int64     { return name*10 + int64(n) }
func caseID(place int64) int64               { return place * 2 }
func complaintCaseID(place int64) int64      { return place*2 + 1 }
func decisionID(navnesak int64, n int) int64 { return navnesak*10 + int64(n) }

// firstDay is the day on which the Norwegian Place Names Act came into force. Half of all statuses have this date.
const firstDay = "1991-07-01"

const dayLayout = "2006-01-02"

var (
	firstMoment = time.Date(1991, 7, 1, 0, 0, 0, 0, time.UTC)
	lastMoment  = time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC)
)

// moment returns a random time, in whole seconds, from lo to hi.
func (s *source) moment(lo, hi time.Time) time.Time {
	return lo.Add(time.Duration(s.next()%uint64(hi.Sub(lo)/time.Second+1)) * time.Second)
}

// times returns when something was registered and last changed, both at or after lo. In three of ten cases they are
// equal.
func (s *source) times(lo time.Time) (registered, updated time.Time) {
	registered = s.moment(lo, lastMoment)
	if s.chance(300) {
		return registered, registered
	}
	return registered, s.moment(registered, lastMoment)
}

// generator generates records. It is not safe for concurrent use.
type generator struct {
	seed    uint64
	words   *words
	country *country
	front   []frontPlace
	lists   []CodeList

	authorities []string
	typeGroups  map[string][2]string // name type -> group, main group
}

// place returns record k, counted from 0.
func (g *generator) place(k int) *place {
	var p *place
	if k < len(g.front) {
		p = g.official(k)
	} else {
		p = g.drawn(uint64(k - len(g.front)))
	}
	p.id = int64(k) + 1
	p.display = DisplayName(p.names, p.priority)
	for i := range p.names {
		p.spellings += len(p.names[i].Spellings)
	}
	return p
}

// drawn returns generated record i.
func (g *generator) drawn(i uint64) *place {
	p := &place{chain: newChain(g.seed, i), stedsnummer: int64(permute(g.seed, i)), block: int(i / blockSize)}
	b := g.words.name(&p.chain)
	p.kind = b.kind
	src := p.chain.part(drawSted)
	p.types = pick(&src, b.ending.types)
	if i < uint64(len(givenPlaces)) {
		return g.given(p, &givenPlaces[i], src)
	}
	g.locate(p, sort.Search(len(g.country.upto), func(k int) bool {
		return g.country.upto[k] > p.chain[drawKommune]%g.country.upto[len(g.country.upto)-1]
	}))
	g.describe(p, &src)
	g.treat(p)

	main := Name{Language: "nor", Status: "hovednavn", state: p.state}
	main.Spellings = []Spelling{{modifier: b.modifier, Core: b.core, kasus: "nevneform", Preferred: true}}
	if p.state == "forenkletVedtak" {
		main.primary = g.primary(i, b.stem)
		if main.primary == 0 {
			main.state, p.state = "ubehandlet", "ubehandlet"
		}
	}
	p.names = append(p.names, main)
	g.moreNames(p, b)
	g.respellings(p)
	g.drawStatuses(p)
	return p
}

// locate sets the municipality of a place; one place in thirty also gets the neighbouring municipality.
func (g *generator) locate(p *place, kommune int) {
	k := &g.country.kommuner[kommune]
	p.kommuner = []int{kommune}
	p.fylkesnr, p.priority = k.FylkeNr, k.priority
	if src := p.chain.part(drawShape); src.chance(33) {
		p.kommuner = append(p.kommuner, k.neighbour)
	}
}

// stedstatuser are the statuses of places, in permille.
var stedstatuser = []weighted{{"aktiv", 950}, {"relikt", 30}, {"planlagt", 10}, {"feilført", 10}}

// abroad holds the neighbouring countries of some counties.
var abroad = map[string][]string{
	"31": {
		"SE",
	}, "34": {"SE"}, countyTrondelag: {"SE"}, countyNordland: {"SE"}, countyTroms: {"SE", "FI"},
	countyFinnmark: {"FI", "RU"},
}

// describe sets what kind of place p is, and its other properties, at random.
func (g *generator) describe(p *place, src *source) {
	p.status = choose(src, stedstatuser)
	p.land = "NO"
	if list := abroad[p.fylkesnr]; list != nil && src.chance(20) {
		p.land = pick(src, list)
	}
	p.authority = g.authority(src, p.kind)
	p.letter = 'A'
	for p.letter < 'L' && src.chance(550) {
		p.letter++
	}
	p.number = src.between(1, 99)
	p.general = src.chance(120)
	shapes := p.chain.part(drawShape)
	shapes.next() // used by locate
	switch r := shapes.under(100); {
	case r < 85:
		p.shape = shapePoint
	case r < 95:
		p.shape = shapeMultiPoint
	case r < 98:
		p.shape = shapeLine
	default:
		p.shape = shapeArea
	}
	times := p.chain.part(drawTimes)
	p.registered, p.updated = times.times(firstMoment)
	if p.status == "relikt" {
		p.sluttdato = times.moment(p.registered, p.updated).Format(dayLayout)
	}
}

// authority returns the authority that decides on a name: the usual one for the kind, or in one case of twenty any.
func (g *generator) authority(src *source, k kind) string {
	if src.chance(50) {
		return pick(src, g.authorities)
	}
	switch {
	case k == kindVeg, k == kindHytte && src.chance(300):
		return "kommune"
	case src.chance(40):
		return "fylkeskommune"
	}
	return "Statens_kartverk"
}

// primary returns the id of the first name of the nearest of the 400 records before i with the same stem; 0 if there is
// none.
func (g *generator) primary(i uint64, stem int) int64 {
	for j := i; j > uint64(len(givenPlaces)) && i-j < 400; {
		j--
		if c := newChain(g.seed, j); g.words.stem(c[1]) == stem {
			return nameID(int64(j)+int64(len(g.front))+1, 1)
		}
	}
	return 0
}

// extraStatus are the statuses of second Norwegian names, in permille.
var extraStatus = []weighted{
	{"sidenavn", 400},
	{"undernavn", 250},
	{"historisk", 200},
	{"avslåttNavnevalg", 90},
	{"feilført", 60},
}

// moreNames adds Sami and Kven names where such languages are used, and a second Norwegian name to one place in twenty.
func (g *generator) moreNames(p *place, b built) {
	src := p.chain.part(drawNames)
	k := &g.country.kommuner[p.kommuner[0]]
	if sami, kven := src.chance(200), src.chance(20); k.sami != "" {
		if sami {
			p.names = append(p.names, g.minority(&src, k.sami, b.kind, p.state))
		}
		if kven && k.kven {
			p.names = append(p.names, g.minority(&src, "fkv", b.kind, p.state))
		}
	}
	if !src.chance(50) {
		return
	}
	stem, end := g.words.stem(src.next()), pick(&src, kindTable[b.kind].endings)
	extra := Name{Language: "nor", Status: choose(&src, extraStatus), state: p.state}
	extra.Spellings = []Spelling{{Core: g.words.stems[stem] + end.text, kasus: "nevneform", Preferred: true}}
	if extra.Status == "sidenavn" && src.chance(300) {
		p.names[0].Status = "sidenavn"
	}
	if src.chance(100) {
		extra.origin = pick(&src, []string{"dan", "swe", "deu"})
	}
	p.names = append(p.names, extra)
}

// minority returns a name in a Sami language or Kven.
func (g *generator) minority(src *source, language string, k kind, state string) Name {
	stem, end := g.words.samiName(src, language, k)
	n := Name{Language: language, Status: "hovednavn", state: state}
	n.Spellings = []Spelling{{Core: stem + end, stem: stem, ending: end, kasus: "nominativ", Preferred: true}}
	return n
}

// respellings adds one or two other spellings to eight names in a hundred.
func (g *generator) respellings(p *place) {
	src := p.chain.part(drawSpellings)
	for i := range p.names {
		n := &p.names[i]
		proposed := n.state == "navnesakReist" && src.chance(500)
		if more := src.chance(80); !more && !proposed {
			continue
		}
		first := n.Spellings[0]
		for _, core := range respell(first.Core, 1+src.under(2)) {
			n.Spellings = append(n.Spellings, Spelling{modifier: first.modifier, Core: core, kasus: first.kasus})
		}
	}
}

// SpellingOrder lists the statuses of spellings, best first.
var SpellingOrder = []string{
	"vedtatt",
	"vedtattNavneledd",
	"godkjent",
	"privat",
	"internasjonal",
	"foreslått",
	"uvurdert",
	"historisk",
	"avslått",
	"avslåttNavneledd",
	"feilført",
}

// NameOrder lists the statuses of names, best first. Names with a status after historisk are displayed only if there is
// no other name.
var NameOrder = []string{"hovednavn", "sidenavn", "undernavn", "historisk", "avslåttNavnevalg", "feilført"}

// languageCodes maps the parts of a code of språkprioritering, such as norsk-nordsamisk, to ISO 639-3 codes.
var languageCodes = map[string]string{
	"norsk": "nor", "nordsamisk": "sme", "lulesamisk": "smj", "sørsamisk": "sma", "skoltesamisk": "sms",
	"kvensk": "fkv",
}

// DisplayName returns the name with which a place is shown. For each language, in the given order, it takes the names
// with the best status in their best spelling. Names of one language are joined by a slash, languages by an en dash.
// Historical names are used only if no language has a better one; rejected and erroneous names only if there is nothing
// else.
func DisplayName(names []Name, priority string) string {
	var parts []string
	eachShown(names, priority, func(list []*Name) {
		texts := make([]string, len(list))
		for i, n := range list {
			texts[i] = n.Best().langnavn()
		}
		parts = append(parts, strings.Join(texts, " / "))
	})
	return strings.Join(parts, " – ")
}

// FirstName returns the first name of the display name.
func FirstName(names []Name, priority string) (first *Name) {
	eachShown(names, priority, func(list []*Name) {
		if first == nil {
			first = list[0]
		}
	})
	return first
}

// eachShown calls fn with the names to show in each language, in the order of languages. Languages that are not in the
// order come last, and only if there are no other names. If there is a name, fn is called at least once.
func eachShown(names []Name, priority string, fn func([]*Name)) {
	for _, worst := range [...]int{2, 3, len(NameOrder) - 1} {
		found := false
		for language := range strings.SplitSeq(priority, "-") {
			if list := shown(names, languageCodes[language], worst); list != nil {
				found = true
				fn(list)
			}
		}
		for i := 0; i < len(names) && !found; i++ {
			if list := shown(names, names[i].Language, worst); list != nil {
				found = true
				fn(list)
			}
		}
		if found {
			return
		}
	}
}

// shown returns the names of one language that have the best status among them; nil if that status comes after index
// worst of NameOrder.
func shown(names []Name, language string, worst int) []*Name {
	var list []*Name
	for i := range names {
		n := &names[i]
		r := slices.Index(NameOrder, n.Status)
		if n.Language != language || r > worst {
			continue
		}
		if r < worst {
			worst, list = r, nil
		}
		list = append(list, n)
	}
	return list
}

// Best returns the spelling with which a name is shown: the preferred one, otherwise the first with the best status.
func (n *Name) Best() *Spelling {
	best := &n.Spellings[0]
	for i := range n.Spellings {
		s := &n.Spellings[i]
		if s.Preferred {
			return s
		}
		if slices.Index(SpellingOrder, s.Status) < slices.Index(SpellingOrder, best.Status) {
			best = s
		}
	}
	return best
}

// Leading returns the spellings that have the best status of the name, with Best first. It is never empty.
func (n *Name) Leading() []*Spelling {
	rank := len(SpellingOrder)
	for i := range n.Spellings {
		rank = min(rank, slices.Index(SpellingOrder, n.Spellings[i].Status))
	}
	var out []*Spelling
	for i := range n.Spellings {
		if s := &n.Spellings[i]; s.Status == SpellingOrder[rank] {
			out = append(out, s)
		}
	}
	return out
}
