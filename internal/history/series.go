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

// Weights are the weights by which a value is divided among several divisions, and by which ratios are averaged.
type Weights string

// Kinds of weights.
const (
	RefuseWeights     Weights = "refuse"     // none: a cell that would need weights is Missing
	PopulationWeights Weights = "population" // number of people in each part; needs the numbers of all parts
	AreaWeights       Weights = "area"       // area of each part; needs the areas of all parts
	SuppliedWeights   Weights = "supplied"   // weights that the caller supplies
)

// Mark states how a cell was obtained.
type Mark string

// Values of Mark.
const (
	Exact     Mark = "exact"     // the sum of values of whole divisions
	Estimated Mark = "estimated" // a part of the value was calculated with weights
	Missing   Mark = "missing"   // cannot be calculated
)

// SeriesOptions are the options for converting a series to the divisions of one day.
type SeriesOptions struct {
	To       Date    // the day whose divisions the cells are for
	Ratio    bool    // values are shares, means or rates, which are averaged; otherwise they are added
	Weights  Weights // "" means RefuseWeights
	Supplied []SuppliedWeight
	MaxCells int // largest number of cells in the result, with Spill of one day; 0 means a million
	MaxKeys  int // largest number of combinations of day and other columns, of 100 bytes on average; 0 means a million
	// Spill is a directory for a temporary file of values. If set, only the values of one day have to fit in memory; if
	// "", the whole series may have at most MaxCells values.
	Spill    string
	Interval bool // calculate Cell.Low and Cell.High
	// Pause is called regularly during the calculation. If it returns an error, the calculation ends with that error.
	// nil means that there is no such function.
	Pause func() error
}

// SuppliedWeight is a weight supplied by the caller. If To is set, it is the weight of the part of Code that goes to
// To, relative to the other weights of Code; otherwise it is the weight of Code in a mean. If Date is 0, it applies to
// every day for which there is no weight with that date.
type SuppliedWeight struct {
	Code   string
	Date   Date
	To     string
	Weight string // a decimal number of at least 0
}

// Cell is the value of one division of the requested day.
type Cell struct {
	Code, Name string
	Date       Date // day of the values from which it is calculated
	By         string
	Value      string // decimal without exponent; "" if missing
	Low, High  string // bounds of the value if SeriesOptions.Interval is set; "" if not known
	Mark       Mark
	Why        string // reason if it is missing or estimated
}

// SeriesReport holds counts of the rows and cells of a series.
type SeriesReport struct {
	Rows      int    `json:"rows"`
	Empty     int    `json:"empty"`             // rows without a value
	Skipped   int    `json:"skipped,omitempty"` // rows that could not be read
	Unknown   int    `json:"unknown"`           // rows whose code was not in use on their day
	Restored  int    `json:"restoredCodes"`     // codes that matched after their leading zeros were restored
	Exact     int    `json:"exact"`
	Estimated int    `json:"estimated"`
	Missing   int    `json:"missing"`
	Total     string `json:"total,omitempty"`  // sum of all values; not for ratios
	Placed    string `json:"placed,omitempty"` // sum of the values in cells
	// sum of the values in no cell; Total is exactly Placed plus LeftOut
	LeftOut string `json:"leftOut,omitempty"`
	// Faults are the first of the rows that could not be read.
	Faults []SkippedRow `json:"faults,omitempty"`
}

// SkippedRow is a row that was skipped because of SeriesColumns.Skip, and the reason.
type SkippedRow struct {
	Row    int    `json:"row"`
	Reason string `json:"reason"`
}

// ErrTooMany is the error for a series with more cells than allowed.
var ErrTooMany = errors.New("history: the series has too many cells")

// Series converts values of divisions of many days to the divisions of one day. It follows mergers that were undone as
// Scheme.Translate does. Numbers are decimal and exact: a value divided by weights is rounded to its own number of
// decimals, such that the parts sum to it. Series keeps the values of all days in memory; if SeriesOptions.Spill is
// set, those of one day. It is not safe for concurrent use. Close it after use.
type Series struct {
	s      *Scheme
	o      SeriesOptions
	days   map[Date]*seriesDay
	values map[seriesKey]decimal // values in memory
	blocks []blockKey
	number map[blockKey]int32 // index into blocks
	texts  int                // total length of blockKey.by in bytes
	file   *spill             // nil if all values are in memory
	commas bool               // some number has a decimal comma
	report SeriesReport
	total  decimal
	comma  rune // separator of the CSV table that was read; 0 if none was
	codes  map[Date]*Translator
	split  map[weightKey]*big.Rat
	mean   map[weightKey]*big.Rat
}

// blockKey identifies the values of one day that have the same values in the columns SeriesColumns.By.
type blockKey struct {
	date Date
	by   string
}

// seriesKey identifies a value: by the index of its block and the version valid on that day.
type seriesKey struct{ block, version int32 }

type weightKey struct {
	code string
	date Date
	to   string
}

// seriesDay holds how the divisions of one day correspond to those of the requested day.
type seriesDay struct {
	leads map[int32][]int32 // versions of the requested day that each version became
	parts map[int32][]int32 // the reverse of leads
	moved map[int32][]int32 // transfers by which a version lost territory on the way
	lost  map[int32]bool    // versions of which a part has no counterpart
	back  map[int32]bool    // the same for versions of the requested day, looking back; filled when needed
}

// NewSeries returns an empty Series. It fails if a supplied weight is not a number of at least 0.
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

// Add adds one value. by holds the values of the columns By in one text. Empty values, NA, ".", "..", ":" and "-" count
// as no value. The code may have a prefix, as in K-0301, or a name, as in "0301 Oslo". If the code was not in use, the
// row is counted and the error satisfies NotUsed; the caller may continue. After any other error the series is
// unchanged.
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

// count adds a value to the total, except for ratios.
func (x *Series) count(v decimal) {
	if !x.o.Ratio {
		x.total = x.total.add(v)
	}
}

// block returns the index of the block with key k, and adds it if needed. The error is ErrTooMany.
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
	k.by = strings.Clone(k.by) // otherwise it would keep the whole row in memory
	n := int32(len(x.blocks))
	x.number[k] = n
	x.blocks = append(x.blocks, k)
	return n, nil
}

// sorted returns the keys of the values in memory, ordered by day.
func (x *Series) sorted() []seriesKey {
	return slices.SortedFunc(maps.Keys(x.values), func(a, b seriesKey) int {
		return cmp.Or(int(x.blocks[a.block].date)-int(x.blocks[b.block].date), int(a.block-b.block),
			int(a.version-b.version))
	})
}

// version finds the version of a code on a day. The code may be written with a prefix, with a name or without its
// leading zeros; restored is set in the last case.
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

// codesOf returns the Translator from day d to the requested day. It caches a number of them.
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
	const most = 50 // each holds the destinations of all divisions
	if len(x.days) == most {
		clear(x.days)
	}
	x.days[d] = day
	return day
}

// Cells calls fn with each cell, ordered by day, then by the columns By, then by code. A division with a cell on one
// day has a cell on every day.
func (x *Series) Cells(fn func(Cell) error) (SeriesReport, error) {
	order := make([]int32, len(x.blocks)) // indexes of blocks, ordered by day and by the columns By
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

// whole reports whether a version lies entirely within one division of the requested day.
func (d *seriesDay) whole(p int32) bool { return len(d.leads[p]) == 1 && !d.lost[p] }

// lacks reports whether a part of version n of the requested day has no counterpart on day date.
func (d *seriesDay) lacks(x *Series, n int32, date Date) bool {
	lost, known := d.back[n]
	if !known {
		lost = x.s.lead(n, x.o.To, date).lost
		d.back[n] = lost
	}
	return lost
}

// targets returns, in ascending order, the versions of the requested day that receive a value.
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

// interval returns the lowest and highest possible value of a cell; "" if a part of it has no value. Of a division that
// was divided, any part of the value from nothing to all may belong to the cell.
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
		case b.x.o.Ratio: // a mean lies between the values of its parts
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

// seriesBlock holds the values of one block while its cells are calculated.
type seriesBlock struct {
	x      *Series
	day    *seriesDay
	date   Date
	number int32                       // index of the block
	values map[seriesKey]decimal       // values of the day; may hold those of other days
	shared map[int32]map[int32]decimal // cached results of share
	sums   map[placeOn]*big.Rat
}

// value returns the value of a version; false if it has none.
func (b *seriesBlock) value(version int32) (decimal, bool) {
	v, ok := b.values[seriesKey{b.number, version}]
	return v, ok
}

// at returns the value of a version that has one.
func (b *seriesBlock) at(version int32) decimal { return b.values[seriesKey{b.number, version}] }

// cell calculates the cell of version n of the requested day.
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

// turned describes, for a message, why version p corresponds to several divisions.
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

// share divides the value of version p among the divisions that it became. The parts sum to the value. It returns nil
// if the shares are not known.
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

// weights returns the shares of version p for the divisions in day.leads[p]. They sum to 1. It returns nil if they are
// not known.
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
			if out[i] == nil && !slices.Contains(became, n) { // it received territory only, and has no weight
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

// find returns the weight for the day in k, otherwise the one without a day; nil if there is none.
func find(m map[weightKey]*big.Rat, k weightKey) *big.Rat {
	if w := m[k]; w != nil {
		return w
	}
	k.date = 0
	return m[k]
}

// ratioDigits is how many more decimals a mean has than the most precise of its values.
const ratioDigits = 2

// ratio calculates the mean for a division. If all parts have the same value, no weights are needed. Each part of a
// division that was divided is assumed to have the value of the whole, and the cell is then marked Estimated.
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
