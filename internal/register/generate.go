package register

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"grense/internal/cql2/fold"
	"grense/internal/demo"
	"grense/internal/store"
)

// Version identifies the output of Generate. It changes whenever a row of a register of 3,000 places, the folding of
// texts, or the description of the collections changes.
const Version = rowsVersion + "-" + fold.NormVersion + "-" + described

// described is a number that must be increased when the description of the collections changes.
const described = "2"

// rowsVersion is a checksum of the rows.
const rowsVersion = "3c56740a"

// Options are the options of Generate.
type Options struct {
	// number of places, from 1 to MaxPlaces; the first 729 are counties, municipalities and towns
	Places int
	// the same seed gives the same register; except for rang, a smaller register is the beginning of a larger one
	Seed     uint64
	Set      *demo.Set             // the divisions; nil to generate them
	Progress func(done, total int) // called from time to time with steps done and in all; may be nil
}

// progressStep is the number of steps between calls of Progress and checks of the context.
const progressStep = 5_000

// Date returns the date that a generated register states for its data: the first day on which its divisions were in
// force.
func Date() time.Time { return time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC) }

// Generate defines the collections of the register in w, replacing existing ones, and writes all their rows. The rows
// and their order depend only on o.Places and o.Seed. It needs about 150 bytes of memory per place. The caller commits.
func Generate(ctx context.Context, w store.Writer, o Options) error {
	if o.Places < 1 || o.Places > MaxPlaces {
		return fmt.Errorf("register: %d places: must be from 1 to %d", o.Places, MaxPlaces)
	}
	g, err := newGenerator(o)
	if err != nil {
		return err
	}
	for _, c := range Collections() {
		for lang, text := range c.Description {
			c.Description[lang] = text + " " + store.InventedContent[lang]
		}
		if err := w.Define(ctx, c, true); err != nil {
			return fmt.Errorf("register: collection %s: %w", c.ID, err)
		}
	}
	out, err := NewOutput(ctx, w)
	if err != nil {
		return err
	}
	ranks, err := g.rank(ctx, o)
	if err != nil {
		return err
	}
	r := &recorder{generator: g, Output: out, ranks: ranks, groups: map[samling]*samlegruppe{}}
	r.codes()
	r.library()
	for k := range o.Places {
		if err := step(ctx, o, o.Places+k); err != nil {
			return err
		}
		r.record(k)
		if out.Err != nil {
			return out.Err
		}
	}
	r.flush()
	if o.Progress != nil {
		o.Progress(2*o.Places, 2*o.Places)
	}
	return out.Err
}

// step reports progress, and returns an error if the context has ended.
func step(ctx context.Context, o Options, done int) error {
	if done%progressStep != 0 {
		return nil
	}
	if o.Progress != nil {
		o.Progress(done, 2*o.Places)
	}
	return ctx.Err()
}

func newGenerator(o Options) (*generator, error) {
	set, err := o.Set, error(nil)
	if set == nil {
		if set, err = demo.Divisions(); err != nil {
			return nil, fmt.Errorf("register: %w", err)
		}
	}
	g := &generator{seed: o.Seed, words: newWords(), country: newCountry(set), typeGroups: map[string][2]string{}}
	if g.lists, err = codeLists(set); err != nil {
		return nil, err
	}
	g.front = frontPlaces(g.country)
	main := map[string]string{}
	for _, c := range g.list("navneobjektgruppe") {
		main[c.ID] = c.Parent
	}
	for _, c := range g.list("navneobjekttype") {
		g.typeGroups[c.ID] = [2]string{c.Parent, main[c.Parent]}
	}
	for _, c := range g.list("vedtaksmyndighet") {
		g.authorities = append(g.authorities, c.ID)
	}
	return g, nil
}

// list returns the codes of a list.
func (g *generator) list(id string) []Code {
	i := slices.IndexFunc(g.lists, func(l CodeList) bool { return l.ID == id })
	return g.lists[i].Codes
}

// rank holds the position, from 1, of a place among all places, of its first name and of its first spelling.
type rank struct{ sted, stedsnavn, skrivemaate uint32 }

// rank generates all records once and sorts them: by importance, most important first; then by display name in
// Norwegian alphabetical order; then by number.
func (g *generator) rank(ctx context.Context, o Options) ([]rank, error) {
	type key struct {
		importance       uint16
		names, spellings uint8
		number           uint32
		end              uint32 // end of its collation key in keys
	}
	var (
		keys  []byte // all keys in one slice, which needs less memory than a slice per key
		sort  = make([]key, o.Places)
		buf   collate.Buffer
		order = NorwegianOrder()
	)
	for k := range o.Places {
		if err := step(ctx, o, k); err != nil {
			return nil, err
		}
		p := g.place(k)
		keys = append(keys, order.KeyFromString(&buf, p.display)...)
		buf.Reset()
		sort[k] = key{
			uint16(p.letter)<<8 | uint16(p.number),
			uint8(len(p.names)),
			uint8(p.spellings),
			uint32(p.stedsnummer),
			uint32(len(keys)),
		}
	}
	collation := func(k int32) []byte {
		if k == 0 {
			return keys[:sort[0].end]
		}
		return keys[sort[k-1].end:sort[k].end]
	}
	byRank := make([]int32, o.Places)
	for k := range byRank {
		byRank[k] = int32(k)
	}
	slices.SortFunc(byRank, func(a, b int32) int {
		return cmp.Or(cmp.Compare(sort[b].importance, sort[a].importance), bytes.Compare(collation(a), collation(b)),
			cmp.Compare(sort[a].number, sort[b].number))
	})
	ranks := make([]rank, o.Places)
	next := rank{1, 1, 1}
	for _, k := range byRank {
		ranks[k] = next
		next.sted++
		next.stedsnavn += uint32(sort[k].names)
		next.skrivemaate += uint32(sort[k].spellings)
	}
	return ranks, nil
}

// NorwegianOrder returns a collator that sorts æ, ø and å after z, and aa as å. Package collate has such tables only
// for Nynorsk; for Bokmål it would use the default order.
func NorwegianOrder() *collate.Collator { return collate.New(language.MustParse("nn")) }

// codes writes the code lists and their titles.
func (r *recorder) codes() {
	for i := range r.lists {
		r.PutList(i, &r.lists[i])
	}
	for i, f := range r.country.fylker {
		r.Put("vedtaksomraade", int64(i+1), f.Navn, f.Nr)
	}
}

// library writes books and map products.
func (r *recorder) library() {
	for _, b := range r.books() {
		all := b.tittel + " " + b.forfatter + " " + b.utgiver + " " + isbnDigits(b.isbn)
		r.Put("bok", b.id, b.tittel, fold.Norm(b.tittel), b.isbn, b.utgave, fold.Norm(b.utgave), b.forfatter, b.utgiver,
			fold.Norm(b.utgiver), int64(b.aar), b.offentlig, all, fold.Norm(all), b.rang)
		r.bookYears = append(r.bookYears, b.aar)
		r.bookPublic = append(r.bookPublic, b.offentlig)
	}
	for _, c := range r.charts() {
		r.Put("kartprodukt", c.id, c.karttype, c.blad, fold.Norm(c.blad), int64(c.aar), c.utgiver, OrNull(c.skann))
		r.chartYears = append(r.chartYears, c.aar)
	}
}

// yearDay returns 1 January of a year, "2006-01-02".
func yearDay(year int) string { return strconv.Itoa(year) + "-01-01" }
