package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"grense/internal/apikey"
	"grense/internal/certificate"
	"grense/internal/config"
	"grense/internal/datadir"
	"grense/internal/listen"
	"grense/internal/logging"
	"grense/internal/server"
	"grense/internal/server/limit"
	"grense/internal/server/metrics"
	"grense/internal/source"
	"grense/internal/state"
	"grense/internal/store/postgis/statedb"
	"grense/internal/trace"
)

type serveCmd struct {
	Source      string  `arg:"" optional:"" help:"A GeoPackage, another file that import reads, a folder of them, or a PostGIS database (postgres://...). Defaults to the setting source, else the demo."`
	Addr        *string `placeholder:"HOST:PORT" help:"Address to listen on, or a Unix socket, unix:/run/grense/grense.sock. Port 0 takes a free one. Defaults to 127.0.0.1:8080."`
	BaseURL     *string `name:"base-url" placeholder:"URL" help:"Address that clients use; every link begins with it. Defaults to http://localhost:PORT."`
	Auth        *string `placeholder:"required|open" help:"Whether data need an API key. Defaults to required."`
	Tiles       *string `placeholder:"FILE" help:"File of grense tiles export to read tiles in Web Mercator from."`
	MetricsAddr *string `placeholder:"HOST:PORT" help:"Address for Prometheus metrics, at /metrics. Default: none."`
	TLSCert     *string `name:"tls-cert" placeholder:"FILE" help:"Certificate chain (PEM); with --tls-key, serve https."`
	TLSKey      *string `name:"tls-key" placeholder:"FILE" help:"Private key (PEM) of the certificate."`
	History     *string `placeholder:"norway" help:"Built-in history for data that bring none. Default: none."`
	LogFormat   *string `placeholder:"text|json" help:"Format of the log on standard error. Defaults to text."`
	dataFlags
}

func (serveCmd) Help() string {
	return `A GeoPackage is served as it is. Other files are imported into the data directory, and again after they have changed.
The setting unchanging: true promises that nobody writes into a GeoPackage, which is then read without locks.

Settings come from the configuration file, over it the environment, over it the flags. A setting of the file such as
  limits: {query_timeout: 20s}
is GRENSE_LIMITS_QUERY_TIMEOUT in the environment.

SIGHUP reloads the configuration, and opens data, certificate and keys again. An invalid configuration changes nothing.
SIGTERM and SIGINT finish the requests in flight, then exit.

Examples:
  grense serve kommuner.gpkg --base-url https://example.org/divisions
  grense serve postgres://reader@db.example.org/divisions --config grense.yaml`
}

func (c *serveCmd) Run(ctx context.Context, p *process) error {
	sources := c.sources(
		p,
		c.Source,
		map[string]*string{"addr": c.Addr, "base_url": c.BaseURL, "auth": c.Auth, "metrics_addr": c.MetricsAddr,
			"tls.cert": c.TLSCert, "tls.key": c.TLSKey, "log_format": c.LogFormat, "history": c.History,
			"tiles": c.Tiles},
	)
	cfg, err := config.Load(sources)
	if err != nil {
		return err
	}
	lines := logging.NewBuffer(p.Stderr)
	defer lines.Flush()
	var level slog.LevelVar
	level.Set(cfg.Level())
	log := logging.New(lines, cfg.LogFormat, &level)
	for _, w := range append(cfg.Warnings(), p.unknownVariables()...) {
		log.Warn(w)
	}
	socket, err := p.manager().Socket()
	if err != nil {
		return err
	}
	s, err := occupy(ctx, cfg, sources, log, socket)
	if ctx.Err() != nil {
		return nil // interrupted while starting: not an error
	}
	if err != nil {
		return err
	}
	s.level = &level
	defer s.close()
	api, failed := s.answer()
	defer api.Close()
	last := func() { // so that every response that was sent is logged
		api.Close()
		time.Sleep(logging.BufferTime)
		lines.Flush()
	}
	p.last.Store(&last)
	keys, err := s.prepare(ctx, p.Terminal)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	go s.watchDir(ctx)
	if s.cert != nil {
		go s.cert.Watch(ctx, s.log)
	}
	s.sendTraces(ctx)
	s.front.open(s.now.Load()) // before the announcement, so that its readers can connect
	if err := s.announce(p, keys); err != nil {
		return err
	}
	p.manager().Notify("READY=1", "STATUS=serving on "+s.cfg.Addr)
	go p.manager().KeepAlive(ctx, s.front)
	return s.serve(ctx, p, api, failed)
}

// prepare opens the data and creates the first key if one is needed. It returns the text about keys to print.
func (s *service) prepare(ctx context.Context, terminal bool) (keys string, err error) {
	dir, err := datadir.Create(s.cfg.DataDir)
	if err != nil {
		return "", err
	}
	s.dir = dir
	name, err := ownerName(s.cfg.Source)
	if err != nil {
		return "", err
	}
	if s.owner, err = datadir.Own(dir, name); err != nil {
		return "", err
	}
	a, err := s.assemble(ctx, s.cfg)
	if err != nil {
		return "", err
	}
	s.begin(ctx, a)
	return s.firstKey(ctx, terminal)
}

// ownerName returns what identifies a source: an absolute path, or the address of a database without its password.
func ownerName(src string) (string, error) {
	switch {
	case src == "":
		return "the demo", nil
	case source.IsDatabase(src):
		return source.Shown(src), nil
	}
	return filepath.Abs(src)
}

// watchDir logs once if the data directory is deleted or replaced. It returns then, or when ctx ends.
func (s *service) watchDir(ctx context.Context) {
	if s.owner.AwaitLoss(ctx) {
		s.log.Error("the data directory was deleted or replaced: jobs are refused and new keys are not seen; "+
			"restart the server", "data_dir", s.dir)
	}
}

// service holds the parts of the running program.
type service struct {
	sources config.Sources
	loaded  config.Config // from sources
	cfg     config.Config // loaded, with the values that follow from listener and machine
	log     *slog.Logger
	level   *slog.LevelVar // of log
	dir     string         // data directory
	owner   *datadir.Lock  // lock of dir
	state   *state.DB
	shared  bool   // state is in the database that is served
	cursors []byte // the key of cursors; nil: none is stored
	keys    *apikey.Checker
	codes   *apikey.Codes
	now     atomic.Pointer[assembly]
	retired sync.WaitGroup           // assemblies that still answer requests
	cert    *certificate.Certificate // nil: plain HTTP
	traces  *trace.Exporter          // nil: none
	api     net.Listener
	limited *listen.Limited // wraps api
	metrics net.Listener    // nil: none
	front   *front

	stopKeys   func() // stops the checker and waits for it
	stopTraces func() // sends the last spans; nil: there are none
}

// occupy opens the listeners before data are read, so that a port in use is reported at once. If socket is not nil, the
// API uses it. cfg was loaded from sources.
func occupy(ctx context.Context, cfg config.Config, sources config.Sources, log *slog.Logger, socket net.Listener) (
	_ *service, err error,
) {
	s := &service{sources: sources, codes: &apikey.Codes{}, front: newFront()}
	s.log = slog.New(reasonHandler{log.Handler(), s.front})
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.cert, err = certificate.Load(cfg, programVersion()); err != nil {
		return nil, err
	}
	if cfg.Traces.Endpoint != "" {
		if s.traces, err = trace.New(trace.Options{Endpoint: cfg.Traces.Endpoint, OneIn: cfg.Traces.OneIn,
			Version: programVersion(), Log: s.log}); err != nil {
			return nil, err
		}
	}
	if s.api = socket; s.api == nil {
		if path, ok := config.UnixSocket(cfg.Addr); ok {
			s.api, err = listen.Unix(ctx, path, cfg.Permissions())
		} else {
			s.api, err = listen.TCP(ctx, cfg.Addr, "--addr")
		}
		if err != nil {
			return nil, err
		}
	}
	if cfg.MetricsAddr != "" {
		if s.metrics, err = listen.TCP(ctx, cfg.MetricsAddr, "--metrics-addr"); err != nil {
			return nil, err
		}
	}
	s.configure(cfg)
	boundHeap(int64(s.cfg.Limits.Memory))
	return s, nil
}

// sendTraces sends spans in the background until stopTraces is called.
func (s *service) sendTraces(ctx context.Context) {
	if s.traces == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until the last response is out
	var done sync.WaitGroup
	done.Go(func() { s.traces.Run(ctx) })
	s.stopTraces = func() { cancel(); done.Wait() }
}

// operator returns what the metrics report about certificate and connections.
func (s *service) operator() metrics.Operator {
	o := metrics.Operator{Connections: s.limited.Count}
	if s.cert != nil {
		o.CertificateEnd = s.cert.End
	}
	return o
}

// configure sets the configuration that was loaded.
func (s *service) configure(loaded config.Config) {
	s.loaded, s.cfg = loaded, loaded
	s.cfg.Limits = loaded.Limits.WithMemory()
	s.cfg = s.cfg.Listening(s.api.Addr())
}

// jobs returns the storage of jobs; nil, with a warning, if there is none.
func (s *service) jobs(ctx context.Context) state.Jobs {
	if err := s.state.PrepareJobs(ctx); err != nil {
		s.log.Warn("processes do not run as jobs, since none can be kept", "err", err)
		return nil
	}
	return s.state
}

// cursorKey returns the key that signs cursors, which all processes of the source share. It is the secret in the state
// or, if the database cannot store one, derived from the password in its address. nil, with a warning, if there is
// none.
func (s *service) cursorKey(ctx context.Context, src string) []byte {
	if s.cursors == nil {
		s.cursors = s.findCursorKey(ctx, src)
	}
	return s.cursors
}

func (s *service) findCursorKey(ctx context.Context, src string) []byte {
	if !s.shared && source.IsDatabase(src) {
		if key := statedb.PasswordKey(src); key != nil {
			return key
		}
	}
	key, err := s.state.Secret(ctx)
	if err == nil {
		return key
	}
	if s.shared {
		key = statedb.PasswordKey(src)
	}
	if key == nil {
		s.log.Warn(
			"links to the next page are valid at this process only, and until it ends, since their key "+
				"cannot be stored",
			"err",
			err,
		)
	}
	return key
}

// changes returns the storage of the log of changes; nil, with a warning, if there is none.
func (s *service) changes(ctx context.Context, src string) *state.DB {
	if source.IsDatabase(src) && !s.shared { // all servers of the database must have the same change numbers
		return nil
	}
	if err := s.state.PrepareChanges(ctx); err != nil {
		s.log.Warn("changes of the data are not recorded, since they cannot be stored", "err", err)
		return nil
	}
	return s.state
}

// close closes all parts in the order of their use.
func (s *service) close() {
	a := s.now.Load()
	if a != nil {
		a.stop()
	}
	if s.stopKeys != nil {
		s.stopKeys()
	}
	for _, l := range []net.Listener{s.api, s.metrics} {
		if l != nil {
			l.Close() // a server has closed it already, unless the start failed
		}
	}
	if a != nil {
		a.close()
	}
	s.retired.Wait()
	if s.stopTraces != nil {
		s.stopTraces()
	}
	if s.state != nil {
		if err := s.state.Close(); err != nil {
			s.log.Warn("the state database was not closed cleanly", "err", err)
		}
	}
	if s.owner != nil {
		s.owner.Close()
	}
}

// answer starts to serve the API; failed receives errors of the listener.
func (s *service) answer() (api *http.Server, failed chan error) {
	api, failed = s.httpServer(s.front), make(chan error, 2)
	s.limited = listen.Limit(s.api, s.cfg)
	api.ConnState = s.limited.Follow
	go func() {
		if s.cert != nil {
			api.TLSConfig = s.cert.Config()
			failed <- api.ServeTLS(s.limited, "", "")
			return
		}
		failed <- api.Serve(s.limited)
	}()
	return api, failed
}

// serve serves until ctx ends, then drains.
func (s *service) serve(ctx context.Context, p *process, api *http.Server, failed chan error) error {
	if s.metrics != nil {
		metrics := s.httpServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.now.Load().server.MetricsHandler().ServeHTTP(w, r)
		}))
		metrics.WriteTimeout = s.cfg.Limits.WriteTimeout
		go func() { failed <- metrics.Serve(s.metrics) }()
		defer metrics.Close()
	}
	for {
		select {
		case err := <-failed:
			api.Close()
			return fmt.Errorf("the listener failed: %w", err)
		case <-p.Reload:
			p.manager().Notify("RELOADING=1")
			s.reload(ctx)
			p.manager().Notify("READY=1")
		case <-ctx.Done():
			p.manager().Notify("STOPPING=1")
			s.drain(context.WithoutCancel(ctx), api)
			return nil
		}
	}
}

// httpServer returns a server with the configured limits. Handlers set the write deadline before each write.
func (s *service) httpServer(h http.Handler) *http.Server {
	l := s.cfg.Limits
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: l.ReadHeaderTimeout,
		ReadTimeout:       l.ReadTimeout,
		IdleTimeout:       l.IdleTimeout,
		MaxHeaderBytes:    int(l.MaxHeader),
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		ConnContext:       connected,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 100},
	} // HTTP2: the least value that RFC 9113, 6.5.2, recommends
}

// sendBuffer is the size of the kernel's send buffer in bytes. A large buffer would delay wake-ups of the writer so
// long that a slow but steady reader would look like one that has stopped.
const sendBuffer = 128 << 10

// connected sets the send buffer of a new connection, and puts its Gatherer into the context.
func connected(ctx context.Context, conn net.Conn) context.Context {
	if g, ok := conn.(limit.Gatherer); ok {
		ctx = server.WithGatherer(ctx, g)
	}
	for { // unwrap TLS and limitedConn
		c, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = c.NetConn()
	}
	if c, ok := conn.(interface{ SetWriteBuffer(int) error }); ok {
		c.SetWriteBuffer(sendBuffer) // on error the system keeps its own size
	}
	return ctx
}

// drain reports that the service is not ready and waits for load balancers to notice. It then accepts the connections
// that clients have opened, stops accepting more, and waits for the responses in progress.
func (s *service) drain(ctx context.Context, api *http.Server) {
	s.now.Load().server.SetReady(false)
	s.log.Info("draining; a second signal stops at once", "wait_seconds", s.cfg.Limits.DrainWait.Seconds(),
		"timeout_seconds", s.cfg.Limits.DrainTimeout.Seconds())
	time.Sleep(s.cfg.Limits.DrainWait)
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Limits.DrainTimeout)
	defer cancel()
	listen.RefuseHandshakes(ctx, s.api)
	s.limited.AwaitResponses(ctx) // Shutdown would drop requests that arrive later
	if err := api.Shutdown(ctx); err != nil {
		s.log.Warn("answers were cut off", "err", err)
		api.Close()
	}
	s.log.Info("stopped")
}
