// Package web contains the user interface: page templates, style sheet, icon, and texts in Bokmål, Nynorsk and English,
// all embedded. It imports only the standard library.
//
// The dot of the templates is the view of package server. Pages load nothing from other sites and contain no inline
// style or script, so that a strict Content-Security-Policy (CSP Level 3) can be sent with them.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"sync"
)

// Templates contains templates/*.html. Each page is a template with the name of the file; "head" and "foot" are the
// layout around it.
//
//go:embed templates/*.html
var Templates embed.FS

//go:embed static
var static embed.FS

//go:embed messages/*.json
var messages embed.FS

// Languages returns the languages of the catalogues. Every text exists in the first one.
func Languages() []string { return []string{"nb", "nn", "en"} }

// File is a static file. Data must not be changed.
type File struct {
	Name  string // with a hash of the content: "site.3f2a1c9b.css"
	Media string // value of Content-Type
	Data  []byte
}

// files returns the static files by plain name, and the hashed name for each plain one.
var files = sync.OnceValues(func() ([]File, map[string]string) {
	entries, err := static.ReadDir("static")
	if err != nil {
		panic("web: " + err.Error()) // cannot fail, since the directory is embedded
	}
	var all []File
	hashed := map[string]string{}
	for _, e := range entries {
		data, err := static.ReadFile("static/" + e.Name())
		if err != nil {
			panic("web: " + err.Error())
		}
		data = packed(path.Ext(e.Name()), data)
		f := File{Name: HashedName(e.Name(), data), Media: mediaTypes[path.Ext(e.Name())], Data: data}
		hashed[e.Name()] = f.Name
		all = append(all, f)
	}
	return all, hashed
})

// What packed removes. In style sheets spaces matter only between words. Our scripts have only one text of several
// lines, a style sheet, so that leading spaces do not matter and a line that begins with two slashes is a comment.
var (
	styleComments = regexp.MustCompile(`(?s)/\*.*?\*/`)
	styleSpace    = regexp.MustCompile(`\s*([{};,>])\s*|(:)\s+|\s+`)
	scriptMargins = regexp.MustCompile(`(?m)^[ \t]*(//.*)?\n?`)
)

// packed returns a style sheet or script without comments and unnecessary spaces; other files unchanged.
func packed(ext string, data []byte) []byte {
	switch ext {
	case ".css":
		data = styleComments.ReplaceAll(data, nil)
		return bytes.TrimSpace(styleSpace.ReplaceAllFunc(data, func(m []byte) []byte {
			if m = bytes.TrimSpace(m); len(m) == 0 {
				return []byte(" ")
			}
			return m
		}))
	case ".js":
		return scriptMargins.ReplaceAll(data, nil)
	}
	return data
}

var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".png": "image/png",
}

// HashedName inserts the first 8 digits of the SHA-256 of data before the extension of name. A file with this name may
// be cached forever.
func HashedName(name string, data []byte) string {
	sum := sha256.Sum256(data)
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:4]) + ext
}

// Files returns all static files. The caller must not change the slice.
func Files() []File {
	all, _ := files()
	return all
}

// Hashed returns the name under which a file is served, for links that may be cached forever: "site.3f2a1c9b.css" for
// "site.css". It returns an unknown name unchanged.
func Hashed(name string) string {
	_, hashed := files()
	if h, ok := hashed[name]; ok {
		return h
	}
	return name
}

// Static returns a file by its plain or hashed name. favicon.ico, which browsers request by themselves, is the icon.
func Static(name string) (File, bool) {
	if name == "favicon.ico" {
		name = "favicon.svg"
	}
	name = Hashed(name)
	for _, f := range Files() {
		if f.Name == name {
			return f, true
		}
	}
	return File{}, false
}

// catalogues returns the texts by language and name.
var catalogues = sync.OnceValue(func() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, lang := range Languages() {
		data, err := messages.ReadFile("messages/" + lang + ".json")
		if err != nil {
			panic("web: " + err.Error()) // cannot fail, since the file is embedded
		}
		texts := map[string]string{}
		if err := json.Unmarshal(data, &texts); err != nil {
			panic("web: messages/" + lang + ".json: " + err.Error())
		}
		all[lang] = texts
	}
	return all
})

// Text returns a text in a language, else in Bokmål, else in English, else its name. A text may contain verbs of
// package fmt, with the same arguments in every language.
func Text(lang, name string) string {
	all := catalogues()
	for _, l := range [...]string{lang, "nb", "en"} {
		if s, ok := all[l][name]; ok {
			return s
		}
	}
	return name
}
