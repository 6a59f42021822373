package apikey

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// Cookie is the name of the cookie that carries a key; its value is the key.
const Cookie = "grense_key"

// malformed stands for credentials that hold no key though one was meant; it is never valid.
const malformed = "malformed"

// FromRequest returns the key that a request carries: in X-API-Key, in Authorization as Bearer or as the password of
// Basic, or in the cookie, whose value the caller gives ("" for none). found is false when no carrier holds anything.
// conflict reports that two carriers hold different keys; then no key is returned, and the request is as good
// as one with a wrong key.
func FromRequest(h http.Header, cookie string) (key string, found, conflict bool) {
	take := func(k string) {
		switch {
		case k == "":
		case !found:
			key, found = k, true
		case k != key:
			conflict = true
		}
	}
	for _, v := range h["X-Api-Key"] {
		take(strings.TrimSpace(v))
	}
	for _, v := range h["Authorization"] {
		take(authorization(v))
	}
	take(cookie)
	if conflict {
		key = ""
	}
	return key, found, conflict
}

// authorization returns the key in a value of Authorization (RFC 9110, 11.6.2); "" when it holds none. The scheme is
// case-insensitive. Credentials of another scheme are not ours and count as none.
func authorization(v string) string {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(v), " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(scheme) {
	case "bearer":
		return rest
	case "basic": // RFC 7617, 2
		b, err := base64.StdEncoding.DecodeString(rest)
		if err != nil {
			b, err = base64.RawStdEncoding.DecodeString(rest)
		}
		_, password, ok := strings.Cut(string(b), ":")
		if err != nil || !ok || password == "" {
			return malformed
		}
		return password
	}
	return ""
}
