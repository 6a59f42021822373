package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// soapQuestions is every search once, with parameters as clients build them; the zero of a list is left out.
func soapQuestions() []map[string]any {
	type o = map[string]any
	who := o{"systemVersion": "1", "clientIdentification": "accept", "locale": "en", "snapshotVersion": o{"timestamp": "9999-01-01T00:00:00+01:00"}}
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
		searching("findSteder", "stedSoek", o{"stedsnavn": "Oslo*"}), searching("findStedsnavn", "stedsnavnSoek", o{"kommunerIds": oslo}),
		searching("findSkrivemaater", "skrivemaateSoek", o{"kommunerIds": oslo}), searching("findStederForMatrikkelenhetreferanse", "soek", unit),
		searching("findStedsnavnForMatrikkelenhetreferanse", "soek", unit), searching("findSkrivemaaterForMatrikkelenhetreferanse", "soek", unit),
		ask("findNavnesaker", o{"navnesakSoek": o{"stedsnavn": "*vik*"}}), ask("findVedtak", o{"vedtakSoek": o{"vedtattEtter": o{"date": "2000-01-01"}}}), ask("findSamlevedtak", o{"samlevedtakSoek": o{}}),
		ask("findBoeker", o{"soeketekst": "norske"}), ask("findKartprodukter", o{"utgivelsesaar": 1990}),
	}
}

var soapPath = regexp.MustCompile(`(?m)^(\d+\.find[A-Za-z]+)`)

// TestAcceptSOAPStacks asks the same eleven questions with each stack and compares the values that they decode. A stack that the machine
// lacks is told, as a test that was skipped.
func TestAcceptSOAPStacks(t *testing.T) {
	accept(t)
	t.Parallel()
	s := serve(t, nil)
	wsdl := s.base + "/soap/stedsnavn/v1/SoekServiceWS?wsdl"
	questions, err := json.Marshal(soapQuestions())
	if err != nil {
		t.Fatal(err)
	}
	first, by := "", ""
	for _, stack := range []struct{ name, tool, flag, probe, script string }{
		{"zeep", "/usr/bin/python3", "-c", "import zeep", "zeep_client.py"},
		{"PHP", "php", "-r", "new ReflectionClass('SoapClient');", "php_client.php"},
		{"node-soap", "node", "-e", "require('./testdata/soapclients/node/node_modules/soap')", "node/client.js"},
	} {
		if out, err := exec.Command(stack.tool, stack.flag, stack.probe).CombinedOutput(); err != nil {
			t.Run(stack.name, func(t *testing.T) { t.Skipf("SKIPPED: %s is not installed: %v %.200s", stack.name, err, out) })
			continue
		}
		cmd := exec.CommandContext(t.Context(), stack.tool, filepath.Join("testdata", "soapclients", stack.script), wsdl, s.key)
		var stderr bytes.Buffer
		cmd.Stdin, cmd.Stderr = bytes.NewReader(questions), &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v\n%s%s", stack.name, err, stderr.String(), out)
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		sort.Strings(lines)
		got := strings.Join(lines, "\n")
		asked := map[string]bool{}
		for _, m := range soapPath.FindAllString(got, -1) {
			asked[m] = true
		}
		t.Logf("%s: %d values of %d searches", stack.name, len(lines), len(asked))
		if len(asked) != 11 {
			t.Errorf("%s finds something by %d searches, want 11: %v", stack.name, len(asked), asked)
		}
		if first == "" {
			first, by = got, stack.name
		} else if got != first {
			t.Errorf("%s and %s decode different values; first: %s", stack.name, by, firstDifference(got, first))
		}
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

// TestAcceptSOAPGenerators lets tools that make code read the description, with no warning that stops them.
func TestAcceptSOAPGenerators(t *testing.T) {
	accept(t)
	t.Parallel()
	s := serve(t, nil)
	at := s.base + "/soap/stedsnavn/v1/SoekServiceWS?"
	for _, g := range []struct {
		name string
		args []string
		made string // a file that there must be afterwards, and what it must hold
		has  string
	}{
		{"gSOAP", []string{"wsdl2h", "-s", "-o", "service.h", at + "singleWsdl"}, "service.h", "findSkrivemaaterForMatrikkelenhetreferanse"},
		{"Mono svcutil", []string{"svcutil", "-out:Service.cs", at + "singleWsdl"}, "Service.cs", "findSkrivemaaterForMatrikkelenhetreferanse"},
		{"Mono wsdl", []string{"wsdl", "-out:Service.cs", at + "wsdl"}, "Service.cs", "findSkrivemaaterForMatrikkelenhetreferanse"},
	} {
		t.Run(g.name, func(t *testing.T) {
			if _, err := exec.LookPath(g.args[0]); err != nil {
				t.Skipf("SKIPPED: there is no %s", g.args[0])
			}
			cmd := exec.CommandContext(t.Context(), g.args[0], g.args[1:]...)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			code, _ := os.ReadFile(filepath.Join(cmd.Dir, g.made))
			if err != nil || !bytes.Contains(code, []byte(g.has)) {
				t.Errorf("%v: %d bytes of code\n%.3000s", err, len(code), out)
			}
		})
	}
}
