package history

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"grense/internal/problem"
)

// Weights say by what a value is shared among several divisions, and by what ratios are averaged.
type Weights string

// The weights.
const (
	RefuseWeights     Weights = "refuse"     // by nothing: what would need it is missing
	PopulationWeights Weights = "population" // people who went along, where the history knows that of all parts
	AreaWeights       Weights = "area"       // square metres that went along, where the history knows that of all parts
	SuppliedWeights   Weights = "supplied"   // the caller's own
)

// Mark says what is known of a cell.
type Mark string

// The marks.
const (
	Exact     Mark = "exact"     // the value is made of whole divisions
	Estimated Mark = "estimated" // some part of it comes by weights
	Missing   Mark = "missing"   // it cannot be known from what there is
)

// SeriesOptions say how a series is harmonised.
type SeriesOptions struct {
	To       Date    // whose divisions are wanted
	Ratio    bool    // values are shares, means or rates, which are averaged; else they are added
	Weights  Weights // "": RefuseWeights
	Supplied []SuppliedWeight
	MaxCells int // of the answer, or with Spill of one day; 0: a million
	MaxKeys  int // days, and what else values are of, of which each has 100 bytes on average; 0: a million
	// Spill is a folder for a file of values that do not fit into memory; "": none, and all of the series has at most
	// MaxCells.
	Spill    string
	Interval bool // cells have the least and the largest value that they may have
	// Pause is called between pieces of work while the answer is computed, and ends it by its error; nil: nothing is.
	Pause func() error
}

// SuppliedWeight is a weight of the caller. With To, it is how much of Code goes there, compared with the other
// weights of Code; without, how much Code counts in a mean. Of one without a Date, Date is 0; it holds on every day
// for which there is none with that day.
type SuppliedWeight struct {
	Code   string
	Date   Date
	To     string
	Weight string // a number that is not negative
}

// Cell is a value of a division on the requested day.
type Cell struct {
	Code, Name string
	Date       Date // of the series
	By         string
	Value      string // "" when it is missing; decimal, never with an exponent
	Low, High  string // between which the value is, with SeriesOptions.Interval; "" where nothing is known
	Mark       Mark
	Why        string // why it is missing or estimated
}

// SeriesReport counts what became of a series.
type SeriesReport struct {
	Rows      int    `json:"rows"`
	Empty     int    `json:"empty"`             // without a value
	Skipped   int    `json:"skipped,omitempty"` // that could not be read
	Unknown   int    `json:"unknown"`           // whose code was not in use on their day
	Restored  int    `json:"restoredCodes"`     // matched with the zeros that they had lost
	Exact     int    `json:"exact"`
	Estimated int    `json:"estimated"`
	Missing   int    `json:"missing"`
	Total     string `json:"total,omitempty"`  // of all values; not of ratios
	Placed    string `json:"placed,omitempty"` // of those in cells
	// of those that no cell has: Total is Placed and LeftOut, to the last digit
	LeftOut string `json:"leftOut,omitempty"`
	// Faults are the first of the rows that could not be read.
	Faults []SkippedRow `json:"faults,omitempty"`
}

// SkippedRow is a row that SeriesColumns.Skip passed over, and why.
type SkippedRow struct {
	Row    int    `json:"row"`
	Reason string `json:"reason"`
}

// ErrTooMany reports a series with more cells than are kept.
var ErrTooMany = errors.New("history: the series has too many cells")

// Series takes the values of divisions of many days to the divisions of one. Undone mergers are followed as Translate
// does. Numbers are decimal and exact: what is shared by weights is rounded to the digits of the value so that the
// parts sum to it. It holds the values, not the rows, in memory, with SeriesOptions.Spill those of one day. It is for
// one goroutine. Close it.
type Series struct {
	s      *Scheme
	o      SeriesOptions
	days   map[Date]*seriesDay
	values map[seriesKey]decimal // in memory
	blocks []blockKey
	number map[blockKey]int32 // of blocks
	texts  int                // bytes of what else values are of
	file   *spill             // nil: all values are in memory
	commas bool               // a number has a decimal comma
	report SeriesReport
	total  decimal
	comma  rune // between the values of the table that was read; 0: none was
	codes  map[Date]*Translator
	split  map[weightKey]*big.Rat
	mean   map[weightKey]*big.Rat
}

// blockKey is a day, and what else values of it are of.
type blockKey struct {
	date Date
	by   string
}

// seriesKey is the place of a value: its block, and the version on the day.
type seriesKey struct{ block, version int32 }

type weightKey struct {
	code string
	date Date
	to   string
}

// seriesDay is how the divisions of a day lead to those wanted.
type seriesDay struct {
	leads map[int32][]int32 // from version to versions
	parts map[int32][]int32 // the other way
	moved map[int32][]int32 // transfers that a version loses territory by on the way
	lost  map[int32]bool    // of which something is nowhere
	back  map[int32]bool    // the same of versions wanted, back to the day; filled on demand
}

// NewSeries returns an empty Series. An error names a weight that is none.
func (s *Scheme) NewSeries(o SeriesOptions) (*Series, error) {
	if o.Weights == "" {
		o.Weights = RefuseWeights
	}
	if o.MaxCells == 0 {
		o.MaxCells = 1_000_000
	}
	if o.MaxKeys == 0 {
		o.MaxKeys = 1_000_000
	}
	if o.Pause == nil {
		o.Pause = func() error { return nil }
	}
	x := &Series{
		s: s, o: o, days: map[Date]*seriesDay{}, values: map[seriesKey]decimal{}, number: map[blockKey]int32{},
		split: map[weightKey]*big.Rat{}, mean: map[weightKey]*big.Rat{},
	}
	for _, w := range o.Supplied {
		d, err := parseDecimal(w.Weight)
		if err != nil || d.n.Sign() < 0 {
			return nil, problem.Sayf("the weight %q of %s is no number from 0", w.Weight, w.Code)
		}
		if w.To == "" {
			x.mean[weightKey{w.Code, w.Date, ""}] = d.rat()
		} else {
			x.split[weightKey{w.Code, w.Date, w.To}] = d.rat()
		}
	}
	return x, nil
}

// Add takes one value: of a code of a day, and of what else it is of. An empty value, NA, ".", "..", ":" and "-" are
// none. A code may have a prefix or a name with it, as K-0301 and "0301 Oslo". A code that was not in use is counted,
// and reported by an error of which NotUsed holds, which is no reason to end; any other is, and leaves the series as
// it was.
func (x *Series) Add(code string, date Date, by, value string) error {
	if isNone(value) {
		x.report.Rows++
		x.report.Empty++
		return nil
	}
	v, commas, err := parseValue(value, x.comma)
	if err != nil {
		return err
	}
	n, restored, err := x.version(code, date)
	if err != nil {
		x.report.Rows++
		x.report.Unknown++
		x.count(v)
		return fmt.Errorf("%s on %s: %w", code, date, err)
	}
	block, err := x.block(blockKey{date, by})
	if err != nil {
		return err
	}
	at := seriesKey{block, n}
	if _, twice := x.values[at]; twice {
		return problem.Sayf("%s on %s stands twice; name the columns that tell the rows apart", code, date)
	}
	if len(x.values) == x.o.MaxCells {
		if x.o.Spill == "" {
			return fmt.Errorf("%w: %w", ErrTooMany,
				problem.Sayf("more than %d values; harmonise it in parts", x.o.MaxCells))
		}
		if err := x.flush(); err != nil {
			return err
		}
	}
	x.values[at] = v
	x.report.Rows++
	if restored {
		x.report.Restored++
	}
	x.commas = x.commas || commas
	x.count(v)
	return nil
}

// count adds a value to the total.
func (x *Series) count(v decimal) {
	if !x.o.Ratio {
		x.total = x.total.add(v)
	}
}

// block is the number of the values of a day and of what else they are of. Both are held in memory.
func (x *Series) block(k blockKey) (int32, error) {
	if n, ok := x.number[k]; ok {
		return n, nil
	}
	const textPerKey = 100
	x.texts += len(k.by)
	switch most := x.o.MaxKeys; {
	case len(x.blocks) == most:
		return 0, fmt.Errorf("%w: %w", ErrTooMany,
			problem.Sayf("more than %d days and texts of columns; harmonise it in parts", most))
	case x.texts > textPerKey*most:
		return 0, fmt.Errorf("%w: %w", ErrTooMany,
			problem.Sayf("the texts of columns have more than %d bytes; harmonise it in parts", textPerKey*most))
	}
	k.by = strings.Clone(k.by) // of a whole row
	n := int32(len(x.blocks))
	x.number[k] = n
	x.blocks = append(x.blocks, k)
	return n, nil
}

// sorted is the places of the values in memory, by day.
func (x *Series) sorted() []seriesKey {
	return slices.SortedFunc(maps.Keys(x.values), func(a, b seriesKey) int {
		return cmp.Or(int(x.blocks[a.block].date)-int(x.blocks[b.block].date), int(a.block-b.block),
			int(a.version-b.version))
	})
}

// version finds the version of a code of a day, as tables write codes. restored says that the code had lost zeros.
func (x *Series) version(code string, date Date) (n int32, restored bool, err error) {
	n, err = x.s.at(code, date)
	if !errors.Is(err, ErrUnknown) {
		return n, false, err
	}
	bare := bareCode(code)
	if n, e := x.s.at(bare, date); !errors.Is(e, ErrUnknown) {
		return n, false, e
	}
	if r := x.codesOf(date).restore(bare); r != nil {
		return x.s.number(r), true, nil
	}
	return -1, false, err
}

// codesOf returns the translator of the codes of a day; some are kept.
func (x *Series) codesOf(d Date) *Translator {
	if t := x.codes[d]; t != nil {
		return t
	}
	const most = 100
	if x.codes == nil || len(x.codes) == most {
		x.codes = map[Date]*Translator{}
	}
	x.codes[d] = x.s.NewTranslator(d, x.o.To, ChooseList)
	return x.codes[d]
}

func (x *Series) day(d Date) *seriesDay {
	if day := x.days[d]; day != nil {
		return day
	}
	day := &seriesDay{
		leads: map[int32][]int32{}, parts: map[int32][]int32{}, moved: map[int32][]int32{},
		lost: map[int32]bool{}, back: map[int32]bool{},
	}
	for i := range x.s.Versions {
		if !x.s.Versions[i].Holds(d) {
			continue
		}
		to := x.s.lead(int32(i), d, x.o.To)
		day.leads[int32(i)] = to.to
		if to.moves != nil {
			day.moved[int32(i)] = to.moves
		}
		if to.lost {
			day.lost[int32(i)] = true
		}
		for _, n := range to.to {
			day.parts[n] = append(day.parts[n], int32(i))
		}
	}
	const most = 50 // of which each knows where all divisions went
	if len(x.days) == most {
		clear(x.days)
	}
	x.days[d] = day
	return day
}

// Cells calls fn for each division that the values lead to, on each day, in the order of days, then of what else the
// values are of, then of codes. A division that has a cell on one day has one on each.
func (x *Series) Cells(fn func(Cell) error) (SeriesReport, error) {
	order := make([]int32, len(x.blocks)) // of blocks, by day and by what else they are of
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(int(x.blocks[a].date)-int(x.blocks[b].date), strings.Compare(x.blocks[a].by, x.blocks[b].by))
	})
	if x.file != nil {
		if err := x.flush(); err != nil {
			return x.report, err
		}
	}
	targets, err := x.targets()
	if err != nil {
		return x.report, err
	}
	if x.o.Spill == "" && len(targets)*len(order) > x.o.MaxCells {
		return x.report, fmt.Errorf("%w: %w", ErrTooMany,
			problem.Sayf("%d divisions on %d days; harmonise it in parts", len(targets), len(order)))
	}
	r, placed := x.report, decimal{}
	for len(order) > 0 {
		d := x.blocks[order[0]].date
		values, err := x.load(d)
		if err != nil {
			return r, err
		}
		for ; len(order) > 0 && x.blocks[order[0]].date == d; order = order[1:] {
			if err := x.o.Pause(); err != nil {
				return r, err
			}
			by := x.blocks[order[0]].by
			b := &seriesBlock{
				x:      x,
				day:    x.day(d),
				date:   d,
				number: order[0],
				values: values,
				shared: map[int32]map[int32]decimal{},
			}
			for _, n := range targets {
				c, v := b.cell(n)
				c.Date, c.By = d, by
				switch c.Mark {
				case Missing:
					r.Missing++
				case Estimated:
					r.Estimated++
				default:
					r.Exact++
				}
				if c.Mark != Missing {
					c.Value = v.String()
					placed = placed.add(v)
				}
				if x.o.Interval {
					c.Low, c.High = b.interval(n, c)
				}
				if err := fn(c); err != nil {
					return r, err
				}
			}
		}
	}
	if !x.o.Ratio {
		r.Total, r.Placed, r.LeftOut = x.total.String(), placed.String(), x.total.sub(placed).String()
	}
	return r, nil
}

// whole reports whether all of a version is in one division.
func (d *seriesDay) whole(p int32) bool { return len(d.leads[p]) == 1 && !d.lost[p] }

// lacks reports whether something of a version of the day wanted has no counterpart on the day of the values.
func (d *seriesDay) lacks(x *Series, n int32, date Date) bool {
	lost, known := d.back[n]
	if !known {
		lost = x.s.lead(n, x.o.To, date).lost
		d.back[n] = lost
	}
	return lost
}

// targets are the versions that some value leads to, in order.
func (x *Series) targets() ([]int32, error) {
	wanted := map[int32]bool{}
	lead := func(d Date, version int32) {
		for _, to := range x.day(d).leads[version] {
			wanted[to] = true
		}
	}
	last := Date(0)
	for _, at := range x.sorted() {
		d := x.blocks[at.block].date
		if d != last {
			if err := x.o.Pause(); err != nil {
				return nil, err
			}
			last = d
		}
		lead(d, at.version)
	}
	err := x.file.days(func(d Date) error {
		if err := x.o.Pause(); err != nil {
			return err
		}
		return x.file.each(d, func(at seriesKey, _ decimal) error { lead(d, at.version); return nil })
	})
	return slices.Sorted(maps.Keys(wanted)), err
}

// interval is the least and the largest value that a cell may have; "" where a part of it has no value. Of a division
// that became several, between nothing and all may be in each.
func (b *seriesBlock) interval(n int32, c Cell) (low, high string) {
	if c.Mark == Exact {
		return c.Value, c.Value
	}
	parts := b.day.parts[n]
	if len(parts) == 0 || b.day.lacks(b.x, n, b.date) {
		return "", ""
	}
	var least, most decimal
	for i, p := range parts {
		v, ok := b.value(p)
		switch {
		case !ok, b.x.o.Ratio && !b.day.whole(p):
			return "", ""
		case b.x.o.Ratio: // a mean is between its parts
			if i == 0 || v.rat().Cmp(least.rat()) < 0 {
				least = v
			}
			if i == 0 || v.rat().Cmp(most.rat()) > 0 {
				most = v
			}
		case b.day.whole(p):
			least, most = least.add(v), most.add(v)
		case v.n.Sign() < 0:
			least = least.add(v)
		default:
			most = most.add(v)
		}
	}
	return least.String(), most.String()
}

// seriesBlock is the values of one day.
type seriesBlock struct {
	x      *Series
	day    *seriesDay
	date   Date
	number int32                       // of the block
	values map[seriesKey]decimal       // of the day, or of more
	shared map[int32]map[int32]decimal // what of a value goes where; nil for what cannot be shared
	sums   map[placeOn]*big.Rat
}

// value is that of a version; false when there is none.
func (b *seriesBlock) value(version int32) (decimal, bool) {
	v, ok := b.values[seriesKey{b.number, version}]
	return v, ok
}

// at is the value of a version that has one.
func (b *seriesBlock) at(version int32) decimal { return b.values[seriesKey{b.number, version}] }

// cell is the value of one division wanted.
func (b *seriesBlock) cell(n int32) (Cell, decimal) {
	v := &b.x.s.Versions[n]
	c := Cell{Code: v.Code, Name: v.Name, Mark: Exact}
	parts := b.day.parts[n]
	var lack []string
	for _, p := range parts {
		if _, ok := b.value(p); !ok {
			lack = append(lack, b.x.s.Versions[p].Code)
		}
	}
	switch {
	case len(parts) == 0:
		c.Mark, c.Why = Missing, "nothing on "+b.date.String()+" became it"
		return c, decimal{}
	case lack != nil:
		c.Mark, c.Why = Missing, "no value of "+strings.Join(lack, ", ")
		return c, decimal{}
	case b.day.lacks(b.x, n, b.date):
		c.Mark, c.Why = Missing, "a part of it was nothing on "+b.date.String()
		return c, decimal{}
	case b.x.o.Ratio:
		return b.ratio(c, n, parts)
	}
	sum := decimal{}
	for _, p := range parts {
		if b.day.whole(p) {
			sum = sum.add(b.at(p))
			continue
		}
		code := b.x.s.Versions[p].Code
		shares := b.share(p)
		if shares == nil {
			c.Mark, c.Why = Missing, b.refusal(p)
			return c, decimal{}
		}
		c.Mark, c.Why = Estimated, "a part of "+code+" by "+string(b.x.o.Weights)
		sum = sum.add(shares[n])
	}
	return c, sum
}

// turned says what happened to a version that leads to several.
func (b *seriesBlock) turned(p int32) string {
	code := b.x.s.Versions[p].Code
	moves := b.day.moved[p]
	switch {
	case b.day.lost[p]:
		return "a part of " + code + " has no counterpart"
	case moves == nil || len(b.x.s.reach(p, b.date, b.x.o.To, nil)) > 1:
		return code + " became several"
	}
	e := &b.x.s.Edges[moves[0]]
	return "territory of " + e.From.Code + " moved to " + e.To.Code + " on " + e.date.String()
}

func (b *seriesBlock) refusal(p int32) string {
	if b.x.o.Weights == RefuseWeights {
		return b.turned(p) + ", and no weights are to be used"
	}
	return b.turned(p) + ", and by " + string(b.x.o.Weights) + " it is not known how much is where"
}

// share parts a value among the divisions that it goes to, so that the parts sum to it; nil when it is not known how.
func (b *seriesBlock) share(p int32) map[int32]decimal {
	if got, ok := b.shared[p]; ok {
		return got
	}
	var out map[int32]decimal
	if shares := b.weights(p); shares != nil {
		out = parted(b.at(p), b.day.leads[p], shares)
	}
	b.shared[p] = out
	return out
}

// weights are how much of a division goes where, in all 1; nil when that is not known.
func (b *seriesBlock) weights(p int32) []*big.Rat {
	v, to := &b.x.s.Versions[p], b.day.leads[p]
	if b.day.lost[p] {
		return nil
	}
	out := make([]*big.Rat, len(to))
	switch b.x.o.Weights {
	case SuppliedWeights:
		became := b.x.s.reach(p, b.date, b.x.o.To, nil)
		for i, n := range to {
			out[i] = find(b.x.split, weightKey{v.Code, b.date, b.x.s.Versions[n].Code})
			if out[i] == nil && !slices.Contains(became, n) { // territory that moved, of which the caller says nothing
				out[i] = new(big.Rat)
			}
		}
	case PopulationWeights, AreaWeights:
		var known map[int32]*big.Rat
		switch {
		case b.x.s.smaller != nil:
			return nil
		case b.day.moved[p] != nil:
			known = b.movedShares(p, b.x.o.To)
		case v.From > b.x.o.To:
			return nil
		default:
			known = b.x.s.sharesBy(p, b.x.o.To, b.x.weightOf())
		}
		for i, n := range to {
			out[i] = known[n]
		}
	default:
		return nil
	}
	sum := new(big.Rat)
	for _, w := range out {
		if w == nil {
			return nil
		}
		sum.Add(sum, w)
	}
	if sum.Sign() == 0 {
		return nil
	}
	for i, w := range out {
		out[i] = new(big.Rat).Quo(w, sum)
	}
	return out
}

// find is a weight of a day, else the one of no day; nil when there is none.
func find(m map[weightKey]*big.Rat, k weightKey) *big.Rat {
	if w := m[k]; w != nil {
		return w
	}
	k.date = 0
	return m[k]
}

// ratioDigits is how many digits a mean has more than the value with most.
const ratioDigits = 2

// ratio is the mean of what a division is made of. Parts that all have the same value need no weights; of a division
// that became several each part has its value, as an estimate.
func (b *seriesBlock) ratio(c Cell, n int32, parts []int32) (Cell, decimal) {
	same := true
	scale := 0
	for _, p := range parts {
		same = same && b.at(p).rat().Cmp(b.at(parts[0]).rat()) == 0
		scale = max(scale, b.at(p).scale)
		if b.day.whole(p) {
			continue
		}
		if b.x.o.Weights == RefuseWeights {
			c.Mark, c.Why = Missing, b.refusal(p)
			return c, decimal{}
		}
		c.Mark, c.Why = Estimated, b.turned(p)+", which are taken to be alike"
	}
	if same {
		return c, b.at(parts[0])
	}
	sum, all := new(big.Rat), new(big.Rat)
	for _, p := range parts {
		code := b.x.s.Versions[p].Code
		w := find(b.x.mean, weightKey{code, b.date, ""})
		if b.x.o.Weights != SuppliedWeights || w == nil {
			c.Mark, c.Why = Missing, "how much "+code+" counts in the mean is not known; supply weights"
			return c, decimal{}
		}
		if to := b.day.leads[p]; len(to) > 1 {
			shares := b.weights(p)
			if shares == nil {
				c.Mark, c.Why = Missing, b.refusal(p)
				return c, decimal{}
			}
			w = new(big.Rat).Mul(w, shares[slices.Index(to, n)])
		}
		sum.Add(sum, new(big.Rat).Mul(w, b.at(p).rat()))
		all.Add(all, w)
	}
	if all.Sign() == 0 {
		c.Mark, c.Why = Missing, "the weights are all 0"
		return c, decimal{}
	}
	if c.Mark == Exact {
		c.Mark, c.Why = Estimated, "a mean by "+string(b.x.o.Weights)
	}
	return c, rounded(sum.Quo(sum, all), scale+ratioDigits)
}
