package processes

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/process"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/wire"
)

// sendResults writes the outputs of an execution (OGC 18-062r2, 7.11.4): as a document, or raw, where several outputs
// are multipart/related. Outputs by reference are links, in a raw response in the header Link.
func (c *call) sendResults(w http.ResponseWriter, results []result, req *process.Request) error {
	h := w.Header()
	h.Set("Vary", server.VaryKeyed)
	h.Set("Cache-Control", "private, no-store")
	h.Set("Content-Language", page.LanguageTag(c.Lang))
	if req.Document {
		return c.sendDocument(w, results)
	}
	var values []result
	var links []ogcapi.Link
	for _, r := range results {
		if r.reference {
			links = append(links, ogcapi.Link{Rel: "related", Type: r.media, Href: r.href})
			continue
		}
		values = append(values, r)
	}
	if links != nil {
		h.Set("Link", wire.LinkHeader(links))
	}
	switch len(values) {
	case 0:
		w.WriteHeader(http.StatusNoContent)
		return nil
	case 1:
		return c.sendResult(w, values[0])
	}
	return c.sendParts(w, values)
}

// sendResult writes one output, or the byte range that the client requests.
func (c *call) sendResult(w http.ResponseWriter, r result) error {
	h := w.Header()
	h.Set("Content-Type", charsetOf(r.media))
	if r.name != "" {
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": r.name}))
	}
	if r.losses != "" {
		h.Set("Format-Losses", r.losses)
	}
	if r.etag != "" {
		h.Set("ETag", `"`+r.etag+`"`)
	} else { // only stored outputs have ranges
		c.Request.Header.Del("Range")
	}
	return wire.ServeParts(w, c.Request, r.data)
}

// charsetOf returns a media type with its charset.
func charsetOf(media string) string {
	if strings.HasPrefix(media, "text/") && !strings.Contains(media, "charset") {
		return media + "; charset=utf-8"
	}
	return media
}

// sendParts writes several outputs as multipart/related, each with its id as Content-ID (RFC 2387).
func (c *call) sendParts(w http.ResponseWriter, results []result) error {
	m := multipart.NewWriter(w)
	w.Header().Set("Content-Type", mime.FormatMediaType("multipart/related",
		map[string]string{"boundary": m.Boundary(), "type": results[0].media}))
	w.WriteHeader(http.StatusOK)
	for _, r := range results {
		head := textproto.MIMEHeader{"Content-Type": {charsetOf(r.media)}, "Content-ID": {"<" + r.id + ">"}}
		if r.name != "" {
			head.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": r.name}))
		}
		if r.losses != "" {
			head.Set("Format-Losses", r.losses)
		}
		part, err := m.CreatePart(head)
		if err != nil {
			return err
		}
		if _, err := io.Copy(part, r.data); err != nil {
			return err
		}
	}
	return m.Close()
}

// sendDocument writes a JSON object of the outputs by id (OGC 18-062r2, 7.11.4.1): numbers, texts, lists and boxes as
// they are, other objects and files as qualified values, references as links.
func (c *call) sendDocument(w http.ResponseWriter, results []result) error {
	w.Header().Set("Content-Type", "application/json")
	if c.Request.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	before := "{"
	for _, r := range results {
		name, err := json.Marshal(r.id)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, before+string(name)+":"); err != nil {
			return err
		}
		if err := writeMember(w, r); err != nil {
			return err
		}
		before = ","
	}
	if len(results) == 0 {
		_, err := io.WriteString(w, "{}")
		return err
	}
	_, err := io.WriteString(w, "}")
	return err
}

// writeMember writes one output of a document without holding it in memory.
func writeMember(w io.Writer, r result) error {
	text := func(s string) error { _, err := io.WriteString(w, s); return err }
	media, err := json.Marshal(r.media)
	if err != nil {
		return err
	}
	switch {
	case r.reference:
		b, err := json.Marshal(ogcapi.Link{Rel: "related", Type: r.media, Href: r.href})
		if err != nil {
			return err
		}
		return text(string(b))
	case r.json && r.object && !r.box:
		if err := text(`{"value":`); err != nil {
			return err
		}
		if _, err := io.Copy(w, r.data); err != nil {
			return err
		}
		return text("}")
	case r.json:
		_, err := io.Copy(w, r.data)
		return err
	case isJSON(r.media):
		if err := text(`{"mediaType":` + string(media) + `,"value":`); err != nil {
			return err
		}
		if _, err := io.Copy(w, r.data); err != nil {
			return err
		}
		return text("}")
	}
	if isText(r.media) {
		return writeText(w, string(media), r.data)
	}
	if err := text(`{"mediaType":` + string(media) + `,"encoding":"base64","value":"`); err != nil {
		return err
	}
	e := base64.NewEncoder(base64.StdEncoding, w)
	if _, err := io.Copy(e, r.data); err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	return text(`"}`)
}

// isText reports whether files of a media type are UTF-8 text.
func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || kind == media.Lines.Media
}

// writeText writes a text as a qualified value, line by line.
func writeText(w io.Writer, media string, data io.Reader) error {
	if _, err := io.WriteString(w, `{"mediaType":`+media+`,"value":"`); err != nil {
		return err
	}
	for lines := bufio.NewReader(data); ; {
		line, err := lines.ReadString('\n')
		b, _ := json.Marshal(line) // strings cannot fail
		if _, err := w.Write(b[1 : len(b)-1]); err != nil {
			return err
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, `"}`)
	return err
}

// isJSON reports whether files of a media type are JSON.
func isJSON(media string) bool {
	return media == "application/json" || strings.HasSuffix(media, "+json")
}
