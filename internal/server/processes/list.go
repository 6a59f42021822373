package processes

import (
	"slices"

	"grense/api/ogcapi"
	"grense/internal/problem"
	"grense/internal/process"
	"grense/internal/server"
	"grense/internal/server/links"
	"grense/internal/server/page"
)

// Exception types of OGC 18-062r2, which clients compare.
const (
	noSuchJob      = "http://www.opengis.net/def/exceptions/ogcapi-processes-1/1.0/no-such-job"
	resultNotReady = "http://www.opengis.net/def/exceptions/ogcapi-processes-1/1.0/result-not-ready"
	noSuchProcess  = "http://www.opengis.net/def/exceptions/ogcapi-processes-1/1.0/no-such-process"
)

// processes lists the processes (OGC 18-062r2, 7.9).
func (s *Surface) processes(c *call) (*server.Answer, error) {
	all := s.processList.All()
	asked := c.Params.(*processesParams)
	doc := ogcapi.Processes{Processes: []ogcapi.ProcessSummary{},
		Links: append(c.SelfLinks("/processes"), c.ListPages("/processes", asked.offset, asked.limit, len(all))...)}
	for _, p := range all[min(asked.offset, len(all)):min(asked.offset+asked.limit, len(all))] {
		doc.Processes = append(doc.Processes, c.describeProcess(p).ProcessSummary)
	}
	ld := func() any {
		var apps []any
		for _, p := range doc.Processes {
			apps = append(apps, map[string]any{"@type": "WebAPI", "@id": c.Base() + "/processes/" + p.ID,
				"name": p.Title, "description": p.Description})
		}
		m := c.CatalogLD(nil)
		m["@type"] = "ItemList"
		m["@id"], m["url"] = c.Base()+"/processes", c.Base()+"/processes"
		m["itemListElement"] = apps
		return m
	}
	view := processesView{Processes: doc.Processes}
	view.Prev, view.Next = server.PreviousNext(doc.Links)
	return &server.Answer{JSON: doc, LD: ld, Links: doc.Links,
		Page: &page.Page{Name: "processes", Title: c.Text("processes.title"), Data: view},
		// pages with a limit or offset are rarely requested again
		Fleeting: c.Values.Has("limit") || c.Values.Has("offset")}, nil
}

// processesView is the data of the page.
type processesView struct {
	Processes  []ogcapi.ProcessSummary
	Prev, Next string // addresses of the neighbouring pages; "" if there are none
}

// process returns the description of a process (OGC 18-062r2, 7.10).
func (s *Surface) process(c *call) (*server.Answer, error) {
	p, err := c.findProcess()
	if err != nil {
		return nil, err
	}
	d := c.describeProcess(p)
	view := c.processPage(d)
	return &server.Answer{JSON: d, Links: d.Links,
		Page: &page.Page{Name: "process", Title: d.Title, Crumbs: c.Crumbs("processes"), Data: &view}}, nil
}

// findProcess returns the process in the path (OGC 18-062r2, 7.10.3).
func (c *call) findProcess() (process.Process, error) {
	p, ok := c.s.processList.Find(c.PathParam("processId"))
	if !ok {
		e := problem.Of(problem.NotFoundf("there is no process %q; %s/processes lists all",
			problem.Clip(c.PathParam("processId")), c.Base()))
		e.Type, e.Code = noSuchProcess, "NoSuchProcess"
		return nil, e
	}
	return p, nil
}

// describeProcess returns the description of a process with links and the options that the server supports.
func (c *call) describeProcess(p process.Process) ogcapi.Process {
	d := p.Describe(c.Catalog, c.Lang)
	if c.s.jobs.store == nil {
		d.JobControlOptions = slices.DeleteFunc(slices.Clone(d.JobControlOptions),
			func(o string) bool { return o != process.Sync })
	}
	if !slices.Contains(d.JobControlOptions, process.Async) { // outputs by reference belong to a job
		d.OutputTransmission = []string{"value"}
	}
	here := c.Base() + "/processes/" + d.ID
	d.Links = []ogcapi.Link{
		{Rel: "self", Type: "application/json", Title: "Process description as JSON", Href: here + "?f=json",
			Hreflang: links.Hreflang},
		{Rel: "alternate", Type: "text/html", Title: "Process description as HTML", Href: here + "?f=html",
			Hreflang: links.Hreflang},
		{Rel: ogcapi.RelExecute, Type: "application/json", Title: "Execution", Href: here + "/execution?f=json",
			Hreflang: links.Hreflang},
	}
	return d
}

// processValues returns the ids of processes for the API definition.
func (s *Surface) processValues() map[string]func(*server.Call) []string {
	return map[string]func(*server.Call) []string{"processId": func(*server.Call) []string { return s.processIDs() }}
}

const processes1 = "http://www.opengis.net/spec/ogcapi-processes-1/1.0/conf/"
