package placename_test

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"grense/api/placename"
	"grense/internal/sharedtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const base = placename.DefaultBase

// golden compares got with a file under testdata, or writes the file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from its golden file; run with -update and review the difference", name)
	}
}

// parse reads a document into a tree, the slow and obvious way.
func parse(t testing.TB, b []byte) *placename.Element {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	var stack []*placename.Element
	for {
		token, err := d.Token()
		if err == io.EOF {
			t.Fatal("no root element")
		}
		if err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := &placename.Element{Space: x.Name.Space, Name: x.Name.Local}
			for _, a := range x.Attr {
				if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" {
					e.Attributes = append(e.Attributes,
						placename.Attribute{Space: a.Name.Space, Name: a.Name.Local, Value: a.Value})
				}
			}
			if len(stack) > 0 {
				parent := stack[len(stack)-1]
				parent.Children = append(parent.Children, e)
			}
			stack = append(stack, e)
		case xml.CharData:
			if len(stack) > 0 {
				stack[len(stack)-1].Text += string(x)
			}
		case xml.EndElement:
			if len(stack) == 1 {
				return stack[0]
			}
			stack = stack[:len(stack)-1]
		}
	}
}

// isNil is the attribute of an element that is nil.
var isNil = placename.Attribute{Space: "http://www.w3.org/2001/XMLSchema-instance", Name: "nil", Value: "true"}

// requests returns an empty request of each operation.
func requests() []placename.Request {
	return []placename.Request{
		&placename.FindNavnesaker{}, &placename.FindSteder{}, &placename.FindStederForMatrikkelenhetreferanse{},
		&placename.FindStedsnavn{}, &placename.FindStedsnavnForMatrikkelenhetreferanse{}, &placename.FindSkrivemaater{},
		&placename.FindSkrivemaaterForMatrikkelenhetreferanse{}, &placename.FindVedtak{}, &placename.FindSamlevedtak{},
		&placename.FindBoeker{}, &placename.FindKartprodukter{},
	}
}

// lists returns a list of n random hits for each operation.
func lists(r *rand.Rand, n int) map[string]placename.Hits {
	out := map[string]placename.Hits{}
	for op, empty := range map[string]placename.Hits{
		"findNavnesaker":                             placename.NavnesakTreffList{},
		"findSteder":                                 placename.StedTreffList{},
		"findStederForMatrikkelenhetreferanse":       placename.StedMatrikkelenhetreferanseTreffList{},
		"findStedsnavn":                              placename.StedsnavnTreffList{},
		"findStedsnavnForMatrikkelenhetreferanse":    placename.StedsnavnMatrikkelenhetreferanseTreffList{},
		"findSkrivemaater":                           placename.SkrivemaateTreffList{},
		"findSkrivemaaterForMatrikkelenhetreferanse": placename.SkrivemaateMatrikkelenhetreferanseTreffList{},
		"findVedtak":                                 placename.VedtakTreffList{},
		"findSamlevedtak":                            placename.SamlevedtakTreffList{},
		"findBoeker":                                 placename.BokTreffList{},
		"findKartprodukter":                          placename.KartproduktTreffList{},
	} {
		list := reflect.MakeSlice(reflect.TypeOf(empty), n, n)
		for i := range n {
			fill(r, list.Index(i))
		}
		out[op] = list.Interface().(placename.Hits)
	}
	return out
}

var texts = []string{"Oslo", "Kárášjohka – Karasjok", "<&>\"'", "a\r\nb\tc", " x ", "POINT(10.75 59.91)", "\u2028", "𝔄"}

// fill sets v and all it holds to random values: pointers and slices may be nil, ids and texts are not blank.
func fill(r *rand.Rand, v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		// whole days at UTC are right for dates and for timestamps
		*x = time.Date(1+r.IntN(9999), time.Month(1+r.IntN(12)), 1+r.IntN(28), 0, 0, 0, 0, time.UTC)
		return
	case *placename.UtoevendeMyndighet:
		*x = [...]placename.UtoevendeMyndighet{{}, {KommuneId: "5636"}, {FylkeId: "56"}}[r.IntN(3)]
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts[r.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32:
		v.SetInt(int64(int32(r.Uint32())))
	case reflect.Int64:
		v.SetInt(int64(r.Uint64()))
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Slice:
		if n := r.IntN(4); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(r, v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	default:
		panic("fill: " + v.Kind().String())
	}
}

// shared returns the path of a file of the shared folder, or skips the test.
func shared(t *testing.T, name string) string { return sharedtest.Path(t, name) }

// schemas writes the schema files and one that imports them all, and returns the path of that.
func schemas(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	c := placename.TheContract()
	var all strings.Builder
	all.WriteString(`<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">`)
	for _, s := range c.Schemas {
		b, _ := c.XSD(s.File, placename.Description{Base: base})
		if err := os.WriteFile(filepath.Join(dir, s.File), b, 0o644); err != nil {
			t.Fatal(err)
		}
		all.WriteString(`<xs:import namespace="` + base + s.Path + `" schemaLocation="` + s.File + `"/>`)
	}
	all.WriteString(`</xs:schema>`)
	path := filepath.Join(dir, "all.xsd")
	if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// validate checks documents against the schemas with libxml2, or skips the test.
func validate(t *testing.T, documents map[string][]byte) {
	t.Helper()
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Skip("SKIPPED: xmllint is not installed, no document was validated (apt install libxml2-utils)")
	}
	args := []string{"--noout", "--nonet", "--schema", schemas(t)}
	dir := t.TempDir()
	for name, b := range documents {
		path := filepath.Join(dir, name+".xml")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	out, err := exec.Command("xmllint", args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
