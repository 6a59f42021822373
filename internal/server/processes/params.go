package processes

import (
	"slices"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/enrich"
	"grense/internal/geo/crs"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/state"
	"grense/internal/store"
)

// processesParams are the parameters of the list of processes.
type processesParams struct{ limit, offset int }

func (s *Surface) newProcessesParams(*server.Call) any {
	return &processesParams{limit: s.Config.Limits.PageDefault}
}

// enrichParams are the parameters of enrichment a table.
type enrichParams struct {
	columns     enrich.Options
	crs         crs.ID // of the points
	collections []*store.Collection
	datetime    string // "": now
}

func newEnrichParams(c *server.Call) any {
	return &enrichParams{crs: crs.CRS84, collections: c.Catalog.Areas()}
}

// jobsParams are the parameters of the list of jobs (OGC 18-062r2, 11.2).
type jobsParams struct {
	limit, offset        int
	process, status      []string
	from, to             *time.Time
	shortest, longest    float64 // seconds
	hasShort, hasLongest bool

	processes []string // ids of all processes
}

func (s *Surface) newJobsParams(*server.Call) any {
	return &jobsParams{limit: s.Config.Limits.PageDefault, processes: s.processIDs()}
}

// processIDs returns the ids of all processes.
func (s *Surface) processIDs() (ids []string) {
	for _, p := range s.processList.All() {
		ids = append(ids, p.ID())
	}
	return ids
}

// jobStates are the values of the parameter status.
var jobStates = []string{state.JobAccepted, state.JobRunning, state.JobSuccessful, state.JobFailed, state.JobDismissed}

var paramProcessLimit = &server.Param{Name: "limit", Shared: "processes-limit",
	Description: "Processes in the list, at most",
	Schema: map[string]any{"type": "integer", "minimum": 1, "maximum": server.MaxLimit,
		"default": server.DefaultLimit},
	Parse: server.Into(func(_ *server.Call, p *processesParams, v []string) (err error) {
		p.limit, err = server.Positive("limit", v[0], 1)
		p.limit = min(p.limit, server.MaxLimit)
		return err
	})}

var paramProcessOffset = &server.Param{Name: "offset", Own: true, Description: "Processes to skip",
	Schema: map[string]any{"type": "integer", "minimum": 0, "default": 0},
	Parse: server.Into(func(_ *server.Call, p *processesParams, v []string) (err error) {
		p.offset, err = server.Positive("offset", v[0], 0)
		return err
	})}

var paramEnrichX = &server.Param{Name: "x", Own: true,
	Description: "Column with the longitude, or the easting; default: lon, lng, longitude, x and the like",
	Schema:      server.SchemaFilled,
	Parse: server.Into(func(_ *server.Call, p *enrichParams,
		v []string) error {
		p.columns.X = v[0]
		return nil
	})}

var paramEnrichY = &server.Param{Name: "y", Own: true,
	Description: "Column with the latitude, or the northing; default: lat, latitude, y and the like",
	Schema:      server.SchemaFilled,
	Parse: server.Into(func(_ *server.Call, p *enrichParams,
		v []string) error {
		p.columns.Y = v[0]
		return nil
	})}

var paramEnrichCode = &server.Param{Name: "code", Own: true,
	Description: "Column with codes of divisions, their ids; goes before columns with points. Default, where there " +
		"are none: code, kode, kommunenummer, id and the like", Schema: server.SchemaFilled,
	Parse: server.Into(func(_ *server.Call, p *enrichParams, v []string) error { p.columns.Code = v[0]; return nil })}

var paramEnrichCRS = &server.Param{Name: "crs", Own: true,
	Description: "CRS of the points, whatever its axis order; default CRS84", Schema: server.SchemaURI,
	Parse: server.Into(func(_ *server.Call, p *enrichParams, v []string) (err error) {
		p.crs, err = server.CrsOfPoints(v[0])
		return err
	})}

var paramEnrichTime = &server.Param{Name: "datetime", Own: true,
	Description: "A day or a moment: of divisions with versions those that were valid then. Default: now",
	Schema:      server.SchemaFilled,
	Parse:       server.Into(func(_ *server.Call, p *enrichParams, v []string) error { p.datetime = v[0]; return nil })}

var paramEnrichCollections = &server.Param{Name: "collections", Own: true,
	Description: "Only divisions of these collections: ids, separated by commas",
	Schema: map[string]any{"type": "array", "minItems": 1,
		"items": map[string]any{"type": "string", "minLength": 1}},
	Parse: server.Into(func(_ *server.Call, p *enrichParams, v []string) error {
		return server.PickDivisions(&p.collections, v[0])
	})}

var paramHarmoniseTo = &server.Param{
	Name: "to", Own: true, Description: "Day whose divisions are wanted, such as 2024-01-01. Required",
	Schema: map[string]any{"type": "string", "format": "date"},
	Parse: server.Into(func(_ *server.Call, p *harmoniseParams, v []string) (err error) {
		if p.options.To, err = history.ParseDate(v[0]); err != nil {
			return problem.Invalidf("to", v[0], "send a day, as 2024-01-31")
		}
		return nil
	}),
}

var paramHarmoniseScheme = &server.Param{
	Name: "scheme", Own: true, Description: "What the codes are of: an id of /codes",
	Schema: map[string]any{"type": "string", "minLength": 1, "default": history.Kommune},
	Parse:  server.Into(func(_ *server.Call, p *harmoniseParams, v []string) error { p.scheme = v[0]; return nil }),
}

var paramHarmoniseCode = &server.Param{
	Name: "code", Own: true, Description: "Column with the codes",
	Schema: map[string]any{"type": "string", "minLength": 1, "default": "code"},
	Parse: server.Into(func(_ *server.Call, p *harmoniseParams,
		v []string) error {
		p.columns.Code = v[0]
		return nil
	}),
}

var paramHarmoniseDate = &server.Param{
	Name: "date", Own: true, Description: "Column with days, as 2019-01-01, or years, months, quarters and " +
		"half-years, which are their first days: 2019, 2019M01, 2019-01, 2019K1, 2019H1",
	Schema: map[string]any{"type": "string", "minLength": 1, "default": "date"},
	Parse: server.Into(func(_ *server.Call, p *harmoniseParams,
		v []string) error {
		p.columns.Date = v[0]
		return nil
	}),
}

var paramHarmoniseValue = &server.Param{
	Name: "value", Own: true, Description: "Column with the values: digits, with a point or a comma before decimals",
	Schema: map[string]any{"type": "string", "minLength": 1, "default": "value"},
	Parse: server.Into(func(_ *server.Call, p *harmoniseParams,
		v []string) error {
		p.columns.Value = v[0]
		return nil
	}),
}

var paramHarmoniseBy = &server.Param{
	Name: "by", Own: true, Description: "Further columns that tell values apart, such as sex and age, separated by " +
		"commas. They are in the answer", Schema: server.SchemaFilled,
	Parse: server.Into(func(_ *server.Call, p *harmoniseParams, v []string) error {
		p.columns.By = strings.Split(v[0], ",")
		for i, name := range p.columns.By {
			if p.columns.By[i] = strings.TrimSpace(name); p.columns.By[i] == "" {
				return problem.Invalidf("by", v[0], "write the names of columns, separated by commas")
			}
		}
		return nil
	}),
}

var paramHarmoniseKind = &server.Param{
	Name: "kind", Own: true, Description: "Whether values are added, or averaged",
	Schema: map[string]any{"type": "string", "enum": []string{"additive", "ratio"}, "default": "additive"},
	Parse: server.Into(func(_ *server.Call, p *harmoniseParams, v []string) error {
		if v[0] != "additive" && v[0] != "ratio" {
			return problem.Invalidf("kind", v[0], "use additive or ratio")
		}
		p.options.Ratio = v[0] == "ratio"
		return nil
	}),
}

var paramHarmoniseWeights = &server.Param{
	Name: "weights", Own: true, Description: "By what a value is shared where a division became several: the " +
		"people or the area that went along, as far as it is known. Your own weights go with the process " +
		"harmonise-series",
	Schema: map[string]any{"type": "string",
		"enum": []string{string(history.RefuseWeights), string(history.PopulationWeights),
			string(history.AreaWeights)}, "default": string(history.RefuseWeights)},
	Parse: server.Into(func(_ *server.Call, p *harmoniseParams, v []string) error {
		switch p.options.Weights = history.Weights(v[0]); p.options.Weights {
		case history.RefuseWeights, history.PopulationWeights, history.AreaWeights:
			return nil
		case history.SuppliedWeights:
			return problem.Invalidf("weights", v[0],
				"use the process harmonise-series, which takes a table of weights, or run grense harmonise")
		}
		return problem.Invalidf("weights", v[0], "use refuse, population or area")
	}),
}

var paramHarmoniseSkip = &server.Param{
	Name: "skip", Own: true, Description: "Pass over rows that cannot be read, and report them",
	Schema: map[string]any{"type": "boolean", "default": false},
	Parse: server.Into(func(_ *server.Call, p *harmoniseParams, v []string) (err error) {
		p.columns.Skip, err = server.Truth("skip", v[0])
		return err
	}),
}

var paramHarmoniseInterval = &server.Param{
	Name: "interval", Own: true, Description: "Add the columns low and high: between which the value is, also " +
		"where it is missing because parts are not known", Schema: map[string]any{"type": "boolean", "default": false},
	Parse: server.Into(func(_ *server.Call, p *harmoniseParams, v []string) (err error) {
		p.options.Interval, err = server.Truth("interval", v[0])
		return err
	}),
}

var paramJobLimit = &server.Param{Name: "limit", Own: true, Description: "Jobs in the list, at most",
	Schema: map[string]any{"type": "integer", "minimum": 1, "maximum": server.MaxLimit, "default": server.DefaultLimit},
	Parse: server.Into(func(_ *server.Call, p *jobsParams, v []string) (err error) {
		p.limit, err = server.Positive("limit", v[0], 1)
		p.limit = min(p.limit, server.MaxLimit)
		return err
	})}

var paramJobOffset = &server.Param{Name: "offset", Own: true, Description: "Jobs to skip",
	Schema: map[string]any{"type": "integer", "minimum": 0, "default": 0},
	Parse: server.Into(func(_ *server.Call, p *jobsParams, v []string) (err error) {
		p.offset, err = server.Positive("offset", v[0], 0)
		return err
	})}

var paramJobType = &server.Param{Name: "type", Own: true,
	Description: "Kinds of jobs: process, the only one there is",
	Schema: map[string]any{"type": "array",
		"items": map[string]any{"type": "string", "enum": []string{"process"}}},
	Parse: server.Into(func(_ *server.Call, _ *jobsParams, v []string) error {
		_, err := oneOf("type", v[0], []string{"process"})
		return err
	})}

var paramJobProcess = &server.Param{Name: "processID", Own: true,
	Description: "Ids of processes, with commas between them",
	Schema:      map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
	Parse: server.Into(func(_ *server.Call, p *jobsParams, v []string) (err error) {
		p.process, err = oneOf("processID", v[0], p.processes)
		return err
	})}

var paramJobStatus = &server.Param{Name: "status", Own: true, Description: "States of jobs, with commas between them",
	Schema: map[string]any{"type": "array", "items": map[string]any{"type": "string", "enum": jobStates}},
	Parse: server.Into(func(_ *server.Call, p *jobsParams, v []string) (err error) {
		p.status, err = oneOf("status", v[0], jobStates)
		return err
	})}

var paramJobTime = &server.Param{Name: "datetime", Own: true,
	Description: "Only jobs that were made at this time: a moment, or an interval with / between its ends and .. " +
		"for an open one", Schema: server.SchemaFilled,
	Parse: server.Into(func(c *server.Call, p *jobsParams, v []string) (err error) {
		p.from, p.to, err = cql2.ParseInterval(v[0], c.Zone())
		return err
	})}

var paramJobShortest = &server.Param{Name: "minDuration", Own: true,
	Description: "Only jobs that have run for at least so many seconds",
	Schema:      map[string]any{"type": "integer", "minimum": 0},
	Parse: server.Into(func(_ *server.Call, p *jobsParams, v []string) error {
		n, err := server.Positive("minDuration", v[0], 0)
		p.shortest, p.hasShort = float64(n), true
		return err
	})}

var paramJobLongest = &server.Param{Name: "maxDuration", Own: true,
	Description: "Only jobs that have run for at most so many seconds",
	Schema:      map[string]any{"type": "integer", "minimum": 0},
	Parse: server.Into(func(_ *server.Call, p *jobsParams, v []string) error {
		n, err := server.Positive("maxDuration", v[0], 0)
		p.longest, p.hasLongest = float64(n), true
		return err
	})}

// oneOf parses a list of values, each of which must be allowed.
func oneOf(name, v string, allowed []string) ([]string, error) {
	list := strings.Split(v, ",")
	for _, x := range list {
		if !slices.Contains(allowed, x) {
			return nil, problem.Invalidf(name, v, "use one or more of %s", strings.Join(allowed, ", "))
		}
	}
	return list, nil
}
