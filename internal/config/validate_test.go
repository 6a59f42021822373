package config_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"grense/internal/config"
)

func valid() config.Config {
	c := config.Default()
	c.DataDir = "/srv/grense"
	return c
}

// settings returns which settings Validate finds fault with, in order.
func settings(c config.Config) []string {
	var f config.Faults
	errors.As(c.Validate(), &f)
	var out []string
	for _, x := range f {
		out = append(out, x.Setting)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for base, ok := range map[string]bool{
		"http://localhost:8080":        true,
		"https://example.org":          true,
		"https://example.org/geo/v2.1": true,
		"https://[2001:db8::1]:8443/a": true,
		"https://example.org/":         false,
		"https://example.org/geo/":     false,
		"https://example.org?x=1":      false,
		"https://example.org?":         false,
		"https://example.org/#":        false,
		"https://u:p@example.org":      false,
		"ftp://example.org":            false,
		"example.org":                  false,
		"//example.org":                false,
		"/geo":                         false,
		"http://":                      false,
		"http:example.org":             false,
		"http://example.org/a//b":      false,
		"http://example.org/a/../b":    false,
		"http://example.org/a b":       false,
		"http://example.org/\"><x":     false,
		"http://example.org/{x}":       false,
		"http://exa\nmple.org":         false,
	} {
		c := valid()
		c.BaseURL = base
		if got := settings(c); (len(got) == 0) != ok {
			t.Errorf("%q: faults %v", base, got)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(*config.Config)
		want string // settings with a fault
	}{
		"nothing":              {func(*config.Config) {}, ""},
		"address without port": {func(c *config.Config) { c.Addr = "localhost" }, "addr"},
		"port too large":       {func(c *config.Config) { c.Addr = ":65536" }, "addr"},
		"named port":           {func(c *config.Config) { c.Addr = ":http" }, "addr"},
		"path below a folder":  {func(c *config.Config) { c.Addr = "unix:grense.sock" }, "addr"},
		"socket without path":  {func(c *config.Config) { c.Addr = "unix:" }, "addr"},
		"permissions in words": {func(c *config.Config) { c.SocketMode = "rw" }, "socket_mode"},
		"permissions beyond":   {func(c *config.Config) { c.SocketMode = "1777" }, "socket_mode"},
		"metrics address":      {func(c *config.Config) { c.MetricsAddr = "9090" }, "metrics_addr"},
		"metrics on the API":   {func(c *config.Config) { c.MetricsAddr = c.Addr }, "metrics_addr"},
		"metrics on free port": {func(c *config.Config) { c.Addr, c.MetricsAddr = ":0", ":0" }, ""},
		"auth":                 {func(c *config.Config) { c.Auth = "optional" }, "auth"},
		"history":              {func(c *config.Config) { c.History = "sweden" }, "history"},
		"log format":           {func(c *config.Config) { c.LogFormat = "xml" }, "log_format"},
		"log level":            {func(c *config.Config) { c.LogLevel = "loud" }, "log_level"},
		"access log":           {func(c *config.Config) { c.AccessLog = "slow" }, "access_log"},
		"slow without a time":  {func(c *config.Config) { c.AccessLog = "slow>fast" }, "access_log"},
		"slower than nothing":  {func(c *config.Config) { c.AccessLog = "slow>0s" }, "access_log"},
		"negative ages": {func(c *config.Config) {
			c.Cache = config.Cache{MaxAge: -1, TilesMaxAge: -1, StaleWhileRevalidate: -1}
		}, "cache.max_age cache.stale_while_revalidate cache.tiles_max_age"},
		"negative age": {collection(config.Collection{MaxAge: -1}), "collections.lag.max_age"},
		"address by ACME": {func(c *config.Config) {
			c.TLS.ACME.Hosts = []string{"192.0.2.1"}
		}, "tls.acme.hosts"},
		"URL by ACME": {func(c *config.Config) {
			c.TLS.ACME.Hosts = []string{"https://a.no"}
		}, "tls.acme.hosts"},
		"any host by ACME": {func(c *config.Config) { c.TLS.ACME.Hosts = []string{"*.a.no"} }, "tls.acme.hosts"},
		"hosts by ACME":    {func(c *config.Config) { c.TLS.ACME.Hosts = []string{"a-b.no", "xn--4ca.no"} }, ""},
		"authority without TLS": {func(c *config.Config) {
			c.TLS.ACME.Directory = "http://a.no"
		}, "tls.acme.directory"},
		"collector":             {func(c *config.Config) { c.Traces.Endpoint = "localhost:4318" }, "traces.endpoint"},
		"password of collector": {func(c *config.Config) { c.Traces.Endpoint = "http://a:b@c" }, "traces.endpoint"},
		"one in none":           {func(c *config.Config) { c.Traces.OneIn = 0 }, "traces.one_in"},
		"certificate alone":     {func(c *config.Config) { c.TLS.Cert = "a" }, "tls.cert"},
		"key alone":             {func(c *config.Config) { c.TLS.Key = "a" }, "tls.key"},
		"language": {func(c *config.Config) {
			c.Service.Title = config.Text{"no": "x"}
		}, "service.title.no"},
		"empty title": {func(c *config.Config) { c.Service.Title = config.Text{"": " "} }, "service.title"},
		"keywords": {func(c *config.Config) {
			c.Service.Keywords = config.Words{"de": {"x"}}
		}, "service.keywords.de"},
		"URLs": {func(c *config.Config) {
			c.Service.Publisher.URL, c.Service.Contact.URL, c.Service.Licence.URL, c.Service.Terms = "a",
				"javascript:alert(1)", "/x", "http://a b"
		}, "service.contact.url service.licence.url service.publisher.url service.terms"},
		"feedback by mail": {func(c *config.Config) { c.Service.Feedback = "mailto:a@example.org" }, ""},
		"feedback by page": {func(c *config.Config) { c.Service.Feedback = "https://example.org/f" }, ""},
		"feedback":         {func(c *config.Config) { c.Service.Feedback = "call me" }, "service.feedback"},
		"fonts": {func(c *config.Config) {
			c.Service.Glyphs = "https://example.org/fonts"
		}, "service.glyphs_url"},
		"time zone":       {func(c *config.Config) { c.Service.TimeZone = "Europe/Olso" }, "service.time_zone"},
		"local time zone": {func(c *config.Config) { c.Service.TimeZone = "Local" }, "service.time_zone"},
		"known time zone": {func(c *config.Config) { c.Service.TimeZone = "Europe/Oslo" }, ""},
		"e-mail": {func(c *config.Config) {
			c.Service.Contact.Email = "Kari <kari@example.org>"
		}, "service.contact.email"},
		"collection id": {collection(config.Collection{ID: "a.b"}), "collections.lag.id"},
		"instant, interval": {collection(config.Collection{Roles: config.Roles{Instant: "a", IntervalStart: "b"}}),
			"collections.lag.roles.instant"},
		"end without start": {collection(config.Collection{Roles: config.Roles{IntervalEnd: "b"}}),
			"collections.lag.roles.interval_end"},
		"end of validity": {collection(config.Collection{IDColumns: []string{"nr"},
			Roles: config.Roles{ValidFrom: "b"}}), "collections.lag.roles.valid_from"},
		"two kinds of time": {collection(config.Collection{IDColumns: []string{"nr"},
			Roles: config.Roles{ValidFrom: "b", ValidTo: "c", Instant: "d"}}), "collections.lag.roles.valid_from"},
		"versions of nothing": {collection(config.Collection{Roles: config.Roles{ValidFrom: "b", ValidTo: "c"}}),
			"collections.lag.roles.valid_from"},
		"zooms turned": {collection(config.Collection{MinZoom: new(5), MaxZoom: new(4)}),
			"collections.lag.min_zoom"},
		"zoom too high": {collection(config.Collection{MaxZoom: new(31)}), "collections.lag.min_zoom"},
		"page above most": {collection(config.Collection{PageDefault: 20, PageMax: 10}),
			"collections.lag.page_default"},
		"no code of a system": {collection(config.Collection{StorageCRS: "UTM33"}), "collections.lag.storage_crs"},
		"versions of a pair": {collection(config.Collection{IDColumns: []string{"nr", "b"},
			Roles: config.Roles{ValidFrom: "b", ValidTo: "c"}}), "collections.lag.roles.valid_from"},
		"kind of end": {collection(config.Collection{ValidTo: "til"}), "collections.lag.valid_to"},
		"versions": {collection(config.Collection{IDColumns: []string{"nr"}, ValidTo: "inclusive",
			Roles: config.Roles{ValidFrom: "b", ValidTo: "c"}}), ""},
		"link": {collection(config.Collection{Links: []config.Link{{}, {Rel: "x", Href: "x"}}}),
			"collections.lag.links.0 collections.lag.links.1.href"},
		"namespace": {func(c *config.Config) {
			c.SOAP.NamespaceBase = "http://example.org/"
		}, "soap.namespace_base"},
		"no namespace":       {func(c *config.Config) { c.SOAP.NamespaceBase = "" }, "soap.namespace_base"},
		"unknown codes":      {func(c *config.Config) { c.SOAP.UnknownCodes = "ignore" }, "soap.unknown_codes"},
		"nil types":          {func(c *config.Config) { c.SOAP.NilTypes = "none" }, "soap.nil_types"},
		"unknown elements":   {func(c *config.Config) { c.SOAP.UnknownElements = "drop" }, "soap.unknown_elements"},
		"status of faults":   {func(c *config.Config) { c.SOAP.HTTPStatus = 200 }, "soap.http_status"},
		"system of geometry": {func(c *config.Config) { c.SOAP.CRS = 3857 }, "soap.crs"},
		"kinds of records":   {func(c *config.Config) { c.SOAP.Collections = "all" }, "soap.collections"},
		"hits":               {func(c *config.Config) { c.SOAP.MaxHits = 0 }, "soap.max_hits"},
		"default above max":  {func(c *config.Config) { c.Limits.PageDefault = 10001 }, "limits.page_default"},
		"nanoseconds":        {func(c *config.Config) { c.Limits.Query = 10 }, "limits.query_timeout"},
		"same id twice": {func(c *config.Config) {
			c.Collections = map[string]config.Collection{"a": {ID: "x"}, "b": {ID: "x"}}
		}, "collections.b.id"},
		"no wait for drain":   {func(c *config.Config) { c.Limits.DrainWait = 0 }, ""},
		"negative drain wait": {func(c *config.Config) { c.Limits.DrainWait = -1 }, "limits.drain_wait"},
	} {
		cfg := valid()
		c.edit(&cfg)
		if got := strings.Join(settings(cfg), " "); got != c.want {
			t.Errorf("%s: faults in %q, want %q: %v", name, got, c.want, cfg.Validate())
		}
	}
}

func collection(x config.Collection) func(*config.Config) {
	return func(c *config.Config) { c.Collections = map[string]config.Collection{"lag": x} }
}

func TestEveryLimitIsPositive(t *testing.T) {
	t.Parallel()
	n := reflect.TypeFor[config.Limits]().NumField()
	for i := range n {
		c := valid()
		v := reflect.ValueOf(&c.Limits).Elem()
		v.Field(i).SetInt(-1)
		want := "limits." + v.Type().Field(i).Tag.Get("yaml")
		if got := settings(c); !slices.Contains(got, want) {
			t.Errorf("%s = -1: faults in %v", want, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]config.Size{"0": 0, "4096": 4096, "12B": 12, "1KiB": 1024, "1 MiB": 1 << 20,
		"2GiB": 2 << 30, "3kB": 3000, "3KB": 3000, "4MB": 4e6, "5GB": 5e9,
		"": -1, "MiB": -1, "-1": -1, "1.5MiB": -1, "1TiB": -1, "1mib": -1, "9999999999GiB": -1} {
		got, err := config.ParseSize(s)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

func TestDescriptionSaysThreeThings(t *testing.T) {
	t.Parallel()
	c := load(t, config.Sources{Environ: append(slices.Clone(home), "GRENSE_SERVICE_FEEDBACK=post@example.org")})
	for lang, words := range map[string][]string{
		"nb": {"under utprøving", "kort varsel", "X-API-Key", "post@example.org"},
		"nn": {"under utprøving", "kort varsel", "X-API-Key", "post@example.org"},
		"en": {"in testing", "short notice", "X-API-Key", "post@example.org"},
	} {
		for _, w := range words {
			if d := c.Service.Description[lang]; !strings.Contains(d, w) {
				t.Errorf("%s: %q is not in %q", lang, w, d)
			}
		}
	}
	if d := config.Default().Service.Description.In("en"); !strings.Contains(d, "feedback to the operator") {
		t.Errorf("without an address: %q", d)
	}
	c = load(
		t,
		config.Sources{
			Environ: append(slices.Clone(home), "GRENSE_SERVICE_CONTACT_EMAIL=kari@example.org", "GRENSE_AUTH=open"),
		},
	)
	if d := c.Service.Description.In("en"); !strings.Contains(d, "kari@example.org") || !strings.Contains(d, "open") {
		t.Errorf("open, with a contact: %q", d)
	}
}

func TestTextFallsBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text config.Text
		lang string
		want string
	}{
		{config.Text{"nb": "b", "nn": "n", "en": "e"}, "nn", "n"},
		{config.Text{"nb": "b", "en": "e"}, "nn", "b"},
		{config.Text{"nn": "n", "en": "e"}, "nb", "e"},
		{config.Text{"": "x", "nn": "n"}, "en", "x"},
		{config.Text{"nn": "n"}, "en", "n"},
		{nil, "nb", ""},
	} {
		if got := c.text.In(c.lang); got != c.want {
			t.Errorf("%v in %s: %q, want %q", c.text, c.lang, got, c.want)
		}
		words := config.Words{}
		for l, s := range c.text {
			words[l] = []string{s}
		}
		if got := strings.Join(words.In(c.lang), ""); got != c.want {
			t.Errorf("words %v in %s: %q, want %q", words, c.lang, got, c.want)
		}
	}
}
