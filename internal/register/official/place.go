package official

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for Europe/Oslo on systems without a time zone database
	"unicode"
	"unicode/utf8"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/register"
)

// place is a place as in the official products. It is stored as JSON between the passes of an import.
type place struct {
	Number     int64  // stedsnummer
	LocalID    string `json:",omitempty"`
	Registered time.Time
	Updated    time.Time
	Extracted  time.Time // when it was extracted from the register; zero if not stated
	Type       string
	Group      string         `json:",omitempty"`
	MainGroup  string         `json:",omitempty"`
	Status     string         `json:",omitempty"`
	Land       string         `json:",omitempty"`
	Priority   string         `json:",omitempty"`
	Authority  string         `json:",omitempty"`
	Sort1      string         `json:",omitempty"`
	Sort2      string         `json:",omitempty"`
	General    bool           `json:",omitempty"`
	Kommuner   []placeKommune `json:",omitempty"`
	Names      []placeName    // ordered by number
	Units      []placeUnit    `json:",omitempty"`
	Roads      []placeRoad    `json:",omitempty"`
	Position   []byte         `json:",omitempty"` // WKB in StorageCRS; nil if there is none
	Row        bool           `json:",omitempty"` // one of several rows, see mergeRows
}

type placeKommune struct{ Nr, Navn, FylkeNr, FylkeNavn string }

type placeName struct {
	Number    int
	Status    string
	State     string `json:",omitempty"`
	Language  string
	Origin    string          `json:",omitempty"`
	Exonym    bool            `json:",omitempty"`
	Spellings []placeSpelling // ordered by number
}

type placeSpelling struct {
	Number    int
	Text      string
	Status    string
	Date      string `json:",omitempty"` // "2006-01-02"; "" means the day of the place's update
	Preferred bool   `json:",omitempty"`
}

type placeUnit struct {
	Kommune            string
	Gnr, Bnr, Fnr, Snr int64
	Remark             string `json:",omitempty"`
}

type placeRoad struct {
	Kommune string
	Code    int64
}

// Limits of the numbers of names and spellings. They are parts of ids, which must be exact as JSON numbers (RFC 8259,
// 6) for every valid stedsnummer.
const (
	maxPart   = 999
	maxNumber = 9_007_199_253
)

// Ids of an imported register. The id of a place is its stedsnummer, regardless of what else is imported.

func nameID(stedsnummer int64, number int) int64   { return stedsnummer*1000 + int64(number) }
func spellingID(stedsnavn int64, number int) int64 { return stedsnavn*1000 + int64(number) }

// refusal is the reason why a place is refused. what is the same for all places with that kind of fault; detail is
// about this place.
type refusal struct{ what, detail string }

// Kinds of faults, for refusal.what.
const (
	refusedNumber   = "a number is missing or is none"
	refusedMissing  = "something required is missing"
	refusedCode     = "a code is not well-formed"
	refusedText     = "a text cannot be kept"
	refusedTime     = "a date cannot be read"
	refusedPosition = "the position cannot be read"
	refusedTwice    = "two names or spellings have one number"
	refusedForm     = "the feature has another form"
	refusedRead     = "the feature cannot be read"
)

func (r *refusal) String() string { return r.what + ": " + r.detail }

// builder builds a place and keeps the first fault.
type builder struct {
	place   *place
	refusal *refusal
}

func (b *builder) refuse(what, format string, a ...any) {
	if b.refusal == nil {
		b.refusal = &refusal{what, fmt.Sprintf(format, a...)}
	}
}

// done returns the place in normal form, or the fault.
func (b *builder) done() (*place, *refusal) {
	p := b.place
	if b.refusal == nil && p.Updated.IsZero() {
		b.refuse(refusedMissing, "oppdateringsdato")
	}
	if b.refusal == nil {
		b.settle()
	}
	if b.refusal != nil {
		return nil, b.refusal
	}
	return p, nil
}

// settle sorts names and spellings, and removes those that are identical.
func (b *builder) settle() {
	p := b.place
	if len(p.Names) == 0 {
		b.refuse(refusedMissing, "stedsnavn: the place has no name")
		return
	}
	slices.SortStableFunc(p.Names, func(x, y placeName) int { return x.Number - y.Number })
	for i := range p.Names {
		n := &p.Names[i]
		if len(n.Spellings) == 0 {
			b.refuse(refusedMissing, "skrivemåte: name %d has no spelling", n.Number)
			return
		}
		if i > 0 && n.Number == p.Names[i-1].Number {
			b.refuse(refusedTwice, "stedsnavnnummer %d", n.Number)
			return
		}
		slices.SortStableFunc(n.Spellings, func(x, y placeSpelling) int { return x.Number - y.Number })
		once := n.Spellings[:1]
		for _, s := range n.Spellings[1:] {
			before := &once[len(once)-1]
			if s.Number != before.Number {
				once = append(once, s)
				continue
			}
			if s.Text != before.Text || s.Status != before.Status {
				b.refuse(refusedTwice, "skrivemåtenummer %d of name %d: %q and %q", s.Number, n.Number,
					before.Text, s.Text)
				return
			}
			before.Preferred = before.Preferred || s.Preferred
		}
		n.Spellings = once
	}
}

func (b *builder) integer(what, s string, lo, hi int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	switch {
	case s == "":
		b.refuse(refusedNumber, "%s is missing", what)
	case err != nil || n < lo || n > hi:
		b.refuse(refusedNumber, "%s %q, a whole number from %d to %d", what, short(s), lo, hi)
	}
	return n
}

// code checks the syntax of a code. Whether the list has it is checked later.
func (b *builder) code(list, s string, required bool) string {
	s = strings.TrimSpace(s)
	switch {
	case s == "" && required:
		b.refuse(refusedMissing, "%s", list)
	case s != "" && !wellFormed(s):
		b.refuse(refusedCode, "%s %q: letters, digits, - and _ only, at most 64", list, short(s))
	}
	return s
}

// wellFormed reports whether a text has the syntax of a code.
func wellFormed(s string) bool {
	for _, r := range s {
		if r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return s != "" && utf8.RuneCountInString(s) <= 64
}

// maxText is the largest length of a text of a place in characters.
const maxText = 1000

// text checks a text and returns it trimmed.
func (b *builder) text(what, s string, required bool) string {
	s = strings.TrimSpace(s)
	switch {
	case s == "" && required:
		b.refuse(refusedMissing, "%s", what)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		b.refuse(refusedText, "%s has control characters: %q", what, short(s))
	case utf8.RuneCountInString(s) > maxText:
		b.refuse(refusedText, "%s is longer than %d characters", what, maxText)
	}
	return s
}

// name checks the text of a spelling. Searches must be able to find it.
func (b *builder) name(what, s string) string {
	s = b.text(what, strings.Join(strings.Fields(s), " "), true)
	if utf8.RuneCountInString(s) > maxName {
		b.refuse(refusedText, "%s is longer than %d characters", what, maxName)
	}
	return s
}

// maxName is the largest length of a spelling in characters, the same as in searches.
const maxName = 200

func (b *builder) boolean(what, s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "false", "0", "nei":
		return false
	case "true", "1", "ja":
		return true
	}
	b.refuse(refusedCode, "%s %q is neither true nor false", what, short(s))
	return false
}

// layouts are the accepted layouts of times and dates.
var layouts = [...]string{
	time.RFC3339Nano,
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999",
	time.DateOnly,
	"2006-01-02Z07:00",
	"2006/01/02 15:04:05.999999999Z07",
	"2006/01/02 15:04:05.999999999",
	"2006/01/02",
	"02.01.2006",
	"20060102150405",
	"20060102",
}

// parseTime parses a time or a date with a year from 1 to 9999, the range that JSON can store. Without an offset it is
// a time in Europe/Oslo.
func parseTime(s string) (time.Time, bool) {
	for _, l := range layouts {
		if t, err := time.ParseInLocation(l, s, oslo()); err == nil && t.Year() > 0 && t.UTC().Year() > 0 &&
			t.UTC().Year() < 10000 {
			return t, true
		}
	}
	return time.Time{}, false
}

// moment parses a time and truncates it to whole seconds, as the register has them, in UTC; zero for "".
func (b *builder) moment(what, s string) time.Time {
	s = strings.TrimSpace(s)
	if s == "" {
		return time.Time{}
	}
	t, ok := parseTime(s)
	if !ok {
		b.refuse(refusedTime, "%s %q", what, short(s))
	}
	return t.UTC().Truncate(time.Second)
}

func (b *builder) times(updated, extracted, registered string) {
	p := b.place
	p.Updated, p.Extracted = b.moment("oppdateringsdato", updated), b.moment("datauttaksdato", extracted)
	if p.Registered = b.moment("registreringsdato", registered); p.Registered.IsZero() ||
		p.Registered.After(p.Updated) {
		p.Registered = p.Updated
	}
}

// day parses a date and ignores its offset.
func (b *builder) day(what, s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	t, ok := parseTime(s)
	if !ok {
		b.refuse(refusedTime, "%s %q", what, short(s))
	}
	return t.Format(time.DateOnly)
}

// oslo is the time zone of times without an offset. The time zone database is part of the program.
var oslo = sync.OnceValue(func() *time.Location {
	l, err := time.LoadLocation("Europe/Oslo")
	if err != nil {
		panic("register: " + err.Error())
	}
	return l
})

func isNumber(s string, digits int) bool {
	return len(s) == digits && strings.Trim(s, "0123456789") == ""
}

// kommune adds a municipality unless the place has it already.
func (b *builder) kommune(nr, navn, fylkeNr, fylkeNavn string) {
	nr, fylkeNr = strings.TrimSpace(nr), strings.TrimSpace(fylkeNr)
	if len(nr) == 3 { // a spreadsheet removed the leading zero
		nr = "0" + nr
	}
	if !isNumber(nr, 4) {
		b.refuse(refusedCode, "kommunenummer %q: four digits", short(nr))
		return
	}
	if fylkeNr == "" {
		fylkeNr = nr[:2]
	}
	if len(fylkeNr) == 1 {
		fylkeNr = "0" + fylkeNr
	}
	if !isNumber(fylkeNr, 2) {
		b.refuse(refusedCode, "fylkesnummer %q: two digits", short(fylkeNr))
		return
	}
	if !slices.ContainsFunc(b.place.Kommuner, func(k placeKommune) bool { return k.Nr == nr }) {
		b.place.Kommuner = append(b.place.Kommuner,
			placeKommune{nr, b.text("kommunenavn", navn, false), fylkeNr, b.text("fylkesnavn", fylkeNavn, false)})
	}
}

func (b *builder) add(n placeName) { b.place.Names = append(b.place.Names, n) }

// unit adds a cadastral unit unless the place has it already.
func (b *builder) unit(kommune, gnr, bnr, fnr, snr, remark string) {
	optional := func(what, s string) int64 {
		if s == "" {
			return 0
		}
		return b.integer(what, s, 0, math.MaxInt32)
	}
	u := placeUnit{
		Kommune: kommune,
		Gnr:     b.integer("gårdsnummer", gnr, 0, math.MaxInt32),
		Bnr:     optional("bruksnummer", bnr),
		Fnr:     optional("festenummer", fnr),
		Snr:     optional("seksjonsnummer", snr),
		Remark:  b.text("tilleggsopplysning", remark, false),
	}
	if u.Kommune == "" && len(b.place.Kommuner) > 0 {
		u.Kommune = b.place.Kommuner[0].Nr
	}
	if !isNumber(u.Kommune, 4) {
		b.refuse(refusedCode, "kommunenummer %q of a cadastral unit: four digits", short(u.Kommune))
	}
	same := func(o placeUnit) bool { o.Remark = u.Remark; return o == u }
	if !slices.ContainsFunc(b.place.Units, same) {
		b.place.Units = append(b.place.Units, u)
	}
}

// road adds a road reference unless the place has it already.
func (b *builder) road(kommune, code string) {
	if !isNumber(kommune, 4) {
		b.refuse(refusedCode, "kommunenummer %q of a road: four digits", short(kommune))
	}
	r := placeRoad{kommune, b.integer("adressekode", code, 0, math.MaxInt32)}
	if !slices.Contains(b.place.Roads, r) {
		b.place.Roads = append(b.place.Roads, r)
	}
}

// position sets the position: it transforms a geometry from a supported CRS.
func (b *builder) position(id crs.ID, geometry []byte, err error) {
	if err == nil && geometry != nil {
		geometry, err = transformed(geometry, id)
	}
	if err != nil {
		b.refuse(refusedPosition, "%v", err)
		return
	}
	b.place.Position = geometry
}

// transformed transforms a geometry to register.StorageCRS and removes heights.
func transformed(geometry []byte, from crs.ID) ([]byte, error) {
	fn, err := crs.Between(from, register.StorageCRS)
	if err != nil {
		return nil, err
	}
	if _, err := wkb.Check(geometry); err != nil {
		return nil, err
	}
	domain := from.Domain()
	moved, bad := wkb.AppendPlane(make([]byte, 0, len(geometry)), geometry, func(x, y float64) (float64, float64) {
		if err == nil && (x < domain.Min[0] || x > domain.Max[0] || y < domain.Min[1] || y > domain.Max[1]) {
			err = fmt.Errorf("%v, %v do not exist in %v (longitude or easting first)", x, y, from)
		}
		tx, ty := fn(x, y)
		if err == nil && (!wkb.Valid(tx) || !wkb.Valid(ty)) {
			err = fmt.Errorf("%v, %v of %v cannot be stored", x, y, from)
		}
		return tx, ty
	})
	return moved, errors.Join(bad, err)
}

// short returns a text, shortened and on one line, for a message.
func short(s string) string {
	valid := strings.ToValidUTF8(s, "?")
	if len(s) > 60 {
		valid = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return input.Printable(valid)
}
