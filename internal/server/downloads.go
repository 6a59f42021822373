package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"grense/api/ogcapi"
	"grense/internal/format"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server/files"
	"grense/internal/server/limit"
	"grense/internal/server/page"
	"grense/internal/store"
)

// downloadReps are the representations of a download: every format that can be written here, as its own media type.
func (s *Kit) downloadReps() []Format {
	var reps []Format
	for _, f := range format.All() {
		if f.NeedsWriter && s.NewGeoPackage == nil {
			continue
		}
		r := Format{F: f.Name, Media: f.Media, Charset: f.Charset}
		if f.Name == AsGeoJSON.F {
			r.Also, r.Alias = AsGeoJSON.Also, AsGeoJSON.Alias
		}
		reps = append(reps, r)
	}
	return reps
}

// download writes all features of a selection as one file. The whole collection, nothing else asked, is made once for each state of the data and
// cached, and read in parts.
func (s *Kit) download(c *Call, w http.ResponseWriter) error {
	f := format.Find(c.Format.F)
	if err := c.checkDownload(f); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", c.Format.ContentType())
	c.DataHeaders(w)
	h.Set("Content-Disposition", `attachment; filename="`+f.FileName(c.Collection.ID, c.selection(), c.output().crs)+`"`)
	c.TellLosses(h, f)
	id := c.output().crs
	if f.Lon {
		id = crs.CRS84
	}
	h.Set("Content-Crs", "<"+id.URI()+">")
	h.Set("Link", LinkHeader(append(c.profileLinks(), ogcapi.Link{Rel: "collection", Type: "application/json", Href: c.Base() + "/collections/" + c.Collection.ID})))
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
	if err := c.largeFile(); err != nil {
		return err
	}
	snap, err := c.snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	return c.deliver(w, f, snap)
}

// checkDownload refuses what does not go together.
func (c *Call) checkDownload(f *format.Format) error {
	switch {
	case c.file().revision != "" && !c.everything():
		return problem.Invalidf("revision", c.file().revision, "it names the whole collection; leave out what selects from it, or leave out revision")
	case c.output().dialect != "" && f.Name != "csv":
		return problem.Invalidf("dialect", c.output().dialect, "it is of f=csv")
	case f.Lon && c.output().crs != crs.CRS84:
		return problem.Invalidf("crs", First(c.Values["crs"]), "%s is in CRS84 always; leave out crs", f.Title)
	}
	return c.checkPrecision()
}

// checkPrecision refuses the parameter precision for a representation whose numbers it does not change.
func (c *Call) checkPrecision() error {
	f := format.Find(c.Format.F)
	if c.output().precision == nil || f != nil && f.Precise || c.Format.F == asGeoJSONLD.F {
		return nil
	}
	return problem.Invalidf("precision", First(c.Values["precision"]), "f=%s has no such choice; use f=json, f=geojsonseq, f=ndjson or f=csv", c.Format.F)
}

// checkMost counts before a file is begun that cannot hold any number of features. Where counting takes too long, the file itself tells it.
func (c *Call) checkMost(f *format.Format) error {
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

// selection is what a file's name says of what was selected.
func (c *Call) selection() string {
	for name := range c.Values {
		switch name {
		case "f", "lang", "revision", "dialect", "profile", "crs":
		default:
			return "selection"
		}
	}
	return ""
}

// everything reports whether nothing but the format is asked.
func (c *Call) everything() bool {
	if IsVersioned(c.Collection) { // what is valid now changes with time
		return false
	}
	for name := range c.Values {
		if name != "f" && name != "lang" && name != "revision" {
			return false
		}
	}
	return true
}

// fileOptions is how the file is written.
func (c *Call) fileOptions() output.Options {
	return output.Options{Collection: c.written(), CRS: c.output().crs, Properties: c.output().Properties, SkipGeometry: c.output().skipGeometry, Count: -1, Address: c.Base() + "/collections/" + c.Collection.ID,
		Title: c.Collection.Title.In("nb"), Dated: c.Catalog.Modified, Excel: c.output().dialect == "excel", Precision: c.output().precision, Profile: c.output().profile, GeoPackage: c.s.NewGeoPackage}
}

// makeFile writes the file to out, with a place for that; what is written does not wait for a reader.
func (c *Call) makeFile(out io.Writer, f *format.Format, snap store.Snapshot) error {
	t, k := c.s.Turns, c.largeTicket()
	if err := t.Enter(c.Request.Context(), limit.CostFileMaking, k); err != nil {
		return err
	}
	defer t.Leave(limit.CostFileMaking, k)
	return c.produce(out, f, snap, c.s.downloads.Temp())
}

// deliver writes the file to the client. Where the disk of the cached files is full, that of the system's temporary files is used.
func (c *Call) deliver(w http.ResponseWriter, f *format.Format, snap store.Snapshot) error {
	out := &begun{ResponseWriter: w}
	err := c.stream(out, f, snap, c.s.downloads.Temp())
	if files.NoRoom(err) && !out.yes {
		err = c.stream(out, f, snap, "")
	}
	if files.NoRoom(err) && !out.yes {
		return problem.New(problem.Unavailable, err, "There is no room for the file now. Try again later, select less, or take a format that needs none, as f=geojsonseq or f=csv.")
	}
	return err
}

// begun knows whether something was written.
type begun struct {
	http.ResponseWriter
	yes bool
}

func (b *begun) Write(p []byte) (int, error) {
	b.yes = true
	return b.ResponseWriter.Write(p)
}

func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// stream writes the file: while it reads, where the snapshot costs nobody anything; else by way of a temporary file.
func (c *Call) stream(w http.ResponseWriter, f *format.Format, snap store.Snapshot, temp string) error {
	if snap.Holds() {
		return c.streamFile(w, f, snap, temp)
	}
	if c.zips(f) {
		w.Header().Set("Content-Encoding", "gzip")
		zip, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err := c.produce(&prompt{Writer: zip, push: func() error { return cmp.Or(zip.Flush(), c.Response.push()) }}, f, snap, temp); err != nil {
			return err
		}
		return zip.Close()
	}
	return c.produce(&prompt{Writer: w, push: c.Response.push}, f, snap, temp)
}

// prompt pushes the first of what is written on its way.
type prompt struct {
	io.Writer
	push func() error // nil once it was called
}

func (p *prompt) Write(b []byte) (n int, err error) {
	if n, err = p.Writer.Write(b); err == nil && p.push != nil {
		err, p.push = p.push(), nil
	}
	return n, err
}

// head answers HEAD with what is known before the file is made.
func (c *Call) head(w http.ResponseWriter, f *format.Format) error {
	if !c.Catalog.Live && c.zips(f) {
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// zips reports whether a file that is written while it is read is compressed.
func (c *Call) zips(f *format.Format) bool { return textual(f) && acceptsGzip(c.Request) }

// textual reports whether a format is worth compressing.
func textual(f *format.Format) bool {
	return f.Charset || strings.HasSuffix(f.Media, "json") || strings.HasSuffix(f.Media, "-seq") || strings.Contains(f.Media, "xml") && f.Name != "xlsx"
}

// produce writes the file to out; temp is the folder for what has to wait.
func (c *Call) produce(out io.Writer, f *format.Format, snap store.Snapshot, temp string) error {
	o := c.fileOptions()
	o.Temp = temp
	if c.simple != nil {
		snap = simpleSnapshot{snap, c.simple}
	}
	return f.Produce(c.Request.Context(), out, o, output.Source{Snapshot: snap, Query: c.Items().Query, VersionIDs: c.output().versionIDs})
}

// revisionOf names a state of the data as addresses do. It changes with the program too, since another version may write other bytes.
func (c *Call) revisionOf(state store.Version) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(state), c.s.Version, c.Base()}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// wholeDownload sends the file of the whole collection, or the part that Range asks for: at the address that names its state that file, else the
// present one. A part, and the length that HEAD tells, are of a file that is kept, so that it is made first.
func (s *Kit) wholeDownload(c *Call, w http.ResponseWriter, f *format.Format) error {
	snap, err := c.snapshot()
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
	asked := c.file().revision
	if asked == "" {
		asked = now
	}
	name := downloadName(c.Collection.ID, asked, f)
	file, err := s.downloads.Open(name)
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
	case c.Request.Method == http.MethodHead && !s.downloads.Keeps():
		return c.head(w, f)
	case c.file().revision == "" && f.Streams && !part && c.Request.Method != http.MethodHead && !snap.Holds() && s.downloads.Alone(name): // who come while it streams share a file
		defer s.downloads.Streamed(name)
		if err := c.largeFile(); err != nil {
			return err
		}
		return c.deliver(w, f, snap)
	default:
		var sent bool
		if file, sent, err = c.makeWhole(w, f, snap, state); sent {
			return err
		}
		if files.NoRoom(err) { // the cached copy is lost, the answer is not
			if err := c.largeFile(); err != nil {
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

// unnamedDownload is wholeDownload of data whose state cannot be told: such a file is never kept, and has no address of its own.
func (s *Kit) unnamedDownload(c *Call, w http.ResponseWriter, f *format.Format, snap store.Snapshot) error {
	if err := c.Pay(false); err != nil {
		return err
	}
	if c.file().revision != "" {
		return c.fileGone(f)
	}
	w.Header().Set("Accept-Ranges", "none")
	if c.Request.Method == http.MethodHead {
		return c.head(w, f)
	}
	if err := c.largeFile(); err != nil {
		return err
	}
	return c.deliver(w, f, snap)
}

func (c *Call) fileGone(f *format.Format) error {
	return problem.New(problem.Gone, nil, "The file of this state of the data is gone. Begin anew at %s/collections/%s/download?f=%s", c.Base(), c.Collection.ID, f.Name)
}

// sendFile sends a cached file, or a part of it, under a strong validator (RFC 9110, 13.1.5, 14.2).
func (c *Call) sendFile(w http.ResponseWriter, file *os.File, revision string, f *format.Format) error {
	h := w.Header()
	c.fileFields(h, revision, f)
	c.Response.fromDisk()
	if err := c.ifMatch(fileTag(revision, f)); err != nil {
		return err
	}
	return c.ServeParts(w, file)
}

// fileFields are those of the header that name the file of a whole collection in a state.
func (c *Call) fileFields(h http.Header, revision string, f *format.Format) {
	h.Set("ETag", fileTag(revision, f))
	h.Set("Content-Location", c.Base()+"/collections/"+c.Collection.ID+"/download?f="+f.Name+"&revision="+revision)
	h.Set("Accept-Ranges", "bytes")
}

func fileTag(revision string, f *format.Format) string { return `"` + revision + "-" + f.Name + `"` }

// hasFile reports whether the client has the file of that state already.
func (c *Call) hasFile(revision string, f *format.Format) bool {
	return matches(c.Request.Header.Values("If-None-Match"), fileTag(revision, f))
}

// downloadLinks are the links to the files of a collection (RFC 8288, rel enclosure), with their length where they are made. In a database, where any
// transaction makes another state, only files that are made are named by it.
func (c *Call) downloadLinks(coll *store.Collection) []ogcapi.Link {
	var links []ogcapi.Link
	revision, lasts := "", false
	if IsPlain(coll) {
		revision, lasts = c.fileState(coll)
	}
	for _, r := range c.s.downloadReps() {
		f := format.Find(r.F)
		l := ogcapi.Link{Rel: "enclosure", Type: r.Media, Title: "All features as " + f.Title, Href: c.Base() + "/collections/" + coll.ID + "/download?f=" + f.Name}
		if revision != "" {
			l.Length = c.s.downloads.Length(downloadName(coll.ID, revision, f))
		}
		if lasts || l.Length > 0 {
			l.Href += "&revision=" + revision
		}
		links = append(links, l)
	}
	return links
}

// fileState names the present state of the data as addresses of files do; lasts says that it is so until the catalog is another. Of a database, which has to be
// asked for it, it is "" where no file of the collection is kept; then, where it does not answer at once, and of a file that somebody has written into, links lead to the present state, whatever it is.
func (c *Call) fileState(coll *store.Collection) (revision string, lasts bool) {
	lasts = !c.Catalog.Live
	if !lasts && !c.s.downloads.Has(coll.ID) {
		return "", false
	}
	key := coll.ID
	if lasts {
		key = "" // it is that of all
	}
	if revision, ok := c.files.names[key]; ok {
		return revision, lasts && revision != ""
	}
	ctx, end := context.WithTimeout(c.Request.Context(), time.Second)
	defer end()
	if state, err := c.s.fair.Store.Version(ctx, coll.ID); err == nil && state != "" && (!lasts || string(state) == c.Catalog.Version) {
		revision = c.revisionOf(state)
	}
	if c.files.names == nil {
		c.files.names = map[string]string{}
	}
	c.files.names[key] = revision
	c.files.asked, c.files.unknown = c.files.asked || !lasts, c.files.unknown || !lasts && revision == ""
	return revision, lasts && revision != ""
}

func downloadName(collection, revision string, f *format.Format) string {
	return collection + "." + revision + f.Ext
}

// pageDownloads are the links of the files of the collection, or of what the page selects from it: matched features, -1 where
// that is not known. The size of a file is told where it is made.
func (c *Call) pageDownloads(selection []string, matched int) (out []page.DownloadLink) {
	reps := c.s.downloadReps()
	for i, l := range c.downloadLinks(c.Collection) {
		f := format.Find(reps[i].F)
		d := page.DownloadLink{Title: f.Title, Href: l.Href, Media: l.Type, Ext: f.Ext}
		if f.Most > 0 && matched > f.Most {
			d.Size = c.Text("files.most", page.InDigits(strconv.Itoa(f.Most), c.Lang))
		}
		if len(selection) > 0 {
			d.Href = c.Base() + "/collections/" + c.Collection.ID + "/download?f=" + f.Name + "&" + strings.Join(selection, "&")
			if f.Lon && c.output().crs != crs.CRS84 {
				continue
			}
		} else if l.Length > 0 {
			d.Size = c.Size(l.Length)
		}
		out = append(out, d)
		if f.Name == AsCSV.F { // what spreadsheets open by themselves
			d.Title, d.Href, d.Size = c.Text("files.excel"), withoutRevision(d.Href)+"&dialect=excel", ""
			out = append(out, d)
		}
	}
	return out
}

// withoutRevision returns the lasting address of a file.
func withoutRevision(href string) string {
	lasting, _, _ := strings.Cut(href, "&revision=")
	return lasting
}
