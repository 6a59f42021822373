package page

import "html/template"

// DownloadLink is a link to a file on a page.
type DownloadLink struct {
	Title, Href, Media, Ext string
	Size                    string // with its unit; "" if it is not known before the file is built
}

// HTML returns the link as an element of a list.
func (l DownloadLink) HTML() template.HTML {
	esc := template.HTMLEscapeString
	size := ""
	if l.Size != "" {
		size = ", " + esc(l.Size)
	}
	return template.HTML(`<li><a href="` + esc(l.Href) + `" type="` + esc(l.Media) + `" rel="enclosure nofollow">` +
		esc(l.Title) + `</a> <span class="hint">` + esc(l.Ext) + size + "</span></li>")
}
