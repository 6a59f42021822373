package server_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// element is an open element of a page that is being checked.
type element struct {
	name string
	attr map[string]string
}

// htmlFaults returns the faults of a page: nesting, ids, references, headings, labels, tables, and anything inline or
// from another server. It knows the part of the HTML standard that our templates use, and refuses the rest.
func htmlFaults(page []byte) (faults []string) {
	c := checker{ids: map[string]bool{}, labelled: map[string]bool{}, navs: map[string]bool{}}
	d := xml.NewDecoder(strings.NewReader(string(page)))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	for {
		tok, err := d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			c.fault("does not parse: %v", err)
			break
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			c.start(tok)
		case xml.EndElement:
			c.end(tok.Name.Local)
		case xml.CharData:
			if len(c.stack) > 0 && strings.TrimSpace(string(tok)) != "" {
				c.text += strings.TrimSpace(string(tok))
			}
		}
	}
	c.finish(string(page))
	return c.faults
}

type checker struct {
	stack     []element
	ids       map[string]bool
	refs      []string        // ids that are referred to
	labelled  map[string]bool // ids that a label names
	navs      map[string]bool // names of navigation landmarks
	inputs    []string        // ids of inputs that want a label
	heading   int             // level of the last heading
	headings  int             // of level 1
	mains     int
	text      string // of the element that was opened last
	hasTitle  bool
	hasLang   bool
	faults    []string
	noCaption bool // a table has begun and its caption has not
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

var (
	voidElements   = strings.Fields("br hr img input link meta source wbr")
	normalElements = strings.Fields("html head title body header nav main footer section a p h1 h2 h3 h4 ul ol li dl " +
		"dt dd div span code pre strong table caption thead tbody tr th td " +
		"form fieldset legend label button select option textarea details summary script svg g path text figure " +
		"figcaption picture time")
	// elements that a p may contain
	phrasing = strings.Fields("a span code strong br img input select option button label textarea time wbr")
	parents  = map[string]string{"li": "ul ol", "dt": "dl", "dd": "dl", "tr": "thead tbody", "th": "tr", "td": "tr",
		"caption": "table", "thead": "table", "tbody": "table",
		"option": "select", "summary": "details", "legend": "fieldset", "main": "body", "title": "head a",
		"meta": "head", "source": "picture"}
)

func (c *checker) start(tok xml.StartElement) {
	name := tok.Name.Local
	e := element{name: name, attr: map[string]string{}}
	for _, a := range tok.Attr {
		if _, twice := e.attr[a.Name.Local]; twice {
			c.fault("<%s> has %s twice", name, a.Name.Local)
		}
		e.attr[a.Name.Local] = a.Value
		if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
			c.fault("<%s> has the inline attribute %s", name, a.Name.Local)
		}
	}
	void := slices.Contains(voidElements, name)
	if !void && !slices.Contains(normalElements, name) {
		c.fault("<%s> is not known", name)
	}
	parent := ""
	if n := len(c.stack); n > 0 {
		parent = c.stack[n-1].name
	}
	if want, ok := parents[name]; ok && !slices.Contains(strings.Fields(want), parent) {
		c.fault("<%s> stands in <%s>", name, parent)
	}
	if (parent == "ul" || parent == "ol") && name != "li" || parent == "dl" && name != "dt" && name != "dd" {
		c.fault("<%s> stands in <%s>", name, parent)
	}
	for _, o := range c.stack {
		if o.name == "p" && !slices.Contains(phrasing, name) ||
			o.name == name && slices.Contains([]string{"a", "form", "button", "label", "p", "main"}, name) {
			c.fault("<%s> stands inside <%s>", name, o.name)
		}
	}
	c.references(e)
	c.rules(e)
	if name != "path" || parent != "a" { // the shape of a link, after its title
		c.text = ""
	}
	if !void {
		c.stack = append(c.stack, e)
	}
}

// references collects ids and references to ids.
func (c *checker) references(e element) {
	if id, ok := e.attr["id"]; ok {
		if id == "" || strings.ContainsAny(id, " \t\n") || c.ids[id] {
			c.fault("id %q is empty, broken or stands twice", id)
		}
		c.ids[id] = true
	}
	for _, a := range []string{"for", "aria-labelledby", "aria-describedby"} {
		c.refs = append(c.refs, strings.Fields(e.attr[a])...)
	}
	if href := e.attr["href"]; strings.HasPrefix(href, "#") {
		c.refs = append(c.refs, href[1:])
	}
	if e.name == "label" {
		c.labelled[e.attr["for"]] = true
	}
}

// rules checks the requirements of single elements.
func (c *checker) rules(e element) {
	need := func(names ...string) {
		for _, n := range names {
			if e.attr[n] == "" {
				c.fault("<%s> has no %s", e.name, n)
			}
		}
	}
	local := func(name string) {
		if v := e.attr[name]; !strings.HasPrefix(v, "/") || strings.HasPrefix(v, "//") {
			c.fault("<%s> loads %q", e.name, v)
		}
	}
	switch e.name {
	case "html":
		need("lang")
		c.hasLang = e.attr["lang"] != ""
	case "title":
		c.hasTitle = true
	case "main":
		c.mains++
	case "nav":
		need("aria-label")
		if c.navs[e.attr["aria-label"]] {
			c.fault("two <nav> have the name %q", e.attr["aria-label"])
		}
		c.navs[e.attr["aria-label"]] = true
	case "img", "script":
		if e.attr["type"] != "application/ld+json" { // data
			local("src")
		}
		if _, ok := e.attr["alt"]; !ok && e.name == "img" {
			c.fault("<img> has no alt")
		}
	case "source":
		local("srcset")
	case "link":
		need("rel", "href")
		if e.attr["rel"] != "alternate" {
			local("href")
		}
	case "svg":
		need("viewBox", "role", "aria-label")
	case "a":
		need("href")
	case "form":
		need("method")
		local("action")
	case "button":
		need("type")
	case "th":
		need("scope")
	case "table":
		c.noCaption = true
	case "caption":
		c.noCaption = false
	case "tbody":
		if c.noCaption && !slices.ContainsFunc(c.stack, func(
			o element) bool {
			return o.attr["role"] == "region" && o.attr["aria-label"] != ""
		}) {
			c.fault("<table> has neither caption nor a region with a name around it")
		}
	case "input", "select", "textarea":
		if _, hidden := e.attr["hidden"]; !hidden && e.attr["type"] != "hidden" {
			need("name")
			if slices.Contains(c.path(), "label") { // the label names the element in it
				if c.text == "" {
					c.fault("the label around <%s> is empty", e.name)
				}
				break
			}
			need("id")
			c.inputs = append(c.inputs, e.attr["id"])
		}
	case "h1", "h2", "h3", "h4":
		level, _ := strconv.Atoi(e.name[1:])
		if level > c.heading+1 {
			c.fault("<%s> follows a heading of level %d", e.name, c.heading)
		}
		if c.heading = level; level == 1 {
			c.headings++
		}
	}
	if e.attr["role"] == "region" && e.attr["aria-label"]+e.attr["aria-labelledby"] == "" {
		c.fault("a region has no name")
	}
}

func (c *checker) end(name string) {
	n := len(c.stack)
	if n == 0 || c.stack[n-1].name != name {
		c.fault("</%s> closes %v", name, c.path())
		return
	}
	if slices.Contains([]string{"title", "h1", "h2", "h3", "a", "button", "label", "summary", "caption"}, name) &&
		c.text == "" && (name != "label" || c.stack[n-1].attr["for"] != "") {
		c.fault("<%s> in %v is empty", name, c.path())
	}
	c.stack = c.stack[:n-1]
}

func (c *checker) path() (out []string) {
	for _, e := range c.stack {
		out = append(out, e.name)
	}
	return out
}

func (c *checker) finish(page string) {
	if len(c.stack) > 0 {
		c.fault("%v stay open", c.path())
	}
	if !strings.HasPrefix(page, "<!DOCTYPE html>\n") || !c.hasTitle || !c.hasLang || c.mains != 1 || c.headings != 1 {
		c.fault("doctype, title, lang, one main (%d) and one h1 (%d) are wanted", c.mains, c.headings)
	}
	for _, id := range c.refs {
		if !c.ids[id] {
			c.fault("nothing has the id %q that is referred to", id)
		}
	}
	for _, id := range c.inputs {
		if !c.labelled[id] {
			c.fault("no label names the input %q", id)
		}
	}
	for _, bad := range []string{"<no value>", "ZgotmplZ", "%!", "&lt;nil&gt;"} {
		if strings.Contains(page, bad) {
			c.fault("the page has %q", bad)
		}
	}
}
