package web_test

import (
	"encoding/json"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"grense/web"
)

// catalogue reads one catalogue as it stands, and refuses a name that stands twice.
func catalogue(t *testing.T, lang string) map[string]string {
	t.Helper()
	b, err := os.ReadFile("messages/" + lang + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]string
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if n := len(regexp.MustCompile(`(?m)^  "`).FindAll(b, -1)); n != len(m) {
		t.Errorf("%s: %d lines with names, %d names", lang, n, len(m))
	}
	return m
}

var verbs = regexp.MustCompile(`%[a-z]`)

func TestCataloguesHoldTheSameNamesAndVerbs(t *testing.T) {
	t.Parallel()
	nb := catalogue(t, "nb")
	for _, lang := range web.Languages() {
		m := catalogue(t, lang)
		for name := range nb {
			text, ok := m[name]
			switch {
			case !ok:
				t.Errorf("%s lacks %q", lang, name)
			case strings.TrimSpace(text) == "" || strings.TrimSpace(text) != text:
				t.Errorf("%s: %q is %q", lang, name, text)
			case !slices.Equal(verbs.FindAllString(text, -1), verbs.FindAllString(nb[name], -1)):
				t.Errorf("%s: %q has other verbs than nb: %q, %q", lang, name, text, nb[name])
			}
		}
		for name := range m {
			if _, ok := nb[name]; !ok {
				t.Errorf("nb lacks %q of %s", name, lang)
			}
		}
	}
}

// TestEveryLanguageHasItsNameAndLocale: the templates "language" and "locale" of the layout have each language but
// English, which is their else.
func TestEveryLanguageHasItsNameAndLocale(t *testing.T) {
	t.Parallel()
	layout := sources(t, "templates/layout.html")["templates/layout.html"]
	for _, name := range []string{"language", "locale"} {
		_, rest, _ := strings.Cut(layout, `{{define "`+name+`"}}`)
		line, _, _ := strings.Cut(rest, "\n")
		for _, code := range web.Languages() {
			if code != "en" && !strings.Contains(line, `eq . "`+code+`"`) {
				t.Errorf("the template %q has no %q", name, code)
			}
		}
	}
}

// How texts are named in templates and in Go; the last two build names from a part known only at run time.
var (
	usedInTemplate = regexp.MustCompile(`\.T "([^"]+)"`)
	usedInGo       = regexp.MustCompile(`(?:\.[tT]ext\((?:lang, )?|\.T\(|keyPage\([^"\n]*)"([^"]+)"[,)]`)
	builtInPage    = regexp.MustCompile(`\.T \(printf "([^"%]*)%[sd]([^"]*)"`)
	builtInGo      = regexp.MustCompile(`\.[tT]ext\((?:lang, )?fmt\.Sprintf\("([^"%]*)%[sd]([^"]*)"`)
)

// goFiles returns the paths of the Go files below a folder.
func goFiles(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") {
			paths = append(paths, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// sources returns the texts of files by their paths, without tests.
func sources(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	var paths []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		paths = append(paths, found...)
	}
	out := map[string]string{}
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out[p] = brokenText.ReplaceAllString(string(b), "")
	}
	return out
}

// brokenText matches where a text goes on in the next line.
var brokenText = regexp.MustCompile(`"\s*\+\n\s*"`)

func TestEveryTextThatIsUsedExistsAndEveryTextIsUsed(t *testing.T) {
	t.Parallel()
	nb := catalogue(t, "nb")
	used := map[string]bool{}
	var built [][2]string // start and end of names that are put together
	look := func(files map[string]string, plain, parts *regexp.Regexp) {
		for file, text := range files {
			for _, m := range plain.FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
				if _, ok := nb[m[1]]; !ok {
					t.Errorf("%s uses %q, which no catalogue has", file, m[1])
				}
			}
			for _, m := range parts.FindAllStringSubmatch(text, -1) {
				built = append(built, [2]string{m[1], m[2]})
			}
		}
	}
	look(sources(t, "templates/*.html"), usedInTemplate, builtInPage)
	look(sources(t, goFiles(t, "../internal/server")...), usedInGo, builtInGo)
	// schemaAnswer puts them together
	for _, name := range []string{"schema.title", "queryables.title", "sortables.title"} {
		used[name] = true
	}
	for name := range nb {
		if used[name] ||
			slices.ContainsFunc(built,
				func(b [2]string) bool { return strings.HasPrefix(name, b[0]) && strings.HasSuffix(name, b[1]) }) {
			continue
		}
		t.Errorf("nothing uses %q", name)
	}
	if len(used) < 100 || len(built) < 4 {
		t.Errorf("found only %d uses and %d patterns", len(used), len(built))
	}
}

// TestWhatExpressionsAreRefusedWithIsTranslated: English stands in the sources of the filter language.
func TestWhatExpressionsAreRefusedWithIsTranslated(t *testing.T) {
	t.Parallel()
	en := catalogue(t, "en")
	n := 0
	for file, text := range sources(t, goFiles(t, "../internal/cql2")...) {
		for _, m := range regexp.MustCompile("(?:Sayf\\(|\\.(?:fault|fail)\\([^\"`\n]*?(?:\"\", "+
			")?)(?:\"((?:[^\"\\\\]|\\\\.)+)\"|`([^`]*)`)").FindAllStringSubmatch(text, -1) {
			if n++; en["cql2."+m[1]+m[2]] != m[1]+m[2] {
				t.Errorf("%s: no translation of %q", file, m[1]+m[2])
			}
		}
	}
	if n < 50 {
		t.Errorf("found only %d texts", n)
	}
	for name, text := range en {
		if form, ok := strings.CutPrefix(name, "cql2."); ok && form != text {
			t.Errorf("%q is %q", form, text)
		}
	}
}

func TestNamesThatAreBuiltAtRunTimeExist(t *testing.T) {
	t.Parallel()
	nb := catalogue(t, "nb")
	want := []string{"api.in-path", "api.in-query"}
	for _, typ := range []string{"string", "integer", "number", "boolean", "object", "array", "date", "date-time",
		"geometry-any"} {
		want = append(want, "type."+typ)
	}
	for _, g := range []string{"point", "multipoint", "linestring", "multilinestring", "polygon", "multipolygon",
		"geometrycollection"} {
		want = append(want, "type.geometry-"+g)
	}
	want = append(want, "status.401") // whose page says problem.key
	for _, status := range []int{400, 403, 404, 405, 406, 410, 412, 413, 415, 416, 429, 500, 503} {
		want = append(want, "status."+strconv.Itoa(status), "status."+strconv.Itoa(status)+"-text")
	}
	for _, m := range regexp.MustCompile(`Tag: "([^"]+)"`).
		FindAllStringSubmatch(strings.Join(values(sources(t, goFiles(t, "../internal/server")...)), "\n"), -1) {
		want = append(want, "tag."+m[1])
	}
	for _, name := range want {
		if _, ok := nb[name]; !ok {
			t.Errorf("no catalogue has %q", name)
		}
	}
	for name := range nb {
		if part, _, _ := strings.Cut(name, "."); slices.Contains([]string{"status", "tag", "type"}, part) &&
			!slices.Contains(want, name) {
			t.Errorf("nothing builds %q", name)
		}
	}
}

func TestTextFallsBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lang, name, want string }{
		{"nb", "home", "Forside"}, {"nn", "home", "Framside"}, {"en", "home", "Home"},
		{"", "home", "Forside"}, {"de", "home", "Forside"}, {"en", "no.such.text", "no.such.text"},
	} {
		if got := web.Text(c.lang, c.name); got != c.want {
			t.Errorf("Text(%q, %q) = %q, want %q", c.lang, c.name, got, c.want)
		}
	}
}

func TestStaticFilesAreFoundByBothNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"site.css", "site.js", "favicon.svg", "api.js"} {
		hashed := web.Hashed(name)
		if !regexp.MustCompile(`^[a-z]+\.[0-9a-f]{8}\.[a-z]+$`).MatchString(hashed) {
			t.Errorf("Hashed(%q) = %q", name, hashed)
		}
		for _, n := range []string{name, hashed} {
			f, ok := web.Static(n)
			if !ok || f.Name != hashed || f.Media == "" || len(f.Data) == 0 {
				t.Errorf("Static(%q) = %q, %q, %d bytes, %t", n, f.Name, f.Media, len(f.Data), ok)
			}
		}
	}
	if f, ok := web.Static("favicon.ico"); !ok || f.Media != "image/svg+xml" {
		t.Errorf("favicon.ico is %q, %t", f.Media, ok)
	}
	for _, name := range []string{"", "..", "web.go", "site.00000000.css", "static/site.css"} {
		if f, ok := web.Static(name); ok {
			t.Errorf("Static(%q) finds %q", name, f.Name)
		}
	}
	if a, b := web.HashedName("a.css", []byte("x")), web.HashedName("a.css", []byte("y")); a == b {
		t.Errorf("two contents have one name, %s", a)
	}
	if n := len(web.Files()); n != 7 {
		t.Errorf("%d files", n)
	}
}

// TestStylesAndScriptsAreSentWithoutCommentsAndMargins: what people read in them takes a tenth of their weight.
// Nothing else is lost, and no text within quotes.
func TestStylesAndScriptsAreSentWithoutCommentsAndMargins(t *testing.T) {
	t.Parallel()
	lines := regexp.MustCompile(`(?m)^\s*//.*`)
	blocks := regexp.MustCompile(`(?s)/\*.*?\*/`)
	space := regexp.MustCompile(`\s+`)
	quoted := regexp.MustCompile(`"[^"\n]*"`)
	for _, name := range []string{"site.css", "site.js", "run.js", "job.js", "api.js", "map.js"} {
		source, err := os.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		f, _ := web.Static(name)
		if strings.HasSuffix(name, ".css") {
			source = blocks.ReplaceAll(source, nil)
			if got, want := quoted.FindAllString(string(f.Data), -1),
				quoted.FindAllString(string(source), -1); !slices.Equal(
				got,
				want,
			) {
				t.Errorf("%s: texts %q, in the file %q", name, got, want)
			}
			if blocks.Match(f.Data) || strings.ContainsAny(string(f.Data), "\n\t") ||
				strings.Contains(string(f.Data), "  ") {
				t.Errorf("%s has comments or needless space", name)
			}
		} else {
			source = lines.ReplaceAll(source, nil)
			if regexp.MustCompile(`(?m)^[ \t]|^//|^$\n`).Match(f.Data) {
				t.Errorf("%s has comments, margins or empty lines", name)
			}
		}
		if got, want := space.ReplaceAllString(string(f.Data), ""),
			space.ReplaceAllString(string(source), ""); got != want {
			t.Errorf("%s says something else than its file", name)
		}
	}
}

// maxStyle is the most that the style sheet may weigh, in bytes.
const maxStyle = 17 << 10

func TestStyleSheetIsSmallAndLoadsNothing(t *testing.T) {
	t.Parallel()
	f, _ := web.Static("site.css")
	css := string(f.Data)
	if len(css) > maxStyle {
		t.Errorf("%d bytes", len(css))
	}
	for _, bad := range []string{"url(", "@import", "@font-face", "http:", "https:"} {
		if strings.Contains(css, bad) {
			t.Errorf("the style sheet has %q", bad)
		}
	}
	for _, want := range []string{"prefers-color-scheme:dark", "prefers-reduced-motion", "forced-colors",
		"@media print", ":focus-visible"} {
		if !strings.Contains(css, want) {
			t.Errorf("the style sheet has no %q", want)
		}
	}
	if open, shut := strings.Count(css, "{"), strings.Count(css, "}"); open != shut {
		t.Errorf("%d braces open, %d close", open, shut)
	}
}

// maxScript is the most that a script of ours may weigh, in bytes, before it is compressed.
const maxScript = 12 << 10

func TestScriptsAreSmallAndLoadNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"site.js", "api.js", "run.js"} {
		f, _ := web.Static(name)
		if len(f.Data) > maxScript {
			t.Errorf("%s: %d bytes", name, len(f.Data))
		}
		for _, bad := range []string{"http:", "https:", "eval(", "innerHTML", "document.write", "localStorage",
			"sessionStorage", "document.cookie", "import "} {
			if strings.Contains(string(f.Data), bad) {
				t.Errorf("%s has %q", name, bad)
			}
		}
	}
}

// TestColoursHaveContrast computes WCAG 2.2, 1.4.3 and 1.4.11 for the pairs of colours that meet, in both schemes.
func TestColoursHaveContrast(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("static/site.css")
	if err != nil {
		t.Fatal(err)
	}
	roots := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllStringSubmatch(string(css), 2)
	if len(roots) != 2 {
		t.Fatalf("%d sets of colours", len(roots))
	}
	for i, scheme := range []string{"light", "dark"} {
		colour := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{3,6});`).FindAllStringSubmatch(roots[i][1], -1) {
			colour[m[1]] = luminance(t, m[2])
		}
		for _, c := range []struct {
			front, ground string
			least         float64
		}{
			{"text", "ground", 7}, {"text", "raised", 7}, {"quiet", "ground", 4.5}, {"quiet", "raised", 4.5},
			{"accent", "ground", 4.5}, {"accent", "raised", 4.5},
			{"accent-strong", "ground", 4.5}, {"visited", "ground", 4.5}, {"on-accent", "accent", 4.5},
			{"on-accent", "accent-strong", 4.5},
			{"alert", "alert-ground", 4.5}, {"edge", "ground", 3}, {"focus", "ground", 3}, {"focus", "raised", 3},
		} {
			a, okA := colour[c.front]
			b, okB := colour[c.ground]
			if got := (max(a, b) + .05) / (min(a, b) + .05); !okA || !okB || got < c.least {
				t.Errorf("%s: %s on %s has contrast %.2f, want %.1f", scheme, c.front, c.ground, got, c.least)
			}
		}
	}
}

func TestTemplatesHoldNothingInlineAndNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	bad := regexp.MustCompile(`(?i)\sstyle=|<style|\son[a-z]+=|javascript:|https?://|<iframe`)
	script := regexp.MustCompile(
		`<script src="\{\{\.Static "[a-z.-]+"\}\}" defer></script>|<script ` +
			`type="application/ld\+json">\{\{\.\}\}</script>`,
	)
	for file, text := range sources(t, "templates/*.html") {
		for _, m := range bad.FindAllString(text, -1) {
			t.Errorf("%s has %q", file, m)
		}
		if strings.Contains(script.ReplaceAllString(text, ""), "<script") {
			t.Errorf("%s has a script that is no file of ours", file)
		}
	}
}

func TestTemplatesDefineEveryPage(t *testing.T) {
	t.Parallel()
	funcs := template.FuncMap{}
	for _, name := range []string{"breakable", "crs", "number", "join", "json", "degrees", "sentence", "shape",
		"unit", "xml"} {
		funcs[name] = func(...any) string { return "" }
	}
	tmpl, err := template.New("").Funcs(funcs).ParseFS(web.Templates, "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Glob(web.Templates, "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".html")
		if name != "layout" && tmpl.Lookup(name) == nil {
			t.Errorf("%s defines no %q", f, name)
		}
	}
	for _, m := range regexp.MustCompile(`[pP]age\{Name: "([a-z]+)"`).
		FindAllStringSubmatch(strings.Join(values(sources(t, goFiles(t, "../internal/server")...)), "\n"), -1) {
		if tmpl.Lookup(m[1]) == nil {
			t.Errorf("the server shows page %q, which no template defines", m[1])
		}
	}
}

func values(m map[string]string) (out []string) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// TestTranslatedAnswersAreThoseOfTheSources: a form that no source has translates nothing, and a place beyond its
// values is shown as a fault.
func TestTranslatedAnswersAreThoseOfTheSources(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, text := range sources(t, goFiles(t, "../internal")...) {
		all.WriteString(text)
	}
	said, n := all.String(), 0
	for _, lang := range web.Languages() {
		for name, text := range catalogue(t, lang) {
			form, is := strings.CutPrefix(name, "told.")
			if !is {
				continue
			}
			if n++; !strings.Contains(said, strconv.Quote(form)) {
				t.Errorf("nothing says %q", form)
			}
			for _, m := range regexp.MustCompile(`%(?:\[(\d+)\]s|\[(\d+)\]d|(%)|.)`).FindAllStringSubmatch(text, -1) {
				if at, _ := strconv.Atoi(m[1] + m[2]); m[3] == "" &&
					(at < 1 || at > len(verbs.FindAllString(form, -1))) {
					t.Errorf("%s: %q has no value for %s", lang, form, m[0])
				}
			}
		}
	}
	if n < 150 {
		t.Errorf("found only %d", n)
	}
}
