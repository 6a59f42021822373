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
			got, err := placename.Decode(shuffled(r, e), bases, placename.RefuseUnknown)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d:\n%s\nwant\n%s", seed, placename.AppendRequest(nil, got, base),
					placename.AppendRequest(nil, want, base))
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

const head = `<q:%s xmlns:q="` + base + `/service/soek" xmlns:t="` + base + `/service/servicetyper" xmlns:d="` +
	base + `/domain"
	xmlns:ko="` + base + `/domain/kommune" xmlns:k="` + base + `/domain/koder" xmlns:sk="` + base + `/domain/sted/koder"
	xmlns:dk="` + base +
	`/domain/dokumentasjon/koder" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">%s</q:%[1]s>`

func decode(t *testing.T, op, children string) (placename.Request, error) {
	t.Helper()
	return placename.Decode(parse(t, fmt.Appendf(nil, head, op, children)), bases, placename.RefuseUnknown)
}

const flags = noFlags + `<q:beregnVisningsnavn>1</q:beregnVisningsnavn><q:inkluderGeometri>0</q:inkluderGeometri>`

const noFlags = `<q:stedsnavnContext/>`

func TestBadRequestsNameTheFieldAndTheReason(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	for name, c := range map[string]struct {
		op, children string
		want         []string // path and reason
	}{
		"nothing": {"findSteder", ``, []string{"findSteder/stedsnavnContext 0", "findSteder/stedSoek 0",
			"findSteder/beregnVisningsnavn 0", "findSteder/inkluderGeometri 0"}},
		"nil search object": {"findSteder", flags + `<q:stedSoek xsi:nil="true"/>`,
			[]string{"findSteder/stedSoek 0"}},
		"nil flag": {"findSteder",
			noFlags + `<q:stedSoek/><q:beregnVisningsnavn xsi:nil="true"/><q:inkluderGeometri>0</q:inkluderGeometri>`,
			[]string{"findSteder/beregnVisningsnavn 0"}},
		"unknown operation":     {"findAlt", ``, []string{"Body 9"}},
		"response as operation": {"findStederResponse", ``, []string{"Body 9"}},
		"bad numbers": {"findNavnesaker",
			noFlags + `<q:navnesakSoek><t:aar>99999999999</t:aar><t:saksnummer>1.0</t:saksnummer></q:navnesakSoek>`,
			[]string{"findNavnesaker/navnesakSoek/aar 3", "findNavnesaker/navnesakSoek/saksnummer 3"}},
		"empty number": {"findNavnesaker", noFlags + `<q:navnesakSoek><t:aar/></q:navnesakSoek>`,
			[]string{"findNavnesaker/navnesakSoek/aar 3"}},
		"bad long": {"findSteder", flags + `<q:stedSoek><t:stedsnummer>9223372036854775808</t:stedsnummer>` +
			`</q:stedSoek>`, []string{"findSteder/stedSoek/stedsnummer 4"}},
		"bad boolean": {"findSteder", flags + `<q:stedSoek><t:avansertSoek>TRUE</t:avansertSoek></q:stedSoek>`,
			[]string{"findSteder/stedSoek/avansertSoek 2"}},
		"bad time": {"findSteder", flags + `<q:stedSoek><t:oppdatertEtter><d:timestamp>2024-01-01</d:timestamp>` +
			`</t:oppdatertEtter></q:stedSoek>`, []string{"findSteder/stedSoek/oppdatertEtter/timestamp 5"}},
		"empty time": {"findSteder", flags + `<q:stedSoek><t:oppdatertEtter/></q:stedSoek>`,
			[]string{"findSteder/stedSoek/oppdatertEtter/timestamp 0"}},
		"bad date": {"findVedtak", noFlags + `<q:vedtakSoek><t:vedtattFoer><d:date>2024-02-30</d:date>` +
			`</t:vedtattFoer></q:vedtakSoek>`, []string{"findVedtak/vedtakSoek/vedtattFoer/date 6"}},
		"empty id": {"findSteder", flags + `<q:stedSoek><t:landId><d:value> </d:value></t:landId></q:stedSoek>`,
			[]string{"findSteder/stedSoek/landId/value 7"}},
		"id without": {"findSteder", flags + `<q:stedSoek><t:landId/></q:stedSoek>`,
			[]string{"findSteder/stedSoek/landId/value 0"}},
		"two values": {"findSteder", flags + `<q:stedSoek><t:landId><d:value>NO</d:value><d:value>SE</d:value>` +
			`</t:landId></q:stedSoek>`, []string{"findSteder/stedSoek/landId/value 1"}},
		"long id": {"findSteder", flags + `<q:stedSoek><t:landId><d:value>` + long +
			`</d:value></t:landId></q:stedSoek>`, []string{"findSteder/stedSoek/landId/value 8"}},
		"twice": {"findSteder",
			flags + `<q:stedSoek><t:stedsnavn>a</t:stedsnavn><t:stedsnavn>b</t:stedsnavn><t:stedsnavn>c</t:stedsnavn>` +
				`</q:stedSoek>`, []string{"findSteder/stedSoek/stedsnavn 1"}},
		"element inside": {"findSteder", flags + `<q:stedSoek><t:stedsnavn>a<b/></t:stedsnavn></q:stedSoek>`,
			[]string{"findSteder/stedSoek/stedsnavn 10"}},
		"third item": {"findSteder",
			flags + `<q:stedSoek><t:kommunerIds><ko:item><d:value>1</d:value></ko:item><ko:item xsi:nil="true"/>` +
				`<ko:item><d:value/></ko:item></t:kommunerIds></q:stedSoek>`,
			[]string{"findSteder/stedSoek/kommunerIds/item[3]/value 7"}},
		"second entry": {"findSkrivemaater",
			flags + `<q:skrivemaateSoek><t:dokumentSoek><t:entry xsi:nil="true"/><t:entry><t:value>a</t:value>` +
				`</t:entry></t:dokumentSoek></q:skrivemaateSoek>`,
			[]string{"findSkrivemaater/skrivemaateSoek/dokumentSoek/entry[2]/key 0"}},
		"no gaardsnummer": {"findStederForMatrikkelenhetreferanse",
			flags + `<q:soek><t:kommunenummer>0301</t:kommunenummer></q:soek>`,
			[]string{"findStederForMatrikkelenhetreferanse/soek/gaardsnummer 0"}},
		"no soeketekst": {"findBoeker", `<q:stedsnavnContext/>`, []string{"findBoeker/soeketekst 0"}},
		"bad snapshot": {"findBoeker",
			`<q:stedsnavnContext><d:snapshotVersion><d:timestamp>now</d:timestamp></d:snapshotVersion>` +
				`</q:stedsnavnContext><q:soeketekst>a</q:soeketekst>`,
			[]string{"findBoeker/stedsnavnContext/snapshotVersion/timestamp 5"}},
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
		"empty object": {``, placename.StedSoek{}},
		"nil optional": {`<t:stedsnavn xsi:nil="true"/><t:landId xsi:nil="true"/><t:kommunerIds xsi:nil="true"/>`,
			placename.StedSoek{}},
		"nil item, empty list": {`<t:kommunerIds><ko:item><d:value>0301</d:value></ko:item><ko:item xsi:nil="true"/>` +
			`</t:kommunerIds><t:stedstatuserIds/>`,
			placename.StedSoek{KommunerIds: []string{"0301"}}},
		"attributes of XML, XML Schema and SOAP": {`<t:stedsnavn xml:lang="nb" xsi:type="x" xsi:nil="0" ` +
			`S:encodingStyle="" xmlns:S="` + placename.Envelope11 + `">Oslo</t:stedsnavn>`,
			placename.StedSoek{Stedsnavn: &oslo}},
		"blank text": {"<t:stedsnavn> \n</t:stedsnavn>", placename.StedSoek{}},
		"white space kept": {`<t:stedsnavn>Oslo</t:stedsnavn><t:merknadstekst> x </t:merknadstekst>`,
			placename.StedSoek{Stedsnavn: &oslo, Merknadstekst: ptr(" x ")}},
		"white space trimmed": {"<t:avansertSoek>\n1 </t:avansertSoek><t:landId><d:value> NO\t</d:value></t:landId>",
			placename.StedSoek{AvansertSoek: &yes, LandId: &land}},
		"other base": {`<u:stedsnavn xmlns:u="urn:other/service/servicetyper">Oslo</u:stedsnavn>`,
			placename.StedSoek{Stedsnavn: &oslo}},
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

// TestUnknownElementsAreRefusedWithTheRightName: a criterion that is misspelt and ignored would answer another
// search.
func TestUnknownElementsAreRefusedWithTheRightName(t *testing.T) {
	t.Parallel()
	const ns = base + "/service/servicetyper"
	many := strings.Repeat(`<t:annet/>`, 500)
	for name, c := range map[string]struct {
		op, children string
		want         string // the only fault, in English
		near         bool   // refused also where unknown elements are ignored
	}{
		"case": {"findNavnesaker", `<q:navnesakSoek><t:Aar>2020</t:Aar></q:navnesakSoek>`,
			"findNavnesaker/navnesakSoek/Aar: there is no such element; the right one is aar.", true},
		"all capitals": {"findNavnesaker", `<q:navnesakSoek><t:SAKSNUMMER>2</t:SAKSNUMMER></q:navnesakSoek>`,
			"findNavnesaker/navnesakSoek/SAKSNUMMER: there is no such element; the right one is saksnummer.", true},
		"a letter more": {"findVedtak", `<q:vedtakSoek><t:skrivemaater>x</t:skrivemaater></q:vedtakSoek>`,
			"findVedtak/vedtakSoek/skrivemaater: there is no such element; the right one is skrivemaate.", true},
		"a letter less": {"findVedtak", `<q:vedtakSoek><t:kommunerId/></q:vedtakSoek>`,
			"findVedtak/vedtakSoek/kommunerId: there is no such element; the right one is kommunerIds.", true},
		"a letter changed": {"findVedtak", `<q:vedtakSoek><t:saksnumner>1</t:saksnumner></q:vedtakSoek>`,
			"findVedtak/vedtakSoek/saksnumner: there is no such element; the right one is saksnummer.", true},
		"letters swapped": {"findVedtak", `<q:vedtakSoek><t:arakivloepenummer/><t:vedtattFore/></q:vedtakSoek>`, "",
			true},
		"namespace": {"findVedtak", `<q:vedtakSoek><q:aar>1</q:aar></q:vedtakSoek>`,
			"findVedtak/vedtakSoek/aar: the element must be in the namespace " + ns + ".", true},
		"no namespace": {"findVedtak", `<q:vedtakSoek><aar>1</aar></q:vedtakSoek>`,
			"findVedtak/vedtakSoek/aar: the element must be in the namespace " + ns + ".", true},
		"case and namespace": {"findVedtak", `<q:vedtakSoek><Aar>1</Aar></q:vedtakSoek>`,
			"findVedtak/vedtakSoek/Aar: there is no such element; the right one is aar (" + ns + ").", true},
		"unknown": {"findBoeker", `<q:soeketekst>x</q:soeketekst><q:forfatter>y</q:forfatter>`,
			"findBoeker/forfatter: there is no such element; there may be stedsnavnContext, soeketekst.", false},
		"of another search": {"findVedtak", `<q:vedtakSoek/><q:beregnVisningsnavn>1</q:beregnVisningsnavn>`,
			"findVedtak/beregnVisningsnavn: there is no such element; there may be stedsnavnContext, vedtakSoek.",
			false},
		"many unknown": {"findVedtak", `<q:vedtakSoek>` + many + `</q:vedtakSoek>`,
			"findVedtak/vedtakSoek/annet: there is no such element; there may be aar, saksnummer, arkivloepenummer, " +
				"vedtattEtter, vedtattFoer, skrivemaate, vedtaksmyndighetId, omraadeId, kommunerIds.", false},
		"in a list": {"findVedtak",
			`<q:vedtakSoek><t:kommunerIds><d:value>0301</d:value></t:kommunerIds></q:vedtakSoek>`,
			"findVedtak/vedtakSoek/kommunerIds/value: there is no such element; there may be item.", true},
		"item elsewhere": {"findVedtak",
			`<q:vedtakSoek><t:kommunerIds><t:item><d:value>1</d:value></t:item></t:kommunerIds></q:vedtakSoek>`,
			"findVedtak/vedtakSoek/kommunerIds/item: the element must be in the namespace " + base + "/domain/kommune.",
			true},
		"in an id": {"findVedtak",
			`<q:vedtakSoek><t:omraadeId><d:value>x</d:value><d:navn>y</d:navn></t:omraadeId></q:vedtakSoek>`,
			"findVedtak/vedtakSoek/omraadeId/navn: there is no such element; there may be value.", false},
		"value in capitals": {"findVedtak",
			`<q:vedtakSoek><t:omraadeId><d:value>x</d:value><d:Value>y</d:Value></t:omraadeId></q:vedtakSoek>`,
			"findVedtak/vedtakSoek/omraadeId/Value: there is no such element; the right one is value.", true},
		"attribute": {"findVedtak", `<q:vedtakSoek><t:aar value="1"/></q:vedtakSoek>`,
			`findVedtak/vedtakSoek/aar/@value = "1": there is no such attribute; values stand inside the elements. ` +
				`findVedtak/vedtakSoek/aar: must be a whole number from -2147483648 to 2147483647.`, true},
		"attribute of value": {"findVedtak",
			`<q:vedtakSoek><t:omraadeId><d:value d:id="2">x</d:value></t:omraadeId></q:vedtakSoek>`,
			`findVedtak/vedtakSoek/omraadeId/value/@id = "2": there is no such attribute; ` +
				`values stand inside the elements.`, true},
		"attribute of SOAP": {"findVedtak", `<q:vedtakSoek><t:skrivemaate xmlns:S="` + placename.Envelope11 +
			`" S:encodingStyle="" S:value="Oslo"/></q:vedtakSoek>`,
			`findVedtak/vedtakSoek/skrivemaate/@value = "Oslo": there is no such attribute; ` +
				`values stand inside the elements.`, true},
		"attribute of XML": {"findVedtak",
			`<q:vedtakSoek><t:skrivemaate xml:lang="nb" xml:value="Oslo"/></q:vedtakSoek>`,
			`findVedtak/vedtakSoek/skrivemaate/@value = "Oslo": there is no such attribute; ` +
				`values stand inside the elements.`, true},
		"an attachment": {"findVedtak",
			`<q:vedtakSoek><x:Include xmlns:x="http://www.w3.org/2004/08/xop/include" href="cid:a"/></q:vedtakSoek>`,
			"findVedtak/vedtakSoek/Include: attachments are not read; write the value in the element.", true},
		"an attachment as a value": {"findVedtak",
			`<q:vedtakSoek><t:skrivemaate><x:Include xmlns:x="http://www.w3.org/2004/08/xop/include" href="cid:a"/>` +
				`</t:skrivemaate></q:vedtakSoek>`,
			"findVedtak/vedtakSoek/skrivemaate/Include: attachments are not read; write the value in the element.",
			true},
		"nil and content": {"findVedtak",
			`<q:vedtakSoek><t:skrivemaate xsi:nil="true">Oslo</t:skrivemaate></q:vedtakSoek>`,
			`findVedtak/vedtakSoek/skrivemaate = "Oslo": an element with xsi:nil="true" must be empty; ` +
				`remove xsi:nil or the content.`, true},
		"nil and elements": {"findVedtak",
			`<q:vedtakSoek><t:omraadeId xsi:nil="1"><d:value/></t:omraadeId></q:vedtakSoek>`,
			`findVedtak/vedtakSoek/omraadeId: an element with xsi:nil="true" must be empty; ` +
				`remove xsi:nil or the content.`, true},
		"nil no boolean": {"findVedtak", `<q:vedtakSoek><t:skrivemaate xsi:nil="maybe"/></q:vedtakSoek>`,
			`findVedtak/vedtakSoek/skrivemaate/@xsi:nil = "maybe": must be true, false, 1 or 0.`, true},
		"nil items alone": {"findVedtak",
			`<q:vedtakSoek><t:kommunerIds><ko:item xsi:nil="true"/><ko:item xsi:nil="true"/></t:kommunerIds>` +
				`</q:vedtakSoek>`, "findVedtak/vedtakSoek/kommunerIds: at least one item must have a value; " +
				"leave the list out not to restrict the search.", true},
		"text in a list": {"findVedtak", `<q:vedtakSoek><t:kommunerIds>0301</t:kommunerIds></q:vedtakSoek>`,
			`findVedtak/vedtakSoek/kommunerIds = "0301": must hold elements (item), not text.`, true},
		"text as an id": {"findVedtak", `<q:vedtakSoek><t:omraadeId>x</t:omraadeId></q:vedtakSoek>`,
			`findVedtak/vedtakSoek/omraadeId = "x": must hold elements (value), not text.`, true},
		"text as a search": {"findVedtak", `<q:vedtakSoek>Oslo</q:vedtakSoek>`,
			`findVedtak/vedtakSoek = "Oslo": must hold elements (aar, saksnummer, arkivloepenummer, vedtattEtter, ` +
				`vedtattFoer, skrivemaate, vedtaksmyndighetId, omraadeId, kommunerIds), not text.`, true},
		"in the context": {"findBoeker", `<q:soeketekst>x</q:soeketekst><q:StedsnavnContext/>`,
			"findBoeker/StedsnavnContext: there is no such element; the right one is stedsnavnContext.", true},
		"a long name": {"findBoeker", `<q:soeketekst>x</q:soeketekst><q:` + strings.Repeat("x", 1000) + `/>`,
			"findBoeker/" + strings.Repeat("x", 64) +
				"…: there is no such element; there may be stedsnavnContext, soeketekst.", false},
	} {
		if c.want == "" {
			c.want = "findVedtak/vedtakSoek/arakivloepenummer: there is no such element; " +
				"the right one is arkivloepenummer. findVedtak/vedtakSoek/vedtattFore: there is no such element; " +
				"the right one is vedtattFoer."
		}
		for _, unknown := range []placename.Unknown{placename.RefuseUnknown, placename.IgnoreUnknown} {
			_, err := placename.Decode(parse(t, fmt.Appendf(nil, head, c.op, noFlags+c.children)), bases, unknown)
			refusal := (*placename.Refusal)(nil)
			switch {
			case unknown == placename.IgnoreUnknown && !c.near:
				if err != nil {
					t.Errorf("%s is not ignored: %v", name, err)
				}
			case !errors.As(err, &refusal):
				t.Errorf("%s: %v is no refusal", name, err)
			default:
				if got := refusal.Text(placename.English); got != c.want {
					t.Errorf("%s: %s\nwant %s", name, got, c.want)
				}
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestContextMayLackItsChildren(t *testing.T) {
	t.Parallel()
	for _, c := range []string{`<q:stedsnavnContext/>`,
		`<q:stedsnavnContext><d:locale xsi:nil="true"/><d:snapshotVersion/></q:stedsnavnContext>`} {
		r, err := decode(t, "findBoeker", c+`<q:soeketekst/>`)
		if err != nil || *r.Context() != (placename.StedsnavnContext{}) {
			t.Errorf("%s: %v %v", c, r, err)
		}
	}
}

func TestManyFaultsAreCut(t *testing.T) {
	t.Parallel()
	_, err := decode(t, "findSteder",
		flags+`<q:stedSoek><t:kommunerIds>`+strings.Repeat(`<ko:item/>`, 5000)+`</t:kommunerIds></q:stedSoek>`)
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
			r, err := placename.Decode(e.Children[0].Children[0], bases, placename.RefuseUnknown)
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
