// Package web holds what people see: the templates of the pages, the style sheet and the icon, and the texts in
// Bokmål, Nynorsk and English, all embedded. It uses the standard library only and imports nothing of ours.
//
// The templates assume the view of package server as dot; the pages they make load nothing from elsewhere and hold no
// inline style or script, so that a strict Content-Security-Policy (CSP Level 3) can be sent with them.
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

// Templates holds templates/*.html. Each page is a template of its own name; "head" and "foot" are the layout around
// it.
//
//go:embed templates/*.html
var Templates embed.FS

//go:embed static
var static embed.FS

//go:embed messages/*.json
var messages embed.FS

// Languages are the codes of the catalogues, the one that every text exists in first.
func Languages() []string { return []string{"nb", "nn", "en"} }

// File is a static file. Data belongs to the package and is not changed.
type File struct {
	Name  string // with the hash of the content, "site.3f2a1c9b.css"
	Media string // value of Content-Type
	Data  []byte
}

// files are the static files in the order of their plain names, with the hashed name of each plain one.
var files = sync.OnceValues(func() ([]File, map[string]string) {
	entries, err := static.ReadDir("static")
	if err != nil {
		panic("web: " + err.Error()) // the folder is embedded
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

// What packed takes away. In style sheets space means something between words only; in scripts, whose only text of
// several lines is a style sheet, it means nothing where a line begins, and what begins with two slashes is a
// comment.
var (
	styleComments = regexp.MustCompile(`(?s)/\*.*?\*/`)
	styleSpace    = regexp.MustCompile(`\s*([{};,>])\s*|(:)\s+|\s+`)
	scriptMargins = regexp.MustCompile(`(?m)^[ \t]*(//.*)?\n?`)
)

// packed is a style sheet or a script without comments and needless space; other files stay as they are.
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

// HashedName puts the first 8 digits of the SHA-256 of data before the extension of name: the name under which a file
// may be cached for ever.
func HashedName(name string, data []byte) string {
	sum := sha256.Sum256(data)
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:4]) + ext
}

// Files returns all static files. The slice belongs to the package.
func Files() []File {
	all, _ := files()
	return all
}

// Hashed gives the name under which a file is served, for links that may be cached for ever: "site.css" ->
// "site.3f2a1c9b.css". A name that no file has comes back as it is.
func Hashed(name string) string {
	_, hashed := files()
	if h, ok := hashed[name]; ok {
		return h
	}
	return name
}

// Static finds a file by its plain or its hashed name. Browsers ask for favicon.ico unbidden and get the icon.
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

// catalogues are the texts by language and name.
var catalogues = sync.OnceValue(func() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, lang := range Languages() {
		data, err := messages.ReadFile("messages/" + lang + ".json")
		if err != nil {
			panic("web: " + err.Error()) // the file is embedded
		}
		texts := map[string]string{}
		if err := json.Unmarshal(data, &texts); err != nil {
			panic("web: messages/" + lang + ".json: " + err.Error())
		}
		all[lang] = texts
	}
	return all
})

// Text gives a text of the catalogues: in the requested language, else in Bokmål,
// else in English, else the name itself.
// A text may hold verbs of package fmt; each use passes the same arguments in every language.
func Text(lang, name string) string {
	all := catalogues()
	for _, l := range [...]string{lang, "nb", "en"} {
		if s, ok := all[l][name]; ok {
			return s
		}
	}
	return name
}
