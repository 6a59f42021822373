package conn

import (
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// IsSeveral reports whether an address names several servers. Trying one server with and without TLS, as by default,
// does not count.
func IsSeveral(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != c.Host || f.Port != c.Port
	})
}

// Target returns the database's address without the password.
func Target(c *pgx.ConnConfig) string {
	s := "postgres://" + c.User + "@" + net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	for _, f := range c.Fallbacks {
		if next := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))); !strings.HasSuffix(s, next) {
			s += "," + next
		}
	}
	return s + "/" + c.Database
}

var passwords = regexp.MustCompile(`://[^/?#]*?:([^/?#]*)@|(?i:password)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]+)`)

// scrub removes the address and its passwords from a text.
func scrub(url, text string) string {
	hidden := Redact(url)
	text = strings.ReplaceAll(text, url, hidden)
	for _, m := range passwords.FindAllStringSubmatch(url, -1) {
		for _, secret := range m[1:] {
			if secret = strings.Trim(secret, "'"); secret != "" {
				text = strings.ReplaceAll(text, secret, "xxxxx")
			}
		}
	}
	return text
}

// Redact returns a database address with passwords replaced by xxxxx.
func Redact(url string) string {
	for _, m := range passwords.FindAllStringSubmatchIndex(url, -1) {
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 && m[i+1] > m[i] {
				return url[:m[i]] + "xxxxx" + Redact(url[m[i+1]:])
			}
		}
	}
	return url
}
