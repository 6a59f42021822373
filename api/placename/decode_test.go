package placename_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"grense/api/placename"
)

var bases = []string{base, "urn:other"}

func TestRequestsComeBackAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 4))
		for _, want := range requests() {
			fill(r, reflect.ValueOf(want).Elem())
			asDecoded(reflect.ValueOf(want).Elem())
			e := parse(t, placename.AppendRequest(nil, want, bases[seed%2]))
			got, err := placename.Decode(shuffled(r, e), bases)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d:\n%s\nwant\n%s", seed, placename.AppendRequest(nil, got, base), placename.AppendRequest(nil, want, base))
			}
		}
	}
}

// asDecoded makes v what the decoder gives for it: no white space around texts, no nested search that is empty.
func asDecoded(v reflect.Value) {
	switch {
	case v.Kind() == reflect.String:
		v.SetString(strings.TrimSpace(strings.ReplaceAll(v.String(), "\u2028", "x")))
	case v.Kind() == reflect.Pointer && !v.IsNil():
		asDecoded(v.Elem())
		if v.Elem().Kind() == reflect.Struct && v.Elem().Type().PkgPath() != "time" && v.Elem().IsZero() {
			v.SetZero()
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			asDecoded(v.Index(i))
		}
	case v.Kind() == reflect.Struct && v.Type().PkgPath() != "time":
		for i := range v.NumField() {
			asDecoded(v.Field(i))
		}
	}
}

// shuffled puts the children of e, and theirs, in another order; those of lists keep theirs.
func shuffled(r *rand.Rand, e *placename.Element) *placename.Element {
	for _, c := range e.Children {
		shuffled(r, c)
	}
	if len(e.Children) > 0 && e.Children[0].Name != "item" && e.Children[0].Name != "entry" {
		r.Shuffle(len(e.Children), func(i, j int) { e.Children[i], e.Children[j] = e.Children[j], e.Children[i] })
	}
	return e
}

const head = `<q:%s xmlns:q="` + base + `/service/soek" xmlns:t="` + base + `/service/servicetyper" xmlns:d="` + base + `/domain"
	xmlns:ko="` + base + `/domain/kommune" xmlns:k="` + base + `/domain/koder" xmlns:sk="` + base + `/domain/sted/koder"
	xmlns:dk="` + base + `/domain/dokumentasjon/koder" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">%s</q:%[1]s>`

func decode(t *testing.T, op, children string) (placename.Request, error) {
	t.Helper()
	return placename.Decode(parse(t, fmt.Appendf(nil, head, op, children)), bases)
}

const flags = `<q:stedsnavnContext/><q:beregnVisningsnavn>1</q:beregnVisningsnavn><q:inkluderGeometri>0</q:inkluderGeometri>`

func TestBadRequestsNameTheFieldAndTheReason(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	for name, c := range map[string]struct {
		op, children string
		want         []string // path and reason
	}{
		"nothing":               {"findSteder", ``, []string{"findSteder/stedsnavnContext 0", "findSteder/stedSoek 0", "findSteder/beregnVisningsnavn 0", "findSteder/inkluderGeometri 0"}},
		"nil search object":     {"findSteder", flags + `<q:stedSoek xsi:nil="true"/>`, []string{"findSteder/stedSoek 0"}},
		"nil flag":              {"findSteder", flags[:len(`<q:stedsnavnContext/>`)] + `<q:stedSoek/><q:beregnVisningsnavn xsi:nil="true"/><q:inkluderGeometri>0</q:inkluderGeometri>`, []string{"findSteder/beregnVisningsnavn 0"}},
		"unknown operation":     {"findAlt", ``, []string{"Body 9"}},
		"response as operation": {"findStederResponse", ``, []string{"Body 9"}},
		"bad numbers": {"findNavnesaker", flags + `<q:navnesakSoek><t:aar>99999999999</t:aar><t:saksnummer>1.0</t:saksnummer></q:navnesakSoek>`,
			[]string{"findNavnesaker/navnesakSoek/aar 3", "findNavnesaker/navnesakSoek/saksnummer 3"}},
		"empty number":   {"findNavnesaker", flags + `<q:navnesakSoek><t:aar/></q:navnesakSoek>`, []string{"findNavnesaker/navnesakSoek/aar 3"}},
		"bad long":       {"findSteder", flags + `<q:stedSoek><t:stedsnummer>9223372036854775808</t:stedsnummer></q:stedSoek>`, []string{"findSteder/stedSoek/stedsnummer 4"}},
		"bad boolean":    {"findSteder", flags + `<q:stedSoek><t:avansertSoek>TRUE</t:avansertSoek></q:stedSoek>`, []string{"findSteder/stedSoek/avansertSoek 2"}},
		"bad time":       {"findSteder", flags + `<q:stedSoek><t:oppdatertEtter><d:timestamp>2024-01-01</d:timestamp></t:oppdatertEtter></q:stedSoek>`, []string{"findSteder/stedSoek/oppdatertEtter/timestamp 5"}},
		"empty time":     {"findSteder", flags + `<q:stedSoek><t:oppdatertEtter/></q:stedSoek>`, []string{"findSteder/stedSoek/oppdatertEtter/timestamp 0"}},
		"bad date":       {"findVedtak", flags + `<q:vedtakSoek><t:vedtattFoer><d:date>2024-02-30</d:date></t:vedtattFoer></q:vedtakSoek>`, []string{"findVedtak/vedtakSoek/vedtattFoer/date 6"}},
		"empty id":       {"findSteder", flags + `<q:stedSoek><t:landId><d:value> </d:value></t:landId></q:stedSoek>`, []string{"findSteder/stedSoek/landId/value 7"}},
		"id without":     {"findSteder", flags + `<q:stedSoek><t:landId/></q:stedSoek>`, []string{"findSteder/stedSoek/landId/value 0"}},
		"two values":     {"findSteder", flags + `<q:stedSoek><t:landId><d:value>NO</d:value><d:value>SE</d:value></t:landId></q:stedSoek>`, []string{"findSteder/stedSoek/landId/value 1"}},
		"long id":        {"findSteder", flags + `<q:stedSoek><t:landId><d:value>` + long + `</d:value></t:landId></q:stedSoek>`, []string{"findSteder/stedSoek/landId/value 8"}},
		"twice":          {"findSteder", flags + `<q:stedSoek><t:stedsnavn>a</t:stedsnavn><t:stedsnavn>b</t:stedsnavn><t:stedsnavn>c</t:stedsnavn></q:stedSoek>`, []string{"findSteder/stedSoek/stedsnavn 1"}},
		"element inside": {"findSteder", flags + `<q:stedSoek><t:stedsnavn>a<b/></t:stedsnavn></q:stedSoek>`, []string{"findSteder/stedSoek/stedsnavn 10"}},
		"third item":     {"findSteder", flags + `<q:stedSoek><t:kommunerIds><ko:item><d:value>1</d:value></ko:item><ko:item xsi:nil="true"/><ko:item><d:value/></ko:item></t:kommunerIds></q:stedSoek>`, []string{"findSteder/stedSoek/kommunerIds/item[3]/value 7"}},
		"second entry": {"findSkrivemaater", flags + `<q:skrivemaateSoek><t:dokumentSoek><t:entry xsi:nil="true"/><t:entry><t:value>a</t:value></t:entry></t:dokumentSoek></q:skrivemaateSoek>`,
			[]string{"findSkrivemaater/skrivemaateSoek/dokumentSoek/entry[2]/key 0"}},
		"no gaardsnummer": {"findStederForMatrikkelenhetreferanse", flags + `<q:soek><t:kommunenummer>0301</t:kommunenummer></q:soek>`, []string{"findStederForMatrikkelenhetreferanse/soek/gaardsnummer 0"}},
		"no soeketekst":   {"findBoeker", `<q:stedsnavnContext/>`, []string{"findBoeker/soeketekst 0"}},
		"bad snapshot":    {"findBoeker", `<q:stedsnavnContext><d:snapshotVersion><d:timestamp>now</d:timestamp></d:snapshotVersion></q:stedsnavnContext><q:soeketekst>a</q:soeketekst>`, []string{"findBoeker/stedsnavnContext/snapshotVersion/timestamp 5"}},
	} {
		_, err := decode(t, c.op, c.children)
		refusal := (*placename.Refusal)(nil)
		if !errors.As(err, &refusal) {
			t.Errorf("%s: %v is no refusal", name, err)
			continue
		}
		var got []string
		for _, f := range refusal.Faults {
			got = append(got, fmt.Sprintf("%s %d", f.Path, f.Reason))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%q, want\n%q", name, got, c.want)
		}
	}
}

func TestTolerance(t *testing.T) {
	t.Parallel()
	oslo := "Oslo"
	land := "NO"
	yes := true
	for name, c := range map[string]struct {
		search string
		want   placename.StedSoek
	}{
		"empty object":          {``, placename.StedSoek{}},
		"unknown element":       {`<t:annet><t:stedsnavn>x</t:stedsnavn></t:annet>`, placename.StedSoek{}},
		"wrong case":            {`<t:Stedsnavn>Oslo</t:Stedsnavn>`, placename.StedSoek{}},
		"wrong namespace":       {`<d:stedsnavn>Oslo</d:stedsnavn><stedsnavn>Oslo</stedsnavn>`, placename.StedSoek{}},
		"nil optional":          {`<t:stedsnavn xsi:nil="true"/><t:landId xsi:nil="true"/><t:kommunerIds xsi:nil="true"/>`, placename.StedSoek{}},
		"nil item, empty list":  {`<t:kommunerIds><ko:item xsi:nil="true"/></t:kommunerIds><t:stedstatuserIds/>`, placename.StedSoek{}},
		"blank text":            {"<t:stedsnavn> \n</t:stedsnavn>", placename.StedSoek{}},
		"white space kept":      {`<t:stedsnavn>Oslo</t:stedsnavn><t:merknadstekst> x </t:merknadstekst>`, placename.StedSoek{Stedsnavn: &oslo, Merknadstekst: ptr(" x ")}},
		"white space trimmed":   {"<t:avansertSoek>\n1 </t:avansertSoek><t:landId><d:value> NO\t</d:value></t:landId>", placename.StedSoek{AvansertSoek: &yes, LandId: &land}},
		"other base":            {`<u:stedsnavn xmlns:u="urn:other/service/servicetyper">Oslo</u:stedsnavn>`, placename.StedSoek{Stedsnavn: &oslo}},
		"wrong item in a list":  {`<t:kommunerIds><t:item><d:value>1</d:value></t:item></t:kommunerIds>`, placename.StedSoek{}},
		"text between elements": {`hello<t:stedsnavn>Oslo</t:stedsnavn>`, placename.StedSoek{Stedsnavn: &oslo}},
	} {
		got, err := decode(t, "findSteder", flags+`<q:stedSoek>`+c.search+`</q:stedSoek>`)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := &placename.FindSteder{StedSoek: c.want, Flags: placename.Flags{BeregnVisningsnavn: true}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s", name, placename.AppendRequest(nil, got, base))
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestContextMayLackItsChildren(t *testing.T) {
	t.Parallel()
	for _, c := range []string{`<q:stedsnavnContext/>`, `<q:stedsnavnContext><d:locale xsi:nil="true"/><d:snapshotVersion/></q:stedsnavnContext>`} {
		r, err := decode(t, "findBoeker", c+`<q:soeketekst/>`)
		if err != nil || *r.Context() != (placename.StedsnavnContext{}) {
			t.Errorf("%s: %v %v", c, r, err)
		}
	}
}

func TestManyFaultsAreCut(t *testing.T) {
	t.Parallel()
	_, err := decode(t, "findSteder", flags+`<q:stedSoek><t:kommunerIds>`+strings.Repeat(`<ko:item/>`, 5000)+`</t:kommunerIds></q:stedSoek>`)
	refusal := (*placename.Refusal)(nil)
	if !errors.As(err, &refusal) || len(refusal.Faults) != 20 {
		t.Errorf("%v", err)
	}
}

func TestLocaleIsFoundInBadRequests(t *testing.T) {
	t.Parallel()
	for children, want := range map[string]string{
		``: "", `<q:stedsnavnContext/>`: "", `<q:stedsnavnContext><d:locale>nn</d:locale></q:stedsnavnContext>`: "nn",
	} {
		if got := parse(t, fmt.Appendf(nil, head, "findAlt", children)).Locale(); got != want {
			t.Errorf("%s: %q", children, got)
		}
	}
}

func TestExamplesAreValidRequests(t *testing.T) {
	t.Parallel()
	documents := map[string][]byte{}
	for _, o := range placename.TheContract().Operations {
		for soap12, ns := range map[bool]string{false: placename.Envelope11, true: placename.Envelope12} {
			e := parse(t, placename.ExampleRequest(o.Name, soap12, base))
			if e.Space != ns || e.Name != "Envelope" {
				t.Errorf("%s: %s %s", o.Name, e.Space, e.Name)
			}
			r, err := placename.Decode(e.Children[0].Children[0], bases)
			if err != nil || r.Operation() != o.Name {
				t.Fatalf("%s: %v", o.Name, err)
			}
			documents[o.Name] = placename.AppendRequest(nil, r, base)
		}
	}
	if placename.ExampleRequest("findAlt", false, base) != nil {
		t.Error("an unknown operation has an example")
	}
	validate(t, documents)
}
