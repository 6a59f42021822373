package config_test

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/config"
)

var update = flag.Bool("update", false, "write golden files")

// home is an environment that gives the data directory its default.
var home = []string{"HOME=/home/kari"}

func write(t *testing.T, yaml string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "grense.yaml")
	if err := os.WriteFile(name, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func load(t *testing.T, src config.Sources) config.Config {
	t.Helper()
	if src.Environ == nil {
		src.Environ = home
	}
	c, err := config.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNothingGivenIsDefault(t *testing.T) {
	t.Parallel()
	want := config.Default()
	want.DataDir = "/home/kari/.local/share/grense"
	if got := load(t, config.Sources{}); !reflect.DeepEqual(got, want) {
		t.Errorf("Load() = %+v\nDefault = %+v", got, want)
	}
	for _, text := range []string{"", "# nothing yet\n", "---\n"} {
		if got := load(t, config.Sources{File: write(t, text)}); !reflect.DeepEqual(got, want) {
			t.Errorf("file %q differs from Default", text)
		}
	}
}

func TestDefaultIsValidButForTheDataDir(t *testing.T) {
	t.Parallel()
	var f config.Faults
	if err := config.Default().Validate(); !errors.As(err, &f) || len(f) != 1 || f[0].Setting != "data_dir" {
		t.Errorf("Validate() = %v", err)
	}
}

func TestLaterSourceWins(t *testing.T) {
	t.Parallel()
	file := write(t, "addr: 127.0.0.1:1\nauth: open\nlog_format: json\n")
	env := append(slices.Clone(home), "GRENSE_ADDR=127.0.0.1:2", "GRENSE_AUTH=required", "GRENSE_DATA_DIR=")
	c := load(t, config.Sources{File: file, Environ: env, Flags: map[string]string{"addr": "127.0.0.1:3"}})
	if c.Addr != "127.0.0.1:3" || c.Auth != "required" || c.LogFormat != "json" {
		t.Errorf("addr %s, auth %s, log_format %s", c.Addr, c.Auth, c.LogFormat)
	}
	if c.DataDir != "/home/kari/.local/share/grense" {
		t.Errorf("an empty variable set data_dir to %q", c.DataDir)
	}
}

func TestFileFromEnvironment(t *testing.T) {
	t.Parallel()
	file := write(t, "auth: open\n")
	if c := load(t, config.Sources{Environ: append(slices.Clone(home), "GRENSE_CONFIG="+file)}); c.Auth != "open" {
		t.Error("GRENSE_CONFIG was not read")
	}
}

func TestDataDirFollowsXDG(t *testing.T) {
	t.Parallel()
	for want, env := range map[string][]string{
		"/data/grense":                   {"HOME=/home/kari", "XDG_DATA_HOME=/data"},
		"/home/kari/.local/share/grense": {"HOME=/home/kari", "XDG_DATA_HOME=relative/does/not/count"},
		"/srv/g":                         {"GRENSE_DATA_DIR=/srv/g"},
	} {
		if c := load(t, config.Sources{Environ: env}); c.DataDir != want {
			t.Errorf("%v: %s, want %s", env, c.DataDir, want)
		}
	}
}

func TestEverySettingIsRead(t *testing.T) {
	t.Parallel()
	c := load(t, config.Sources{File: "testdata/full.yaml"})
	want := config.Config{
		Source: "/srv/kart.gpkg", Tiles: "/srv/kart.pmtiles",
		Addr: "0.0.0.0:80", SocketMode: "0600", BaseURL: "https://example.org/geo", DataDir: "/srv/grense",
		Auth:        "open",
		MetricsAddr: "127.0.0.1:9090", LogFormat: "json", LogLevel: "warn", AccessLog: "slow>2s",
		History: "norway", Unchanging: true,
		Cache: config.Cache{MaxAge: time.Second, TilesMaxAge: 2 * time.Second,
			StaleWhileRevalidate: 3 * time.Second},
		ServerTiming: true, Traces: config.Traces{Endpoint: "http://127.0.0.1:4318", OneIn: 9},
		TrustedProxies: []netip.Prefix{
			netip.MustParsePrefix("10.0.0.0/8"),
			netip.MustParsePrefix("192.0.2.7/32"),
			netip.MustParsePrefix("2001:db8::/32"),
		},
		TLS: config.TLS{Cert: "cert.pem", Key: "key.pem",
			ACME: config.ACME{Email: "drift@example.org", Directory: "https://ca.example.org/dir"}},
		Service: config.Service{
			Title:       config.Text{"nb": "Inndelinger", "en": "Divisions"},
			Description: config.Text{"": "Two lines\nof text.\n"},
			Keywords:    config.Words{"nb": {"fylker", "kommuner"}, "en": {"counties"}},
			Publisher: config.Publisher{Name: "Etat", URL: "https://example.org/",
				Address: "Postboks 1, 3507 Hønefoss"},
			Feedback: "post@example.org",
			Contact: config.Contact{
				Name:  "Kari",
				Email: "kari@example.org",
				Phone: "+47 12 34 56 78",
				URL:   "https://example.org/kari",
			},
			Licence: config.Licence{Name: "NLOD", URL: "https://data.norge.no/nlod"},
			Terms:   "https://example.org/terms",
		},
		Collections: map[string]config.Collection{
			"n1000.fylke": {
				ID:          "fylker",
				Title:       config.Text{"": "Fylker"},
				Description: config.Text{"nn": "Alle fylka"},
				Keywords:    []string{"fylke"},
				IDColumns:   []string{"nr"},
				Codes:       "fylke",
				Changes:     "true",
				Roles:       config.Roles{Title: "navn", IntervalStart: "fra", IntervalEnd: "til"},
				Links: []config.Link{
					{Href: "https://example.org/k", Rel: "related", Type: "text/html", Title: "Katalog",
						Hreflang: "nb-NO"},
				},
			},
			"0301": {
				Hidden:         true,
				Roles:          config.Roles{Instant: "tid"},
				IDColumns:      []string{"a", "b"},
				GeometryColumn: "geom",
				HiddenColumns:  []string{"c"},
				MinZoom:        new(0),
				MaxZoom:        new(12),
				PageDefault:    20,
				PageMax:        50,
				StorageCRS:     "EPSG:25833",
			},
			"grunnkrets": {
				IDColumns: []string{"nr"},
				ValidTo:   "inclusive",
				Roles:     config.Roles{ValidFrom: "gyldig_fra", ValidTo: "gyldig_til"},
			},
		},
		Limits: config.Limits{
			ReadHeaderTimeout: 1 * time.Second, ReadTimeout: 2 * time.Second, IdleTimeout: 3 * time.Second,
			WriteTimeout: 4 * time.Second, MaxHeader: 8 << 10,
			PageDefault: 6, PageMax: 7, Buffer: 8, Downloads: 11, Answers: 15, Changes: 14, Query: 9 * time.Second,
			Count: 19 * time.Second, ViewTimeout: 10 * time.Second, Memory: 200 << 20, Slowest: 11, Connections: 12,
			Rate: 13, TypeAhead: 10, Concurrent: 16,
			Queue: 18 * time.Millisecond, SOAPBody: 21e6, SOAPDepth: 22, SOAPAttributes: 23, DrainWait: 0,
			DrainTimeout: time.Minute,
		},
		SOAP: config.SOAP{
			NamespaceBase:   "http://example.org/ssr/v1",
			MaxHits:         24,
			UnknownElements: "ignore",
			UnknownCodes:    "no_match",
			NilTypes:        "typed",
			HTTPStatus:      500,
			CRS:             25833,
			Collections:     "public",
		},
		Compat: config.Compat{Kommuneinfo: true, Stedsnavn: true, Open: true,
			Kommuner: config.Municipalities{Collection: "k", Number: "nr", Name: "navn", NorwegianName: "norsk",
				County: "fylke", Names: "alle", SamiArea: "samisk"},
			Fylker: config.Counties{Collection: "f", Number: "fnr", Name: "fnavn"}},
		Processes: config.Processes{
			Allow:     []string{"https://example.org/data/"},
			Callbacks: true,
			Workers:   31,
			Jobs:      32,
			Waiting:   33,
			JobBytes:  34,
			JobsBytes: 35,
			Time:      36 * time.Second,
			Keep:      37 * time.Second,
		},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	if reflect.DeepEqual(c.Limits, config.Default().Limits) {
		t.Error("the file sets no limit")
	}
}

func TestAFileThatNobodyWritesIntoIsNoDatabase(t *testing.T) {
	t.Parallel()
	file := write(t, "auth: open\nunchanging: true\n")
	if c := load(t, config.Sources{File: file}); !c.Unchanging {
		t.Error("the setting is not read")
	}
	_, err := config.Load(config.Sources{File: file, Environ: home, IsDatabase: func(string) bool { return true }})
	if want := filepath.Base(file) + ":2: unchanging: is for a GeoPackage"; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestEnvironmentReachesEveryPlainSetting(t *testing.T) {
	t.Parallel()
	c := load(
		t,
		config.Sources{Environ: append(slices.Clone(home), "GRENSE_TLS_CERT=c", "GRENSE_TLS_KEY=k",
			"GRENSE_TLS_ACME_HOSTS=a.no, b.no",
			"GRENSE_TRUSTED_PROXIES=10.1.2.3/8, 192.0.2.7", "GRENSE_SERVICE_TITLE=Kart",
			"GRENSE_SERVICE_PUBLISHER_URL=https://example.org/", "GRENSE_SERVICE_KEYWORDS=a, b",
			"GRENSE_LIMITS_QUERY_TIMEOUT=3s", "GRENSE_LIMITS_SOAP_BODY=2MiB", "GRENSE_SOAP_MAX_HITS=7",
			"GRENSE_SHARED=/x")},
	)
	got := fmt.Sprintln(c.TLS.Cert, c.TLS.Key, c.TLS.ACME.Hosts, c.TrustedProxies, c.Service.Title,
		c.Service.Publisher.URL, c.Service.Keywords,
		c.Limits.Query, c.Limits.SOAPBody, c.SOAP.MaxHits)
	const want = "c k [a.no b.no] [10.0.0.0/8 192.0.2.7/32] map[:Kart] https://example.org/ map[:[a b]] 3s 2097152 7\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAllFaultsAtOnce compares the faults, unknown settings among them, of each testdata/faults-*.yaml with its
// golden file.
func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/faults-*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		_, err := config.Load(
			config.Sources{
				File:    file,
				Environ: append(slices.Clone(home), "GRENSE_LIMITS_BUFFER=lots"),
				Flags:   map[string]string{"tls.cert": "c.pem"},
			},
		)
		var f config.Faults
		if !errors.As(err, &f) {
			t.Errorf("%s: %v", file, err)
			continue
		}
		golden := strings.TrimSuffix(file, ".yaml") + ".txt"
		got := "# Decided by us; README.md says more.\n" + f.Error() + "\n"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\ngot\n%swant\n%s", file, got, want)
		}
	}
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ yaml, fault string }{
		"not YAML":           {"addr: [1\nauth: open\n", "grense.yaml:"},
		"a list":             {"- addr\n", "must be a group of keys"},
		"a word":             {"addr\n", "must be a group of keys"},
		"two documents":      {"auth: open\n---\nauth: open\n", "grense.yaml:3: a second document"},
		"deep nesting":       {"addr: " + strings.Repeat("[", 100000), "nest deeper"},
		"an alias":           {"addr: &a x:1\nmetrics_addr: *a\n", "grense.yaml:2: metrics_addr: anchors"},
		"a tag":              {"addr: !!str 1\n", "grense.yaml:1: addr: anchors"},
		"a merge key":        {"tls:\n  <<: {cert: a}\n", "grense.yaml:2"},
		"no value":           {"addr:\nauth: open\n", "grense.yaml:1: addr: has no value"},
		"binary":             {"\x00\x01\xff", "grense.yaml"},
		"proxy as a mapping": {"trusted_proxies: [{a: b}]\n", "grense.yaml:1: trusted_proxies.0: must be an address"},
	} {
		_, err := config.Load(config.Sources{File: write(t, c.yaml), Environ: home})
		if err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v, want %q in it", name, err, c.fault)
		}
	}
}

func TestUnreadableFileTellsTheCure(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/does/not/exist.yaml", t.TempDir()} {
		_, err := config.Load(config.Sources{File: name, Environ: home})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "--config") {
			t.Errorf("%s: %v", name, err)
		}
	}
	big := write(t, strings.Repeat("# a comment\n", 30000))
	if _, err := config.Load(config.Sources{File: big, Environ: home}); err == nil ||
		!strings.Contains(err.Error(), "at most") {
		t.Errorf("360 kB: %v", err)
	}
}

func TestListeningFillsTheBaseURL(t *testing.T) {
	t.Parallel()
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4711}
	for name, c := range map[string]struct {
		edit func(*config.Config)
		want string
	}{
		"default": {func(*config.Config) {}, "http://localhost:4711"},
		"TLS":     {func(c *config.Config) { c.TLS = config.TLS{Cert: "a", Key: "b"} }, "https://localhost:4711"},
		"given":   {func(c *config.Config) { c.BaseURL = "https://example.org/x" }, "https://example.org/x"},
	} {
		cfg := config.Default()
		c.edit(&cfg)
		if got := cfg.Listening(at); got.BaseURL != c.want || got.Addr != "127.0.0.1:4711" {
			t.Errorf("%s: %s at %s", name, got.BaseURL, got.Addr)
		}
	}
	got := config.Default().Listening(&net.UnixAddr{Name: "/run/grense.sock", Net: "unix"})
	if got.BaseURL != "http://localhost" || got.Addr != "unix:/run/grense.sock" {
		t.Errorf("a socket: %s at %s", got.BaseURL, got.Addr)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		addr, base, proxy string
		want              int
	}{
		{"127.0.0.1:8080", "", "", 0},
		{"localhost:8080", "", "", 0},
		{"[::1]:8080", "", "", 0},
		{":8080", "", "", 1},
		{"0.0.0.0:8080", "", "", 1},
		{"192.0.2.1:8080", "", "", 1},
		{":8080", "https://example.org", "", 0},
		{"unix:/run/grense.sock", "", "", 1},
		{"unix:/run/grense.sock", "https://example.org", "", 0},
		{"127.0.0.1:8080", "", "0.0.0.0/0", 1},
	} {
		cfg := config.Default()
		cfg.Addr, cfg.BaseURL = c.addr, c.base
		if c.proxy != "" {
			cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(c.proxy)}
		}
		if got := cfg.Warnings(); len(got) != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestEffectiveTellsValuesAndWhereTheyComeFrom of a file, the environment, flags and defaults, without passwords.
func TestEffectiveTellsValuesAndWhereTheyComeFrom(t *testing.T) {
	t.Parallel()
	file := write(
		t,
		"auth: open\nlimits:\n  memory: 512MiB\nservice:\n  title: {nb: Kart}\ncollections:\n  kommuner: {hidden: "+
			"true}\ntrusted_proxies: [10.0.0.0/8]\n",
	)
	secret := write(t, "postgres://reader:tiger@db/maps?password=tiger\n")
	list, err := config.Effective(config.Sources{File: file, Flags: map[string]string{"addr": ":80"},
		Environ: append(slices.Clone(home), "GRENSE_SOURCE_FILE="+secret, "GRENSE_LIMITS_QUERY_TIMEOUT=90s")})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]config.Setting{}
	for _, s := range list {
		got[s.Path] = s
		if strings.Contains(s.Value, "tiger") {
			t.Errorf("%s shows the password: %s", s.Path, s.Value)
		}
	}
	name := filepath.Base(file)
	for _, want := range []config.Setting{
		{"auth", "open", name + ":1"}, {"limits.memory", "512MiB", name + ":3"},
		{"service.title.nb", "Kart", name + ":5"}, {"collections.kommuner.hidden", "true", name + ":7"},
		{"trusted_proxies", "10.0.0.0/8", name + ":8"}, {"source", "postgres://reader:xxxxx@db/maps?password=xxxxx",
			"GRENSE_SOURCE"}, {"limits.query_timeout", "1m30s", "GRENSE_LIMITS_QUERY_TIMEOUT"},
		{"addr", ":80", "--addr"}, {"limits.page_max", "10000", "default"}, {"limits.slowest", "4KiB", "default"},
	} {
		if got[want.Path] != want {
			t.Errorf("got %+v, want %+v", got[want.Path], want)
		}
	}
}

func TestASecretIsReadFromAFileOrAVariableAndNotFromBoth(t *testing.T) {
	t.Parallel()
	file := write(t, " postgres://reader@db/maps\n")
	if c := load(t, config.Sources{Environ: append(slices.Clone(home), "GRENSE_SOURCE_FILE="+file)}); c.Source !=
		"postgres://reader@db/maps" {
		t.Errorf("got %q", c.Source)
	}
	for name, env := range map[string][]string{
		"are both set": {"GRENSE_SOURCE_FILE=" + file, "GRENSE_SOURCE=x"},
		"cannot read":  {"GRENSE_SOURCE_FILE=" + file + "x"},
	} {
		if _, err := config.Load(config.Sources{Environ: append(env, home...)}); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v", env, err)
		}
	}
}

func TestUnknownVariablesAreFoundAndThoseOfKubernetesAreNot(t *testing.T) {
	t.Parallel()
	got, known := config.UnknownVariables(
		[]string{
			"GRENSE_ADR=x",
			"GRENSE_ADDR=:80",
			"GRENSE_CONFIG=f",
			"HOME=/",
			"GRENSE_SERVICE_HOST=10.0.0.1",
			"GRENSE_SERVICE_PORT=80",
			"GRENSE_SERVICE_PORT_HTTP=80",
			"GRENSE_PORT=tcp://10.0.0.1:80",
			"GRENSE_PORT_80_TCP_ADDR=10.0.0.1",
			"GRENSE_DB_SERVICE_HOST=10.0.0.2",
			"GRENSE_LIMITS_MEMROY=1GiB",
		},
	)
	if want := []string{"GRENSE_ADR", "GRENSE_LIMITS_MEMROY"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !slices.Contains(known, "GRENSE_LIMITS_MEMORY") {
		t.Errorf("known: %v", known)
	}
}

func FuzzLoad(f *testing.F) {
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(full))
	for _, s := range []string{"", "a", "a: b", "service: {title: {nb: x}}", "limits: {buffer: 1MiB", "- - -",
		"? a\n: b", "collections:\n  x:\n   links:\n   - a", "addr: |\n x", "\t", "a: &a [*a]", "<<: *x",
		"addr: 'x\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Skip()
		}
		c, err := config.Load(config.Sources{File: name, Environ: home})
		if err == nil {
			if v := c.Validate(); v != nil {
				t.Errorf("Load let through what Validate refuses: %v", v)
			}
			return
		}
		var faults config.Faults
		if !errors.As(err, &faults) {
			t.Fatalf("not Faults: %v", err)
		}
		for _, x := range faults {
			if x.Cure == "" || x.Line > 1+strings.Count(text, "\n")+strings.Count(text, "\r") {
				t.Errorf("fault without cure or beyond the file: %+v", x)
			}
		}
	})
}
