package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"grense/internal/geo/crs"
	"grense/web"
)

// Text returns a message of web/messages in a language, formatted with args.
func Text(lang, name string, args ...any) string {
	s := web.Text(lang, name)
	if len(args) > 0 {
		return fmt.Sprintf(s, args...)
	}
	return s
}

// LinkTo returns the address of an HTML page below a mount. lang is the parameter of that name; "" leaves it out.
func LinkTo(base, path, lang string) string {
	href := base + path + "?f=html"
	if strings.Contains(path, "?") {
		href = base + path + "&f=html"
	}
	if lang != "" {
		href += "&lang=" + url.QueryEscape(lang)
	}
	return href
}

// Renderer renders templates.
type Renderer struct {
	templates map[string]func() (*template.Template, error) // by language, parsed on first use
	hashed    func(name string) string
}

// NewRenderer returns a renderer. hashed maps the name of a static file to the name under which it is served.
func NewRenderer(hashed func(name string) string) *Renderer {
	ps := &Renderer{templates: map[string]func() (*template.Template, error){}, hashed: hashed}
	for _, l := range Languages {
		ps.templates[l.Code] = sync.OnceValues(func() (*template.Template, error) { return templatesIn(l.Code) })
	}
	return ps
}

// plainText matches a message without arguments in a template.
var plainText = regexp.MustCompile(`\{\{\$?\.T "([^"{}]*)"\}\}`)

// templatesIn parses the templates and replaces their messages without arguments by texts in a language. All of these
// are content or in quoted attributes, so that they can be escaped beforehand.
func templatesIn(lang string) (*template.Template, error) {
	t := template.New("").Funcs(template.FuncMap{"number": Number, "join": strings.Join, "json": indented,
		"sentence": sentence, "unit": unitText.Replace, "xml": IndentXML, "shape": shapeOf, "breakable": breakable,
		"crs": crsText})
	err := fs.WalkDir(web.Templates, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(web.Templates, name)
		if err != nil {
			return err
		}
		_, err = t.New(path.Base(name)).Parse(plainText.ReplaceAllStringFunc(string(text), func(s string) string {
			return AsMarkup(web.Text(lang, plainText.FindStringSubmatch(s)[1]))
		}))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("page: templates: %w", err)
	}
	return t, nil
}

// breakable marks the places where a long address may wrap: before each of its parts.
func breakable(address string) template.HTML {
	s := strings.NewReplacer("//", "//", "/", "/<wbr>", "&amp;",
		"<wbr>&amp;").Replace(template.HTMLEscapeString(address))
	return template.HTML(strings.TrimSuffix(s, "<wbr>"))
}

// crsText returns the short name of a coordinate reference system, such as EPSG:25833, or the URI if it is unknown.
func crsText(uri string) string {
	if id, ok := crs.Parse(uri); ok {
		return id.String()
	}
	return uri
}

// unitText replaces the powers in a unit (UCUM): km2 becomes km².
var unitText = strings.NewReplacer("2", "²", "3", "³")

// InScript escapes JSON for a script element that holds data (HTML, 4.12.1.3), so that it can neither end the element
// nor open a comment. The result is the same JSON value.
func InScript(b []byte) template.JS {
	return template.JS(strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(string(b)))
}

// sentence returns the first sentence of a text: up to a full stop before a capital letter.
func sentence(s string) string {
	for i := range s {
		if rest, ok := strings.CutPrefix(s[i:], ". "); ok {
			if r, _ := utf8.DecodeRuneInString(rest); unicode.IsUpper(r) {
				return s[:i+1]
			}
		}
	}
	return s
}

// Degrees formats a longitude or latitude with at most 4 decimals.
func Degrees(v float64) string { return Number(math.Round(v*1e4) / 1e4) }

// indented formats a value as indented JSON for the content of an element: encoding/json escapes <, > and &.
func indented(v any) (template.HTML, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return template.HTML(b), err
}

// Render renders a page in the layout. The caller sets the fields of the layout.
func (ps *Renderer) Render(v *Page) ([]byte, error) {
	v.Tag, v.hashed = LanguageTag(v.Lang), ps.hashed
	t, err := ps.templates[v.Lang]()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(32 << 10) // fits most pages
	if err := t.ExecuteTemplate(&b, v.Name, v); err != nil {
		return nil, fmt.Errorf("page: %s: %w", v.Name, err)
	}
	if out := b.Bytes(); utf8.Valid(out) {
		return out, nil
	}
	return bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD")), nil // an address may contain any bytes
}
