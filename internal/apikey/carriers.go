package apikey

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// Cookie is the name of the cookie that carries a key; its value is the key.
const Cookie = "grense_key"

// malformed is returned for credentials from which no key can be read. It is never a valid key.
const malformed = "malformed"

// FromRequest returns the key that a request carries: in X-API-Key, in Authorization (Bearer, or the password of Basic)
// or in the cookie. cookie is the value of the cookie, or "" for none.
// found is false if the request carries no key. conflict reports that two places hold different keys;
// then key is "" and the request must be refused.
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

// authorization returns the key in a value of the header Authorization (RFC 9110, 11.6.2), or "" if it holds none.
// The scheme is case-insensitive; other schemes count as none.
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
