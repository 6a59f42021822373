package placename_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"grense/api/placename"
)

const address = "https://example.org/soap/stedsnavn/v1/SoekServiceWS"

func TestSchemasAndDescriptionAreTheCommittedOnes(t *testing.T) {
	t.Parallel()
	c := placename.TheContract()
	for _, name := range c.Files() {
		b, ok := c.XSD(name, placename.Description{Base: base})
		if !ok {
			t.Fatalf("no file %s", name)
		}
		golden(t, name, b)
	}
	golden(t, "SoekServiceWS.wsdl", c.WSDL(placename.Description{Base: base, Address: address}))
	golden(t, "SoekServiceWS12.wsdl", c.WSDL(placename.Description{Base: base, Address: address, SOAP12: true}))
}

func TestSchemaSetCompiles(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Skip("SKIPPED: xmllint is not installed (apt install libxml2-utils)")
	}
	cmd := exec.Command("xmllint", "--noout", "--nonet", "--schema", schemas(t), "-")
	cmd.Stdin = strings.NewReader(
		`<q:findBoekerResponse xmlns:q="` + base + `/service/soek"><q:return/></q:findBoekerResponse>`,
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestUnknownSchemaFileIsNone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "x.xsd", "../sted.xsd", "STED.XSD"} {
		if b, ok := placename.TheContract().XSD(name, placename.Description{Base: base}); ok || b != nil {
			t.Errorf("%q is a file", name)
		}
	}
}

func TestBaseAndAddressAreEscapedAndUsedThroughout(t *testing.T) {
	t.Parallel()
	c := placename.TheContract()
	b := c.WSDL(placename.Description{Base: "urn:a", Address: `https://x/?a=1&b="`, SOAP12: true})
	if bytes.Contains(b, []byte(base)) || !bytes.Contains(b, []byte(`location="https://x/?a=1&amp;b=&#34;"`)) {
		t.Errorf("%s", b)
	}
	parse(t, b)
	if d, _ := c.XSD("sted.xsd", placename.Description{Base: "urn:a"}); bytes.Contains(d, []byte(base)) {
		t.Errorf("%s", d)
	}
}

func TestDefaultDescriptionHasOnePort(t *testing.T) {
	t.Parallel()
	c := placename.TheContract()
	for _, x := range []struct {
		both bool
		want int
	}{{false, 1}, {true, 2}} {
		if n := strings.Count(string(c.WSDL(placename.Description{Base: base, Address: address, SOAP12: x.both})),
			"<wsdl:port "); n != x.want {
			t.Errorf("both=%t: %d ports, want %d", x.both, n, x.want)
		}
	}
}

// TestEverythingIsDocumented in both languages, so that generated code carries it.
func TestEverythingIsDocumented(t *testing.T) {
	t.Parallel()
	c := placename.TheContract()
	single := c.WSDL(placename.Description{Base: base, Address: address, SOAP12: true, Single: true, CRS: "EPSG:25833"})
	if len(single) > 500_000 {
		t.Errorf("the description with its schemas has %d bytes", len(single))
	}
	if bytes.Contains(single, []byte("schemaLocation")) || bytes.Contains(single, []byte("{crs}")) ||
		!bytes.Contains(single, []byte("WKT in EPSG:25833")) {
		t.Error("the description with its schemas refers to files, or does not name the reference system")
	}
	var kinds = map[string]int{}
	var walk func(path string, e *placename.Element)
	walk = func(path string, e *placename.Element) {
		named := map[string]bool{"complexType": true, "element": true, "operation": strings.Contains(path, "portType")}
		if named[e.Name] {
			kinds[e.Name]++
			told := 0
			for _, a := range e.Children {
				texts := []*placename.Element{a}
				if a.Name == "annotation" { // one documentation: tools for Java take no more
					if texts = a.Children; len(texts) != 1 {
						t.Errorf("a %s in %s has %d documentations", e.Name, path, len(texts))
					}
				}
				for _, d := range texts {
					nb, en, both := strings.Cut(d.Text, "\n\n")
					if d.Name == "documentation" && both && len(strings.TrimSpace(nb)) > 3 &&
						len(strings.TrimSpace(en)) > 3 {
						told += 2
					}
				}
			}
			if told != 2 {
				t.Errorf("a %s in %s is documented in %d languages", e.Name, path, told)
			}
		}
		for _, child := range e.Children {
			walk(path+"/"+e.Name, child)
		}
	}
	walk("", parse(t, single))
	if kinds["operation"] != 11 || kinds["complexType"] < 142 || kinds["element"] < 300 {
		t.Errorf("%v", kinds)
	}
}

// TestTypesRepeatTheDocumentationOfTheirElements, which many generators drop.
func TestTypesRepeatTheDocumentationOfTheirElements(t *testing.T) {
	t.Parallel()
	text := func(e *placename.Element) string { return e.Children[0].Children[0].Text } // of annotation/documentation
	fields := 0
	var walk func(in string, e *placename.Element)
	walk = func(in string, e *placename.Element) {
		switch e.Name {
		case "complexType":
			in = text(e)
		case "element":
			if name := attribute(e, "name"); in != "" && name != "item" {
				nb, en, _ := strings.Cut(text(e), "\n\n")
				if fields++; !strings.Contains(in, "\n- "+name+": "+nb) || !strings.Contains(in, "\n- "+name+": "+en) {
					t.Errorf("the documentation of %s is not in that of its type:\n%s", name, in)
				}
			}
		}
		for _, c := range e.Children {
			walk(in, c)
		}
	}
	for _, file := range placename.TheContract().Files() {
		b, _ := placename.TheContract().XSD(file, placename.Description{Base: base})
		walk("", parse(t, b))
	}
	if fields < 263 {
		t.Errorf("%d elements are too few", fields)
	}
}

// attribute returns the value of an attribute; "" when it is absent.
func attribute(e *placename.Element, name string) string {
	for _, a := range e.Attributes {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

func TestTheDescriptionWithItsSchemasCompiles(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Skip("SKIPPED: xmllint is not installed (apt install libxml2-utils)")
	}
	cmd := exec.Command("xmllint", "--noout", "-")
	cmd.Stdin = bytes.NewReader(
		placename.TheContract().WSDL(placename.Description{Base: base, Address: address, Single: true}),
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
