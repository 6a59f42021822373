package processes

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/problems"
)

// open reads an input by reference (OGC 18-062r2, 7.11.2.4): data of this service, requested internally with the key of
// the execution, or an address that the operator allows.
func (x *execution) open(ctx context.Context, href string) (io.ReadCloser, string, error) {
	u, err := url.Parse(href)
	if err != nil || u.User != nil || u.Fragment != "" {
		return nil, "", problem.New(problem.Invalid, err, "send an address without user and fragment")
	}
	if path, ok := x.inside(u); ok {
		in, media, err := x.ask(ctx, path, u.RawQuery)
		if e := problem.Of(err); err != nil &&
			(e.Kind == problem.Invalid || e.Kind == problem.NotFound || e.Kind == problem.Gone ||
				e.Kind == problem.NotAcceptable) {
			return nil, "", problem.New(problem.Invalid, err, "the address is answered with: %s", e.Detail)
		}
		return in, media, err
	}
	if x.s.outgoing.allowed(u) {
		return x.s.outgoing.get(ctx, u)
	}
	return nil, "", problem.New(problem.Invalid, nil,
		"refer to a collection of this service, below %s/collections; other addresses are read only where the "+
			"operator allows them", x.root+x.mount)
}

// inside returns the path of an address below a collection of this service; ok is false for other addresses.
func (x *execution) inside(u *url.URL) (string, bool) {
	address := *u
	address.RawQuery = ""
	rest, ok := strings.CutPrefix(address.String(), x.root)
	if !ok {
		return "", false
	}
	below := rest
	for _, m := range server.Mounts {
		if m != "" {
			below = strings.TrimPrefix(below, m)
		}
	}
	return rest, strings.HasPrefix(below, "/collections/") && !strings.Contains(below, "..")
}

// ask requests a path of this service, without the network. It returns the body and its media type.
func (x *execution) ask(ctx context.Context, path, query string) (io.ReadCloser, string, error) {
	r, err := http.NewRequestWithContext(server.Inside{KeyID: x.keyID, Owner: x.owner}.With(ctx), http.MethodGet,
		x.root+path, nil)
	if err != nil {
		return nil, "", problem.New(problem.Invalid, err, "the address cannot be read")
	}
	r.URL.RawQuery = query
	r.RemoteAddr = "127.0.0.1:0"
	r.Header.Set("Accept", "application/geo+json, application/json;q=0.9, */*;q=0.5")
	r.Header.Set("Accept-Encoding", "identity")
	in, out := io.Pipe()
	w := &pipedAnswer{header: http.Header{}, out: out, begun: make(chan struct{})}
	go func() {
		var failed error = io.EOF
		defer func() {
			if p := recover(); p != nil { // the handler aborted the response
				failed = errors.New("server: an answer to ourselves broke off")
			}
			w.WriteHeader(http.StatusOK)
			if failed == io.EOF {
				failed = nil
			}
			out.CloseWithError(failed)
		}()
		x.s.Handler().ServeHTTP(w, r)
	}()
	<-w.begun
	if w.status != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(in, 64<<10))
		in.Close()
		return nil, "", problems.Read(w.status, text)
	}
	return in, w.header.Get("Content-Type"), nil
}

// pipedAnswer is a ResponseWriter whose body can be read while it is written.
type pipedAnswer struct {
	header http.Header
	out    *io.PipeWriter
	status int
	begun  chan struct{} // closed when status is set
}

var _ http.ResponseWriter = (*pipedAnswer)(nil)

func (p *pipedAnswer) Header() http.Header { return p.header }

func (p *pipedAnswer) WriteHeader(status int) {
	if p.status == 0 {
		p.status = status
		close(p.begun)
	}
}

func (p *pipedAnswer) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	return p.out.Write(b)
}
