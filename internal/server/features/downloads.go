package features

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"grense/api/ogcapi"
	"grense/internal/format"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/files"
	"grense/internal/server/limit"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/selection"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// downloadReps returns the representations of a download: each format that can be written here, with its own media
// type.
func (s *surface) downloadReps() []media.Format {
	var reps []media.Format
	for _, f := range format.All() {
		if f.NeedsWriter && s.NewGeoPackage == nil {
			continue
		}
		r := media.Format{F: f.Name, Media: f.Media, Charset: f.Charset}
		if f.Name == media.GeoJSON.F {
			r.Also, r.Alias = media.GeoJSON.Also, media.GeoJSON.Alias
		}
		reps = append(reps, r)
	}
	return reps
}

// download writes all features of a selection as one file. The file of a whole collection is created once for each
// data version, cached, and can be read in parts.
func (s *surface) download(c *call, w http.ResponseWriter) error {
	f := format.Find(c.Format.F)
	if err := c.checkDownload(f); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", c.Format.ContentType())
	c.DataHeaders(w)
	h.Set("Content-Disposition", `attachment; filename="`+f.FileName(c.Collection.ID, c.selection(), c.Output().Crs)+
		`"`)
	selection.WriteLosses(c.Call, h, c.losses(f)...)
	id := c.Output().Crs
	if f.Lon {
		id = crs.CRS84
	}
	h.Set("Content-Crs", "<"+id.URI()+">")
	h.Set("Link", wire.LinkHeader(append(selection.ProfileLinks(c.Call),
		ogcapi.Link{Rel: "collection", Type: "application/json", Href: c.Base() + "/collections/" + c.Collection.ID})))
	if err := c.checkMost(f); err != nil {
		return err
	}
	if c.everything() {
		return s.wholeDownload(c, w, f)
	}
	if c.Request.Method == http.MethodHead {
		return c.head(w, f)
	}
	if err := c.simplify(); err != nil {
		return err
	}
	if err := c.LargeFile(c.Request.Context()); err != nil {
		return err
	}
	snap, err := c.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	return c.deliver(w, f, snap)
}

// checkDownload refuses combinations of parameters that contradict each other.
func (c *call) checkDownload(f *format.Format) error {
	switch {
	case c.file().Revision != "" && !c.everything():
		return problem.Invalidf("revision", c.file().Revision,
			"it names the whole collection; leave out what selects from it, or leave out revision")
	case c.Output().Dialect != "" && f.Name != "csv":
		return problem.Invalidf("dialect", c.Output().Dialect, "it is of f=csv")
	case f.Lon && c.Output().Crs != crs.CRS84:
		return problem.Invalidf("crs", server.First(c.Values["crs"]), "%s is in CRS84 always; leave out crs", f.Title)
	}
	return c.checkPrecision()
}

// checkPrecision refuses the parameter precision for representations whose numbers it does not change.
func (c *call) checkPrecision() error {
	f := format.Find(c.Format.F)
	if c.Output().Precision == nil || f != nil && f.Precise || c.Format.F == media.GeoJSONLD.F {
		return nil
	}
	return problem.Invalidf("precision", server.First(c.Values["precision"]),
		"f=%s has no such choice; use f=json, f=geojsonseq, f=ndjson or f=csv", c.Format.F)
}

// checkMost counts the features first if the format limits their number. If counting takes too long, the writer
// reports the excess.
func (c *call) checkMost(f *format.Format) error {
	if f.Most == 0 {
		return nil
	}
	q := c.Items().Query
	q.Limit, q.Offset, q.Count, q.SortBy = 0, 0, store.CountExact, nil
	n := 0
	err := c.Ask(func(ctx context.Context) error {
		p, err := c.s.Store.Page(ctx, q)
		if err == nil {
			n = p.Matched
		}
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return c.Request.Context().Err()
	}
	if err == nil && n > f.Most {
		return f.TooMany()
	}
	return err
}

// selection returns the part of a file name that describes the selection.
func (c *call) selection() string {
	for name := range c.Values {
		switch name {
		case "f", "lang", "revision", "dialect", "profile", "crs":
		default:
			return "selection"
		}
	}
	return ""
}

// everything reports whether the request selects the whole collection and names only a format.
func (c *call) everything() bool {
	if server.IsVersioned(c.Collection) { // the valid versions change with time
		return false
	}
	for name := range c.Values {
		if name != "f" && name != "lang" && name != "revision" {
			return false
		}
	}
	return true
}

// fileOptions returns the options of the writer.
func (c *call) fileOptions() output.Options {
	return output.Options{Collection: c.written(), CRS: c.Output().Crs, Properties: c.Output().Properties,
		SkipGeometry: c.Output().SkipGeometry, Count: -1, Address: c.Base() + "/collections/" + c.Collection.ID,
		Title: c.Collection.Title.In("nb"), Dated: c.Catalog.Modified, Excel: c.Output().Dialect == "excel",
		Precision: c.Output().Precision, Profile: c.Output().Profile, GeoPackage: c.s.NewGeoPackage}
}

// losses returns what a format cannot hold of the response; none if f is nil.
func (c *call) losses(f *format.Format) []string {
	if f == nil {
		return nil
	}
	losses := slices.Clip(f.LossesIn(c.fileOptions()))
	if c.Output().Dialect == "excel" {
		losses = append(losses, "texts that a spreadsheet takes for formulas begin with an apostrophe")
	}
	return losses
}

// makeFile writes the file to out, with a place for file work. It does not wait for a slow client.
func (c *call) makeFile(out io.Writer, f *format.Format, snap store.Snapshot) error {
	t, k := c.s.Turns, c.LargeTicket()
	if err := t.Enter(c.Request.Context(), limit.CostFileMaking, k); err != nil {
		return err
	}
	defer t.Leave(limit.CostFileMaking, k)
	return c.produce(out, f, snap, c.s.Files.Temp())
}

// deliver writes the file to the client. If the disk of the cached files is full, deliver uses the system's folder
// for temporary files.
func (c *call) deliver(w http.ResponseWriter, f *format.Format, snap store.Snapshot) error {
	out := &begun{ResponseWriter: w}
	err := c.stream(out, f, snap, c.s.Files.Temp())
	if files.NoRoom(err) && !out.yes {
		err = c.stream(out, f, snap, "")
	}
	if files.NoRoom(err) && !out.yes {
		return problem.New(problem.Unavailable, err,
			"There is no room for the file now. Try again later, select less, or take a format that needs none, as "+
				"f=geojsonseq or f=csv.")
	}
	return err
}

// begun records whether something was written.
type begun struct {
	http.ResponseWriter
	yes bool
}

func (b *begun) Write(p []byte) (int, error) {
	b.yes = true
	return b.ResponseWriter.Write(p)
}

func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// stream writes the file while it reads, if the snapshot holds no resources; otherwise through a temporary file.
func (c *call) stream(w http.ResponseWriter, f *format.Format, snap store.Snapshot, temp string) error {
	if snap.Holds() {
		return c.streamFile(w, f, snap, temp)
	}
	if c.zips(f) {
		w.Header().Set("Content-Encoding", "gzip")
		zip, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err := c.produce(&prompt{Writer: zip,
			push: func() error { return cmp.Or(zip.Flush(), c.Response.Push()) }}, f, snap, temp); err != nil {
			return err
		}
		return zip.Close()
	}
	return c.produce(&prompt{Writer: w, push: c.Response.Push}, f, snap, temp)
}

// prompt flushes the first bytes to the client.
type prompt struct {
	io.Writer
	push func() error // nil after the call
}

func (p *prompt) Write(b []byte) (n int, err error) {
	if n, err = p.Writer.Write(b); err == nil && p.push != nil {
		err, p.push = p.push(), nil
	}
	return n, err
}

// head answers HEAD with the header fields that are known before the file is created.
func (c *call) head(w http.ResponseWriter, f *format.Format) error {
	if !c.Catalog.Live && c.zips(f) {
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// zips reports whether a streamed file is compressed.
func (c *call) zips(f *format.Format) bool { return textual(f) && wire.AcceptsGzip(c.Request) }

// textual reports whether a format is worth compressing.
func textual(f *format.Format) bool {
	return f.Charset || strings.HasSuffix(f.Media, "json") || strings.HasSuffix(f.Media, "-seq") ||
		strings.Contains(f.Media, "xml") && f.Name != "xlsx"
}

// produce writes the file to out; temp is the folder for intermediate files.
func (c *call) produce(out io.Writer, f *format.Format, snap store.Snapshot, temp string) error {
	o := c.fileOptions()
	o.Temp = temp
	if c.simple != nil {
		snap = simpleSnapshot{Snapshot: snap, simple: c.simple}
	}
	return f.Produce(c.Request.Context(), out, o,
		output.Source{Snapshot: snap, Query: c.Items().Query, VersionIDs: c.Output().VersionIDs})
}

// revisionOf returns the id of a data version for addresses. It changes with the program too, since another version
// of Grense may write other bytes.
func (c *call) revisionOf(state store.Version) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(state), c.s.Version, c.Base()}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// wholeDownload sends the file of the whole collection, or the range of it that the client requests. With revision it
// sends the file of that data version, otherwise of the current one. Ranges and HEAD need a cached file, so
// wholeDownload creates it first.
func (s *surface) wholeDownload(c *call, w http.ResponseWriter, f *format.Format) error {
	snap, err := c.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	state, err := snap.Version(c.Request.Context(), c.Collection.ID)
	if err != nil {
		return err
	}
	if state == "" {
		return s.unnamedDownload(c, w, f, snap)
	}
	now := c.revisionOf(state)
	asked := c.file().Revision
	if asked == "" {
		asked = now
	}
	name := downloadName(c.Collection.ID, asked, f)
	file, err := s.Files.Open(name)
	part := c.Request.Header.Get("Range") != ""
	resumed := err == nil && part
	if perr := c.Pay(resumed); perr != nil {
		if err == nil {
			file.Close()
		}
		return perr
	}
	switch {
	case err == nil:
	case asked != now:
		return c.fileGone(f)
	case c.Request.Method == http.MethodHead && !s.Files.Keeps():
		return c.head(w, f)
	case c.file().Revision == "" && f.Streams && !part && c.Request.Method != http.MethodHead && !snap.Holds() &&
		s.Files.Alone(name):
		// other requests during the stream share a cached file
		defer s.Files.Streamed(name)
		if err := c.LargeFile(c.Request.Context()); err != nil {
			return err
		}
		return c.deliver(w, f, snap)
	default:
		var sent bool
		if file, sent, err = c.makeWhole(w, f, snap, state); sent {
			return err
		}
		if files.NoRoom(err) { // the file cannot be cached, but it can still be sent
			if err := c.LargeFile(c.Request.Context()); err != nil {
				return err
			}
			return c.deliver(w, f, snap)
		}
		if err != nil {
			return err
		}
	}
	defer file.Close()
	snap.Close()
	return c.sendFile(w, file, asked, f)
}

// unnamedDownload is wholeDownload for data without a version: their files are never cached and have no address of
// their own.
func (s *surface) unnamedDownload(c *call, w http.ResponseWriter, f *format.Format, snap store.Snapshot) error {
	if err := c.Pay(false); err != nil {
		return err
	}
	if c.file().Revision != "" {
		return c.fileGone(f)
	}
	w.Header().Set("Accept-Ranges", "none")
	if c.Request.Method == http.MethodHead {
		return c.head(w, f)
	}
	if err := c.LargeFile(c.Request.Context()); err != nil {
		return err
	}
	return c.deliver(w, f, snap)
}

func (c *call) fileGone(f *format.Format) error {
	return problem.New(problem.Gone, nil,
		"The file of this state of the data is gone. Begin anew at %s/collections/%s/download?f=%s", c.Base(),
		c.Collection.ID, f.Name)
}

// sendFile sends a cached file, or a range of it, with a strong validator (RFC 9110, 13.1.5, 14.2).
func (c *call) sendFile(w http.ResponseWriter, file *os.File, revision string, f *format.Format) error {
	h := w.Header()
	c.fileFields(h, revision, f)
	c.Response.FromDisk()
	if err := wire.IfMatch(c.Request, fileTag(revision, f)); err != nil {
		return err
	}
	return wire.ServeParts(w, c.Request, file)
}

// fileFields sets the header fields that identify the file of a whole collection in a data version.
func (c *call) fileFields(h http.Header, revision string, f *format.Format) {
	h.Set("ETag", fileTag(revision, f))
	h.Set("Content-Location", c.Base()+"/collections/"+c.Collection.ID+"/download?f="+f.Name+"&revision="+revision)
	h.Set("Accept-Ranges", "bytes")
}

func fileTag(revision string, f *format.Format) string { return `"` + revision + "-" + f.Name + `"` }

// hasFile reports whether the client already has the file of that data version.
func (c *call) hasFile(revision string, f *format.Format) bool {
	return wire.Matches(c.Request.Header.Values("If-None-Match"), fileTag(revision, f))
}

// downloadLinks returns links to the files of a collection (RFC 8288, rel enclosure), with their lengths if they are
// cached. A database gets a new version with every transaction, so only links to cached files name the version.
func (c *call) downloadLinks(coll *store.Collection) []ogcapi.Link {
	var links []ogcapi.Link
	revision, lasts := "", false
	if server.IsPlain(coll) {
		revision, lasts = c.fileState(coll)
	}
	for _, r := range c.s.downloadReps() {
		f := format.Find(r.F)
		l := ogcapi.Link{Rel: "enclosure", Type: r.Media, Title: "All features as " + f.Title, Href: c.Base() +
			"/collections/" + coll.ID + "/download?f=" + f.Name}
		if revision != "" {
			l.Length = c.s.Files.Length(downloadName(coll.ID, revision, f))
		}
		if lasts || l.Length > 0 {
			l.Href += "&revision=" + revision
		}
		links = append(links, l)
	}
	return links
}

// fileState returns the current data version for addresses of files; lasts reports that it holds until the catalog
// changes. For a database, which must be queried, fileState returns "" if no file of the collection is cached. It
// also returns "" if the query takes long, or if another program has written to a file; then links lead to the
// current version, whatever it is.
func (c *call) fileState(coll *store.Collection) (revision string, lasts bool) {
	lasts = !c.Catalog.Live
	if !lasts && !c.s.Files.Has(coll.ID) {
		return "", false
	}
	key := coll.ID
	if lasts {
		key = "" // the version is that of all collections
	}
	if revision, ok := c.Files.Names[key]; ok {
		return revision, lasts && revision != ""
	}
	ctx, end := context.WithTimeout(c.Request.Context(), time.Second)
	defer end()
	if state, err := c.s.Fair.Store.Version(ctx, coll.ID); err == nil && state != "" &&
		(!lasts || string(state) == c.Catalog.Version) {
		revision = c.revisionOf(state)
	}
	if c.Files.Names == nil {
		c.Files.Names = map[string]string{}
	}
	c.Files.Names[key] = revision
	c.Files.Asked, c.Files.Unknown = c.Files.Asked || !lasts, c.Files.Unknown || !lasts && revision == ""
	return revision, lasts && revision != ""
}

func downloadName(collection, revision string, f *format.Format) string {
	return collection + "." + revision + f.Ext
}

// pageDownloads returns links to the files of the collection, or of the features that the page selects: matched, or
// -1 if unknown. Only cached files have a known size.
func (c *call) pageDownloads(selection []string, matched int) (out []page.DownloadLink) {
	reps := c.s.downloadReps()
	for i, l := range c.downloadLinks(c.Collection) {
		f := format.Find(reps[i].F)
		d := page.DownloadLink{Title: f.Title, Href: l.Href, Media: l.Type, Ext: f.Ext}
		if f.Most > 0 && matched > f.Most {
			d.Size = c.Text("files.most", page.InDigits(strconv.Itoa(f.Most), c.Lang))
		}
		if len(selection) > 0 {
			d.Href = c.Base() + "/collections/" + c.Collection.ID + "/download?f=" + f.Name + "&" +
				strings.Join(selection, "&")
			if f.Lon && c.Output().Crs != crs.CRS84 {
				continue
			}
		} else if l.Length > 0 {
			d.Size = c.Size(l.Length)
		}
		out = append(out, d)
		if f.Name == media.CSV.F { // spreadsheets open this dialect without an import dialog
			d.Title, d.Href, d.Size = c.Text("files.excel"), withoutRevision(d.Href)+"&dialect=excel", ""
			out = append(out, d)
		}
	}
	return out
}

// withoutRevision returns the permanent address of a file.
func withoutRevision(href string) string {
	lasting, _, _ := strings.Cut(href, "&revision=")
	return lasting
}
