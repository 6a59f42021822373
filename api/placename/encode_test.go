package placename_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"grense/api/placename"
)

func stedTreff(n int) placename.StedTreffList {
	list := make(placename.StedTreffList, n)
	for i := range list {
		list[i] = placename.StedTreff{
			StedId: "1234567", Ident: placename.StedIdent{Stedsnummer: 1234567}, Stedsnavn: "Kárášjohka – Karasjok",
			NavneobjekttypeId: "kommune", StedstatusId: "aktiv", KommunerIds: []string{"5610", "5601"}, LandId: "NO",
			SpraakprioriteringId: "nordsamiskNorsk",
			Sortering: placename.Sortering{Sortering1KodeId: "viktighetM",
				Sortering2KodeId: "viktighet42"},
			AntallTilleggsopplysninger: 2, Geometri: "POINT(25.5112345 69.4712345)",
		}
	}
	return list
}

// Of each call one allocation is allowed, whatever the number of hits.
func TestHitsOfEveryTypeAreWrittenWithoutAllocation(t *testing.T) {
	const n = 500
	for op, hits := range lists(rand.New(rand.NewPCG(1, 2)), n) {
		buf := placename.PlainNil.AppendHits(nil, op, hits)
		if got := testing.AllocsPerRun(5, func() { buf = placename.PlainNil.AppendHits(buf[:0], op, hits) }); got > 1 {
			t.Errorf("%s: %d hits take %v allocations, want at most 1 in all", op, n, got)
		}
	}
}

// Ten thousand hits are 8.8 MB. There is no allocation but for the growth of the buffer.
func BenchmarkAppendHits(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			hits := stedTreff(n)
			buf := placename.PlainNil.AppendHits(nil, "findSteder", hits)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				buf = placename.PlainNil.AppendHits(buf[:0], "findSteder", hits)
			}
		})
	}
}

func TestHitsAreWrittenAsTheSlowEncoderDoes(t *testing.T) {
	t.Parallel()
	c := placename.TheContract()
	for seed := range uint64(30) {
		for op, hits := range lists(rand.New(rand.NewPCG(seed, 1)), 5) {
			got := placename.AppendResponseStart(nil, op, base)
			got = placename.PlainNil.AppendHits(got, op, hits)
			got = placename.AppendResponseEnd(got, op)
			o, _ := c.Operation(op)
			want := tree(parse(t, got), "")
			slow := &placename.Element{Space: base + "/service/soek", Name: op + "Response",
				Children: []*placename.Element{
					{
						Space:    base + "/service/soek",
						Name:     "return",
						Children: slowList(o.Result.Fields[0], o.Result, reflect.ValueOf(hits)),
					},
				}}
			if s := tree(slow, ""); s != want {
				t.Fatalf("%s, seed %d:\n%s\nthe slow encoder gives\n%s", op, seed, want, s)
			}
		}
	}
}

// tree writes a tree as text. White space that the tests' texts do not have is not changed.
func tree(e *placename.Element, indent string) string {
	var b strings.Builder
	text := e.Text
	if len(e.Children) > 0 {
		text = ""
	}
	fmt.Fprintf(&b, "%s{%s}%s nil=%t %q\n", indent, e.Space, e.Name, slices.Contains(e.Attributes, isNil), text)
	for _, c := range e.Children {
		b.WriteString(tree(c, indent+" "))
	}
	return b.String()
}

// slowList makes the elements of a repeated field, which type in declares.
func slowList(f placename.Field, in *placename.Type, v reflect.Value) []*placename.Element {
	var out []*placename.Element
	f.List, f.Nillable = false, false
	for i := range v.Len() {
		out = append(out, slowElement(f, in, v.Index(i)))
	}
	return out
}

// slowFields makes the elements of a struct bound to a type, those of its base types first.
func slowFields(x *placename.Type, v reflect.Value) []*placename.Element {
	var out []*placename.Element
	if x.Base != nil {
		out = slowFields(x.Base, v)
	}
	for _, f := range x.Fields {
		g := v.FieldByName(strings.ToUpper(f.Name[:1]) + f.Name[1:])
		switch {
		case f.List:
			out = append(out, slowList(f, x, g)...)
		case f.Optional && g.IsZero():
		default:
			out = append(out, slowElement(f, x, g))
		}
	}
	return out
}

func slowElement(f placename.Field, in *placename.Type, v reflect.Value) *placename.Element {
	e := &placename.Element{Space: base + in.Schema.Path, Name: f.Name}
	c := placename.TheContract()
	x := c.Type(f.Type)
	if f.Nillable && v.IsZero() {
		e.Attributes = []placename.Attribute{isNil}
		return e
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch value := v.Interface().(type) {
	case placename.UtoevendeMyndighet:
		x = c.Type("UtoevendeMyndighetKommune")
		if value.KommuneId == "" {
			x = c.Type("UtoevendeMyndighetFylke")
		}
	case string, int32, int64, bool, time.Time:
		for x != nil && x.Base != nil {
			x = x.Base
		}
		if x != nil {
			inner := x.Fields[0]
			e.Children = []*placename.Element{slowElement(inner, x, v)}
			return e
		}
		e.Text = slowText(f.Type, value)
		return e
	}
	if v.Kind() == reflect.Slice {
		e.Children = slowList(x.Fields[0], x, v)
		return e
	}
	e.Children = slowFields(x, v)
	return e
}

func slowText(typ string, value any) string {
	switch x := value.(type) {
	case string:
		return x
	case int32:
		return strconv.Itoa(int(x))
	case int64:
		return strconv.FormatInt(x, 10)
	case bool:
		return strconv.FormatBool(x)
	case time.Time:
		if typ == "date" {
			return x.Format("2006-01-02")
		}
		return x.Format("2006-01-02T15:04:05.999999999Z07:00")
	}
	panic(fmt.Sprintf("slowText: %T", value))
}

func TestMessagesAreValid(t *testing.T) {
	t.Parallel()
	documents := map[string][]byte{}
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 3))
		for op, hits := range lists(r, 20*int(seed)) { // the first answers are empty
			decisions, _ := hits.(placename.VedtakTreffList)
			for i := range decisions { // see TestDecisionOfNobodyIsNil
				decisions[i].VedtattAv = placename.UtoevendeMyndighet{FylkeId: "56"}
			}
			b := placename.AppendResponseStart(nil, op, base)
			b = placename.PlainNil.AppendHits(b, op, hits)
			documents[fmt.Sprint(op, seed)] = placename.AppendResponseEnd(b, op)
		}
		for _, q := range requests() {
			fill(r, reflect.ValueOf(q).Elem())
			documents[fmt.Sprint("request-", q.Operation(), seed)] = placename.AppendRequest(nil, q, base)
		}
	}
	file := "Main.java"
	f := &placename.ServiceFaultInfo{
		Category:       "VALIDATION",
		StackTraceText: "id",
		ExceptionDetail: placename.ExceptionDetail{
			ClassName: "ValidationException", Message: "<>", Cause: &placename.ExceptionDetail{},
			StackTraceElements: []placename.StackTraceElement{
				{DeclaringClass: "a", MethodName: "b"},
				{FileName: &file, LineNumber: 3},
			},
		},
	}
	documents["fault"] = placename.AppendServiceException(nil, f, base)
	validate(t, documents)
}

// An element that is nil and whose type is abstract is not valid without xsi:type (XML Schema Part 1, cvc-type 2).
// With xsi:type, though, clients make an empty object of it; the contract states the plain form, which all of them
// read as nothing.
func TestDecisionOfNobodyIsNil(t *testing.T) {
	t.Parallel()
	for want, by := range map[string]placename.UtoevendeMyndighet{
		`<t:vedtattAv xsi:nil="true"/>`: {},
		`<t:vedtattAv xsi:type="ob:UtoevendeMyndighetKommune"><ob:kommuneId><d:value>5636</d:value></ob:kommuneId>` +
			`</t:vedtattAv>`: {KommuneId: "5636"},
		`<t:vedtattAv xsi:type="ob:UtoevendeMyndighetFylke"><ob:fylkeId><d:value>56</d:value></ob:fylkeId>` +
			`</t:vedtattAv>`: {FylkeId: "56"},
	} {
		if b := placename.PlainNil.AppendHits(nil, "findVedtak",
			placename.VedtakTreffList{{VedtattAv: by}}); !strings.Contains(
			string(b),
			want,
		) {
			t.Errorf("%+v: no %s in %s", by, want, b)
		}
	}
}

func TestDecisionOfNobodyNamesAConcreteTypeWhereAsked(t *testing.T) {
	t.Parallel()
	b := placename.AppendResponseStart(nil, "findVedtak", base)
	b = placename.TypedNil.AppendHits(b, "findVedtak", placename.VedtakTreffList{{}})
	b = placename.AppendResponseEnd(b, "findVedtak")
	if want := `<t:vedtattAv xsi:type="ob:UtoevendeMyndighetKommune" xsi:nil="true"/>`; !strings.Contains(string(b),
		want) {
		t.Errorf("no %s in %s", want, b)
	}
	validate(t, map[string][]byte{"nobody": b})
}

func TestAnswersAreInTheBaseAsked(t *testing.T) {
	t.Parallel()
	const other = "urn:x&y"
	b := placename.AppendResponseStart(nil, "findVedtak", other)
	b = placename.PlainNil.AppendHits(b, "findVedtak",
		placename.VedtakTreffList{{VedtattAv: placename.UtoevendeMyndighet{FylkeId: "03"}}})
	b = placename.AppendResponseEnd(b, "findVedtak")
	if e := parse(t, b); e.Space != other+"/service/soek" || strings.Contains(string(b), base) {
		t.Errorf("%s", b)
	}
}

func TestMisuseOfTheEncoderIsLoud(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(){
		"hits of another operation": func() {
			placename.PlainNil.AppendHits(nil, "findSteder", placename.BokTreffList{{}})
		},
		"unknown operation": func() { placename.AppendResponseStart(nil, "findNothing", base) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
