// Package survey finds the layers of a GeoPackage, reads their rows once, stores the results in a side file or in the
// file itself, and opens the layers. It refuses layers that cannot be served, with reasons.
package survey

import (
	"log/slog"
	"time"

	"grense/internal/store"
)

// Surveyor surveys the layers of a file.
type Surveyor struct {
	Path     string                    // for messages
	DataDir  string                    // directory for side files
	Settings map[string]store.Settings // by layer name, or by the collection id derived from it
	Logger   *slog.Logger
	// called with progress: rows of a layer, or layers if layer is ""; may be nil
	Progress    func(layer string, done, total int)
	Sampling    bool // read samples of layers of SampleFrom rows or more
	SampleFrom  int
	ViewTimeout time.Duration // time limit for reading a view
	ViewRow     int           // largest size, in bytes, of a value or row that a view may compute
	Uncut       bool          // open layers that cross the antimeridian
}

func (s *Surveyor) progress(layer string, done, total int) {
	if s.Progress != nil {
		s.Progress(layer, done, total)
	}
}
