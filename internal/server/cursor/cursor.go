// Package cursor signs the cursors of pages, so that only cursors of pages that were sent are valid, and only for the
// same query.
package cursor

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"maps"
	"net/url"

	"grense/internal/store"
)

// Key signs cursors: a cursor that clients see begins with a MAC over the position and over what selects and orders the
// features. The signature depends on neither API key nor time, since cached pages contain it.
type Key []byte

// New returns a key that is valid for this process only.
func New() Key {
	key := make(Key, sha256.Size)
	rand.Read(key) // never fails (crypto/rand)
	return key
}

// signatureBytes is the length of a signature; signatureLength is that of its base64 text.
const (
	signatureBytes  = 12
	signatureLength = signatureBytes / 3 * 4
)

// unsigned are the parameters that may change from page to page: they neither select nor order features.
var unsigned = [...]string{"f", "lang", "cursor", "limit", "offset", "crs", "properties", "skipGeometry", "zoom-level",
	"precision", "resulttype", "profile", "dialect"}

// sign returns the signature of a cursor in a collection for a query.
func (k Key) sign(collection string, query url.Values, cur store.Cursor) string {
	values := maps.Clone(query)
	for _, name := range unsigned {
		delete(values, name)
	}
	m := hmac.New(sha256.New, k)
	for _, part := range [...]string{collection, values.Encode(), string(cur)} {
		m.Write([]byte(part))
		m.Write([]byte{0})
	}
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:signatureBytes])
}

// Sign returns the page of a query with signed cursors.
func (k Key) Sign(p *store.Page, collection string, query url.Values) *store.Page {
	if p.Next == "" && p.Prev == "" {
		return p
	}
	q := *p
	for _, cur := range [...]*store.Cursor{&q.Next, &q.Prev} {
		if *cur != "" {
			*cur = store.Cursor(k.sign(collection, query, *cur)) + *cur
		}
	}
	return &q
}

// Verify returns the cursor in a client's text; ok is false if it was forged or is for another query.
func (k Key) Verify(text, collection string, query url.Values) (cur store.Cursor, ok bool) {
	if len(text) <= signatureLength {
		return "", false
	}
	cur = store.Cursor(text[signatureLength:])
	_, err := cur.Place()
	return cur, err == nil && subtle.ConstantTimeCompare(
		[]byte(k.sign(collection, query, cur)), []byte(text[:signatureLength])) == 1
}
