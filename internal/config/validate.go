package config

import (
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the system may have no time zone files
)

var collectionID = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

var languages = []string{"", "nb", "nn", "en"}

// Validate checks c and returns Faults without places; nil if there are none.
func (c Config) Validate() error {
	if f := c.validate(); len(f) > 0 {
		return f
	}
	return nil
}

// checker collects faults.
type checker struct{ faults Faults }

func (k *checker) check(ok bool, setting, cure string, a ...any) {
	if !ok {
		k.faults = append(k.faults, Fault{Setting: setting, Cure: fmt.Sprintf(cure, a...)})
	}
}

func (c Config) validate() Faults {
	k := &checker{}
	k.oneOf("", reflect.ValueOf(c))
	k.listening(c)
	k.service(c.Service)
	k.collections(c.Collections)
	k.styles(c.Styles)
	k.limits(c.Limits)
	k.processes(c.Processes)
	k.url("soap.namespace_base", c.SOAP.NamespaceBase)
	k.check(!strings.HasSuffix(c.SOAP.NamespaceBase, "/"), "soap.namespace_base", "must not end with a slash")
	k.check(c.SOAP.NamespaceBase != "", "soap.namespace_base", "must not be empty")
	k.check(c.SOAP.MaxHits > 0, "soap.max_hits", "must be at least 1")
	return k.faults
}

// oneOf checks the settings with the tag oneof in a struct.
func (k *checker) oneOf(path string, v reflect.Value) {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		at := join(path, field.Tag.Get("yaml"))
		switch tag := field.Tag.Get("oneof"); {
		case tag != "":
			list, text := strings.Split(tag, "|"), valueText(value.Interface())
			k.check(slices.Contains(list, text), at, "%q is not offered; write %s", text, alternatives(list))
		case field.Type.Kind() == reflect.Struct:
			k.oneOf(at, value)
		case field.Type.Kind() == reflect.Map && field.Type.Elem().Kind() == reflect.Struct:
			for _, name := range sortedKeys(value) {
				k.oneOf(join(at, name), value.MapIndex(reflect.ValueOf(name)))
			}
		}
	}
}

// alternatives names the values of a tag oneof; the first is empty if the setting may be left out.
func alternatives(list []string) string {
	if list[0] == "" {
		return strings.Join(list[1:], " or ") + ", or leave it out"
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// maxSocketPath is the longest path of a Unix socket, in bytes, on every system (unix(7), and 104 with the end on BSD).
const maxSocketPath = 103

func (k *checker) listening(c Config) {
	port, err := splitAddr(c.Addr)
	if path, ok := UnixSocket(c.Addr); ok {
		k.check(filepath.IsAbs(path) && len(path) <= maxSocketPath, "addr",
			"%q is not the whole path of a socket, of at most %d bytes; write for example unix:/run/grense/grense.sock",
			c.Addr, maxSocketPath)
	} else {
		k.check(err == nil, "addr",
			"%q is not host:port; write for example 127.0.0.1:8080, :8080 or unix:/run/grense/grense.sock", c.Addr)
	}
	_, err = strconv.ParseUint(c.SocketMode, 8, 9)
	k.check(err == nil, "socket_mode", "%q is not permissions in octal digits; write for example 0660", c.SocketMode)
	if c.MetricsAddr != "" {
		_, err = splitAddr(c.MetricsAddr)
		k.check(err == nil, "metrics_addr", "%q is not host:port; write for example 127.0.0.1:9090", c.MetricsAddr)
		k.check(c.MetricsAddr != c.Addr || port == 0, "metrics_addr", "must differ from addr")
	}
	if c.BaseURL != "" {
		k.baseURL(c.BaseURL)
	}
	k.check(c.DataDir != "", "data_dir",
		"has no default here, because neither XDG_DATA_HOME nor HOME is set; name a folder with --data-dir")
	_, err = parseAccessLog(c.AccessLog)
	k.check(err == nil, "access_log", "%v", err)
	k.check(c.Cache.MaxAge >= 0, "cache.max_age", "must not be negative")
	k.check(c.Cache.TilesMaxAge >= 0, "cache.tiles_max_age", "must not be negative")
	k.check(c.Cache.StaleWhileRevalidate >= 0, "cache.stale_while_revalidate", "must not be negative")
	k.url("traces.endpoint", c.Traces.Endpoint)
	k.check(!strings.Contains(c.Traces.Endpoint, "@"), "traces.endpoint",
		"must not have a password; name a collector on this machine, which sends on")
	k.check(c.Traces.OneIn > 0, "traces.one_in", "must be positive")
	k.check(c.TLS.Key != "" || c.TLS.Cert == "", "tls.cert", "needs tls.key (--tls-key) too")
	k.check(c.TLS.Cert != "" || c.TLS.Key == "", "tls.key", "needs tls.cert (--tls-cert) too")
	k.acme(c.TLS)
}

var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

func (k *checker) acme(t TLS) {
	for _, host := range t.ACME.Hosts {
		_, err := netip.ParseAddr(host)
		k.check(err != nil && len(host) < 254 && hostName.MatchString(host), "tls.acme.hosts",
			"%q is no host name; write for example example.org, without scheme and port", host)
	}
	k.check(strings.HasPrefix(t.ACME.Directory, "https://") && isURL(t.ACME.Directory), "tls.acme.directory",
		"%q is no https address", t.ACME.Directory)
}

func (k *checker) baseURL(s string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		k.check(false, "base_url", "%q is not an absolute URL; write for example https://example.org/api", s)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#"):
		k.check(false, "base_url", "%q must have neither user, query nor fragment", s)
	case strings.HasSuffix(s, "/"):
		k.check(false, "base_url", "%q must not end with a slash", s)
	case strings.Contains(u.Path, "//") || strings.Contains(u.Path+"/", "/../") ||
		strings.Contains(u.Path+"/", "/./") || !plainPath(s):
		k.check(false, "base_url", "%q has an unusual path; use letters, digits, hyphens and slashes", s)
	}
}

// plainPath reports whether a URL needs no escaping in HTML, JSON or a header.
func plainPath(s string) bool {
	return !strings.ContainsFunc(s,
		func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'<>\\^`{|}%,;", r) })
}

func (k *checker) service(s Service) {
	k.text("service.title", s.Title)
	k.text("service.description", s.Description)
	k.words("service.keywords", s.Keywords)
	k.url("service.publisher.url", s.Publisher.URL)
	k.url("service.contact.url", s.Contact.URL)
	k.url("service.licence.url", s.Licence.URL)
	k.url("service.terms", s.Terms)
	k.check(s.Contact.Email == "" || isEmail(s.Contact.Email), "service.contact.email", "%q is not an e-mail address",
		s.Contact.Email)
	_, err := time.LoadLocation(s.TimeZone)
	k.check(err == nil && s.TimeZone != "Local", "service.time_zone",
		"%q is no time zone; write a name of the IANA time zone database, for example Europe/Oslo or UTC", s.TimeZone)
	k.check(
		s.Glyphs == "" ||
			isURL(strings.NewReplacer("{fontstack}", "x", "{range}", "x").Replace(s.Glyphs)) &&
				strings.Contains(s.Glyphs, "{fontstack}") &&
				strings.Contains(s.Glyphs, "{range}"),
		"service.glyphs_url",
		"%q is no address of fonts; write for example https://example.org/fonts/{fontstack}/{range}.pbf",
		s.Glyphs,
	)
	f := strings.TrimPrefix(s.Feedback, "mailto:")
	k.check(f == "" || isEmail(f) || isURL(f), "service.feedback",
		"%q is neither an e-mail address nor an absolute URL", s.Feedback)
}

func (k *checker) text(path string, t Text) {
	for lang := range sorted(t) {
		k.check(slices.Contains(languages, lang), join(path, lang), "unknown language; write nb, nn or en")
		k.check(strings.TrimSpace(t[lang]) != "", strings.TrimSuffix(join(path, lang), "."),
			"must not be empty; remove it to have the default")
	}
}

func (k *checker) words(path string, w Words) {
	for lang := range sorted(w) {
		k.check(slices.Contains(languages, lang), join(path, lang), "unknown language; write nb, nn or en")
	}
}

func (k *checker) url(path, s string) {
	k.check(s == "" || isURL(s), path, "%q is not an absolute URL; write for example https://example.org/", s)
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

func isEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s
}

func (k *checker) styles(m map[string]MapStyle) {
	for id := range sorted(m) {
		x, path := m[id], join("styles", id)
		k.check(collectionID.MatchString(id), path, "%q is not an id; use a-z, 0-9, _ and - only", id)
		k.check(!strings.HasPrefix(id, "divisions"), path, "%q is reserved; choose an id that begins otherwise", id)
		k.check(x.File != "", join(path, "file"), "must name a file with a style")
		k.text(join(path, "title"), x.Title)
		k.text(join(path, "description"), x.Description)
	}
}

func (k *checker) collections(m map[string]Collection) {
	taken := map[string]string{}
	for name := range sorted(m) {
		c, path := m[name], join("collections", name)
		if c.ID != "" {
			k.check(collectionID.MatchString(c.ID), join(path, "id"),
				"%q is not an id; use a-z, 0-9, _ and - only", c.ID)
			k.check(taken[c.ID] == "", join(path, "id"), "%q is the id of %s too", c.ID, taken[c.ID])
			taken[c.ID] = name
		}
		k.text(join(path, "title"), c.Title)
		k.text(join(path, "description"), c.Description)
		r := c.Roles
		k.check(r.Instant == "" || r.IntervalStart == "" && r.IntervalEnd == "", join(path, "roles.instant"),
			"excludes interval_start and interval_end")
		k.check(r.IntervalEnd == "" || r.IntervalStart != "", join(path, "roles.interval_end"),
			"needs interval_start too")
		k.check((r.ValidFrom == "") == (r.ValidTo == ""), join(path, "roles.valid_from"),
			"and valid_to need each other")
		k.check(r.ValidFrom == "" || r.Instant == "" && r.IntervalStart == "", join(path, "roles.valid_from"),
			"excludes instant and interval_start")
		k.check(r.ValidFrom == "" || len(c.IDColumns) == 1, join(path, "roles.valid_from"),
			"needs id_column, the one column whose value the versions of a feature share")
		low, high := c.Zooms()
		k.check(low >= 0 && high <= MaxZoom, join(path, "min_zoom"), "and max_zoom are levels from 0 to %d", MaxZoom)
		k.check(low <= high, join(path, "min_zoom"), "%d is above max_zoom, %d", low, high)
		k.check(c.PageDefault >= 0, join(path, "page_default"), "must be above 0")
		k.check(c.PageMax >= 0, join(path, "page_max"), "must be above 0")
		k.check(c.MaxAge >= 0, join(path, "max_age"), "must not be negative")
		k.check(c.PageMax == 0 || c.PageDefault <= c.PageMax, join(path, "page_default"),
			"must not be above page_max, %d", c.PageMax)
		_, coded := c.StorageCode()
		k.check(c.StorageCRS == "" || coded, join(path, "storage_crs"),
			"%q is no code of EPSG; write for example EPSG:25833", c.StorageCRS)
		_, err := time.Parse(time.DateOnly, c.Settled)
		k.check(c.Settled == "" || err == nil, join(path, "settled"), "is a day, as 2024-01-31, not %q", c.Settled)
		for i, l := range c.Links {
			at := join(path, "links."+strconv.Itoa(i))
			k.check(l.Rel != "", at, "needs rel, for example related")
			k.check(l.Href != "", at, "needs href")
			k.url(at+".href", l.Href)
		}
	}
}

// limits checks that every limit is positive. It uses reflection, so that new limits are included.
func (k *checker) limits(l Limits) {
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		path, n := "limits."+v.Type().Field(i).Tag.Get("yaml"), v.Field(i).Int()
		switch path {
		case "limits.drain_wait",
			"limits.type_ahead",
			"limits.rate",
			"limits.memory",
			"limits.changes",
			"limits.answers",
			"limits.downloads":
			k.check(n >= 0, path, "must not be negative")
			continue
		}
		k.check(n > 0, path, "must be above 0")
		if d, ok := v.Field(i).Interface().(time.Duration); ok && n > 0 {
			k.check(d >= time.Millisecond, path, "%v is too short; did you forget the unit", d)
		}
	}
	k.check(l.Memory == 0 || l.Memory >= LeastMemory, "limits.memory", "must be at least %d MiB",
		int64(LeastMemory)>>20)
	k.check(l.PageDefault <= l.PageMax, "limits.page_default", "must not be above limits.page_max, %d", l.PageMax)
}

func (k *checker) processes(p Processes) {
	for i, a := range p.Allow {
		u, err := url.Parse(a)
		k.check(err == nil && isURL(a) && u.User == nil && u.RawQuery == "" && u.Fragment == "",
			fmt.Sprintf("processes.allow[%d]", i),
			"%q is not the beginning of an address; write for example https://example.org/data/", a)
	}
	k.check(!p.Callbacks || len(p.Allow) > 0, "processes.callbacks",
		"needs addresses that may be called; list them in processes.allow")
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		if f := v.Field(i); f.CanInt() {
			k.check(f.Int() > 0, "processes."+v.Type().Field(i).Tag.Get("yaml"), "must be above 0")
		}
	}
	k.check(p.JobBytes <= p.JobsBytes, "processes.job_bytes", "must not be above processes.jobs_bytes, %d", p.JobsBytes)
}

// sorted yields the keys of m in order, so that faults are always reported in the same order.
func sorted[V any](m map[string]V) func(func(string) bool) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return slices.Values(keys)
}
