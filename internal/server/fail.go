package server

import (
	"errors"
	"net/http"
	"strings"

	"grense/internal/apikey"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/server/files"
	"grense/internal/server/limit"
	"grense/internal/server/media"
	"grense/internal/server/metrics"
	"grense/internal/server/page"
	"grense/internal/server/problems"
	"grense/internal/server/wire"
)

// Fail writes an error as a problem document or as a page (RFC 9457; OGC 17-069r4, 7.5.1). It must be called before the
// response has begun.
func (c *Call) Fail(w http.ResponseWriter, err error) {
	e := problems.Classify(err)
	c.refused = metrics.Refusals[e.Kind]
	if r, ok := errors.AsType[*limit.RetryIn](err); ok {
		c.refused = r.Reason
	}
	if e.Kind == problem.Internal || files.DiskFull(err) {
		c.s.Log.ErrorContext(c.Request.Context(), "request failed", "request", c.ID, "path",
			apikey.Redact(c.Request.URL.Path), "err", apikey.Redact(e.Error()))
	}
	p := problems.Document(e, c.ID, c.traceID)
	h := w.Header()
	for _, name := range [...]string{"Content-Encoding", "Content-Crs", "ETag", "Link", "OGC-NumberMatched",
		"OGC-NumberReturned", "Content-Disposition", "Content-Location", "Content-Length", "Format-Losses"} {
		h.Del(name)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", VaryKeyed)
	h.Set("Content-Language", "en")
	if e.Kind == problem.TooMany {
		c.s.WriteRates(w, c.Owner())
	}
	asPage := media.WantsPage(c.Request.URL.Query().Get("f"), c.Request.Header.Values("Accept"))
	switch e.Kind {
	case problem.Unauthorized:
		h.Add("WWW-Authenticate", `ApiKey realm="data", header="X-API-Key"`)
		if !asPage && !strings.Contains(strings.Join(c.Request.Header.Values("Accept"), ","), "text/html") {
			h.Add("WWW-Authenticate", `Basic realm="data", charset="UTF-8"`)
		}
	case problem.Unavailable, problem.Timeout, problem.Busy, problem.TooMany:
		h.Set("Retry-After", problems.RetryOf(err))
	}
	gone, isRetired := errors.AsType[*Retired](err)
	if isRetired {
		h.Set("Link", wire.LinkHeader(gone.Links))
		p.Type = gone.More.Type
		gone.More.Problem = p
	}
	if asPage {
		// the query was not parsed, but links repeat the language
		if l, ok := media.LanguageOf(media.Requested(c.Request.URL)); ok {
			c.Speak(l)
		}
		pg := failed{c}.formPage(e, p)
		if pg == nil {
			pg = failed{c}.problemPage(e, p)
		}
		if isRetired {
			pg.Data.(*problemView).Current = RefCrumbs(&c.Set, gone.More.Current)
			if gone.Name != "" {
				day, _ := c.DateText(gone.More.Date)
				pg.Data.(*problemView).Gone = c.Text("retired.gone", gone.Name, day,
					KindText(c.Lang, history.Kind(gone.More.Type)))
			}
			path := strings.TrimPrefix(c.s.proxies.Path(c.Request.URL), c.Mount)
			if c.Collection != nil && !strings.HasSuffix(path, "/lineage") {
				path += "/lineage"
			}
			pg.Data.(*problemView).History = c.HtmlHref(path)
		}
		if plain, err := c.RenderPage(pg); err == nil {
			h.Set("Content-Type", media.HTML.ContentType())
			h.Set("Content-Language", page.LanguageTag(c.Lang))
			c.WriteBody(w, p.Status, wire.Once([]byte(apikey.Redact(string(plain)))))
			return
		}
		c.s.Log.ErrorContext(c.Request.Context(), "error page failed", "request", c.ID, "err", err)
	}
	h.Set("Content-Type", "application/problem+json")
	var doc any = p
	if isRetired {
		doc = gone.More
	}
	plain, _ := wire.Marshal(doc) // strings and numbers only
	c.WriteBody(w, p.Status, &wire.Body{Plain: plain})
}
