// Package surface builds the server of Grense from all surfaces.
package surface

import (
	"context"
	"slices"

	"grense/internal/enrich"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/server/codes"
	"grense/internal/server/compat"
	"grense/internal/server/docs"
	"grense/internal/server/drawing"
	"grense/internal/server/features"
	"grense/internal/server/lineage"
	"grense/internal/server/lookup"
	"grense/internal/server/maps"
	"grense/internal/server/names"
	"grense/internal/server/placenames"
	"grense/internal/server/points"
	"grense/internal/server/processes"
	"grense/internal/server/tiles"
)

// Server answers requests. New makes one. It is safe for concurrent use.
type Server struct {
	*server.Kit
	Processes processes.Surface
	lineage   lineage.Surface
	points    *points.Indexes
	ahead     *features.Ahead
}

// New returns a server that is ready to answer. It panics if a required option is missing.
func New(o server.Options) (*Server, error) {
	s := &Server{}
	kit, err := server.New(o, s.routes)
	if err != nil {
		return nil, err
	}
	s.Kit = kit
	return s, nil
}

// routes returns the routes of all surfaces.
func (s *Server) routes(k *server.Kit) []server.Route {
	h, n, m := codes.New(k), names.New(k), drawing.New(k)
	s.points, s.ahead = points.New(k), features.NewAhead(k)
	return slices.Concat(compat.Routes(k, h, n, s.points), docs.Routes(k, n, m), features.Routes(k, h, n, m, s.ahead),
		lookup.Routes(k, h, n, m, s.points), s.lineage.Routes(k, h), maps.Routes(k, m, s.points),
		placenames.Routes(k, n), s.Processes.Routes(k, h, n, s.points), tiles.Routes(k, m))
}

// Close stops the background work of the server and waits for it. It does not wait for requests in flight.
func (s *Server) Close() { s.points.Close() }

// RunFragments encodes features ahead of requests until ctx ends.
func (s *Server) RunFragments(ctx context.Context) { s.ahead.Run(ctx) }

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
