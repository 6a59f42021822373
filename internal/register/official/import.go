// Package official imports the official products of place names (SSR, "Stedsnavn for vanlig bruk") into the register:
// GML as published, or rows of CSV, GeoJSON or a GeoPackage. It reports every fault in a place.
//
// Rows have one spelling each. The files are read once. Places pass through external sorts: by number, to remove
// duplicates; by importance and name, to rank them; and by number again, to write them. So memory does not grow with
// the files, and the order of the files does not matter. The id of a place is its stedsnummer; the id of a name adds
// three digits with its number, that of a spelling another three.
//
// The product has no cases, decisions, documents, remarks or additional information, and no history except the dates of
// statuses. It lacks the deciding authority (vedtaksmyndighet becomes ""), the second sorting (viktighet01, the
// lowest), and the time of registration (that of the last update is used). It states whether a name is in public use
// (offentligBruk); this is not whether the place is of general interest, so it is not imported. Nor is the date of
// navnesakstatus, for which the model has no property. Places at sea may have no municipality (kommunenummer is "").
// Codes that are not in their list are kept and added to it.
package official

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/text/collate"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/register"
	"grense/internal/store"
)

// Options are options for reading official products. The zero value is right for the products as published.
type Options struct {
	CRS    crs.ID // CRS of CSV and of other rows without one; GML always declares it
	Limits input.Limits
	// directory for temporary files, about 2 KB per place; "" for that of the system
	TempDir string
	// import the valid places if some are refused; otherwise one refusal refuses the import
	SkipRefused bool
	Open        func(ctx context.Context, path string) (store.Store, error) // opens a GeoPackage; nil if not supported
	// called for each fault when it is found; may be nil
	Fault    func(ingest.Fault)
	Progress func(done, total int64) // called with bytes read; may be nil
	Written  func(done, total int)   // called with places written; may be nil
}

// Report counts the places of an import by result.
type Report struct {
	Read    int // places, or rows if the format has one per spelling
	Refused int // refused places, and faults outside places
	// places that occurred more than once, in one or several files, and were imported once
	Twice                    int
	NoPlace                  int           // places without a position
	Places, Names, Spellings int           // imported
	Extracted                time.Time     // latest time of extraction from the register; zero if not stated
	Groups                   []FaultGroup  // in the order of their first faults
	Codes                    []UnknownCode // ordered by list and value
}

// FaultGroup is a fault that several places have.
type FaultGroup struct {
	Action input.Action
	What   string
	Count  int
	First  []ingest.Fault // the first shownInGroup at most
}

const shownInGroup = 3

// UnknownCode is a code that is not in its list. It is kept and added to the list.
type UnknownCode struct {
	List, Value string
	Count       int          // number of places with the code
	Near        string       // code of the list that differs only by case; "" if there is none
	First       ingest.Fault // first occurrence; its reason is a message for the user
}

// Import is a register that has been read from official products and can be written.
type Import struct {
	Report        Report
	options       Options
	dir           string
	files         []string
	seq           uint64
	parts         *externalSort // places and rows as read; key: stedsnummer, file, number
	places        *os.File      // written by Read, in the order of stedsnummer
	ranks         *externalSort // key: stedsnummer; value: ranks
	codes         *codeBook
	groups        map[string]int
	before, total int64     // bytes of the previous files, and of all
	updated       time.Time // latest update of a place
}

// Read reads files of the official products: GML, and rows in CSV, GeoJSON or a GeoPackage, each also packed with gzip
// or in a zip archive. Faults in places are reported, not returned. If they refuse the import, the error is
// input.ErrRefused and Report gives the reasons. Memory does not grow with the files, except for different unknown
// codes, and the order of the files does not matter. The Import is never nil and must be closed.
func Read(ctx context.Context, files []string, o Options) (*Import, error) {
	im := &Import{options: o, files: files, groups: map[string]int{}}
	err := im.read(ctx)
	slices.SortFunc(im.Report.Codes,
		func(a, b UnknownCode) int { return cmp.Or(cmp.Compare(a.List, b.List), cmp.Compare(a.Value, b.Value)) })
	if err == nil && im.Report.Refused > 0 && !o.SkipRefused {
		first := im.Report.Groups[slices.IndexFunc(im.Report.Groups, func(g FaultGroup) bool {
			return g.Action == input.Refused
		})].First[0]
		err = input.Refuse("%s refused, the first: %s", counted(im.Report.Refused, "place was", "places were"), first)
	}
	if err == nil && im.Report.Places == 0 {
		err = input.Refuse("there is no place to import")
	}
	return im, err
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func (im *Import) read(ctx context.Context) (err error) {
	lists, err := register.CodeLists()
	if err != nil {
		return err
	}
	im.codes = newCodeBook(lists)
	if im.dir, err = os.MkdirTemp(im.options.TempDir, "grense-register-"); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	im.parts = &externalSort{dir: im.dir}
	for _, name := range im.files {
		if info, err := os.Stat(name); err == nil {
			im.total += info.Size()
		}
	}
	for i, name := range im.files {
		if err := im.file(ctx, i, name); err != nil {
			return err
		}
		if info, err := os.Stat(name); err == nil {
			im.before += info.Size()
		}
	}
	return im.order(ctx)
}

// Dated returns the date of the contents: the latest time at which a place was extracted from the register, otherwise
// the latest update.
func (im *Import) Dated() time.Time {
	if !im.Report.Extracted.IsZero() {
		return im.Report.Extracted
	}
	return im.updated
}

// Close removes the temporary files.
func (im *Import) Close() error {
	var err error
	if im.parts != nil {
		err = im.parts.close()
	}
	if im.ranks != nil {
		err = errors.Join(err, im.ranks.close())
	}
	if im.places != nil {
		err = errors.Join(err, im.places.Close())
	}
	if im.dir != "" {
		err = errors.Join(err, os.RemoveAll(im.dir))
	}
	im.parts, im.ranks, im.places, im.dir = nil, nil, nil, ""
	return err
}

// gmlSuffixes are the extensions of files read as GML.
var gmlSuffixes = []string{".gml", ".xml"}

// file reads one file.
func (im *Import) file(ctx context.Context, at int, name string) (err error) {
	list, closer, err := input.Documents(name, gmlSuffixes, im.options.Limits)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer()) }()
	for _, t := range list {
		if err := im.gml(ctx, at, t); err != nil {
			return err
		}
	}
	if len(list) > 0 {
		return nil
	}
	src, err := ingest.Open(ctx, name,
		input.Options{CRS: im.options.CRS, Limits: im.options.Limits, OpenGeoPackage: im.options.Open, TempDir: im.dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	for _, l := range src.Layers {
		if err := im.rows(ctx, at, l); err != nil {
			return err
		}
	}
	return nil
}

// progress reports the progress: done of size bytes of file at have been read.
func (im *Import) progress(at int, done, size int64) {
	if im.options.Progress == nil || size == 0 {
		return
	}
	whole := size
	if info, err := os.Stat(im.files[at]); err == nil {
		whole = info.Size()
	}
	im.options.Progress(im.before+int64(float64(done)/float64(size)*float64(whole)), im.total)
}

// fault counts a fault in its group and reports it.
func (im *Import) fault(what string, f ingest.Fault) {
	if f.Action == input.Refused {
		im.Report.Refused++
	}
	key := string(f.Action) + " " + what
	i, ok := im.groups[key]
	if !ok {
		i = len(im.Report.Groups)
		im.groups[key] = i
		im.Report.Groups = append(im.Report.Groups, FaultGroup{Action: f.Action, What: what})
	}
	g := &im.Report.Groups[i]
	if g.Count++; len(g.First) < shownInGroup {
		g.First = append(g.First, f)
	}
	if im.options.Fault != nil {
		im.options.Fault(f)
	}
}

// gml reads the places of one file of GML.
func (im *Import) gml(ctx context.Context, at int, t *input.Document) (err error) {
	in, err := t.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	n := 0
	next := func() {
		n++
		im.Report.Read++
		if n&255 == 0 {
			done, size := t.Progress()
			im.progress(at, done, size)
		}
	}
	g := &gmlReader{
		found: func(line int, p *place) error {
			next()
			return im.addPart(p, at, line)
		},
		refused: func(line int, id string, r *refusal) error {
			next()
			im.fault(r.what,
				ingest.Fault{File: t.Path, Line: line, Feature: n, ID: id, Action: input.Refused, Reason: r.String()})
			return nil
		},
	}
	err = g.read(ctx, in)
	if errors.Is(err, input.ErrRefused) {
		return input.Refuse("%s, %s", t.Path, input.Reason(err))
	}
	if err != nil {
		return err
	}
	if g.other > 0 {
		const what = "members that are no places (app:Sted) are passed over"
		im.fault(what, ingest.Fault{File: t.Path, Action: input.Warning, Reason: fmt.Sprintf("%s: %d", what, g.other)})
	}
	if n == 0 {
		return input.Refuse("%s holds no places: elements Sted of the product StedsnavnForVanligBruk are read", t.Path)
	}
	return nil
}

// rows reads the rows of one layer.
func (im *Import) rows(ctx context.Context, at int, l *ingest.Layer) error {
	r := &rowReader{}
	err := l.Features(ctx, func(f *ingest.Feature) error {
		if f.Number&255 == 0 {
			done, size := l.Progress()
			im.progress(at, done, size)
		}
		return r.read(f, func(p *place, no *refusal, id string) error {
			im.Report.Read++
			if no != nil {
				im.fault(no.what,
					ingest.Fault{File: l.File, Line: f.Line, Feature: f.Number, ID: id, Action: input.Refused,
						Reason: no.String()})
				return nil
			}
			line := f.Line
			if line == 0 {
				line = f.Number
			}
			return im.addPart(p, at, line)
		})
	}, func(f ingest.Fault) error {
		what := refusedRead
		if f.Action != input.Refused {
			what = f.Reason
		}
		im.fault(what, f)
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range r.missing {
		what := "a column is missing; a default is taken"
		im.fault(
			what,
			ingest.Fault{
				File:   l.File,
				Action: input.Warning,
				Reason: fmt.Sprintf("%s: %s, %q", what, rowNames[key][0], rowDefaults[key]),
			},
		)
	}
	return nil
}

// part is a place or a row in the external sort, with its position in the input.
type part struct {
	file, line int
	json       []byte
}

func (p part) place() (*place, error) {
	o := &place{}
	if err := json.Unmarshal(p.json, o); err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	return o, nil
}

func appendPart(dst []byte, p part) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(dst, uint64(p.file)), uint64(p.line)), p.json...)
}

// readPart decodes what appendPart wrote. The result refers to the bytes of b.
func readPart(b []byte) part {
	file, n := binary.Uvarint(b)
	line, m := binary.Uvarint(b[n:])
	return part{int(file), int(line), b[n+m:]}
}

// addPart adds a place or a row to the external sort.
func (im *Import) addPart(p *place, file, line int) error {
	if p.Extracted.After(im.Report.Extracted) {
		im.Report.Extracted = p.Extracted
	}
	if p.Updated.After(im.updated) {
		im.updated = p.Updated
	}
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	im.seq++
	key := binary.BigEndian.AppendUint64(nil, uint64(p.Number))
	key = binary.BigEndian.AppendUint32(key, uint32(file))
	key = binary.BigEndian.AppendUint64(key, im.seq)
	return im.parts.add(key, appendPart(nil, part{file, line, text}))
}

// Limits for the rows of one place and its duplicates, which are in memory together.
const (
	maxRows     = 100_000
	maxRowBytes = 256 << 20
)

// order removes duplicates and ranks the places: by importance, most important first; then by display name in Norwegian
// alphabetical order; then by number.
func (im *Import) order(ctx context.Context) error {
	f, err := os.CreateTemp(im.dir, "places-*")
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	im.places = f
	w := bufio.NewWriterSize(f, 1<<20)
	o := &ordering{Import: im, out: w, sorted: &externalSort{dir: im.dir}, order: register.NorwegianOrder()}
	defer func() { _ = o.sorted.close() }()
	var group []part
	var number uint64
	size := 0 // size of group in bytes
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		err := o.take(group)
		group = group[:0]
		return err
	}
	err = im.parts.each(ctx, func(key, value []byte) error {
		n := binary.BigEndian.Uint64(key)
		if n != number {
			if err := flush(); err != nil {
				return err
			}
			number, size = n, 0
		}
		if len(group) == maxRows {
			return input.Refuse("stedsnummer %d occurs more than %d times", number, maxRows)
		}
		if size += len(value); size > maxRowBytes {
			return input.Refuse("stedsnummer %d occurs so often that its rows have more than %d MB", number,
				maxRowBytes>>20)
		}
		group = append(group, readPart(bytes.Clone(value)))
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err = errors.Join(err, im.parts.close(), w.Flush()); err != nil {
		return err
	}
	im.Report.Codes = im.codes.unknown()
	return o.rank(ctx)
}

// rank holds the number of the first row of a place in each of three tables.
type rank struct{ sted, stedsnavn, skrivemaate uint32 }

// ordering holds the state of the pass between reading and writing.
type ordering struct {
	*Import
	out    *bufio.Writer
	sorted *externalSort // key: the order; value: stedsnummer, and the numbers of names and spellings
	order  *collate.Collator
	buf    collate.Buffer
}

// take chooses one of the duplicates of a place.
func (o *ordering) take(parts []part) error {
	type candidate struct {
		*place
		at   part
		json []byte // without values that may differ between two extracts
	}
	var list []candidate
	for len(parts) > 0 {
		n := 1
		p, err := parts[0].place()
		if err != nil {
			return err
		}
		at := parts[0]
		if p.Row {
			if p, n, err = o.merged(parts); err != nil {
				return err
			}
			if p == nil {
				parts = parts[n:]
				continue
			}
		}
		c := candidate{place: p, at: at}
		if n < len(parts) || len(list) > 0 {
			plain := *p
			plain.Extracted = time.Time{}
			if c.json, err = json.Marshal(plain); err != nil {
				return fmt.Errorf("register: %w", err)
			}
		}
		list = append(list, c)
		parts = parts[n:]
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(b.Updated.Compare(a.Updated), b.Extracted.Compare(a.Extracted), bytes.Compare(a.json, b.json))
	})
	best := list[0]
	for _, x := range list[1:] {
		o.Report.Twice++
		what := "a place that occurs again, in the same words, is taken once"
		if !bytes.Equal(x.json, best.json) {
			what = "of a place that occurs again, the last update is taken"
		}
		o.fault(
			what,
			ingest.Fault{File: o.files[x.at.file], Line: x.at.line, ID: strconv.FormatInt(x.Number, 10),
				Action: input.Warning,
				Reason: fmt.Sprintf("%s: the one of %s, line %d, updated %s", what, o.files[best.at.file], best.at.line,
					best.Updated.Format(time.RFC3339))},
		)
	}
	return o.keepPlace(best.place, best.at)
}

// merged merges the rows at the beginning of parts that come from one file into a place. n is their number. If they are
// not a valid place, it refuses them and returns nil.
func (o *ordering) merged(parts []part) (p *place, n int, err error) {
	at := parts[0]
	var rows []*place
	for ; n < len(parts) && parts[n].file == at.file; n++ {
		x, err := parts[n].place()
		if err != nil {
			return nil, 0, err
		}
		rows = append(rows, x)
	}
	slices.SortStableFunc(rows, func(a, b *place) int {
		return cmp.Or(cmp.Compare(a.Names[0].Number, b.Names[0].Number),
			cmp.Compare(a.Names[0].Spellings[0].Number, b.Names[0].Spellings[0].Number))
	})
	p, bad := mergeRows(rows)
	if bad != nil {
		o.refuse(at, rows[0].Number, bad)
		return nil, n, nil
	}
	return p, n, nil
}

func (o *ordering) refuse(at part, number int64, bad *refusal) {
	o.fault(
		bad.what,
		ingest.Fault{
			File:   o.files[at.file],
			Line:   at.line,
			ID:     strconv.FormatInt(number, 10),
			Action: input.Refused,
			Reason: bad.String(),
		},
	)
}

// keepPlace writes a place to the temporary file and adds it to the order.
func (o *ordering) keepPlace(p *place, at part) error {
	o.codes.complete(p, ingest.Fault{File: o.files[at.file], Line: at.line, ID: strconv.FormatInt(p.Number, 10)})
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	o.out.Write(binary.AppendUvarint(nil, uint64(len(text))))
	if _, err := o.out.Write(text); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	r := &o.Report
	r.Places++
	r.Names += len(p.Names)
	spellings := 0
	for i := range p.Names {
		spellings += len(p.Names[i].Spellings)
	}
	r.Spellings += spellings
	if p.Position == nil {
		r.NoPlace++
	}
	key := binary.BigEndian.AppendUint32(nil, ^uint32(o.codes.importance(p)))
	for _, c := range o.order.KeyFromString(&o.buf, register.DisplayName(p.shown(), p.Priority)) {
		if key = append(key, c); c == 0 {
			key = append(key, 0xFF) // so that a key that is a prefix of another comes first
		}
	}
	o.buf.Reset()
	key = binary.BigEndian.AppendUint64(append(key, 0, 0), uint64(p.Number))
	value := binary.BigEndian.AppendUint64(nil, uint64(p.Number))
	value = binary.AppendUvarint(binary.AppendUvarint(value, uint64(len(p.Names))), uint64(spellings))
	return o.sorted.add(key, value)
}

// rank numbers the places in order.
func (o *ordering) rank(ctx context.Context) error {
	o.ranks = &externalSort{dir: o.dir}
	next := rank{1, 1, 1}
	err := o.sorted.each(ctx, func(_, value []byte) error {
		names, n := binary.Uvarint(value[8:])
		spellings, _ := binary.Uvarint(value[8+n:])
		to := binary.BigEndian.AppendUint32(nil, next.sted)
		to = binary.BigEndian.AppendUint32(to, next.stedsnavn)
		to = binary.BigEndian.AppendUint32(to, next.skrivemaate)
		next.sted++
		next.stedsnavn += uint32(names)
		next.skrivemaate += uint32(spellings)
		return o.ranks.add(value[:8], to)
	})
	return err
}

// shown returns the names from which the display name is made. A name with an unknown status gets the lowest status
// that is displayed.
func (p *place) shown() []register.Name {
	list := make([]register.Name, len(p.Names))
	for i := range p.Names {
		n := &p.Names[i]
		list[i] = register.Name{Language: n.Language, Status: n.Status}
		if !slices.Contains(register.NameOrder, n.Status) {
			list[i].Status = "undernavn"
		}
		for _, s := range n.Spellings {
			status := s.Status
			if !slices.Contains(register.SpellingOrder, status) {
				status = "uvurdert"
			}
			list[i].Spellings = append(list[i].Spellings,
				register.Spelling{Core: s.Text, Status: status, Preferred: s.Preferred})
		}
	}
	return list
}

// Write writes the places to the tables of w, which register.Define created, in the order of their numbers. It may be
// called once. The caller commits.
func (im *Import) Write(ctx context.Context, w store.Writer) error {
	out, err := register.NewOutput(ctx, w)
	if err != nil {
		return err
	}
	im.codes.write(out)
	if _, err := im.places.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	r := bufio.NewReaderSize(im.places, 1<<20)
	done := 0
	var text []byte
	err = im.ranks.each(ctx, func(_, value []byte) error {
		n, err := binary.ReadUvarint(r)
		if err != nil {
			return fmt.Errorf("register: %w", err)
		}
		text = slices.Grow(text[:0], int(n))[:n]
		if _, err := io.ReadFull(r, text); err != nil {
			return fmt.Errorf("register: %w", err)
		}
		p := &place{}
		if err := json.Unmarshal(text, p); err != nil {
			return fmt.Errorf("register: %w", err)
		}
		at := rank{binary.BigEndian.Uint32(value), binary.BigEndian.Uint32(value[4:]),
			binary.BigEndian.Uint32(value[8:])}
		if p.write(out, at); out.Err != nil {
			return out.Err
		}
		if done++; done&1023 == 0 && im.options.Written != nil {
			im.options.Written(done, im.Report.Places)
		}
		return nil
	})
	return err
}
