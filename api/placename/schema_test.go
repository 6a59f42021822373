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
		b, ok := c.XSD(name, base)
		if !ok {
			t.Fatalf("no file %s", name)
		}
		golden(t, name, b)
	}
	golden(t, "SoekServiceWS.wsdl", c.WSDL(base, address, false))
	golden(t, "SoekServiceWS12.wsdl", c.WSDL(base, address, true))
}

func TestSchemaSetCompiles(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Skip("SKIPPED: xmllint is not installed (apt install libxml2-utils)")
	}
	cmd := exec.Command("xmllint", "--noout", "--nonet", "--schema", schemas(t), "-")
	cmd.Stdin = strings.NewReader(`<q:findBoekerResponse xmlns:q="` + base + `/service/soek"><q:return/></q:findBoekerResponse>`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestUnknownSchemaFileIsNone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "x.xsd", "../sted.xsd", "STED.XSD"} {
		if b, ok := placename.TheContract().XSD(name, base); ok || b != nil {
			t.Errorf("%q is a file", name)
		}
	}
}

func TestBaseAndAddressAreEscapedAndUsedThroughout(t *testing.T) {
	t.Parallel()
	c := placename.TheContract()
	b := c.WSDL("urn:a", `https://x/?a=1&b="`, true)
	if bytes.Contains(b, []byte(base)) || !bytes.Contains(b, []byte(`location="https://x/?a=1&amp;b=&#34;"`)) {
		t.Errorf("%s", b)
	}
	parse(t, b)
	if d, _ := c.XSD("sted.xsd", "urn:a"); bytes.Contains(d, []byte(base)) {
		t.Errorf("%s", d)
	}
}

func TestDefaultDescriptionHasOnePort(t *testing.T) {
	t.Parallel()
	c := placename.TheContract()
	for both, want := range map[bool]int{false: 1, true: 2} {
		if n := strings.Count(string(c.WSDL(base, address, both)), "<wsdl:port "); n != want {
			t.Errorf("both=%t: %d ports, want %d", both, n, want)
		}
	}
}
