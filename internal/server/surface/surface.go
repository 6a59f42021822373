// Package surface builds the server of Grense from all surfaces.
package surface

import (
	"context"

	"grense/internal/enrich"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/server/compat"
	"grense/internal/server/docs"
	"grense/internal/server/features"
	"grense/internal/server/lineage"
	"grense/internal/server/lookup"
	"grense/internal/server/maps"
	"grense/internal/server/placenames"
	"grense/internal/server/processes"
	"grense/internal/server/tiles"
)

// Server answers requests. New makes one. It is safe for concurrent use.
type Server struct {
	*server.Kit
	Processes processes.Surface
	lineage   lineage.Surface
}

// New returns a server that is ready to answer. It panics if a required option is missing.
func New(o server.Options) (*Server, error) {
	s := &Server{}
	kit, err := server.New(o, compat.Routes, docs.Routes, features.Routes, lookup.Routes, s.lineage.Routes,
		maps.Routes, placenames.Routes, s.Processes.Routes, tiles.Routes)
	if err != nil {
		return nil, err
	}
	s.Kit = kit
	return s, nil
}

// RunJobs runs jobs until ctx ends, and then returns unfinished ones to the queue. It returns at once if the server has
// no jobs.
func (s *Server) RunJobs(ctx context.Context) { s.Processes.RunJobs(ctx) }

// Divisions returns a finder of divisions by points or codes; see processes.Surface.Divisions.
func (s *Server) Divisions(ctx context.Context, collections, datetime string, points crs.ID) (enrich.Finder, error) {
	return s.Processes.Divisions(ctx, collections, datetime, points)
}

// RunChanges records changes of the data until ctx ends. It returns at once if changes cannot be stored.
func (s *Server) RunChanges(ctx context.Context) { s.lineage.Run(ctx) }

// RecordChanges records the changes since the last record. It fails if changes cannot be stored.
func (s *Server) RecordChanges(ctx context.Context) error { return s.lineage.Record(ctx) }
