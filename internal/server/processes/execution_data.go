package processes

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"grense/internal/enrich"
	"grense/internal/geo/crs"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/process"
	"grense/internal/server"
	"grense/internal/server/limit"
	"grense/internal/server/media"
)

// call returns an internal request on behalf of the execution, in slots of its owner.
func (x *execution) call(ctx context.Context) *call {
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, x.root+x.mount+"/", nil) // our address is valid
	c := x.s.newCall(x.root, x.mount, x.lang)
	c.Request, c.KeyID, c.Address, c.Right = r, x.keyID, x.owner, x.ticket()
	c.Right.Times = limit.TimesOf(ctx)
	return c
}

// newCall returns a call without a client. Its links begin with root and mount.
func (s *Surface) newCall(root, mount, lang string) *call {
	c := s.NewCall()
	c.Root, c.Mount, c.Lang = root, mount, lang
	return s.call(c)
}

// ticket returns a ticket for the queries of the execution. Queries of a job may take processes.time.
func (x *execution) ticket() *limit.Ticket {
	k := x.s.Turns.NewTicket(x.owner, x.begun)
	if x.begun {
		k.Work.Store(int64(x.s.Config.Processes.Time))
	}
	return k
}

// history returns the history of divisions.
func (x *execution) history(ctx context.Context) (*history.History, error) {
	return x.call(ctx).History()
}

// divisions returns a finder of divisions; see Surface.Divisions.
func (x *execution) divisions(ctx context.Context, collections, datetime string, points crs.ID) (enrich.Finder, error) {
	c := x.call(ctx)
	p := &enrichParams{crs: points, collections: c.Catalog.Areas(), datetime: datetime}
	if collections != "" {
		if err := server.PickDivisions(&p.collections, collections); err != nil {
			return nil, inputError(err)
		}
	}
	d, err := c.newDivider(p)
	if err != nil {
		return nil, inputError(err)
	}
	d.ctx = c.Asking(ctx)
	return d, nil
}

// lookup returns the JSON response of GET /lookup.
func (x *execution) lookup(ctx context.Context, parameters url.Values) (json.RawMessage, error) {
	parameters.Set("f", media.JSON.F)
	in, _, err := x.ask(ctx, x.mount+"/lookup", parameters.Encode())
	if err != nil {
		return nil, inputError(err)
	}
	defer in.Close()
	b, err := io.ReadAll(in)
	return bytes.TrimSpace(b), err
}

// inputError converts faults of query parameters to faults of the inputs with the same names.
func inputError(err error) error {
	e := problem.Of(err)
	if e.Kind != problem.Invalid || len(e.Faults) == 0 {
		return err
	}
	converted := *e
	converted.Faults = nil
	for _, f := range e.Faults {
		f.In, f.Param = "body", "/inputs/"+f.Param
		converted.Faults = append(converted.Faults, f)
	}
	return &converted
}

// neighbours returns the features that share a border with a row; ok is false if the collection is not a coverage.
func (x *execution) neighbours(ctx context.Context, collection, row string) ([]process.Neighbour, bool, error) {
	top, err := x.s.Tiles.Topology(ctx, x.s.Store, collection)
	if err != nil || !top.Coverage {
		return nil, false, err
	}
	found, err := top.Neighbours(row)
	list := make([]process.Neighbour, len(found))
	for i, n := range found {
		list[i] = process.Neighbour(n)
	}
	return list, true, err
}

// Divisions returns a finder of divisions by points and codes. collections is a comma-separated list of ids; "" means
// all collections of areas. datetime selects versions by a date or time; "" means now. points is the CRS of points,
// with x before y. The Finder is for one goroutine, and valid until ctx ends.
func (s *Surface) Divisions(ctx context.Context, collections, datetime string, points crs.ID) (enrich.Finder, error) {
	return (&execution{s: s, root: s.Root, lang: "en", begun: true}).divisions(ctx, collections, datetime, points)
}
