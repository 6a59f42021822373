package main_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"grense/api/placename"
)

// soapQuestions is every search once, with parameters as clients build them; the zero of a list is left out.
func soapQuestions() []map[string]any {
	type o = map[string]any
	who := o{"systemVersion": "1", "clientIdentification": "accept", "locale": "en",
		"snapshotVersion": o{"timestamp": "9999-01-01T00:00:00+01:00"}}
	ask := func(op string, parameters o) o {
		parameters["stedsnavnContext"] = who
		return o{"operation": op, "parameters": parameters}
	}
	searching := func(op, object string, search o) o {
		return ask(op, o{object: search, "beregnVisningsnavn": true, "inkluderGeometri": true})
	}
	oslo := o{"item": []o{{"value": "0301"}}}
	unit := o{"kommunenummer": "0301", "gaardsnummer": "1-60"}
	return []map[string]any{
		searching("findSteder", "stedSoek", o{"stedsnavn": "Oslo*"}),
		searching("findStedsnavn", "stedsnavnSoek", o{"kommunerIds": oslo}),
		searching("findSkrivemaater", "skrivemaateSoek", o{"kommunerIds": oslo}),
		searching("findStederForMatrikkelenhetreferanse", "soek", unit),
		searching("findStedsnavnForMatrikkelenhetreferanse", "soek", unit),
		searching("findSkrivemaaterForMatrikkelenhetreferanse", "soek", unit),
		ask("findNavnesaker", o{"navnesakSoek": o{"stedsnavn": "*vik*"}}),
		ask("findVedtak", o{"vedtakSoek": o{"vedtattEtter": o{"date": "2000-01-01"}}}),
		ask("findSamlevedtak", o{"samlevedtakSoek": o{}}),
		ask("findBoeker", o{"soeketekst": "norske"}), ask("findKartprodukter", o{"utgivelsesaar": 1990}),
	}
}

var soapPath = regexp.MustCompile(`(?m)^(\d+\.find[A-Za-z]+)`)

// soapStack is a SOAP implementation and how a client is made of it. In its commands {wsdl}, {singleWsdl}, {key},
// {dir} (an own empty folder) and {here} (the folder of the clients) are replaced; those of make run in {dir}.
type soapStack struct {
	name  string
	probe []string   // succeeds where the stack is installed
	make  [][]string // generate and compile
	ask   []string   // reads the questions as JSON, prints one decoded value on each line
}

func soapStacks() []soapStack {
	java := func(name, lib, probe string, generate ...string) soapStack {
		classes := "{here}/java/" + lib + "/lib/*"
		return soapStack{name: name, probe: []string{"javap", "-cp", classes, probe}, make: [][]string{
			append([]string{"java", "-cp", classes}, append(generate, "{wsdl}")...),
			// All files: a package-info, which names the namespace of its classes, is referred to by none.
			{"sh", "-c", `javac -nowarn -encoding UTF-8 -proc:none -cp "$1" -d "$0/classes" "$2" $(find "$0" ` +
				`-name '*.java')`, "{dir}", classes, "{here}/java/Client.java"},
		}, ask: []string{"java", "-Dstdout.encoding=UTF-8", "-Dfile.encoding=UTF-8", "-cp", "{dir}/classes:" + classes,
			"Client", "{wsdl}", "{key}",
			soapPackage + ".SoekService", soapPackage + ".SoekServiceWS"}}
	}
	return []soapStack{
		{name: "zeep", probe: []string{"/usr/bin/python3", "-c", "import zeep"},
			ask: []string{"/usr/bin/python3", "{here}/zeep_client.py", "{wsdl}", "{key}"}},
		{name: "PHP", probe: []string{"php", "-r", "new ReflectionClass('SoapClient');"},
			ask: []string{"php", "{here}/php_client.php", "{wsdl}", "{key}"}},
		{name: "node-soap", probe: []string{"node", "-e", "require('./testdata/soapclients/node/node_modules/soap')"},
			ask: []string{"node", "{here}/node/client.js", "{wsdl}", "{key}"}},
		// gSOAP names the namespaces as its client does when one file holds everything.
		{name: "gSOAP", probe: []string{"sh", "-c", "command -v wsdl2h && command -v soapcpp2 && command -v g++"},
			make: [][]string{
				{"wsdl2h", "-s", "-t", "{here}/gsoap.typemap", "-o", "service.h", "{singleWsdl}"},
				{"soapcpp2", "-j", "-C", "-x", "-w", "service.h"},
				{"g++", "-O0", "-w", "-I.", "-o", "client", "{here}/gsoap_client.cpp", "soapC.cpp",
					"soapSoekServicePortBindingProxy.cpp", "-lgsoap++"},
			}, ask: []string{"sh", "-c", `"$0" "$1" "$2" > "$3" && /usr/bin/python3 "$4" < "$3"`,
				"{dir}/client", "{wsdl}",
				"{key}", "{dir}/answers", "{here}/gsoap_values.py"}},
		{name: "Mono", probe: []string{"sh", "-c", "command -v wsdl && command -v mcs && command -v mono"},
			make: [][]string{
				{"wsdl", "-out:{dir}/Service.cs", "{wsdl}"},
				{"mcs", "-r:System.Web.Services.dll", "-r:System.Web.Extensions.dll", "-out:{dir}/client.exe",
					"{dir}/Service.cs", "{here}/MonoClient.cs"},
			}, ask: []string{"mono", "{dir}/client.exe", "{wsdl}", "{key}"}},
		// SOAP::Lite takes no types from a description of this style (document, wrapped): it asks the address,
		// and its client names the elements.
		{name: "SOAP::Lite", probe: []string{"perl", "-MSOAP::Lite", "-e", "1"},
			ask: []string{"perl", "{here}/lite_client.pl", "{wsdl}", "{key}"}},
		java("JAX-WS RI", "jaxws", "com.sun.tools.ws.WsImport", "com.sun.tools.ws.WsImport", "-keep", "-Xnocompile",
			"-s", "{dir}", "-d", "{dir}"),
		java("CXF", "cxf", "org.apache.cxf.tools.wsdlto.WSDLToJava", "org.apache.cxf.tools.wsdlto.WSDLToJava",
			"-d", "{dir}"),
		springWS(),
	}
}

// springWS sends the classes of wsimport by a WebServiceTemplate, without JAX-WS.
func springWS() soapStack {
	const classes = "{here}/java/springws/lib/*"
	return soapStack{name: "Spring-WS", probe: []string{"javap", "-cp", classes,
		"org.springframework.ws.client.core.WebServiceTemplate"}, make: [][]string{
		{"java", "-cp", classes, "com.sun.tools.ws.WsImport", "-keep", "-Xnocompile", "-s", "{dir}", "-d",
			"{dir}", "{wsdl}"},
		{"sh", "-c", `javac -nowarn -encoding UTF-8 -proc:none -cp "$1" -d "$0/classes" "$2/Client.java" ` +
			`"$2/SpringClient.java" $(find "$0" -name '*.java')`, "{dir}", classes, "{here}/java"},
	}, ask: []string{"java", "-Dstdout.encoding=UTF-8", "-Dfile.encoding=UTF-8", "-cp", "{dir}/classes:" + classes,
		"SpringClient", "{wsdl}", "{key}", soapPackage}}
}

// soapPackage is the package of the classes that Java's generators make of the namespace of the searches.
const soapPackage = "no.statkart.stedsnavn.ssr.wsapi.v1.service.soek"

// command fills a command in; dir is the folder of the client.
func (k soapStack) command(t *testing.T, s *serving, dir string, words []string) *exec.Cmd {
	t.Helper()
	here, err := filepath.Abs(filepath.Join("testdata", "soapclients"))
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("{wsdl}", s.base+"/soap/stedsnavn/v1/SoekServiceWS?wsdl", "{singleWsdl}",
		s.base+"/soap/stedsnavn/v1/SoekServiceWS?singleWsdl", "{key}", s.key, "{dir}", dir, "{here}", here)
	filled := make([]string, len(words))
	for i, w := range words {
		filled[i] = fill.Replace(w)
	}
	return exec.CommandContext(t.Context(), filled[0], filled[1:]...)
}

// client builds the client in a folder, which it returns. The test is skipped if the stack is not installed.
func (k soapStack) client(t *testing.T, s *serving) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if out, err := k.command(t, s, dir, k.probe).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: %s is not installed: %v %.200s", k.name, err, out)
	}
	for _, words := range k.make {
		cmd := k.command(t, s, dir, words)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%.3000s", words[0], err, out)
		}
	}
	return dir
}

// values asks the questions with the client in dir and returns the sorted lines of decoded values.
func (k soapStack) values(t *testing.T, s *serving, dir string, questions []byte, env ...string) (string, error) {
	t.Helper()
	cmd := k.command(t, s, dir, k.ask)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr, cmd.Env = bytes.NewReader(questions), &stderr, append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w\n%.3000s%.1000s", err, stderr.String(), out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	sort.Strings(lines)
	return strings.Join(lines, "\n"), nil
}

// searchesIn counts the searches that found something.
func searchesIn(values string) int {
	asked := map[string]bool{}
	for _, m := range soapPath.FindAllString(values, -1) {
		asked[m] = true
	}
	return len(asked)
}

// TestAcceptSOAPStacks asks the same eleven questions with each stack and compares the values that they decode.
// A stack that the machine lacks is reported, as a test that was skipped.
func TestAcceptSOAPStacks(t *testing.T) {
	accept(t)
	t.Parallel()
	s := serve(t, nil)
	questions, err := json.Marshal(soapQuestions())
	if err != nil {
		t.Fatal(err)
	}
	first, by := "", ""
	for _, stack := range soapStacks() {
		t.Run(stack.name, func(t *testing.T) {
			got, err := stack.values(t, s, stack.client(t, s), questions)
			if err != nil {
				t.Fatal(err)
			}
			n := searchesIn(got)
			t.Logf("%d values of %d searches", strings.Count(got, "\n")+1, n)
			if n != 11 {
				t.Errorf("something is found by %d searches, want 11", n)
			}
			if first == "" {
				first, by = got, stack.name
			} else if got != first {
				t.Errorf("%s decodes other values than %s; first: %s", stack.name, by, firstDifference(got, first))
			}
		})
	}
}

// TestAcceptSOAPStrictClient validates requests and answers against the schemas with CXF, which uses Xerces:
// typed nils are valid, and plain ones, which the contract has, are not.
func TestAcceptSOAPStrictClient(t *testing.T) {
	accept(t)
	t.Parallel()
	questions, err := json.Marshal(soapQuestions())
	if err != nil {
		t.Fatal(err)
	}
	typed, plain := serve(t, []string{"GRENSE_SOAP_NIL_TYPES=typed"}), serve(t, nil)
	cxf := soapStacks()[slices.IndexFunc(soapStacks(), func(k soapStack) bool { return k.name == "CXF" })]
	dir := cxf.client(t, typed)
	if got, err := cxf.values(t, typed, dir, questions, "STRICT=1"); err != nil || searchesIn(got) != 11 {
		t.Errorf("typed nils: %d searches, %v", searchesIn(got), err)
	}
	if _, err := cxf.values(t, plain, dir, questions, "STRICT=1"); err == nil ||
		!strings.Contains(err.Error(), "cvc-type.2") {
		t.Errorf("plain nils are valid: %v", err)
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + " and " + y[i]
		}
	}
	return "the number of values"
}

// TestAcceptSOAPGenerators lets tools that make code read the description, with no error, and looks whether the
// documentation is carried.
func TestAcceptSOAPGenerators(t *testing.T) {
	accept(t)
	t.Parallel()
	s := serve(t, nil)
	at := s.base + "/soap/stedsnavn/v1/SoekServiceWS?"
	all, both := []string{"findSkrivemaaterForMatrikkelenhetreferanse"},
		[]string{"Kriterier for steder", "Criteria for places", "registrertEtter"}
	java := func(lib, tool string, more ...string) []string {
		return append([]string{"java", "-Dfile.encoding=UTF-8", "-cp", javaLibrary(t, lib) + "/*", tool},
			append(more, at+"wsdl")...)
	}
	search := strings.ReplaceAll(strings.TrimSuffix(soapPackage, ".soek"), ".", "/") + "/servicetyper/StedSoek.java"
	for _, g := range []struct {
		name string
		args []string
		made string   // a file that there must be afterwards
		has  []string // and what it must hold
	}{
		// Of letters beyond ASCII wsdl2h writes none: the English text must say the rules without.
		{"gSOAP", []string{"wsdl2h", "-s", "-o", "service.h", at + "singleWsdl"}, "service.h",
			append(all, append(both, "a with a ring", "=Bo is exactly as written",
				"/codelists has the codes whole")...)},
		// Of ?wsdl, whose schemas import each other, Mono's svcutil makes no classes: it loads a schema once for each
		// import, and takes the second for a declaration again.
		{"Mono svcutil", []string{"svcutil", "-out:Service.cs", at + "singleWsdl"}, "Service.cs", all},
		{"Mono wsdl", []string{"wsdl", "-out:Service.cs", at + "wsdl"}, "Service.cs", all},
		{"JAX-WS RI", java("jaxws", "com.sun.tools.ws.WsImport", "-keep", "-Xnocompile", "-s", ".", "-d", "."),
			search, both},
		{"CXF", java("cxf", "org.apache.cxf.tools.wsdlto.WSDLToJava", "-d", "."), search, both},
		{"zeep", []string{"/usr/bin/python3", "-c", `import sys, zeep
open("types", "w").write(" ".join(zeep.Client(sys.argv[1], settings=zeep.Settings(strict=True)).service._operations))`,
			at + "wsdl"}, "types", all},
	} {
		t.Run(g.name, func(t *testing.T) {
			if _, err := exec.LookPath(g.args[0]); err != nil {
				t.Skipf("SKIPPED: there is no %s", g.args[0])
			}
			cmd := exec.CommandContext(t.Context(), g.args[0], g.args[1:]...)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			code, _ := os.ReadFile(filepath.Join(cmd.Dir, g.made))
			if err != nil {
				t.Fatalf("%v\n%.3000s", err, out)
			}
			for _, part := range g.has {
				if !bytes.Contains(code, []byte(part)) {
					t.Errorf("%q is not in the %d bytes of %s\n%.1000s", part, len(code), g.made, out)
				}
			}
		})
	}
}

// javaLibrary is the folder of a Java stack, which make soap-clients fills.
func javaLibrary(t *testing.T, stack string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("testdata", "soapclients", "java", stack, "lib"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAcceptSOAPDescriptionIsValid holds the description against the schemas of WSDL 1.1 and its
// bindings, which CXF carries.
func TestAcceptSOAPDescriptionIsValid(t *testing.T) {
	accept(t)
	t.Parallel()
	jars, _ := filepath.Glob(javaLibrary(t, "cxf") + "/cxf-core-*.jar")
	if len(jars) == 0 {
		t.Skip("SKIPPED: there is no CXF, which has the schemas (make soap-clients)")
	}
	jar, err := zip.OpenReader(jars[0])
	if err != nil {
		t.Fatal(err)
	}
	defer jar.Close()
	dir := t.TempDir()
	schema := `<schema xmlns="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:all">`
	for file, namespace := range map[string]string{"wsdl.xsd": "", "soap-binding.xsd": "soap/",
		"soap12-binding.xsd": "soap12/"} {
		b, err := fs.ReadFile(jar, "schemas/wsdl/"+file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), b, 0o600); err != nil {
			t.Fatal(err)
		}
		schema += `<import namespace="http://schemas.xmlsoap.org/wsdl/` + namespace +
			`" schemaLocation="` + file + `"/>`
	}
	if err := os.WriteFile(filepath.Join(dir, "all.xsd"), []byte(schema+"</schema>"), 0o600); err != nil {
		t.Fatal(err)
	}
	lint := func(b []byte) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "xmllint", "--nonet", "--noout", "--schema", "all.xsd", "-")
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(b)
		return cmd.CombinedOutput()
	}
	for query, d := range map[string]placename.Description{"wsdl": {}, "wsdl=1.2": {SOAP12: true},
		"singleWsdl": {SOAP12: true, Single: true}} {
		d.Base, d.Address = placename.DefaultBase, "http://localhost/soap"
		b := placename.TheContract().WSDL(d)
		if len(b) > 500_000 {
			t.Errorf("%s: %d bytes", query, len(b))
		}
		if out, err := lint(b); err != nil {
			t.Errorf("%s: %v\n%.1000s", query, err, out)
		}
		if _, err := lint(bytes.Replace(b, []byte("<wsdl:portType name="), []byte("<wsdl:portType title="), 1)); err ==
			nil {
			t.Errorf("%s: an attribute that WSDL does not have is not found", query)
		}
	}
}

var soapPoint = regexp.MustCompile(`POINT\(([0-9.-]+) ([0-9.-]+)\)`)

// TestAcceptSOAPGeometriesAgreeWithPROJ compares the positions of each soap.crs with what cs2cs makes of those in the
// system that a generated register stores, EPSG:25833: equal to the last digit written, a centimetre or 1e-7 degrees.
func TestAcceptSOAPGeometriesAgreeWithPROJ(t *testing.T) {
	accept(t)
	t.Parallel()
	body := string(placename.ExampleRequest("findSteder", false, placename.DefaultBase))
	body = regexp.MustCompile(`<t:kommunerIds>.*</t:kommunerIds>`).
		ReplaceAllString(strings.Replace(body, "Oslo*", "*es*", 1), "")
	positions := func(code string) [][]string {
		s := serve(t, []string{"GRENSE_SOAP_CRS=" + code})
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.base+"/soap/stedsnavn/v1/SoekServiceWS",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "text/xml")
		req.Header.Set("X-API-Key", s.key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("%s: %v %s %.500s", code, err, res.Status, answer)
		}
		return soapPoint.FindAllStringSubmatch(string(answer), -1)
	}
	stored := positions("25833")
	var in strings.Builder
	for _, p := range stored {
		in.WriteString(p[1] + " " + p[2] + "\n")
	}
	for code, digit := range map[string]float64{"25832": 0.01, "25835": 0.01, "4258": 1e-7} {
		cmd := exec.CommandContext(t.Context(), "cs2cs", "-f", "%.9f", "EPSG:25833", "EPSG:"+code)
		cmd.Stdin = strings.NewReader(in.String())
		out, err := cmd.Output()
		lines, got := strings.Split(strings.TrimSpace(string(out)), "\n"), positions(code)
		if err != nil || len(got) < 100 || len(got) != len(stored) || len(lines) != len(stored) {
			t.Fatalf("%s: %v: %d positions, %d of cs2cs, %d stored", code, err, len(got), len(lines), len(stored))
		}
		worst := 0.0
		for i, p := range got {
			var x, y, a, b float64
			if _, err := fmt.Sscan(p[1]+" "+p[2]+" "+lines[i], &x, &y, &a, &b); err != nil {
				t.Fatal(err)
			}
			if code == "4258" { // cs2cs writes latitude first
				a, b = b, a
			}
			worst = max(worst, math.Abs(x-a), math.Abs(y-b))
		}
		t.Logf("EPSG:%s: %d positions, %.2g of the last digit at worst", code, len(got), worst/digit)
		if worst > 0.501*digit {
			t.Errorf("EPSG:%s differs from PROJ by %g", code, worst)
		}
	}
}
