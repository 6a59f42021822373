package layer

import (
	"strconv"
	"sync"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/moment"
	"grense/internal/store/gpkg/sqlite"
)

// Limits of a batch: bytes of geometries, features, and values.
const (
	BatchBytes    = 1 << 20
	batchFeatures = 1000
	batchValues   = 1 << 14
)

// Batch holds what is read in one use of a connection. Its memory is reused.
type Batch struct {
	wkb    []byte
	ends   []int    // end of each geometry in wkb
	values []any    // values of all features, concatenated
	ids    []string // feature ids, if rows are versions
	blob   []byte
	texts  []knownText // knownTexts entries for each column
	text   [knownBytes + 1]byte
	utf16  bool       // texts are stored as UTF-16
	order  []recordAt // requested rows in the order of records
}

// knownTexts is the number of recent texts that a batch caches for each column (a power of two). knownBytes is the
// largest length of such a text.
const (
	knownTexts = 256
	knownBytes = 64
	// knownColumns is the number of columns with cached texts: the first ones.
	knownColumns = 64
)

// knownText is a recent text of a column, also as a value. Repeated texts then need no memory for each feature.
type knownText struct {
	text  string
	json  bool
	value any
}

// known returns a text, date or JSON column as a value of type t. It reads the column from SQLite only once, since that
// is most of the cost of short texts.
func (b *Batch) known(r sqlite.Row, column int, t cql2.Type) any {
	n := 0
	if !b.utf16 {
		n = r.Start(column, b.text[:])
	}
	if n == 0 || n > knownBytes {
		return textValue(r.Text(column), t)
	}
	return b.remembered(b.text[:n], column, t == cql2.TypeJSON)
}

// remembered converts a text of a column to a value. It returns the cached value of an equal recent text.
func (b *Batch) remembered(text []byte, column int, json bool) any {
	n := len(text)
	if n > knownBytes || column >= knownColumns {
		return valueOf(string(text), json)
	}
	sum := uint(n)
	for _, c := range text[max(0, n-8):] {
		sum = sum*31 + uint(c)
	}
	at := column*knownTexts + int(sum%knownTexts)
	if at >= len(b.texts) {
		b.texts = append(b.texts, make([]knownText, (column+1)*knownTexts-len(b.texts))...)
	}
	k := &b.texts[at]
	if k.text != string(text) || k.json != json || k.value == nil {
		k.text, k.json = string(text), json
		k.value = valueOf(k.text, json)
	}
	return k.value
}

func textValue(s string, t cql2.Type) any { return valueOf(s, t == cql2.TypeJSON) }

func valueOf(s string, json bool) any {
	if json {
		return store.CompactJSON(s)
	}
	return s
}

// moment returns a timestamp column in the form of moment.Timestamp.
func (b *Batch) moment(r sqlite.Row, column int) any {
	if !b.utf16 {
		if s := moment.PlainStamp(b.text[:r.Start(column, b.text[:])]); s != "" {
			return s
		}
	}
	return moment.Timestamp(r.Text(column))
}

var batches = sync.Pool{New: func() any { return new(Batch) }}

func (b *Batch) reset() {
	clear(b.values)
	clear(b.ids)
	b.wkb, b.ends, b.values, b.ids = b.wkb[:0], b.ends[:0], b.values[:0], b.ids[:0]
}

// NewBatch returns an empty batch. The caller should Free it.
func NewBatch() *Batch { return batches.Get().(*Batch) }

// Free makes the memory of the batch available to others.
func (b *Batch) Free() {
	b.reset()
	if cap(b.wkb) <= 8*BatchBytes {
		batches.Put(b)
	}
}

// Of returns the id of the feature whose version is the i-th row.
func (b *Batch) Of(i int) string { return b.ids[i] }

// Feature returns the geometry and the n values of the i-th feature of a batch.
func (b *Batch) Feature(i, n int) (store.Geometry, []any) {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	var g store.Geometry
	if end := b.ends[i]; end > start {
		g.WKB = b.wkb[start:end:end]
	}
	return g, b.values[i*n : (i+1)*n : (i+1)*n]
}

// value returns a column as a value of type t.
func (b *Batch) value(r sqlite.Row, column int, t cql2.Type) any {
	switch t {
	case cql2.TypeText, cql2.TypeDate, cql2.TypeJSON, cql2.TypeTimestamp:
	default:
		v := Value(r, column, t)
		if n, ok := v.(int64); ok && t == cql2.TypeNumber {
			return integerNumber(n)
		}
		return v
	}
	switch k := r.Kind(column); {
	case k == sqlite.KindText && t == cql2.TypeTimestamp:
		return b.moment(r, column)
	case k == sqlite.KindText:
		return b.known(r, column, t)
	}
	v := Value(r, column, t)
	if s, ok := v.(string); ok {
		return textValue(s, t)
	}
	return v
}

// integerNumber returns an integer in a column of numbers: as a float64 if that prints the same, else as its digits.
func integerNumber(n int64) any {
	digits := strconv.FormatInt(n, 10)
	if f := float64(n); strconv.FormatFloat(f, 'f', -1, 64) == digits {
		return f
	}
	return store.JSON(digits)
}

// recordAt is a requested id and its index in the request.
type recordAt struct {
	id    int64
	at    int
	block int // block that would contain it; -1: none
}
