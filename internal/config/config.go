// Package config holds the one configuration of Grense: a YAML file, over it the environment (GRENSE_*), over it the flags,
// checked once with all faults told together. After start nothing reads file or environment again.
//
// A setting is named by its path in the file, "limits.query_timeout". The environment variable of a setting is that path in
// capitals with underscores and GRENSE_ before it, GRENSE_LIMITS_QUERY_TIMEOUT; lists are separated by commas. The settings below
// collections have no variables. UnknownVariables finds those of other names. Anchors, aliases and tags of YAML are refused.
package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Config is the whole configuration. Load and Default are the ways to get one; it is not changed afterwards.
type Config struct {
	// Source is what is served: a file, a folder of files, or the address of a PostGIS database. The argument of grense serve goes before it.
	// GRENSE_SOURCE_FILE names a file that holds it, for addresses with a password. Empty: the built-in demo.
	Source string `yaml:"source"`
	// Tiles is a file of tiles that grense tiles export made of the source. Empty: tiles are made from the data.
	Tiles string `yaml:"tiles"`
	// Addr is the address to listen on, host:port. Port 0 takes a free one. Defaults to 127.0.0.1:8080.
	Addr string `yaml:"addr"`
	// BaseURL is the address under which clients reach the server: absolute, http or https, optionally with a path, without a slash
	// at the end. It begins every link. Empty means http://localhost:PORT, which Listening fills in (https with TLS).
	BaseURL string `yaml:"base_url"`
	// DataDir is the only folder that is written to. Defaults to $XDG_DATA_HOME/grense, else ~/.local/share/grense.
	DataDir string `yaml:"data_dir"`
	// Auth is "required" (data need an API key) or "open". Defaults to "required".
	Auth string `yaml:"auth"`
	// FirstKeyFile names a file with the key that is stored when there is none yet; grense key generate prints one. Empty: serve makes the first key.
	FirstKeyFile string `yaml:"first_key_file"`
	// MetricsAddr is the address of the listener with the Prometheus metrics. Empty: there is none, which is the default.
	MetricsAddr string `yaml:"metrics_addr"`
	// LogFormat is "text" or "json". Defaults to "text".
	LogFormat string `yaml:"log_format"`
	// AllowEmpty starts with a source of which nothing can be served. Defaults to false: that is an error, and a reload keeps the old data.
	AllowEmpty bool `yaml:"allow_empty"`
	// Unchanging promises that nobody writes into the GeoPackage that is served: who changes it puts another file in its place and sends SIGHUP. It is
	// read without locks then. Not for a database. Defaults to false.
	Unchanging bool `yaml:"unchanging"`
	// TrustedProxies are the peers, as CIDR blocks or addresses, whose Forwarded and X-Forwarded-* headers count. Defaults to none.
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies"`

	// History is norway where the history of Norway's municipalities and counties, which is built in, shall tell of codes through time for data that
	// bring no history. Defaults to none.
	History string `yaml:"history"`

	TLS         TLS                   `yaml:"tls"`
	Service     Service               `yaml:"service"`
	Collections map[string]Collection `yaml:"collections"` // by name of the layer in the source, or by collection id
	Limits      Limits                `yaml:"limits"`
	SOAP        SOAP                  `yaml:"soap"`
	Processes   Processes             `yaml:"processes"`
}

// Processes configures processes and the jobs that they run as.
type Processes struct {
	// Allow lists beginnings of addresses of other servers, such as https://example.org/data/, which inputs may refer to by href and callbacks may go to. What begins with none is
	// refused, and so are hosts whose addresses are private, and redirects. Defaults to none.
	Allow     []string      `yaml:"allow"`
	Callbacks bool          `yaml:"callbacks"`  // Tells subscribers of jobs at addresses of Allow. Defaults to false.
	Workers   int           `yaml:"workers"`    // Jobs that one process works on at once. Defaults to 2.
	Jobs      int           `yaml:"jobs"`       // That are kept, of all owners, finished ones too. Defaults to 1000.
	Waiting   int           `yaml:"waiting"`    // Of one owner that have not finished. Defaults to 20.
	JobBytes  Size          `yaml:"job_bytes"`  // Of the outputs of one job. Defaults to 1GiB.
	JobsBytes Size          `yaml:"jobs_bytes"` // Of the outputs of all. Defaults to 4GiB.
	Time      time.Duration `yaml:"time"`       // For one job. Defaults to 1h.
	Keep      time.Duration `yaml:"keep"`       // After which a finished job is removed. Defaults to 24h.
}

// TLS names the files of a certificate chain and its key, in PEM. Both or none; none, the default, serves plain HTTP.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// Enabled reports whether the server speaks TLS itself.
func (t TLS) Enabled() bool { return t.Cert != "" }

// Service describes the service as a whole. Texts are one string, or one for each language: nb, nn, en.
type Service struct {
	Title Text `yaml:"title"` // Defaults to "Administrative divisions" in each language.
	// Description defaults to three sentences in each language: the API is in testing and may change at short notice; data need an
	// API key in the header X-API-Key; where to send feedback.
	Description Text      `yaml:"description"`
	Keywords    Words     `yaml:"keywords"` // One list, or one for each language. Defaults to the divisions' names.
	Publisher   Publisher `yaml:"publisher"`
	// Feedback is an e-mail address or a URL. Defaults to the contact's e-mail address, else its URL; empty: there is none, and the
	// default description says that feedback goes to the operator.
	Feedback string  `yaml:"feedback"`
	Contact  Contact `yaml:"contact"`
	Licence  Licence `yaml:"licence"`
	Terms    string  `yaml:"terms"` // URL of the terms of service. Defaults to none.
	// TimeZone is that of days in the parameter datetime, and of date-times that state none: a name of the IANA time zone database. Defaults to
	// Europe/Oslo for the demo and for registers, else to UTC.
	TimeZone string `yaml:"time_zone"`
	// Glyphs is the address of the fonts that the styles of maps name, with {fontstack} and {range}. Defaults to none: map libraries draw with the
	// fonts of the reader's machine then.
	Glyphs string `yaml:"glyphs_url"`
}

// Publisher is who stands behind the data. Defaults to nobody: the service then tells about itself where it would lead to the publisher.
type Publisher struct {
	Name    string `yaml:"name"`    // Defaults to "Grense".
	URL     string `yaml:"url"`     // The home page. Defaults to https://www.geonorge.no/.
	Address string `yaml:"address"` // The postal address. Defaults to none.
}

// Contact is whom to ask. Each part may be empty, and is by default.
type Contact struct {
	Name  string `yaml:"name"`
	Email string `yaml:"email"`
	Phone string `yaml:"phone"`
	URL   string `yaml:"url"`
}

// Licence is the licence of the data. None is told by default: whoever serves data knows theirs.
type Licence struct {
	Name string `yaml:"name"`
	URL  string `yaml:"url"`
}

// Collection is what the operator says of one layer of the source; zero values leave what the source says.
type Collection struct {
	ID             string   `yaml:"id"` // another collection id, [a-z0-9_-]+
	Title          Text     `yaml:"title"`
	Description    Text     `yaml:"description"`
	Keywords       []string `yaml:"keywords"`
	Hidden         bool     `yaml:"hidden"`          // the layer is not served
	IDColumns      []string `yaml:"id_column"`       // column with the feature ids, or several: unique together, never null
	GeometryColumn string   `yaml:"geometry_column"` // of several columns with geometries the one that is served. Defaults to the first.
	// HiddenColumns are columns that are not served: no property, no geometry, no queryable, not searched.
	HiddenColumns []string `yaml:"hidden_columns"`
	Roles         Roles    `yaml:"roles"`
	// ValidTo says what roles.valid_to is: inclusive, the last day or moment of validity, or exclusive, the first after it. Defaults to exclusive.
	ValidTo string `yaml:"valid_to"`
	// Settled is a day, 2024-01-31: versions that ended on it or before are never corrected, so that caches may keep them for good where data are open. Defaults to none.
	Settled string `yaml:"settled"`
	// Codes is the scheme of the history whose codes the feature ids are, such as kommune. Defaults to kommune for a collection kommuner and to
	// fylke for fylker, else to none.
	Codes string `yaml:"codes"`
	// Changes says whether changes of features are recorded for /changes. Defaults to yes up to limits.changes features.
	Changes string `yaml:"changes"` // true or false
	// MinZoom and MaxZoom are the first and the last level of tiles that show the collection. Default to all that there are.
	MinZoom *int `yaml:"min_zoom"`
	MaxZoom *int `yaml:"max_zoom"`
	// PageDefault and PageMax are those of limits for this collection. Default to them.
	PageDefault int `yaml:"page_default"`
	PageMax     int `yaml:"page_max"`
	// StorageCRS is the system of geometries that state none (SRID 0), as EPSG:25833. Defaults to none: such a layer is refused.
	StorageCRS string `yaml:"storage_crs"`
	Links      []Link `yaml:"links"`
}

// MaxZoom is the last level of any tile matrix set.
const MaxZoom = 30

// Zooms returns the first and the last level of tiles that show the collection, 0 and MaxZoom if the configuration says nothing.
func (c Collection) Zooms() (first, last int) {
	last = MaxZoom
	if c.MinZoom != nil {
		first = *c.MinZoom
	}
	if c.MaxZoom != nil {
		last = *c.MaxZoom
	}
	return first, last
}

// StorageCode returns the EPSG code of StorageCRS, which is written with or without EPSG: before it; false if it is none.
func (c Collection) StorageCode() (code int, ok bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(c.StorageCRS, "EPSG:"), 10, 20)
	return int(n), err == nil && n > 0
}

// Roles names the columns with a meaning. An instant, an interval and a validity exclude each other.
type Roles struct {
	Title         string `yaml:"title"`   // names a feature to people
	Instant       string `yaml:"instant"` // the moment of a feature
	IntervalStart string `yaml:"interval_start"`
	IntervalEnd   string `yaml:"interval_end"` // null: the interval is open
	// ValidFrom and ValidTo make rows versions of features: rows with one value of id_column are one feature. A null ValidTo is open.
	ValidFrom string `yaml:"valid_from"`
	ValidTo   string `yaml:"valid_to"`
}

// Link is a further link of a collection. Href is absolute.
type Link struct {
	Href     string `yaml:"href"`
	Rel      string `yaml:"rel"`
	Type     string `yaml:"type"`
	Title    string `yaml:"title"`
	Hreflang string `yaml:"hreflang"`
}

// Limits are the bounds on time, size and cost. All are positive. Durations are written with a unit, "10s"; sizes are bytes, or
// have a unit, "1MiB".
type Limits struct {
	ReadHeaderTimeout time.Duration `yaml:"read_header_timeout"` // Defaults to 5s.
	ReadTimeout       time.Duration `yaml:"read_timeout"`        // For a whole request. Defaults to 30s.
	IdleTimeout       time.Duration `yaml:"idle_timeout"`        // Between requests on a connection. Defaults to 120s.
	WriteTimeout      time.Duration `yaml:"write_timeout"`       // For each write, not for the answer. Defaults to 15s.
	MaxHeader         Size          `yaml:"max_header"`          // Of the request line and headers. Defaults to 256KiB, so that a filter of 64 KB fits, escaped.

	PageDefault int           `yaml:"page_default"`  // Features in a page without limit. Defaults to 100.
	PageMax     int           `yaml:"page_max"`      // A larger limit is clamped to it. Defaults to 10000.
	Buffer      Size          `yaml:"buffer"`        // An answer up to this size is built in memory; of many features up to a thirty-second part of it. Defaults to 4MiB.
	Downloads   Size          `yaml:"downloads"`     // Files of whole collections that are kept, on disk, together; a quarter of it for those made before somebody asks. Defaults to 2GiB. May be 0: then only one is.
	Answers     Size          `yaml:"answers"`       // Whole answers that are kept in memory and sent again while the data are the same. Defaults to 64MiB. May be 0: then no finished answer of any kind is kept, neither documents and tiles, which have room of their own, nor files of downloads.
	Changes     int           `yaml:"changes"`       // Features of a collection up to which its changes are recorded, unless the collection says otherwise. Defaults to 100000. May be 0.
	Query       time.Duration `yaml:"query_timeout"` // Of the questions of one request to the store. Defaults to 10s.
	Count       time.Duration `yaml:"count_timeout"` // Of a request that asks for the number alone (resulttype=hits), where it is more than Query. Defaults to 1m.
	ViewTimeout time.Duration `yaml:"view_timeout"`  // For reading a view through when a file is opened for the first time. Defaults to 30s; one that takes longer is not served.
	TypeAhead   Size          `yaml:"type_ahead"`    // Memory for beginnings of names, which q is answered from, and for texts that CASEI patterns, and parts of names over SOAP, are looked for in; values of columns without an index, and whole names and their beginnings over SOAP, take half as much besides, within the memory of caches. Defaults to 96MiB, for a million names. May be 0.

	Concurrent int           `yaml:"concurrent"` // Questions to the store at once, of those that cost little; the dear ones have fewer places. Defaults to 32.
	Queue      time.Duration `yaml:"queue_wait"` // How long a request waits for its turns and for connections, in all, before 503. Defaults to 2s.

	// Memory is what the program may use in all: caches, buffers, answers under way. Defaults to 60 % of what the machine or the control group has.
	Memory      Size `yaml:"memory"`
	Slowest     Size `yaml:"slowest"`     // Bytes in a second that a reader must take after the first seconds, else its answer is broken off. Defaults to 4KiB.
	Connections int  `yaml:"connections"` // Of clients at once; one address has at most half of them. Defaults to 4096.
	// Rate is how many units one key, or one address where none are asked for, may use in a second, over ten seconds on average: a page, a
	// feature, a tile, a file that is there or an execution is 1, a question to an index 2, a search through a collection 20, a comparison of geometries 50; each
	// feature that is read beyond the first of a question is 0.01. Defaults to 0, no limit.
	Rate int `yaml:"rate"`

	SOAPBody       Size `yaml:"soap_body"`       // Defaults to 1MiB.
	SOAPDepth      int  `yaml:"soap_depth"`      // Nesting of elements. Defaults to 32.
	SOAPAttributes int  `yaml:"soap_attributes"` // Of one element. Defaults to 64.

	DrainWait    time.Duration `yaml:"drain_wait"`    // From failing readiness to closing the listener. Defaults to 5s. May be 0.
	DrainTimeout time.Duration `yaml:"drain_timeout"` // For answers under way after that. Defaults to 30s.
}

// SOAP configures the place-name service.
type SOAP struct {
	// NamespaceBase begins the namespaces of the messages. Defaults to http://stedsnavn.statkart.no/ssr/wsapi/v1.
	NamespaceBase string `yaml:"namespace_base"`
	MaxHits       int    `yaml:"max_hits"` // Of one search. Defaults to 5000.
	// UnknownElements is refuse, the default, or ignore, for old clients: what the contract does not have and resembles nothing that it has.
	UnknownElements string `yaml:"unknown_elements"`
	// UnknownCodes is refuse, the default, or no_match, for old clients: a code that its list does not have then matches nothing.
	UnknownCodes string `yaml:"unknown_codes"`
	// NilTypes is plain, the default, or typed, for clients that validate answers: nil elements of an abstract type name a concrete one.
	NilTypes string `yaml:"nil_types"`
	// HTTPStatus 500 tells faults by the statuses of SOAP alone (WS-I Basic Profile 1.1, R1126): clients that hide what comes with 401, 413,
	// 429 or 503 see the detail then. 0, the default, tells them by the statuses of HTTP.
	HTTPStatus int `yaml:"http_status"`
	// CRS is the EPSG code of the system of geometries: 4258, the default, 25832, 25833 or 25835. Coordinates are x before y.
	CRS int `yaml:"crs"`
	// Collections public serves cases, decisions, combined decisions, spellings, books and map products as collections too; hidden, the
	// default, does not.
	Collections string `yaml:"collections"`
}

// Default returns the configuration of an empty file, empty environment and no flags. Its DataDir is empty.
func Default() Config {
	c := Config{
		Addr:      "127.0.0.1:8080",
		Auth:      "required",
		LogFormat: "text",
		Service:   Service{},
		Limits: Limits{
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       30 * time.Second,
			IdleTimeout:       120 * time.Second,
			WriteTimeout:      15 * time.Second,
			MaxHeader:         256 << 10,
			PageDefault:       100,
			PageMax:           10000,
			Buffer:            4 << 20,
			Downloads:         2 << 30,
			Changes:           100_000,
			Query:             10 * time.Second,
			Count:             time.Minute,
			ViewTimeout:       30 * time.Second,
			TypeAhead:         96 << 20,
			Answers:           64 << 20,
			Concurrent:        32,
			Queue:             2 * time.Second,
			Slowest:           4 << 10,
			Connections:       4096,
			SOAPBody:          1 << 20,
			SOAPDepth:         32,
			SOAPAttributes:    64,
			DrainWait:         5 * time.Second,
			DrainTimeout:      30 * time.Second,
		},
		SOAP:      SOAP{NamespaceBase: "http://stedsnavn.statkart.no/ssr/wsapi/v1", MaxHits: 5000, UnknownElements: "refuse", UnknownCodes: "refuse", NilTypes: "plain", CRS: 4258, Collections: "hidden"},
		Processes: Processes{Workers: 2, Jobs: 1000, Waiting: 20, JobBytes: 1 << 30, JobsBytes: 4 << 30, Time: time.Hour, Keep: 24 * time.Hour},
	}
	c.fillTexts()
	return c
}

// Listening returns c for a server that listens on a: Addr with the real port, and BaseURL filled in where it is empty.
func (c Config) Listening(a net.Addr) Config {
	c.Addr = a.String()
	if _, port, err := net.SplitHostPort(c.Addr); err == nil && c.BaseURL == "" {
		scheme := "http"
		if c.TLS.Enabled() {
			scheme = "https"
		}
		c.BaseURL = scheme + "://" + net.JoinHostPort("localhost", port)
	}
	return c
}

// Warnings tells what is allowed and yet likely a mistake, one sentence each.
func (c Config) Warnings() []string {
	var w []string
	if c.BaseURL == "" && !loopback(c.Addr) {
		w = append(w, fmt.Sprintf("listening on %s, but links will begin with localhost; set --base-url to the address that clients use, for example https://example.org", c.Addr))
	}
	for _, p := range c.TrustedProxies {
		if p.Bits() == 0 {
			w = append(w, "trusted_proxies holds "+p.String()+", so every client may set X-Forwarded-*; name only the proxies")
		}
	}
	return w
}

// loopback reports whether only this machine can reach addr.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// splitAddr checks host:port; the host may be empty.
func splitAddr(addr string) (port int, err error) {
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(p, 10, 16)
	return int(n), err
}
