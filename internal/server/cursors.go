package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"maps"

	"grense/internal/problem"
	"grense/internal/server/limit"
	"grense/internal/store"
)

// Cursors that clients see begin with a signature: a MAC over the position and over what selects and orders the
// features. So only cursors of pages that were sent are valid, and only for the same query. The signature depends on
// neither key nor time, since cached pages contain it.

// signatureBytes is the length of a signature; signatureLength is that of its base64 text.
const (
	signatureBytes  = 12
	signatureLength = signatureBytes / 3 * 4
)

// unsigned are the parameters that may change from page to page: they neither select nor order features.
var unsigned = [...]string{"f", "lang", "cursor", "limit", "offset", "crs", "properties", "skipGeometry", "zoom-level",
	"precision", "resulttype", "profile", "dialect"}

// newCursorKey returns a key that is valid for this process only.
func newCursorKey() []byte {
	key := make([]byte, sha256.Size)
	rand.Read(key) // never fails (crypto/rand)
	return key
}

// sign returns the signature of a cursor for the query of the call.
func (c *Call) sign(cur store.Cursor) string {
	values := maps.Clone(c.Values)
	for _, name := range unsigned {
		delete(values, name)
	}
	m := hmac.New(sha256.New, c.s.cursorKey)
	for _, part := range [...]string{c.Collection.ID, values.Encode(), string(cur)} {
		m.Write([]byte(part))
		m.Write([]byte{0})
	}
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:signatureBytes])
}

// SignCursors returns a page with signed cursors.
func (c *Call) SignCursors(p *store.Page) *store.Page {
	if p.Next == "" && p.Prev == "" {
		return p
	}
	q := *p
	for _, cur := range [...]*store.Cursor{&q.Next, &q.Prev} {
		if *cur != "" {
			*cur = store.Cursor(c.sign(*cur)) + *cur
		}
	}
	return &q
}

// verifyCursor returns the cursor in a client's text. A forged cursor is an error of kind Invalid and is charged as a
// page.
func (c *Call) verifyCursor(text string) (store.Cursor, error) {
	if len(text) > signatureLength {
		cur := store.Cursor(text[signatureLength:])
		if _, err := cur.Place(); err == nil && subtle.ConstantTimeCompare(
			[]byte(c.sign(cur)), []byte(text[:signatureLength])) == 1 {
			return cur, nil
		}
	}
	if !c.paid {
		c.paid = true
		c.s.Turns.ChargeOwner(c.Owner(), limit.Units[store.CostPage])
	}
	return "", problem.InvalidWith("cursor", text, foreignCursor)
}
