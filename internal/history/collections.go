package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store"
)

// IDs of the collections that hold a history. Only the collections of events and of versions are public.
const (
	EventsID   = "divisions_events"
	VersionsID = "divisions_versions"
	edgesID    = "divisions_changes"
)

// openStart is the first day stored for a version whose first day is not known, because the column must have a value.
const openStart = "0001-01-01"

// layout is the version of the layout of the collections. NorwayVersion contains it, so that a store with an older
// layout is rebuilt.
const layout = "3"

// NorwayVersion returns a text that changes whenever the contents of Norway or the layout of the collections changes.
func NorwayVersion() (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, layout)
	names, err := fs.Glob(norway, "norway/*.csv")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		b, err := norway.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("history: %w", err)
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}

// property returns a property whose titles are given in Bokmål, Nynorsk and English.
func property(t cql2.Type, name string, titles ...string) store.Property {
	p := store.Property{Name: name, Column: name, Type: t}
	if titles != nil {
		p.Title = store.Text{"nb": titles[0], "nn": titles[1], "en": titles[2]}
	}
	return p
}

// plain returns properties without titles, for collections that are not public.
func plain(t cql2.Type, names ...string) (out []store.Property) {
	for _, n := range names {
		out = append(out, property(t, n))
	}
	return out
}

// Collections returns descriptions of the collections that hold a history. The caller owns them.
func Collections() []*store.Collection {
	kinds := make([]string, len(Kinds))
	for i, k := range Kinds {
		kinds[i] = string(k)
	}
	kind := property(cql2.TypeText, "kind", "Slag", "Slag", "Kind")
	kind.Enum = kinds
	every := property(cql2.TypeJSON, "kinds", "Alle slag", "Alle slag", "All kinds")
	every.Items = "string"
	changes := property(cql2.TypeJSON, "changes", "Endringer", "Endringar", "Changes")
	changes.Items = "object"
	return []*store.Collection{
		{
			ID: EventsID, Table: "lineage_event", Public: true,
			Title: store.Text{"nb": "Endringer i inndelingen", "nn": "Endringar i inndelinga",
				"en": "Changes of divisions"},
			Description: store.Text{
				"nb": "Hva som hendte med kommuner og andre inndelinger: nye navn og numre, sammenslåinger, " +
					"delinger og overføringer, ett objekt for hver hendelse.",
				"nn": "Kva som hende med kommunar og andre inndelingar: nye namn og nummer, samanslåingar, " +
					"delingar og overføringar, eitt objekt for kvar hending.",
				"en": "What happened to municipalities and other divisions: new names and numbers, mergers, " +
					"splits and transfers, one feature for each event.",
			},
			Keywords: []string{"endringer", "changes", "lineage"},
			Key:      store.FeatureKey{Column: "id", Type: cql2.TypeText},
			Properties: []store.Property{
				property(cql2.TypeText, "title", "Hendelse", "Hending", "Event"),
				property(cql2.TypeText, "scheme", "Inndeling", "Inndeling", "Scheme"),
				property(cql2.TypeDate, "date", "Dato", "Dato", "Date"),
				kind,
				every,
				property(cql2.TypeText, "codes_before", "Numre før", "Nummer før", "Codes before"),
				property(cql2.TypeText, "codes_after", "Numre etter", "Nummer etter", "Codes after"),
				changes,
				property(cql2.TypeText, "source", "Kilde", "Kjelde", "Source"),
				property(cql2.TypeText, "recorded", "Registrert", "Registrert", "Recorded"),
				property(cql2.TypeInteger, "seq", "Løpenummer", "Løpenummer", "Sequence number"),
			},
			DefaultSort: []store.Sort{{Property: "date", Desc: true}}, Instant: "date", TitleProperty: "title",
		},
		versionsCollection(),
		{
			ID: edgesID, Table: "lineage_edge", Key: store.FeatureKey{Column: "id", Type: cql2.TypeInteger},
			Properties: append(
				append(
					append(
						plain(cql2.TypeText, "scheme", "event", "code_before", "code_after", "made_of"),
						plain(cql2.TypeDate, "date")...),
					plain(cql2.TypeBool, "transfer")...),
				plain(cql2.TypeInteger, "people", "area", "units")...),
			Instant: "date",
		},
	}
}

// versionsCollection describes the collection of versions of divisions. They have no geometry. Rows with the same
// entity are versions of one division.
func versionsCollection() *store.Collection {
	return &store.Collection{
		ID: VersionsID, Table: "lineage_version", Public: true,
		Key: store.FeatureKey{Column: "id", Type: cql2.TypeInteger},
		Title: store.Text{
			"nb": "Inndelinger gjennom tidene",
			"nn": "Inndelingar gjennom tidene",
			"en": "Divisions through time",
		},
		Description: store.Text{
			"nb": "Kommuner og andre inndelinger som de var: nummer, navn og hva de hørte til, med en versjon for " +
				"hver tid. Parameteren datetime velger versjonene som gjaldt da. Gyldig fra 0001-01-01 betyr at " +
				"starten er ukjent. Grenser er ikke med.",
			"nn": "Kommunar og andre inndelingar som dei var: nummer, namn og kva dei høyrde til, med ein versjon " +
				"for kvar tid. Parameteren datetime vel versjonane som gjaldt då. Gyldig frå 0001-01-01 betyr at " +
				"starten er ukjend. Grenser er ikkje med.",
			"en": "Municipalities and other divisions as they were: code, name and what they belonged to, " +
				"with a version for each time. The parameter datetime selects the versions of then. " +
				"Valid from 0001-01-01 means that the start is not known. There are no borders.",
		},
		Keywords: []string{"historie", "history", "lineage"},
		Properties: []store.Property{
			property(cql2.TypeText, "entity", "Inndelingens id", "Id-en til inndelinga", "Id of the division"),
			property(cql2.TypeText, "scheme", "Inndeling", "Inndeling", "Scheme"),
			property(cql2.TypeText, "code", "Nummer", "Nummer", "Code"),
			property(cql2.TypeText, "name", "Navn", "Namn", "Name"),
			property(cql2.TypeText, "parent_scheme", "Overordnet inndeling", "Overordna inndeling",
				"Scheme of the parent"),
			property(cql2.TypeText, "parent", "Hører til", "Høyrer til", "Parent"),
			property(cql2.TypeDate, "valid_from", "Gyldig fra", "Gyldig frå", "Valid from"),
			property(cql2.TypeDate, "valid_to", "Gyldig til", "Gyldig til", "Valid until before"),
			property(cql2.TypeText, "recorded", "Registrert", "Registrert", "Recorded"),
		},
		Versions: &store.Versions{
			ID:    "entity",
			Start: "valid_from",
			End:   "valid_to",
		}, IntervalStart: "valid_from", IntervalEnd: "valid_to",
		DefaultSort: []store.Sort{{Property: "entity"}, {Property: "valid_from"}}, TitleProperty: "name",
	}
}

// Change is the JSON form of one edge in the property "changes" of an event.
type Change struct {
	From     string   `json:"from,omitempty"`
	FromName string   `json:"fromName,omitempty"`
	To       string   `json:"to,omitempty"`
	ToName   string   `json:"toName,omitempty"`
	Part     bool     `json:"part,omitempty"`
	MadeOf   []string `json:"madeOf,omitempty"`
	People   Count    `json:"people,omitzero"`
	Area     Count    `json:"area,omitzero"`
	Units    int64    `json:"units,omitempty"`
}

// ChangeOf converts an edge to a Change.
func ChangeOf(e *Edge) Change {
	c := Change{Part: e.Part, People: e.People, Area: e.Area, Units: e.Units}
	if e.From != nil {
		c.From, c.FromName = e.From.Code, e.From.Name
	}
	if e.To != nil {
		c.To, c.ToName = e.To.Code, e.To.Name
	}
	for _, v := range e.Of {
		c.MadeOf = append(c.MadeOf, v.Code)
	}
	return c
}

// Title returns the codes and names before and after the event, for example "1504 Ålesund, 1534 Haram → 1507 Ålesund".
func (e *Event) Title() string {
	side := func(vs []*Version) string {
		const most = 6
		var out []string
		for i, v := range vs {
			if i == most {
				out = append(out, fmt.Sprintf("… (%d)", len(vs)))
				break
			}
			out = append(out, strings.TrimSpace(v.Code+" "+v.Name))
		}
		if out == nil {
			return "–"
		}
		return strings.Join(out, ", ")
	}
	return side(e.Before()) + " → " + side(e.After())
}

// Write defines the collections of a history, replacing those that exist, and writes their features. The caller
// commits.
func Write(ctx context.Context, w store.Writer, h *History) error {
	for _, c := range Collections() {
		if err := w.Define(ctx, c, true); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	if err := writeVersions(ctx, w, h); err != nil {
		return err
	}
	if err := writeEvents(ctx, w, h); err != nil {
		return err
	}
	return writeEdges(ctx, w, h)
}

func writeVersions(ctx context.Context, w store.Writer, h *History) error {
	insert, err := w.Insert(ctx, "lineage_version",
		[]string{"id", "scheme", "code", "name", "parent_scheme", "parent", "valid_from", "valid_to",
			"entity", "recorded"})
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	n := int64(0)
	for _, s := range h.schemes {
		for i := range s.Versions {
			v := &s.Versions[i]
			n++
			err := insert(n, s.ID, v.Code, v.Name, orNil(v.ParentScheme), orNil(v.Parent),
				orElse(v.From.String(), openStart), orNil(v.To.String()), v.Entity, orNil(v.Recorded))
			if err != nil {
				return fmt.Errorf("history: %s %s: %w", s.ID, v.Code, err)
			}
		}
	}
	return nil
}

func writeEvents(ctx context.Context, w store.Writer, h *History) error {
	insert, err := w.Insert(ctx, "lineage_event", []string{"seq", "id", "title", "scheme", "date", "kind", "kinds",
		"codes_before", "codes_after", "changes", "source", "recorded"})
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	for _, s := range h.schemes {
		for i := range s.Events {
			e := &s.Events[i]
			all := make([]Change, len(e.Edges))
			for k, x := range e.Edges {
				all[k] = ChangeOf(x)
			}
			changes, err := json.Marshal(all)
			if err != nil {
				return fmt.Errorf("history: %w", err)
			}
			kinds, err := json.Marshal(e.EdgeKinds())
			if err != nil {
				return fmt.Errorf("history: %w", err)
			}
			err = insert(e.Seq, e.ID, e.Title(), s.ID, e.Date.String(), string(e.Kind), string(kinds),
				orNil(joined(e.Before())), orNil(joined(e.After())), string(changes), orNil(e.Source),
				orNil(e.Recorded))
			if err != nil {
				return fmt.Errorf("history: %s: %w", e.ID, err)
			}
		}
	}
	return nil
}

func writeEdges(ctx context.Context, w store.Writer, h *History) error {
	insert, err := w.Insert(ctx, "lineage_edge", []string{"id", "scheme", "event", "date", "code_before", "code_after",
		"made_of", "transfer", "people", "area", "units"})
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	orNull := func(c Count) any {
		if !c.Known {
			return nil
		}
		return c.N
	}
	n := int64(0)
	for _, s := range h.schemes {
		for i := range s.Events {
			e := &s.Events[i]
			for _, x := range e.Edges {
				c := ChangeOf(x)
				n++
				if err := insert(n, s.ID, e.ID, e.Date.String(), orNil(c.From), orNil(c.To),
					orNil(strings.Join(c.MadeOf, " ")), x.transfer, orNull(c.People), orNull(c.Area),
					orNull(Count{c.Units, c.Units != 0})); err != nil {
					return fmt.Errorf("history: %s: %w", e.ID, err)
				}
			}
		}
	}
	return nil
}

// joined returns the codes of versions, separated by spaces.
func joined(vs []*Version) string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = v.Code
	}
	return strings.Join(out, " ")
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Has reports whether a catalog has the collections of a history.
func Has(cat *store.Catalog) bool {
	for _, id := range [...]string{EventsID, VersionsID, edgesID} {
		if _, ok := cat.Collection(id); !ok {
			return false
		}
	}
	return true
}

// Load reads the history from a store. It returns nil if the store has none.
func Load(ctx context.Context, st store.Store) (*History, error) {
	rows, err := LoadRows(ctx, st)
	if err != nil || rows == nil {
		return nil, err
	}
	return New(rows...)
}

// LoadRows reads the rows of each scheme from a store. It returns nil if the store has no history.
func LoadRows(ctx context.Context, st store.Store) ([]*Rows, error) {
	if !Has(st.Catalog()) {
		return nil, nil
	}
	var schemes []*Rows
	of := func(id string) *Rows {
		for _, r := range schemes {
			if r.Scheme == id {
				return r
			}
		}
		r := &Rows{Scheme: id}
		schemes = append(schemes, r)
		return r
	}
	var faults Faults
	day := func(v any) Date {
		s, ok := v.(string)
		if !ok || s == openStart {
			return 0
		}
		d, err := ParseDate(s)
		if err != nil {
			faults.Add(0, "%v", err)
		}
		return d
	}
	in := reading{ctx, st}
	err := in.each(
		VersionsID,
		[]string{"scheme", "code", "name", "parent_scheme", "parent", "valid_from", "valid_to", "recorded"},
		func(v []any) {
			r := of(text(v[0]))
			r.Versions = append(
				r.Versions,
				VersionRow{
					Code:         text(v[1]),
					Name:         text(v[2]),
					ParentScheme: text(v[3]),
					Parent:       text(v[4]),
					From:         day(v[5]),
					To:           day(v[6]),
					Recorded:     text(v[7]),
				},
			)
		},
	)
	if err != nil {
		return nil, err
	}
	type said struct{ source, recorded string }
	events := map[string]said{}
	err = in.each(EventsID, []string{"scheme", "seq", "source", "recorded", "id"}, func(v []any) {
		r, id := of(text(v[0])), text(v[4])
		events[id] = said{text(v[2]), text(v[3])}
		if r.Numbers == nil {
			r.Numbers = map[string]int64{}
		}
		r.Numbers[id], _ = v[1].(int64)
	})
	if err != nil {
		return nil, err
	}
	err = in.each(
		edgesID,
		[]string{"scheme", "event", "date", "code_before", "code_after", "made_of", "transfer", "people",
			"area", "units"},
		func(v []any) {
			r, e := of(text(v[0])), events[text(v[1])]
			transfer, _ := v[6].(bool)
			number := func(x any) Count { n, known := x.(int64); return Count{n, known} }
			r.Edges = append(
				r.Edges,
				EdgeRow{Date: day(v[2]), From: text(v[3]), To: text(v[4]), Of: strings.Fields(text(v[5])),
					Transfer: transfer,
					People:   number(v[7]), Area: number(v[8]), Units: number(v[9]).N, Source: e.source,
					Recorded: e.recorded},
			)
		},
	)
	if err == nil && faults != nil {
		err = faults
	}
	return schemes, err
}

// text returns v if it is a string, otherwise "".
func text(v any) string { s, _ := v.(string); return s }

// reading holds one snapshot of a store from which a history is read.
type reading struct {
	ctx context.Context
	st  store.Store
}

// each calls fn with the property values of each feature of a collection, in the order of ids. If properties contains
// "id" and the collection has no such property, the value is the feature id.
func (r reading) each(id string, properties []string, fn func(values []any)) error {
	ctx, st := r.ctx, r.st
	want := store.Want{Properties: properties, NoGeometry: true}
	withID := properties[len(properties)-1] == "id"
	if withID {
		want.Properties = properties[:len(properties)-1]
	}
	q := store.Query{Collection: id, Limit: 5000, Count: store.CountNone}
	for {
		p, err := st.Page(ctx, q)
		if err != nil {
			return fmt.Errorf("history: %s: %w", id, err)
		}
		err = st.Fetch(ctx, id, p.Rows, want, func(f *store.Feature) error {
			v := f.Values
			if withID {
				v = append(v[:len(v):len(v)], f.ID)
			}
			fn(v)
			return nil
		})
		if err != nil {
			return fmt.Errorf("history: %s: %w", id, err)
		}
		if p.Next == "" {
			return nil
		}
		q.Cursor = p.Next
	}
}
