package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"grense/internal/await"
)

// clientTime bounds one run of a client's script, which downloads a collection several times by pages of ten.
const clientTime = 10 * time.Minute

// layer is a collection and what the clients ask of it.
type layer struct {
	coll string
	attr string // NAME=VALUE of a text or a date, with at least one hit
	box  string // west south east north, degrees
	skip string // steps of the OWSLib check that do not fit the data
}

// source is what is served, and where the clients are sent.
type source struct {
	name   string
	file   string // in the shared data; empty: the demo
	mounts []string
	layers []layer
}

var sources = []source{
	{name: "demo", mounts: []string{"", "/v1"}, layers: []layer{
		{coll: "fylker", attr: "navn=Møre og Romsdal", box: "10 59 11 60"},
		{coll: "kommuner", attr: "nr=0301", box: "10 59 11 60"},
	}},
	{name: "counties", file: "norway/kartverket-fylker-25833.gpkg", mounts: []string{""}, layers: []layer{
		{coll: "fylker", attr: "nr=03", box: "10 59 11 60"},
		{coll: "fylker_kystkontur", attr: "navn=Møre og Romsdal", box: "4 60 6 62"},
	}},
	{name: "municipalities", file: "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg", mounts: []string{""},
		layers: []layer{
			{coll: "kommune", attr: "kommunenummer=1508", box: "5 62 8 63"},
			{coll: "kommunegrense", attr: "oppdateringsdato=2024-06-28", box: "5 62 8 63"},
			{coll: "fylkesgrense", attr: "oppdateringsdato=2023-12-18", box: "5 62 8 63"},
		}},
	{name: "world", file: "cql2/ne110m4cql2.gpkg", mounts: []string{""}, layers: []layer{
		{coll: "ne_110m_admin_0_countries", attr: "CONTINENT=South America", box: "10 -35 52 37"},
		{coll: "ne_110m_populated_places_simple", attr: "name=Washington, D.C.", box: "-80 20 20 60"},
		// no river in Norway
		{coll: "ne_110m_rivers_lake_centerlines", attr: "name=Paraná", box: "-80 -40 -40 0", skip: "bbox"},
	}},
	{name: "imported", file: "norway/robhop-2024/Kommuner-M.geojson.gz", mounts: []string{""}, layers: []layer{
		{coll: "kommuner-m", attr: "kommunenummer=0301", box: "10 59 11 60"},
	}},
}

// accept skips unless real clients are requested, and fails where they are not installed:
// a check that did not run must not pass.
func accept(t *testing.T) {
	t.Helper()
	wantsClients(t)
	for _, tool := range []string{"curl", "ogrinfo", "ogr2ogr", "/usr/bin/python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is missing; install curl, gdal-bin, python3-owslib and python3-zeep", tool)
		}
	}
}

// wantsClients is accept for tests with clients of their own.
func wantsClients(t *testing.T) {
	t.Helper()
	if os.Getenv("GRENSE_ACCEPT") == "" {
		t.Skip("real clients run in make accept")
	}
	if dir := sharedPath(t, "acceptance"); !exists(dir) {
		t.Fatalf("there is no %s; GRENSE_SHARED must name the folder of shared data", dir)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// start serves the source and checks that it has its layers.
func (src source) start(t *testing.T) *serving {
	t.Helper()
	var args []string
	if src.file != "" {
		args = []string{sharedPath(t, "data", src.file)}
	}
	s := serve(t, nil, args...)
	served := s.collections(t)
	for _, l := range src.layers {
		if !slices.Contains(served, l.coll) {
			t.Errorf("%s is not among the collections %v", l.coll, served)
		}
	}
	return s
}

func (s *serving) collections(t *testing.T) []string {
	t.Helper()
	var answer struct{ Collections []struct{ ID string } }
	s.getJSON(t, "/collections", &answer)
	var ids []string
	for _, c := range answer.Collections {
		ids = append(ids, c.ID)
	}
	return ids
}

// client runs a script of the shared acceptance folder; status 0 is a pass.
func client(t *testing.T, script string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientTime)
	defer cancel()
	argv := append([]string{sharedPath(t, "acceptance", script)}, args...)
	if filepath.Ext(script) == ".py" {
		argv = append([]string{"/usr/bin/python3"}, argv...) // where Debian's packages are
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "no_proxy=localhost,127.0.0.1", "NO_PROXY=localhost,127.0.0.1")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	steps := 0
	for l := range strings.Lines(string(out)) {
		if strings.HasPrefix(l, "ok ") || strings.HasPrefix(l, "pass ") {
			steps++
		}
	}
	if err == nil && steps > 0 {
		t.Logf("%d steps right", steps)
		return
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() == 2 {
		t.Fatalf("the check did not run: a tool is missing or the call is wrong\n%s", out)
	}
	t.Errorf("%v, %d steps right\n%s", err, steps, out)
}

// eachLayer runs a client against each layer of each source, at each mount.
func eachLayer(t *testing.T, run func(t *testing.T, s *serving, mount string, l layer)) {
	accept(t)
	t.Parallel()
	for _, src := range sources {
		t.Run(src.name, func(t *testing.T) {
			t.Parallel()
			s := src.start(t)
			for _, mount := range src.mounts {
				for _, l := range src.layers {
					t.Run(l.coll+mount, func(t *testing.T) { run(t, s, mount, l) })
				}
			}
		})
	}
}

func TestAcceptGDAL(t *testing.T) {
	eachLayer(t, func(t *testing.T, s *serving, mount string, l layer) {
		client(t, "gdal_check.sh", s.base+mount, l.coll, s.key, l.attr, l.box)
	})
}

func TestAcceptOWSLib(t *testing.T) {
	eachLayer(t, func(t *testing.T, s *serving, mount string, l layer) {
		args := []string{s.base + mount + "/", s.key, l.coll}
		if l.skip != "" {
			args = append([]string{"--skip", l.skip}, args...)
		}
		client(t, "owslib_check.py", args...)
	})
}

// TestAcceptGDALFilters compares what GDAL finds at the server, where it sends its condition as CQL2,
// with what it finds in its own copy.
func TestAcceptGDALFilters(t *testing.T) {
	accept(t)
	t.Parallel()
	const coll = "ne_110m_populated_places_simple"
	s := sources[3].start(t)
	// of GeoJSON, GDAL evaluates conditions itself
	url, copied := "OAPIF:"+s.base+"/", filepath.Join(t.TempDir(), "copy.geojson")
	gdal(t, s, "ogr2ogr", "-f", "GeoJSON", copied, url, coll)
	hits := func(where string, want int) {
		got := bytes.Count(gdal(t, s, "ogrinfo", "-ro", "-q", url, coll, "-where", where), []byte("OGRFeature("))
		if got != want || want == 0 {
			t.Errorf("%s: %d at the server, want %d", where, got, want)
		}
	}
	for _, where := range []string{
		`name LIKE 'S%'`,
		`name ILIKE 's_n%'`,
		`NOT (name LIKE '%a%')`,
		`name <> 'Oslo'`,
		`name = 'Saint George''s'`,
		`name IN ('Oslo', 'Lima', 'São Tomé')`,
		`name = 'Ürümqi' OR name = 'Washington, D.C.'`,
		`pop_max > 10000000`,
		`pop_max >= 1000000 AND name > 'S'`,
		`pop_max BETWEEN 100000 AND 900000 AND meganame IS NOT NULL`,
		`"date" IS NULL AND name LIKE 'B%'`,
		`"start" IS NOT NULL`,
	} {
		hits(where, bytes.Count(gdal(t, s, "ogrinfo", "-ro", "-q", copied, coll, "-where", where),
			[]byte("OGRFeature(")))
	}
	hits(`id = '17'`, 1)             // asked for by its id
	hits(`"date" > '2021-04-16'`, 2) // GDAL itself stumbles over dates that are null
	hits(`"start" >= '2021-04-16T10:15:59Z'`, 3)
	if !strings.Contains(s.logged(t), "filter-lang=cql-text") {
		t.Error("GDAL has sent no filter; the test proves nothing")
	}
}

// TestAcceptGDALTiles reads tiles by GDAL's driver for vector tiles, from the server and from a file, and where GDAL
// knows version 2 of tile matrix sets, as of 3.8, all of a level by its driver for OGC APIs.
func TestAcceptGDALTiles(t *testing.T) {
	accept(t)
	t.Parallel()
	s := serve(t, []string{"GRENSE_AUTH=open"})
	const at = "/collections/kommuner/tiles/WebMercatorQuad/6/18/33?f=mvt"
	file := filepath.Join(t.TempDir(), "tile.mvt")
	status, body, err := s.get(t.Context(), at)
	if err == nil {
		err = os.WriteFile(file, body, 0o600)
	}
	if err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	for _, source := range []string{"MVT:" + s.base + at, "MVT:" + file} {
		out := gdal(t, s, "ogrinfo", "-ro", "-q", "-al", "-oo", "Z=6", "-oo", "Y=18", "-oo", "X=33", "-where",
			"id = '0301'", source)
		if bytes.Count(out, []byte("OGRFeature(kommuner)")) != 1 ||
			!bytes.Contains(out, []byte("navn (String) = Oslo")) || !bytes.Contains(out, []byte("POLYGON ((")) {
			t.Errorf("%s: %.600s", source, out)
		}
	}
	var major, minor int
	version := gdal(t, s, "gdalinfo", "--version")
	if _, err := fmt.Sscanf(string(version), "GDAL %d.%d", &major, &minor); err != nil {
		t.Fatalf("%s: %v", version, err)
	}
	if major == 3 && minor < 8 {
		t.Skipf("the rest needs another than %s, whose driver for OGC APIs reads drafts of tile matrix sets only",
			bytes.TrimSpace(version))
	}
	if out := gdal(t, s, "ogrinfo", "-ro", "-oo", "API=TILES", "-oo", "TILEMATRIXSET=WebMercatorQuad",
		"OGCAPI:"+s.base+"/collections/kommuner"); !bytes.Contains(out, []byte("Zoom level 6")) {
		t.Errorf("%s", out)
	}
}

// TestAcceptPrintedCurlLine gives the line that the first start prints to a shell.
func TestAcceptPrintedCurlLine(t *testing.T) {
	accept(t)
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := program(t, ctx, t.TempDir(), "serve", "--addr", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	in, line := bufio.NewScanner(stdout), ""
	for line == "" && in.Scan() {
		if l := strings.TrimSpace(in.Text()); strings.HasPrefix(l, "curl ") {
			line = l
		}
	}
	out, err := exec.CommandContext(ctx, "sh", "-c", line+" --noproxy '*' --silent --show-error --fail").
		CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(`"FeatureCollection"`)) {
		t.Errorf("%q: %v\n%.500s", line, err, out)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	io.Copy(io.Discard, stdout)
	if err := cmd.Wait(); err != nil {
		t.Error("after SIGTERM:", err)
	}
}

// TestAcceptPlaceNames drives the SOAP service and the collections behind it.
func TestAcceptPlaceNames(t *testing.T) {
	accept(t)
	t.Parallel()
	s := serve(t, nil)
	wsdl := s.base + "/soap/stedsnavn/v1/SoekServiceWS?wsdl"
	t.Run("SOAP 1.1", func(t *testing.T) { client(t, "zeep_check.py", wsdl, "--key", s.key, "--min-hits", "1") })
	t.Run("SOAP 1.2", func(t *testing.T) {
		client(t, "zeep_check.py", wsdl+"=1.2", "--key", s.key, "--min-hits", "1", "--port", "SoekServicePort12")
	})
	for _, coll := range []string{"sted", "stedsnavn"} {
		t.Run(coll, func(t *testing.T) {
			client(t, "owslib_check.py", "--skip", "filter", s.base+"/", s.key, coll)
			var page struct{ NumberMatched int }
			s.getJSON(t, "/collections/"+coll+"/items?limit=1", &page)
			// Not gdal_check.sh: it wants a GeoPackage made without a warning, but GDAL 3.6 takes the first ten
			// geometries, points, for the type of all.
			var copied struct {
				Features []struct{ Properties struct{ ID any } }
			} // GDAL makes a field of the id
			if err := json.Unmarshal(gdal(t, s, "ogr2ogr", "-f", "GeoJSON", "/vsistdout/", "OAPIF:"+s.base+"/", coll),
				&copied); err != nil {
				t.Fatal(err)
			}
			ids := map[any]bool{}
			for _, f := range copied.Features {
				ids[f.Properties.ID] = true
			}
			if n := page.NumberMatched; n < 1000 || len(copied.Features) != n || len(ids) != n {
				t.Errorf("%d features with %d ids downloaded, numberMatched %d", len(copied.Features), len(ids), n)
			}
		})
	}
}

// TestAcceptDownloadEqualsTheFile compares each feature of a downloaded copy with the file that is served.
// The copy went through degrees with seven decimals, a centimetre, so its area may differ by a centimetre along the
// border: here twice that of a square.
func TestAcceptDownloadEqualsTheFile(t *testing.T) {
	accept(t)
	t.Parallel()
	for _, c := range []struct {
		src            source
		coll, nr, navn string
	}{
		{sources[0], "fylker", "nr", "navn"}, {sources[0], "kommuner", "nr", "navn"},
		{sources[1], "fylker", "nr", "navn"}, {sources[1], "fylker_kystkontur", "nr", "navn"},
		{sources[2], "kommune", "kommunenummer", "kommunenavn"},
	} {
		t.Run(c.src.name+" "+c.coll, func(t *testing.T) {
			t.Parallel()
			s := c.src.start(t)
			file := sharedPath(t, "data", c.src.file)
			if c.src.file == "" {
				file = demoFile(t, s.dir)
			}
			copied := filepath.Join(t.TempDir(), "copy.gpkg")
			gdal(t, s, "ogr2ogr", "-f", "GPKG", copied, "-t_srs", "EPSG:25833", "OAPIF:"+s.base+"/", c.coll)
			question := fmt.Sprintf("SELECT %s, %s, OGR_GEOM_AREA AS area FROM %s", c.nr, c.navn, c.coll)
			want := rows(t, gdal(t, s, "ogr2ogr", "-f", "CSV", "/vsistdout/", file, "-dialect", "OGRSQL",
				"-sql", question))
			got := rows(t, gdal(t, s, "ogr2ogr", "-f", "CSV", "/vsistdout/", copied, "-dialect", "OGRSQL",
				"-sql", question))
			if len(got) != len(want) || len(want) < 15 {
				t.Fatalf("%d features downloaded, %d in the file", len(got), len(want))
			}
			worst := 0.0
			for i := range want {
				if got[i].nr != want[i].nr || got[i].navn != want[i].navn {
					t.Fatalf("feature %v, want %v", got[i], want[i])
				}
				d := math.Abs(got[i].area - want[i].area)
				if worst = max(worst, d/want[i].area); !(d < 0.01*8*math.Sqrt(want[i].area)) {
					t.Errorf("%s: area %.0f m², want %.0f", want[i].navn, got[i].area, want[i].area)
				}
			}
			t.Logf("%d features, areas within %.1g of themselves", len(want), worst)
		})
	}
}

// demoFile finds the demo's GeoPackage below a home.
func demoFile(t *testing.T, home string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(home, ".local/share/grense/demo-*.gpkg"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the demo's file: %v, %v", found, err)
	}
	return found[0]
}

// gdal returns the output of one of GDAL's programs; a word on standard error is a failure.
func gdal(t *testing.T, s *serving, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientTime)
	defer cancel()
	var errs bytes.Buffer
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "OAPIF:") }) {
		// as README says; newer ones send no GDAL_HTTP_HEADERS
		args = append([]string{"-oo", "USERPWD=any:" + s.key}, args...)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "GDAL_HTTP_TIMEOUT=60", "no_proxy=localhost")
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%s %v: %v\n%s", name, args, err, &errs)
	}
	return out
}

type row struct {
	nr, navn string
	area     float64 // m²
}

// rows reads nr, navn, area; sorted, because two parts of one unit may share nr.
func rows(t *testing.T, text []byte) []row {
	t.Helper()
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(lines) == 0 || len(lines[0]) != 3 {
		t.Fatalf("%v in %.200s", err, text)
	}
	var out []row
	for _, l := range lines[1:] {
		area, err := strconv.ParseFloat(l[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row{l[0], l[1], area})
	}
	slices.SortFunc(out, func(a, b row) int {
		if c := strings.Compare(a.nr, b.nr); c != 0 {
			return c
		}
		return int(math.Copysign(1, a.area-b.area))
	})
	return out
}

// slowDownload is an answer too large for the buffers of the connection, so its handler runs until the client reads on.
type slowDownload struct {
	conn net.Conn
	body io.Reader
	path string
}

// begin asks for all coastal counties and reads the first bytes.
func begin(t *testing.T, s *serving) *slowDownload {
	t.Helper()
	d := &slowDownload{path: "/collections/fylker_kystkontur/items"}
	var err error
	if d.conn, err = net.Dial("tcp", s.addr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.conn.Close() })
	d.conn.SetDeadline(time.Now().Add(patience))
	d.conn.(*net.TCPConn).SetReadBuffer(16 << 10)
	fmt.Fprintf(d.conn, "GET %s?f=json HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\n\r\n", d.path, s.key)
	resp, err := http.ReadResponse(bufio.NewReader(d.conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d", resp.StatusCode)
	}
	head := make([]byte, 1000)
	if _, err := io.ReadFull(resp.Body, head); err != nil {
		t.Fatal(err)
	}
	d.body = io.MultiReader(bytes.NewReader(head), resp.Body)
	if strings.Contains(s.logged(t), d.path) {
		t.Fatal("the download has ended before the client has read it; the test proves nothing")
	}
	return d
}

// complete reads on and checks that nothing is missing.
func (d *slowDownload) complete(t *testing.T) {
	t.Helper()
	var answer struct {
		NumberReturned int
		Features       []json.RawMessage
	}
	if err := json.NewDecoder(d.body).Decode(&answer); err != nil {
		t.Fatal("the download is broken:", err)
	}
	if answer.NumberReturned != 15 || len(answer.Features) != 15 {
		t.Errorf("%d features, numberReturned %d", len(answer.Features), answer.NumberReturned)
	}
	if rest, err := io.ReadAll(d.body); err != nil {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

func TestAcceptSIGTERMLetsADownloadFinish(t *testing.T) {
	accept(t)
	t.Parallel()
	s := serve(t, []string{"GRENSE_LIMITS_DRAIN_WAIT=2s"}, sharedPath(t, "data", sources[1].file))
	d := begin(t, s)
	s.signal(t, syscall.SIGTERM)
	await.True(t, "/readyz fails", func() bool {
		code, _, err := s.get(t.Context(), "/readyz")
		return err == nil && code == http.StatusServiceUnavailable
	})
	if code, body, err := s.get(t.Context(), "/collections"); code != http.StatusOK {
		t.Errorf("before the listener closes: %d %.200s %v", code, body, err)
	}
	http.DefaultClient.CloseIdleConnections()
	await.True(t, "the listener closes", func() bool {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			conn.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	select {
	case <-s.ended:
		t.Fatal("the program ended before the download")
	default:
	}
	d.complete(t)
	d.conn.Close()
	if code := s.exit(t); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

func TestAcceptSIGHUPGoesUnnoticedByClients(t *testing.T) {
	accept(t)
	t.Parallel()
	s := serve(t, nil, sharedPath(t, "data", sources[1].file))
	const page = "/collections/fylker/items?f=csv"
	_, before, err := s.get(t.Context(), page)
	if err != nil || bytes.Count(before, []byte("\n")) < 16 {
		t.Fatalf("%v: %.200s", err, before)
	}
	d := begin(t, s)
	for i := range 10 {
		s.signal(t, syscall.SIGHUP)
		await.True(t, "the log tells of the reload", func() bool {
			code, body, err := s.get(t.Context(), page)
			if err != nil || code != http.StatusOK || !bytes.Equal(body, before) {
				t.Fatalf("during reload %d: %d, %v, same data %v", i+1, code, err, bytes.Equal(body, before))
			}
			return strings.Count(s.logged(t), `"msg":"reloaded"`) == i+1
		})
	}
	d.complete(t)
	if code, _, err := s.get(t.Context(), "/readyz"); code != http.StatusOK {
		t.Errorf("/readyz: %d, %v", code, err)
	}
}
