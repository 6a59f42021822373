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

// Text is a text of the catalogue in a language.
func Text(lang, name string, args ...any) string {
	s := web.Text(lang, name)
	if len(args) > 0 {
		return fmt.Sprintf(s, args...)
	}
	return s
}

// LinkTo is the address of a page below a mount, in the language that lang asks for; "" for none.
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
	templates map[string]func() (*template.Template, error) // by language, made when first asked for
	hashed    func(name string) string
}

// NewRenderer returns a renderer. hashed gives the name that a static file is served under.
func NewRenderer(hashed func(name string) string) *Renderer {
	ps := &Renderer{templates: map[string]func() (*template.Template, error){}, hashed: hashed}
	for _, l := range Languages {
		ps.templates[l.Code] = sync.OnceValues(func() (*template.Template, error) { return templatesIn(l.Code) })
	}
	return ps
}

// plainText is a place of a template where a text of the catalogues stands without values in it.
var plainText = regexp.MustCompile(`\{\{\$?\.T "([^"{}]*)"\}\}`)

// templatesIn parses the templates with the texts of a language in their places. All of them stand where text or a
// quoted attribute does.
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

// breakable is an address that may go on in another line before each of its parts.
func breakable(address string) template.HTML {
	s := strings.NewReplacer("//", "//", "/", "/<wbr>", "&amp;",
		"<wbr>&amp;").Replace(template.HTMLEscapeString(address))
	return template.HTML(strings.TrimSuffix(s, "<wbr>"))
}

// crsText is what people call a coordinate reference system by its URI: EPSG:25833.
func crsText(uri string) string {
	if id, ok := crs.Parse(uri); ok {
		return id.String()
	}
	return uri
}

// unitText writes the powers of a unit (UCUM) for people: km2 becomes km².
var unitText = strings.NewReplacer("2", "²", "3", "³")

// InScript makes JSON safe inside a script element, where it stands as data (HTML, 4.12.1.3): what could end the
// element or open a comment is escaped. It stays the same JSON.
func InScript(b []byte) template.JS {
	return template.JS(strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(string(b)))
}

// sentence is the first sentence of a text: up to a full stop before a capital letter.
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

// Degrees writes a longitude or latitude for people, with 4 decimals at most.
func Degrees(v float64) string { return Number(math.Round(v*1e4) / 1e4) }

// indented writes a value as JSON for people, as it stands in an element: JSON of Go has no <, > and &.
func indented(v any) (template.HTML, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return template.HTML(b), err
}

// Render writes a page with its layout. The caller has set what the layout shows.
func (ps *Renderer) Render(v *Page) ([]byte, error) {
	v.Tag, v.hashed = LanguageTag(v.Lang), ps.hashed
	t, err := ps.templates[v.Lang]()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(32 << 10) // most pages fit
	if err := t.ExecuteTemplate(&b, v.Name, v); err != nil {
		return nil, fmt.Errorf("page: %s: %w", v.Name, err)
	}
	if out := b.Bytes(); utf8.Valid(out) {
		return out, nil
	}
	return bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD")), nil // an address may hold any bytes
}
