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
)

// call is a request that an execution makes of the server's own parts. Its turns are those of the execution.
func (x *execution) call(ctx context.Context) *call {
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, x.root+x.mount+"/", nil) // our own address
	c := x.s.newCall(x.root, x.mount, x.lang)
	c.Request, c.KeyID, c.Address, c.Right = r, x.keyID, x.owner, x.ticket()
	return c
}

// newCall returns a call without a client, whose links begin with root and mount.
func (s *Surface) newCall(root, mount, lang string) *call {
	c := s.NewCall()
	c.Root, c.Mount, c.Lang = root, mount, lang
	return &call{c, s}
}

// ticket is the right to ask the store; a job may ask for as long as it may take.
func (x *execution) ticket() *limit.Ticket {
	k := x.s.Turns.NewTicket(x.owner, x.begun)
	if x.begun {
		k.Work.Store(int64(x.s.Config.Processes.Time))
	}
	return k
}

// history is what is known of divisions through time.
func (x *execution) history(ctx context.Context) (*history.History, error) {
	return x.call(ctx).History()
}

// divisions finds divisions for tables.
func (x *execution) divisions(ctx context.Context, collections, datetime string, points crs.ID) (enrich.Finder, error) {
	c := x.call(ctx)
	p := &enrichParams{crs: points, collections: c.Divisions(), datetime: datetime}
	if collections != "" {
		if err := server.PickDivisions(&p.collections, collections); err != nil {
			return nil, ofInputs(err)
		}
	}
	d, err := c.newDivider(p)
	if err != nil {
		return nil, ofInputs(err)
	}
	d.ctx = c.Asking(ctx)
	return d, nil
}

// lookup is the answer to GET /lookup.
func (x *execution) lookup(ctx context.Context, parameters url.Values) (json.RawMessage, error) {
	parameters.Set("f", server.AsJSON.F)
	in, _, err := x.ask(ctx, x.mount+"/lookup", parameters.Encode())
	if err != nil {
		return nil, ofInputs(err)
	}
	defer in.Close()
	b, err := io.ReadAll(in)
	return bytes.TrimSpace(b), err
}

// ofInputs tells faults of query parameters as those of inputs with their names.
func ofInputs(err error) error {
	e := problem.Of(err)
	if e.Kind != problem.Invalid || len(e.Faults) == 0 {
		return err
	}
	told := *e
	told.Faults = nil
	for _, f := range e.Faults {
		f.In, f.Param = "body", "/inputs/"+f.Param
		told.Faults = append(told.Faults, f)
	}
	return &told
}

// neighbours are the features beside one, where a collection is a coverage.
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

// Divisions finds the divisions of points and codes for a table, of the collections that a list with commas names
// ("": all of areas), of those with versions the ones that were valid on a day or at a moment ("": now). Points are
// in a CRS, x before y. The Finder is for one goroutine, and good until ctx ends.
func (s *Surface) Divisions(ctx context.Context, collections, datetime string, points crs.ID) (enrich.Finder, error) {
	return (&execution{s: s, root: s.Root, lang: "en", begun: true}).divisions(ctx, collections, datetime, points)
}
