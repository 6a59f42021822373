// Package config holds the configuration of Grense: a YAML file, over it the environment (GRENSE_*), over it the flags.
// Load checks it once and reports all faults together. After the start nothing reads file or environment again.
//
// A setting is named by its path in the file, "limits.query_timeout". Its environment variable is that path in capitals
// with underscores, GRENSE_LIMITS_QUERY_TIMEOUT; lists are separated by commas. Settings below collections have no
// variables. UnknownVariables finds variables of other names. Anchors, aliases and tags of YAML are refused.
package config

import (
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Config is the whole configuration. Load and Default return one; it is not changed afterwards.
// The comments of its fields are the text of docs/run/configuration.md, and of the JSON Schema. Fields with the tag
// restart are read when the server starts; a reload takes the others over. The tag oneof lists the values of a field.
type Config struct {
	// What is served: a file, a folder of files, or the address of a PostGIS database.
	// The argument of grense serve wins.
	// GRENSE_SOURCE_FILE names a file that holds it, for addresses with a password. Defaults to the built-in demo.
	Source string `yaml:"source" restart:"yes"`
	// File of grense tiles export to read tiles from. Defaults to none: tiles are built from the data.
	Tiles string `yaml:"tiles"`
	// Address to listen on, host:port, or a Unix socket, unix:/run/grense/grense.sock. Port 0 takes a free one.
	// Defaults to 127.0.0.1:8080.
	Addr string `yaml:"addr" restart:"yes"`
	// Permissions of the Unix socket of addr, in octal digits. A program needs write permission to connect. Defaults to
	// 0660: the user of Grense and its group.
	SocketMode string `yaml:"socket_mode" restart:"yes"`
	// Address that clients use: absolute, http or https, optionally with a path, without a slash at the end. Every link
	// begins with it. Defaults to http://localhost:PORT, or https with TLS, or to the first host of tls.acme.
	BaseURL string `yaml:"base_url"`
	// The only folder that is written to. Defaults to $XDG_DATA_HOME/grense, else ~/.local/share/grense.
	DataDir string `yaml:"data_dir" restart:"yes"`
	// Whether data need an API key: required or open. Defaults to required.
	Auth string `yaml:"auth" restart:"yes" oneof:"required|open"`
	// File with the key that is stored if there is none yet; `grense key generate` prints one. Defaults to none: serve
	// creates the first key.
	FirstKeyFile string `yaml:"first_key_file" restart:"yes"`
	// Address of the listener with the Prometheus metrics. Defaults to none.
	MetricsAddr string `yaml:"metrics_addr" restart:"yes"`
	// Format of the log: text or json. Defaults to text.
	LogFormat string `yaml:"log_format" restart:"yes" oneof:"text|json"`
	// Least level that is logged: debug, info, warn or error. Requests are logged at info. Defaults to info.
	LogLevel string `yaml:"log_level" oneof:"debug|info|warn|error"`
	// Requests that are logged: all; errors, with status 400 and above; slow>1s, which took longer, or have status 500
	// and above; or none. Health checks that succeed are not logged. Defaults to all.
	AccessLog string `yaml:"access_log"`
	// Whether responses say in Server-Timing how long they took: waiting, queries, encoding. Everybody can read that.
	// Defaults to false.
	ServerTiming bool `yaml:"server_timing"`
	// Starts even if nothing in the source can be served. Otherwise that is an error, and a reload keeps the old data.
	// Defaults to false.
	AllowEmpty bool `yaml:"allow_empty"`
	// Promises that nobody writes into the GeoPackage, which is then read without locks. To change the data, replace
	// the file by renaming and send SIGHUP. Not for a database. Defaults to false.
	Unchanging bool `yaml:"unchanging"`
	// Proxies, as CIDR blocks or addresses, whose Forwarded and X-Forwarded-* headers count. Defaults to none.
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies"`

	// Built-in history for data that bring none: norway, its municipalities and counties. Defaults to none.
	History string `yaml:"history" oneof:"|norway"`

	TLS         TLS                   `yaml:"tls"`
	Service     Service               `yaml:"service"`
	Collections map[string]Collection `yaml:"collections"` // by name of the layer in the source, or by collection id
	Styles      map[string]MapStyle   `yaml:"styles"`      // by id: a-z, 0-9, _ and -
	Cache       Cache                 `yaml:"cache"`
	Traces      Traces                `yaml:"traces"`
	Limits      Limits                `yaml:"limits"`
	SOAP        SOAP                  `yaml:"soap"`
	Compat      Compat                `yaml:"compat"`
	Processes   Processes             `yaml:"processes"`
}

// Processes configures processes and the jobs that they run as.
type Processes struct {
	// Beginnings of addresses of other servers. Inputs may refer to them by href, and callbacks may go to them. Other
	// addresses are refused, and so are hosts with private addresses, and redirects. Defaults to none.
	Allow []string `yaml:"allow"`
	// Whether subscribers of jobs are called at addresses in allow. Defaults to false.
	Callbacks bool `yaml:"callbacks"`
	// Jobs that one process runs at once. Defaults to 2.
	Workers int `yaml:"workers"`
	// Jobs that are stored, of all owners, finished ones too. Defaults to 1000.
	Jobs int `yaml:"jobs"`
	// Unfinished jobs of one owner. Defaults to 20.
	Waiting int `yaml:"waiting"`
	// Size of the outputs of one job. Defaults to 1GiB.
	JobBytes Size `yaml:"job_bytes"`
	// Size of the outputs of all jobs. Defaults to 4GiB.
	JobsBytes Size `yaml:"jobs_bytes"`
	// Time for one job. Defaults to 1h.
	Time time.Duration `yaml:"time"`
	// Time after which a finished job is removed. Defaults to 24h.
	Keep time.Duration `yaml:"keep"`
}

// TLS names the files of a certificate, or the hosts to obtain one for. Set none to serve plain HTTP.
type TLS struct {
	// File with the certificate chain, PEM. Defaults to none.
	Cert string `yaml:"cert" restart:"yes"`
	// File with the private key of the certificate, PEM. Defaults to none.
	Key  string `yaml:"key" restart:"yes"`
	ACME ACME   `yaml:"acme"`
}

// ACME obtains and renews certificates from an authority such as Let's Encrypt, whose terms you accept by that. Port
// 443 of each host must lead to addr. Account and keys are in the data directory, in acme.
type ACME struct {
	// Names that clients use. Defaults to none: nothing is obtained, and no authority is asked.
	Hosts []string `yaml:"hosts" restart:"yes"`
	// Address for messages of the authority. Defaults to none.
	Email string `yaml:"email" restart:"yes"`
	// Directory of the authority. Defaults to https://acme-v02.api.letsencrypt.org/directory.
	Directory string `yaml:"directory" restart:"yes"`
}

// Enabled reports whether the server speaks TLS itself.
func (t TLS) Enabled() bool { return t.Cert != "" || len(t.ACME.Hosts) > 0 }

// Service describes the service as a whole. A text is one string, or one for each language: nb, nn, en.
type Service struct {
	// Title of the service. Defaults to "Administrative divisions" in each language.
	Title Text `yaml:"title"`
	// What the service offers. Defaults to a warning that the API may change, how to send a key, and where to send
	// feedback.
	Description Text `yaml:"description"`
	// One list of words, or one for each language. Defaults to the names of the divisions.
	Keywords  Words     `yaml:"keywords"`
	Publisher Publisher `yaml:"publisher"`
	// E-mail address or URL for feedback. Defaults to the e-mail address of the contact, else its URL.
	Feedback string  `yaml:"feedback"`
	Contact  Contact `yaml:"contact"`
	Licence  Licence `yaml:"licence"`
	// URL of the terms of service. Defaults to none.
	Terms string `yaml:"terms"`
	// IANA time zone of days in the parameter datetime, and of timestamps without a zone. Defaults to Europe/Oslo for
	// the demo and for registers, else to UTC.
	TimeZone string `yaml:"time_zone"`
	// Address of the fonts of map styles, with {fontstack} and {range}. Defaults to the Go fonts that Grense serves.
	Glyphs string `yaml:"glyphs_url"`
}

// Publisher is the organisation behind the data.
type Publisher struct {
	// Name of the publisher. Defaults to Grense.
	Name string `yaml:"name"`
	// Home page. Defaults to https://www.geonorge.no/.
	URL string `yaml:"url"`
	// Postal address. Defaults to none.
	Address string `yaml:"address"`
}

// Contact is the person or office that answers questions.
type Contact struct {
	// Name of the contact. Defaults to none.
	Name string `yaml:"name"`
	// E-mail address. Defaults to none.
	Email string `yaml:"email"`
	// Telephone number. Defaults to none.
	Phone string `yaml:"phone"`
	// Page of the contact. Defaults to none.
	URL string `yaml:"url"`
}

// Licence is the licence of the data.
type Licence struct {
	// Name of the licence. Defaults to none.
	Name string `yaml:"name"`
	// Address of its text. Defaults to none.
	URL string `yaml:"url"`
}

// Collection configures one layer of the source. Empty settings leave what the source says.
type Collection struct {
	// Another collection id, of the characters a-z, 0-9, _ and -. Defaults to one derived from the layer.
	ID string `yaml:"id"`
	// Title of the collection. Defaults to that of the layer.
	Title Text `yaml:"title"`
	// Description of the collection. Defaults to that of the layer.
	Description Text `yaml:"description"`
	// Keywords of the collection. Defaults to none.
	Keywords []string `yaml:"keywords"`
	// Whether the layer is left out. Defaults to false.
	Hidden bool `yaml:"hidden"`
	// Column with the feature ids; or several that are unique together and never null.
	// Defaults to the primary key, else a unique index.
	IDColumns []string `yaml:"id_column"`
	// The geometry column that is served, if there are several. Defaults to the first.
	GeometryColumn string `yaml:"geometry_column"`
	// Columns that are not served, searched or filtered. Defaults to none.
	HiddenColumns []string `yaml:"hidden_columns"`
	Roles         Roles    `yaml:"roles"`
	// Meaning of roles.valid_to: inclusive, the last day of validity, or exclusive, the first day after it. Defaults to
	// exclusive.
	ValidTo string `yaml:"valid_to" oneof:"|inclusive|exclusive"`
	// Day, as in 2024-01-31: versions that ended by then are never corrected, so that open data may be cached for good.
	// Defaults to none.
	Settled string `yaml:"settled"`
	// Scheme of the history whose codes the feature ids are. Defaults to kommune for kommuner, fylke for fylker, else
	// none.
	Codes string `yaml:"codes"`
	// Whether changes of features are recorded for /changes: true or false. Defaults to true up to limits.changes
	// features.
	Changes string `yaml:"changes" oneof:"|true|false"`
	// First level of tiles that shows the collection. Defaults to all.
	MinZoom *int `yaml:"min_zoom"`
	// Last level of tiles that shows the collection. Defaults to all.
	MaxZoom *int `yaml:"max_zoom"`
	// Features in a page without the parameter limit. Defaults to limits.page_default.
	PageDefault int `yaml:"page_default"`
	// Largest page; a larger limit is clamped to it. Defaults to limits.page_max.
	PageMax int `yaml:"page_max"`
	// Time that responses with features may be used again, as in cache. Defaults to cache.max_age.
	MaxAge time.Duration `yaml:"max_age"`
	// Coordinate system of geometries that state none (SRID 0), as EPSG:25833. Defaults to none:
	// such a layer is refused.
	StorageCRS string `yaml:"storage_crs"`
	Links      []Link `yaml:"links"`
}

// MaxZoom is the last level of any tile matrix set.
const MaxZoom = 30

// Zooms returns the first and the last level of tiles that show the collection; by default 0 and MaxZoom.
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

// StorageCode returns the EPSG code in StorageCRS, which may be written with or without "EPSG:"; false if it is not
// one.
func (c Collection) StorageCode() (code int, ok bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(c.StorageCRS, "EPSG:"), 10, 20)
	return int(n), err == nil && n > 0
}

// Roles names columns with a meaning. Set only one of an instant, an interval and a validity.
type Roles struct {
	// Column that names a feature to people. Defaults to none.
	Title string `yaml:"title"`
	// Column with the instant of a feature. Defaults to none.
	Instant string `yaml:"instant"`
	// Column with the start of an interval. Defaults to none.
	IntervalStart string `yaml:"interval_start"`
	// Column with the end of an interval; null leaves it open. Defaults to none.
	IntervalEnd string `yaml:"interval_end"`
	// Column that makes rows versions of features: rows with one value of id_column are one feature. Defaults to none.
	ValidFrom string `yaml:"valid_from"`
	// Column with the end of a version; null leaves it open. Defaults to none.
	ValidTo string `yaml:"valid_to"`
}

// MapStyle is a style for maps, besides those of Grense. NAME is its id.
type MapStyle struct {
	// File with the style: JSON of the MapLibre style specification. A vector source without an address gets the tiles
	// of this service, and a style without glyphs its fonts. A broken style is refused at the start. Required.
	File string `yaml:"file"`
	// Title of the style. Defaults to the name in the file.
	Title Text `yaml:"title"`
	// Description of the style. Defaults to none.
	Description Text `yaml:"description"`
}

// Cache lets browsers and shared caches, such as a CDN, use responses again without asking. It counts only with auth:
// open; responses that need a key are never shared. Changes of the data are seen that much later.
type Cache struct {
	// Time that responses with data may be used again. Defaults to 0s: a cache asks each time, which costs 304.
	MaxAge time.Duration `yaml:"max_age"`
	// The same for tiles. Defaults to 0s.
	TilesMaxAge time.Duration `yaml:"tiles_max_age"`
	// Time after max_age in which a cache may answer with the old response while it asks for a new one. Defaults to 0s.
	StaleWhileRevalidate time.Duration `yaml:"stale_while_revalidate"`
}

// Traces sends spans of requests and jobs to a collector of OpenTelemetry (OTLP over HTTP).
type Traces struct {
	// Base address of the collector; /v1/traces is added if it has no path. Defaults to none: nothing is sent.
	Endpoint string `yaml:"endpoint" restart:"yes"`
	// One request in so many is traced. Requests with a traceparent follow its flag instead. Defaults to 1.
	OneIn int `yaml:"one_in" restart:"yes"`
}

// Link is an additional link of a collection.
type Link struct {
	// Absolute address. Required.
	Href string `yaml:"href"`
	// Relation, such as related. Required.
	Rel string `yaml:"rel"`
	// Media type. Defaults to none.
	Type string `yaml:"type"`
	// Title of the link. Defaults to none.
	Title string `yaml:"title"`
	// Language of the target. Defaults to none.
	Hreflang string `yaml:"hreflang"`
}

// Limits bounds time, size and cost. All are positive. Durations have a unit, 10s; sizes are bytes, or have a unit,
// 1MiB.
type Limits struct {
	// Time for reading the headers of a request. Defaults to 5s.
	ReadHeaderTimeout time.Duration `yaml:"read_header_timeout" restart:"yes"`
	// Time for reading a whole request. Defaults to 30s.
	ReadTimeout time.Duration `yaml:"read_timeout" restart:"yes"`
	// Time between requests on a connection. Defaults to 2m.
	IdleTimeout time.Duration `yaml:"idle_timeout" restart:"yes"`
	// Time for one write of at most 64 KiB, not for the response. Defaults to 14s.
	WriteTimeout time.Duration `yaml:"write_timeout"`
	// Size of the request line and headers. A filter of 64 KB fits, escaped. Defaults to 256KiB.
	MaxHeader Size `yaml:"max_header" restart:"yes"`

	// Features in a page without the parameter limit. Defaults to 100.
	PageDefault int `yaml:"page_default"`
	// Largest page; a larger limit is clamped to it. Defaults to 10000.
	PageMax int `yaml:"page_max"`
	// Response that is built in memory before it is sent; a page of 500 features or more up to a thirty-second part of
	// it. Defaults to 4MiB.
	Buffer Size `yaml:"buffer"`
	// Files of whole collections on disk, together. 0 stores only one. Defaults to 2GiB.
	Downloads Size `yaml:"downloads"`
	// The response cache. 0 turns it off, and downloads cannot be resumed. Defaults to 64MiB.
	Answers Size `yaml:"answers"`
	// Features of a collection up to which its changes are recorded, unless the collection says otherwise. May be 0.
	// Defaults to 100000.
	Changes int `yaml:"changes"`
	// Time for all queries of one request. Defaults to 10s.
	Query time.Duration `yaml:"query_timeout"`
	// Time for a request with resulttype=hits, if longer than query_timeout. Defaults to 1m.
	Count time.Duration `yaml:"count_timeout"`
	// Time for reading a view when a file is opened for the first time; a slower view is not served. Defaults to 30s.
	ViewTimeout time.Duration `yaml:"view_timeout"`
	// Memory for text indexes: beginnings of names for q, parts of names for SOAP. Envelopes, ids and packed records
	// take as much again. May be 0. Defaults to 96MiB, enough for a million names.
	TypeAhead Size `yaml:"type_ahead"`

	// Cheap queries at once; expensive ones have fewer places. Defaults to 32.
	Concurrent int `yaml:"concurrent"`
	// Time that a request waits for places and connections in all; then it is 503. Defaults to 2s.
	Queue time.Duration `yaml:"queue_wait"`

	// Memory of the program in all: caches, buffers, requests in flight. At least 128MiB.
	// Defaults to 60 % of the machine or control group.
	Memory Size `yaml:"memory"`
	// Bytes that a client must read in a second; a slower one is disconnected. Defaults to 4KiB.
	Slowest Size `yaml:"slowest"`
	// Connections at once; one address has at most half of them, a trusted proxy all. Defaults to 4096.
	Connections int `yaml:"connections"`
	// Units that one key, or one address without keys, may use in a second, over ten seconds on average. Defaults to 0,
	// no limit.
	Rate int `yaml:"rate"`

	// Size of a SOAP message. Defaults to 1MiB.
	SOAPBody Size `yaml:"soap_body"`
	// Nesting of elements in a SOAP message. Defaults to 32.
	SOAPDepth int `yaml:"soap_depth"`
	// Attributes of one element in a SOAP message. Defaults to 64.
	SOAPAttributes int `yaml:"soap_attributes"`

	// Time from failing readiness to closing the listener. May be 0. Defaults to 5s.
	DrainWait time.Duration `yaml:"drain_wait"`
	// Time for requests in flight after that. Defaults to 30s.
	DrainTimeout time.Duration `yaml:"drain_timeout"`
}

// Compat serves what older clients know: the addresses of two public REST services of Kartverket, so that their clients
// only need another host, and the Web Map Service.
type Compat struct {
	// Whether /kommuneinfo/v1 is served. Defaults to false.
	Kommuneinfo bool `yaml:"kommuneinfo"`
	// Whether /stedsnavn/v1 is served; the data need a register of place names. Defaults to false.
	Stedsnavn bool `yaml:"stedsnavn"`
	// Whether the Web Map Service 1.3.0 is served at /wms, for clients that do not know OGC API Maps. Defaults to
	// false.
	WMS bool `yaml:"wms"`
	// Whether the Web Map Tile Service 1.0.0 is served at /wmts. Defaults to false.
	WMTS bool `yaml:"wmts"`
	// Name of a query parameter in which clients of both may send the key, if they cannot send headers. Such keys end
	// up in histories and logs of others. Defaults to none.
	KeyParameter string `yaml:"key_parameter"`
	// Whether kommuneinfo and stedsnavn answer without a key, under the limits of addresses. Defaults to false.
	Open     bool           `yaml:"open"`
	Kommuner Municipalities `yaml:"kommuner"`
	Fylker   Counties       `yaml:"fylker"`
}

// Municipalities names the collection of municipalities for /kommuneinfo/v1, and its columns.
type Municipalities struct {
	// Collection id. Defaults to kommuner or kommune, else the areas that have the column kommunenummer.
	Collection string `yaml:"collection"`
	// Column with the number. Defaults to kommunenummer, else nr.
	Number string `yaml:"number"`
	// Column with the official name. Defaults to kommunenavn, else navn or name.
	Name string `yaml:"name"`
	// Column with the Norwegian name. Defaults to kommunenavnNorsk, else the Norwegian part of the official name.
	NorwegianName string `yaml:"norwegian_name"`
	// Column with the number of the county. Defaults to fylkesnummer or fylke_nr, else the first two digits of the
	// number.
	County string `yaml:"county"`
	// Column with the names by language, JSON with navn, rekkefolge and sprak. Defaults to administrativenhetnavn.
	Names string `yaml:"names"`
	// Column that says whether it lies in the Sami administrative area. Defaults to samiskForvaltningsområde.
	SamiArea string `yaml:"sami_area"`
}

// Counties names the collection of counties for /kommuneinfo/v1, and its columns.
type Counties struct {
	// Collection id. Defaults to fylker or fylke, else the areas that have fylkesnummer and no kommunenummer.
	Collection string `yaml:"collection"`
	// Column with the number. Defaults to fylkesnummer, else nr.
	Number string `yaml:"number"`
	// Column with the official name. Defaults to fylkesnavn, else navn or name.
	Name string `yaml:"name"`
}

// SOAP configures the place-name service.
type SOAP struct {
	// Beginning of the namespaces of messages. Defaults to http://stedsnavn.statkart.no/ssr/wsapi/v1.
	NamespaceBase string `yaml:"namespace_base"`
	// Hits of one search. Defaults to 5000.
	MaxHits int `yaml:"max_hits"`
	// Treatment of elements that the contract lacks: refuse, or ignore for old clients. Defaults to refuse.
	UnknownElements string `yaml:"unknown_elements" oneof:"refuse|ignore"`
	// Treatment of codes that their list lacks: refuse, or no_match for old clients. Defaults to refuse.
	UnknownCodes string `yaml:"unknown_codes" oneof:"refuse|no_match"`
	// Form of nil elements of an abstract type: plain, or typed for clients that validate. Defaults to plain.
	NilTypes string `yaml:"nil_types" oneof:"plain|typed"`
	// 500 sends every fault with status 500 (WS-I Basic Profile 1.1, R1126), for clients that hide the detail of faults
	// with 401, 413, 429 or 503. Defaults to 0: faults have the status of HTTP.
	HTTPStatus int `yaml:"http_status" oneof:"0|500"`
	// EPSG code of geometries: 4258, 25832, 25833 or 25835. Coordinates are x before y. Defaults to 4258.
	CRS int `yaml:"crs" oneof:"4258|25832|25833|25835"`
	// Whether cases, decisions, spellings, books and map products are collections of the API too: public or hidden.
	// Defaults to hidden.
	Collections string `yaml:"collections" oneof:"public|hidden"`
}

// Default returns the configuration of an empty file, empty environment and no flags. Its DataDir is empty.
func Default() Config {
	c := Config{
		Addr:       "127.0.0.1:8080",
		SocketMode: "0660",
		Auth:       "required",
		LogFormat:  "text",
		LogLevel:   "info",
		AccessLog:  "all",
		Service:    Service{},
		Limits: Limits{
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       30 * time.Second,
			IdleTimeout:       120 * time.Second,
			WriteTimeout:      14 * time.Second,
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
		SOAP: SOAP{
			NamespaceBase:   "http://stedsnavn.statkart.no/ssr/wsapi/v1",
			MaxHits:         5000,
			UnknownElements: "refuse",
			UnknownCodes:    "refuse",
			NilTypes:        "plain",
			CRS:             4258,
			Collections:     "hidden",
		},
		Processes: Processes{
			Workers:   2,
			Jobs:      1000,
			Waiting:   20,
			JobBytes:  1 << 30,
			JobsBytes: 4 << 30,
			Time:      time.Hour,
			Keep:      24 * time.Hour,
		},
		Traces: Traces{OneIn: 1},
		TLS:    TLS{ACME: ACME{Directory: "https://acme-v02.api.letsencrypt.org/directory"}},
	}
	c.fillTexts()
	return c
}

// Listening returns c for a server that listens on a: Addr has the real port, and BaseURL gets its default if empty.
func (c Config) Listening(a net.Addr) Config {
	c.Addr = a.String()
	host := "localhost"
	if a.Network() == "unix" {
		c.Addr = unixPrefix + c.Addr
	} else if _, port, err := net.SplitHostPort(c.Addr); err == nil {
		host = net.JoinHostPort(host, port)
	}
	if hosts := c.TLS.ACME.Hosts; len(hosts) > 0 {
		host = hosts[0]
	}
	if c.BaseURL == "" {
		scheme := "http"
		if c.TLS.Enabled() {
			scheme = "https"
		}
		c.BaseURL = scheme + "://" + host
	}
	return c
}

// unixPrefix begins the address of a Unix socket.
const unixPrefix = "unix:"

// UnixSocket returns the path of the Unix socket that addr names. ok is false if addr is host:port.
func UnixSocket(addr string) (path string, ok bool) { return strings.CutPrefix(addr, unixPrefix) }

// Permissions returns the permissions of the Unix socket of Addr.
func (c Config) Permissions() fs.FileMode {
	n, _ := strconv.ParseUint(c.SocketMode, 8, 9) // validate has checked it
	return fs.FileMode(n)
}

// Warnings returns one sentence for each setting that is allowed but likely a mistake.
func (c Config) Warnings() []string {
	var w []string
	if c.BaseURL == "" && !loopback(c.Addr) && len(c.TLS.ACME.Hosts) == 0 {
		w = append(w, fmt.Sprintf("listening on %s, but links begin with localhost; "+
			"set --base-url to the address that clients use, for example https://example.org", c.Addr))
	}
	if c.TLS.Cert != "" && len(c.TLS.ACME.Hosts) > 0 {
		w = append(w, "tls.cert is not used, since tls.acme.hosts is set; leave one of them out")
	}
	for _, p := range c.TrustedProxies {
		if p.Bits() == 0 {
			w = append(w, "trusted_proxies holds "+p.String()+
				", so every client may set X-Forwarded-*; name only the proxies")
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

// splitAddr splits host:port and returns the port; the host may be empty.
func splitAddr(addr string) (port int, err error) {
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(p, 10, 16)
	return int(n), err
}
