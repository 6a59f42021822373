// Package surface joins the kit and all surfaces into the server of Grense.
package surface

import (
	"context"

	"grense/internal/enrich"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/server/compat"
	"grense/internal/server/docs"
	"grense/internal/server/lineage"
	"grense/internal/server/lookup"
	"grense/internal/server/placenames"
	"grense/internal/server/processes"
	"grense/internal/server/tiles"
)

// Server answers requests. Make one with New. It is safe for concurrent use.
type Server struct {
	*server.Kit
	Processes processes.Surface
	lineage   lineage.Surface
}

// New returns a server that is ready. It panics if Options lack what they must have.
func New(o server.Options) (*Server, error) {
	s := &Server{}
	kit, err := server.New(o, compat.Routes, docs.Routes, lookup.Routes, s.lineage.Routes, placenames.Routes,
		s.Processes.Routes, tiles.Routes)
	if err != nil {
		return nil, err
	}
	s.Kit = kit
	return s, nil
}

// RunJobs works on jobs until ctx ends; then it gives back what it has not finished. It returns at once where no jobs
// are kept.
func (s *Server) RunJobs(ctx context.Context) { s.Processes.RunJobs(ctx) }

// Divisions finds the divisions of points and codes for a table: those of Surface.Divisions in package processes.
func (s *Server) Divisions(ctx context.Context, collections, datetime string, points crs.ID) (enrich.Finder, error) {
	return s.Processes.Divisions(ctx, collections, datetime, points)
}

// RunChanges records changes of the data until ctx ends. It returns at once where none can be stored.
func (s *Server) RunChanges(ctx context.Context) { s.lineage.Run(ctx) }

// RecordChanges records what has changed in the data until now.
func (s *Server) RecordChanges(ctx context.Context) error { return s.lineage.Record(ctx) }
