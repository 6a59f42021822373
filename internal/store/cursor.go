package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"grense/internal/cql2"
)

// Cursor is a position in an order: the sort keys of a feature, its id, and the direction in which to continue. It is
// opaque to clients and safe in a URL (base64url without padding). It does not depend on the version of the data: in
// another version it continues after the same keys.
type Cursor string

// Place is the decoded content of a Cursor.
type Place struct {
	Back  bool   // towards the first feature
	Order string // from OrderName; a cursor for another order is refused
	// Keys holds a value for each sort key: nil, string, int64, float64, bool, Far or cql2.Decimal. A Decimal is
	// decoded as a string.
	Keys []any
	ID   string
}

// maxCursor is the largest length of a cursor that is read, in bytes.
const maxCursor = 8 << 10

// Far replaces a sort key that is a text too long for a URL. Reached reads the text from the feature with the id of the
// Place.
type Far struct {
	Far bool // true
}

// longCursor and longKey keep cursors short: in one of more than longCursor bytes, texts longer than longKey become
// Far.
const longCursor, longKey = 2 << 10, 200

// NewCursor encodes a place as a cursor.
func NewCursor(p Place) Cursor {
	c := p.write()
	if len(c) > longCursor {
		p.Keys = slices.Clone(p.Keys)
		for i, k := range p.Keys {
			switch k := k.(type) {
			case string:
				if len(k) > longKey {
					p.Keys[i] = Far{true}
				}
			case cql2.Decimal:
				if len(k) > longKey {
					p.Keys[i] = Far{true}
				}
			}
		}
		c = p.write()
	}
	return c
}

func (p Place) write() Cursor {
	if p.Keys == nil && bare(p.Order) && bare(p.ID) { // as encoding/json does
		b := append(make([]byte, 0, len(`[false,"",null,""]`)+len(p.Order)+len(p.ID)), '[')
		b = append(append(strconv.AppendBool(b, p.Back), `,"`...), p.Order...)
		b = append(append(append(b, `",null,"`...), p.ID...), `"]`...)
		return Cursor(base64.RawURLEncoding.EncodeToString(b))
	}
	keys := slices.Clone(p.Keys)
	for i, k := range keys {
		if f, ok := k.(float64); ok && math.Abs(f) >= 1<<53 { // otherwise it would be read as another integer
			keys[i] = json.RawMessage(strconv.FormatFloat(f, 'e', -1, 64))
		}
	}
	b, err := json.Marshal([]any{p.Back, p.Order, keys, p.ID})
	if err != nil {
		panic("store: cursor of unknown value: " + err.Error()) // values come from a store, not from a client
	}
	return Cursor(base64.RawURLEncoding.EncodeToString(b))
}

// bare reports whether JSON encodes a text as the text itself between quotes.
func bare(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// Reached returns the query with its cursor decoded, and with the texts of Far keys read from the store.
func (q Query) Reached(ctx context.Context, s Store) (Query, error) {
	if q.Cursor == "" {
		return q, nil
	}
	p, err := q.Cursor.Place()
	if err != nil {
		return q, err
	}
	ranks := len(p.Keys) - len(q.SortBy) // a rank comes first
	for i, k := range p.Keys {
		if _, far := k.(Far); !far {
			continue
		}
		if i < ranks || p.Order != q.OrderName() {
			return q, ErrCursor
		}
		if p.Keys[i], err = q.textOf(ctx, s, p.ID, q.SortBy[i-ranks]); err != nil {
			return q, err
		}
	}
	q.place = &p
	return q, nil
}

// textOf reads a text that is the sort key of a feature. It returns ErrCursor if there is none.
func (q Query) textOf(ctx context.Context, s Store, id string, by Sort) (text string, err error) {
	found := false
	err = s.Fetch(ctx, q.Collection, Current(id),
		Want{Properties: []string{by.Property}, NoGeometry: true, SkipMissing: true}, func(f *Feature) error {
			switch v := f.Values[0].(type) {
			case string:
				text, found = v, true
			case JSON: // a number of many digits
				text, found = string(v), true
			}
			return nil
		})
	if err == nil && !found {
		err = ErrCursor
	}
	if by.Norwegian {
		text = cql2.NorwegianKey(text)
	}
	return strings.Clone(text), err
}

// Place returns the decoded cursor. Far keys stay Far unless Reached was called.
func (q Query) Place() (Place, error) {
	if q.place == nil {
		return q.Cursor.Place()
	}
	return *q.place, nil
}

// Place decodes a cursor. It returns ErrCursor for anything that NewCursor did not return.
func (c Cursor) Place() (Place, error) {
	var p Place
	if len(c) > maxCursor {
		return p, ErrCursor
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(string(c))
	if err != nil {
		return p, ErrCursor
	}
	parts := []any{&p.Back, &p.Order, &p.Keys, &p.ID}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&parts); err != nil || len(parts) != 4 {
		return p, ErrCursor
	}
	if _, err := d.Token(); err != io.EOF {
		return p, ErrCursor
	}
	for i, k := range p.Keys {
		switch k := k.(type) {
		case nil, string, bool:
		case map[string]any:
			if len(k) != 1 || k["Far"] != true {
				return p, ErrCursor
			}
			p.Keys[i] = Far{true}
		case json.Number:
			if n, err := k.Int64(); err == nil {
				p.Keys[i] = n
			} else if f, err := k.Float64(); err == nil {
				p.Keys[i] = f
			} else {
				return p, ErrCursor
			}
		default:
			return p, ErrCursor
		}
	}
	return p, nil
}

// OrderName returns the name of the query's order for Place.Order.
func (q Query) OrderName() string {
	if q.Rank != nil {
		return "?" + OrderName(q.SortBy)
	}
	return OrderName(q.SortBy)
}

// OrderName returns the name of an order for Place.Order: "" for the order by id, else the sort keys with their
// directions.
func OrderName(keys []Sort) string {
	var b []byte
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		if k.Desc {
			b = append(b, '-')
		}
		b = append(b, k.Property...)
		if k.Norwegian {
			b = append(b, ";nb"...)
		}
	}
	return string(b)
}
