// Package apikey issues API keys, stores their hashes and checks them.
//
// A key is grense_<id>_<secret><check>. The id of 8 characters finds the stored hash.
// The secret has 32 random base62 characters, which are 190 bits. The checksum of 6 characters catches typing errors
// without a look at the storage.
// Only the SHA-256 of a key is stored. A slow hash adds nothing at 190 bits and would help denial of service.
// No error and no log line contains a key.
package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"
	"time"

	"grense/internal/state"
)

const (
	prefix    = "grense_"
	idLen     = 8
	secretLen = 32
	checkLen  = 6
	keyLen    = len(prefix) + idLen + 1 + secretLen + checkLen

	alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// ErrFormat reports that a text is not a key: its form or its checksum is wrong.
var ErrFormat = errors.New("apikey: not a key")

// New returns a new key. A zero expires means that it never expires. The key is shown once; rec is stored.
func New(name string, expires, now time.Time) (key string, rec state.Key, err error) {
	key = Generate()
	rec, err = Record(key, name, expires, now)
	if err != nil {
		return "", rec, err
	}
	return key, rec, nil
}

// Generate returns a new key and stores nothing.
func Generate() string {
	body := prefix + randomText(idLen) + "_" + randomText(secretLen)
	return body + checksum(body)
}

// Record returns the record to store for a key. A zero expires means that it never expires.
func Record(key, name string, expires, now time.Time) (rec state.Key, err error) {
	id, err := Parse(key)
	if err != nil {
		return rec, err
	}
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return rec, errors.New("apikey: a key needs a name")
	case len(name) > 200 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return rec, errors.New("apikey: a name has at most 200 bytes and no control characters")
	case Redact(name) != name:
		return rec, errors.New("apikey: a name must not hold a key")
	case !expires.IsZero() && !expires.After(now):
		return rec, errors.New("apikey: the key would have expired already")
	}
	return state.Key{ID: id, Name: name, Hash: sha256.Sum256([]byte(key)), Created: now, Expires: expires}, nil
}

// Parse returns the id of a key whose form and checksum are right. It does not check that the key was ever issued.
func Parse(key string) (id string, err error) {
	if len(key) != keyLen || !strings.HasPrefix(key, prefix) || key[len(prefix)+idLen] != '_' {
		return "", ErrFormat
	}
	id = key[len(prefix):][:idLen]
	body, check := key[:keyLen-checkLen], key[keyLen-checkLen:]
	if !base62(id) || !base62(body[len(prefix)+idLen+1:]) || checksum(body) != check {
		return "", ErrFormat
	}
	return id, nil
}

func base62(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// checksum returns the CRC-32 (IEEE) of s in base62, six digits.
func checksum(s string) string {
	n := crc32.ChecksumIEEE([]byte(s))
	var b [checkLen]byte
	for i := checkLen - 1; i >= 0; i-- {
		b[i] = alphabet[n%62]
		n /= 62
	}
	return string(b[:])
}

// randomText returns n random base62 characters, all with the same probability.
func randomText(n int) string {
	out := make([]byte, 0, n)
	var b [64]byte
	for len(out) < n {
		rand.Read(b[:]) // never fails
		for _, c := range b {
			if c < 4*62 && len(out) < n { // skip the remainder, which would favour the first characters
				out = append(out, alphabet[c%62])
			}
		}
	}
	return string(out)
}

// Status returns the state of a key: "active", "expired" or "revoked".
func Status(k state.Key, now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return "revoked"
	case !k.Expires.IsZero() && !now.Before(k.Expires):
		return "expired"
	}
	return "active"
}

// ParseExpiry parses the end of a key's life: a date such as "2027-01-01" (midnight UTC), or a number of days from now
// such as "90d". An empty text means never and returns the zero time.
func ParseExpiry(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	var n int
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return inFuture(t, s, now)
	}
	if _, err := fmt.Sscanf(s, "%dd", &n); err != nil || fmt.Sprintf("%dd", n) != s || n < 1 || n > 36500 {
		return time.Time{},
			fmt.Errorf("apikey: %q is not a time; write a day such as 2027-01-01 or a number of days such as 90d", s)
	}
	return now.UTC().AddDate(0, 0, n), nil
}

func inFuture(t time.Time, s string, now time.Time) (time.Time, error) {
	if !t.After(now) {
		return time.Time{}, fmt.Errorf("apikey: %s is past", s)
	}
	return t, nil
}

var keyLike = regexp.MustCompile(`(?i)grense_[0-9A-Za-z]{8}_[0-9A-Za-z]*`)

// Redact replaces everything in s that looks like a key, except for its id, so that s can be shown or logged. It finds
// keys whose characters are escaped for an address, once or several times.
func Redact(s string) string {
	plain := unescaped(s)
	if !mayHold(plain) {
		return s
	}
	var b strings.Builder
	at, seen, copied := 0, 0, 0 // at is the place in s of plain[seen]
	advance := func(to int) {
		for ; seen < to; seen++ {
			_, n := character(s[at:])
			at += n
		}
	}
	for _, m := range keyLike.FindAllStringIndex(plain, -1) {
		advance(m[0] + len(prefix) + idLen)
		b.WriteString(s[copied:at] + "_***")
		advance(m[1])
		copied = at
	}
	return b.String() + s[copied:]
}

// unescaped resolves percent-encoding (RFC 3986, 2.1), also where "%" itself is escaped. It keeps wrong escapes.
func unescaped(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for len(s) > 0 {
		c, n := character(s)
		b, s = append(b, c), s[n:]
	}
	return string(b)
}

// character returns the first character of s, which may be escaped, and the number of bytes that it takes.
func character(s string) (c byte, n int) {
	if s[0] != '%' {
		return s[0], 1
	}
	for n = 1; strings.HasPrefix(s[n:], "25") && len(s) > n+3 && isHex(s[n+2]) && isHex(s[n+3]); {
		n += 2
	}
	if len(s) < n+2 || !isHex(s[n]) || !isHex(s[n+1]) {
		return '%', 1
	}
	high, low := hexValue(s[n]), hexValue(s[n+1])
	return high<<4 | low, n + 2
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// mayHold reports whether s contains the prefix of a key, in any case. It spares most texts the regular expression.
func mayHold(s string) bool {
	const name = len(prefix) - 1 // before the underscore
	for at := 0; ; at++ {
		i := strings.IndexByte(s[at:], prefix[name])
		if i < 0 {
			return false
		}
		if at += i; at >= name && strings.EqualFold(s[at-name:at], prefix[:name]) {
			return true
		}
	}
}
