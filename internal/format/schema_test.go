package format_test

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"grense/internal/format"
	"grense/internal/format/gml"
)

// TestGMLFollowsItsSchema validates with xmllint, by a schema of GML that has what simple features use.
func TestGMLFollowsItsSchema(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Skip("NOT TESTED: xmllint is not installed (libxml2-utils)")
	}
	dir := t.TempDir()
	put := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, name := range []string{"gml.xsd", "sf.xsd"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		put(name, b)
	}
	catalog := put("catalog.xml",
		[]byte(`<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog"><uri `+
			`name="http://schemas.opengis.net/gml/3.2.1/gml.xsd" uri="gml.xsd"/></catalog>`))
	c, fs := places()
	for i, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64} {
		fs[i].Values[3] = v
	}
	for name, o := range selections() {
		if o.Properties != nil {
			continue // features have all values
		}
		o.Collection, o.Title, o.Address = c, "Places", "http://localhost/collections/places"
		schema, err := gml.Schema(o)
		if err != nil {
			t.Fatal(err)
		}
		put("app.xsd", schema)
		lint := func(b []byte) (string, error) {
			cmd := exec.Command("xmllint", "--nonet", "--noout", "--schema", filepath.Join(dir, "sf.xsd"),
				put("x.gml", b))
			cmd.Env = append(os.Environ(), "XML_CATALOG_FILES="+catalog)
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		if out, err := lint(write(t, format.Find("gml"), o, fs)); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if out, err := lint(write(t, format.Find("gml"), o, nil)); err != nil {
			t.Errorf("%s, nothing: %v: %s", name, err, out)
		}
		twice := append(fs[:1:1], fs[0])
		if _, err := lint(write(t, format.Find("gml"), o, twice)); err == nil {
			t.Errorf("%s: an id that is there twice is not found, so nothing is", name)
		}
	}
}
