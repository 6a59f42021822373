package format

import "io"

// OpenTopology begins a topology that is settled after so many positions.
func OpenTopology(w io.Writer, o Options, together int) (Writer, error) {
	x, err := newTopoJSON(w, o)
	if err == nil {
		x.(*topoWriter).together = together
	}
	return x, err
}
