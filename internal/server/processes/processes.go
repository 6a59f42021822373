// Package processes runs processes (OGC 18-062r2) for waiting clients and as jobs, and enriches and harmonises tables.
package processes

import (
	"net/http"
	"net/netip"

	"grense/internal/process"
	"grense/internal/server"
	"grense/internal/server/codes"
	"grense/internal/server/media"
	"grense/internal/server/names"
	"grense/internal/server/page"
	"grense/internal/server/points"
)

// Surface serves the routes and runs jobs. Pass its method Routes to server.New.
type Surface struct {
	// Public reports whether the server may connect to an address. Nil: only to addresses of the public internet.
	Public func(netip.Addr) bool

	*server.Kit
	codes       *codes.Codes
	names       *names.Names
	points      *points.Indexes
	processList *process.Registry
	outgoing    *outgoing
	jobs        *jobs
	routes      []server.Route
}

// call is a request to a route of the surface.
type call struct {
	*server.Call
	codes.Reader
	names.Namer
	points.Finder
	s *Surface
}

func (s *Surface) call(c *server.Call) *call {
	return &call{c, s.codes.Reader(c), s.names.Namer(c), s.points.Finder(c), s}
}

func (s *Surface) get(h func(*call) (*server.Answer, error)) func(*server.Call) (*server.Answer, error) {
	return func(c *server.Call) (*server.Answer, error) { return h(s.call(c)) }
}

func (s *Surface) stream(h func(*call, http.ResponseWriter) error) func(*server.Call, http.ResponseWriter) error {
	return func(c *server.Call, w http.ResponseWriter) error { return h(s.call(c), w) }
}

func (s *Surface) form(h func(*call, page.Faulty) (*page.Page, error)) func(*server.Call, page.Faulty) (*page.Page,
	error) {
	return func(c *server.Call, f page.Faulty) (*page.Page, error) { return h(s.call(c), f) }
}

// Routes returns the routes of processes, jobs and tables.
func (s *Surface) Routes(k *server.Kit, h *codes.Codes, n *names.Names, p *points.Indexes) []server.Route {
	s.Kit, s.codes, s.names, s.points = k, h, n, p
	s.processList, s.jobs = process.NewRegistry(process.Standard()...), newJobs(k.Jobs)
	s.outgoing = newOutgoing(k.Config.Processes.Allow, func(a netip.Addr) bool { return s.Public(a) })
	if s.Public == nil {
		s.Public = isPublic
	}
	s.routes = []server.Route{
		{Path: "/enrich", Op: "enrich", After: "getLatestChanges", Tag: "Data", Summary: "Add divisions to a table",
			Description: "Reads a table of points or codes, as CSV with a header or with one JSON object per line, " +
				"and returns the same rows in the same order as they arrive. Each row gets the id and title of the " +
				"division of each collection; if several divisions cover a point, it gets the first by id. " +
				"enrich_error says why a row could not be read. The trailer Enrich-Report counts rows as JSON, and " +
				"codes that matched without their leading zeros.",
			Data: true, Scope: server.ScopeProcesses,
			Params: []*server.Param{paramEnrichX, paramEnrichY, paramEnrichCode, paramEnrichCRS, paramEnrichTime,
				paramEnrichCollections},
			New: newEnrichParams, Formats: []media.Format{media.CSV, media.Lines}, NoAccept: true,
			Form: s.form(s.tableForm), Post: s.stream(s.enrich)},
		{Path: "/harmonise", Op: "harmonise", After: "enrich", Tag: "History", Summary: "Harmonise a series",
			Description: "Converts a table of codes, days and values, as CSV with a header or with one JSON object " +
				"per line, to the divisions of one day: code, name, date, value, mark (exact, estimated or missing) " +
				"and the reason. It does not guess values. The response begins after the table has ended. The " +
				"trailer Harmonise-Report counts rows and cells as JSON, with the totals and the first rows that " +
				"were skipped.",
			Data: true, Scope: server.ScopeProcesses, Lineage: true, New: newHarmoniseParams,
			Formats: []media.Format{media.CSV, media.Lines}, NoAccept: true,
			Form: s.form(s.tableForm), Post: s.stream(s.harmonise),
			Params: []*server.Param{paramHarmoniseTo, paramHarmoniseScheme, paramHarmoniseCode, paramHarmoniseDate,
				paramHarmoniseValue, paramHarmoniseBy, paramHarmoniseKind, paramHarmoniseWeights, paramHarmoniseSkip,
				paramHarmoniseInterval}},
		{Path: "/processes", Op: "getProcesses", After: "harmonise", Tag: "Processes", Summary: "All processes",
			Description: "The processes that the service offers.",
			Params:      []*server.Param{paramProcessLimit, paramProcessOffset}, New: s.newProcessesParams,
			Formats: []media.Format{media.JSON, media.JSONLD, media.HTML},
			Schema:  server.SchemaNamed("processes"), Get: s.get(s.processes),
			Classes: []string{processes1 + "core", processes1 + "json", processes1 + "html", processes1 + "oas30"}},
		{Path: "/processes/{processId}", Op: "getProcessDescription", After: "getProcesses", Values: s.processValues(),
			Tag: "Processes", Summary: "One process",
			Description: "Inputs and outputs of a process (OGC 18-062r2).",
			Formats:     []media.Format{media.JSON, media.HTML},
			Schema:      server.SchemaNamed("process"), Get: s.get(s.process),
			Classes: []string{processes1 + "ogc-process-description"}},
		{Path: "/processes/{processId}/execution", Op: "execute", After: "getProcessDescription",
			Values: s.processValues(), Tag: "Processes", Summary: "Execute a process",
			Description: "Runs a process on the inputs in the body and answers with its outputs (OGC 18-062r2, 7.11).",
			Data:        true, Scope: server.ScopeProcesses, Formats: []media.Format{media.JSON},
			Schema: server.SchemaNamed("results"), NoAccept: true, Body: "execution", Post: s.stream(s.execute),
			Form: s.form(s.processForm)},
		{Path: "/jobs", Op: "getJobs", After: "execute", Tag: "Processes", Summary: "Your jobs",
			Description: "The jobs that were created with the same key, the newest first; all jobs if the service " +
				"needs no key (OGC 18-062r2, 11).",
			Data: true, Scope: server.ScopeProcesses,
			Params: []*server.Param{paramJobLimit, paramJobOffset, paramJobType, paramJobProcess, paramJobStatus,
				paramJobTime, paramJobShortest, paramJobLongest},
			New: s.newJobsParams, Formats: []media.Format{media.JSON, media.HTML},
			Schema: server.SchemaNamed("jobList"), Stream: s.stream(s.jobList),
			Classes: []string{processes1 + "job-list"}},
		{Path: "/jobs/{jobId}", Op: "getStatus", After: "getJobs", Tag: "Processes", Summary: "One job",
			Description: "The state and progress of a job. DELETE cancels it, or deletes it if it has finished (OGC " +
				"18-062r2, 7.12 and 12).",
			Data: true, Scope: server.ScopeProcesses, Formats: []media.Format{media.JSON, media.HTML},
			Schema: server.SchemaNamed("statusInfo"), Stream: s.stream(s.job), Post: s.stream(s.jobForm),
			Delete: s.stream(s.dismiss), Classes: s.dismissClasses()},
		{Path: "/jobs/{jobId}/results", Op: "getResult", After: "getStatus", Tag: "Processes",
			Summary: "The outputs of a job",
			Description: "The outputs of a job in the form that its execution requested; the problem of a job that " +
				"failed (OGC 18-062r2, 7.13).",
			Data: true, Scope: server.ScopeProcesses, Formats: []media.Format{media.JSON}, NoAccept: true,
			Schema: server.SchemaNamed("results"), Stream: s.stream(s.results)},
		{Path: "/jobs/{jobId}/results/{outputId}", Op: "getOutput", After: "getResult", Tag: "Processes",
			Summary:     "One output of a job",
			Description: "One output of a job. The header Range requests parts of it.",
			Data:        true, Scope: server.ScopeProcesses, Formats: []media.Format{media.JSON}, NoAccept: true,
			Schema: server.SchemaNamed("results"), Stream: s.stream(s.output)},
	}
	return s.routes
}
