package server

import (
	"grense/api/ogcapi"
	"grense/internal/problem"
	"grense/internal/process"
)

// processes lists the processes (OGC 18-062r2, 7.9).
func (s *Server) processes(c *call) (*answer, error) {
	all := process.All()
	doc := ogcapi.Processes{Processes: []ogcapi.ProcessSummary{}, Links: c.selfLinks("/processes")}
	for _, p := range all[:min(len(all), c.params.(*processesParams).limit)] {
		d := p.Describe(c.lang)
		d.Links = c.processLinks(d.ID)
		doc.Processes = append(doc.Processes, d.ProcessSummary)
	}
	ld := func() any {
		var apps []any
		for _, p := range doc.Processes {
			apps = append(apps, map[string]any{"@type": "WebAPI", "@id": c.base() + "/processes/" + p.ID, "name": p.Title, "description": p.Description})
		}
		m := c.catalogLD(nil)
		m["@type"] = "ItemList"
		m["@id"], m["url"] = c.base()+"/processes", c.base()+"/processes"
		m["itemListElement"] = apps
		return m
	}
	return &answer{JSON: doc, LD: ld, Links: doc.Links, Page: &page{Name: "processes", Title: c.text("processes.title"), Data: doc},
		Fleeting: c.values.Has("limit")}, nil // there is a document for each number, and nobody asks for it again
}

// process describes one process (OGC 18-062r2, 7.10).
func (s *Server) process(c *call) (*answer, error) {
	p, ok := process.Find(c.pathParam("processId"))
	if !ok {
		return nil, problem.NotFoundf("there is no process %q; %s/processes lists all", clip(c.pathParam("processId")), c.base())
	}
	d := p.Describe(c.lang)
	d.Links = c.processLinks(d.ID)
	return &answer{JSON: d, Links: d.Links, Page: &page{Name: "process", Title: d.Title, Crumbs: c.crumbs("processes"), Data: d}}, nil
}

func (c *call) processLinks(id string) []ogcapi.Link {
	here := c.base() + "/processes/" + id
	return []ogcapi.Link{
		{Rel: "self", Type: "application/json", Title: "Process description as JSON", Href: here + "?f=json", Hreflang: hreflang},
		{Rel: "alternate", Type: "text/html", Title: "Process description as HTML", Href: here + "?f=html", Hreflang: hreflang},
	}
}
