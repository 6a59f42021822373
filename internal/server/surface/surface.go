// Package surface joins the kit and all surfaces into the server of Grense.
package surface

import (
	"grense/internal/server"
	"grense/internal/server/compat"
	"grense/internal/server/docs"
	"grense/internal/server/lookup"
	"grense/internal/server/placenames"
	"grense/internal/server/tiles"
)

// Server answers requests. Make one with New. It is safe for concurrent use.
type Server struct {
	*server.Kit
}

// New returns a server that is ready. It panics if Options lack what they must have.
func New(o server.Options) (*Server, error) {
	s := &Server{}
	kit, err := server.New(o, compat.Routes, docs.Routes, lookup.Routes, placenames.Routes, tiles.Routes)
	if err != nil {
		return nil, err
	}
	s.Kit = kit
	return s, nil
}
