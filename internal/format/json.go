package format

import (
	"context"
	"errors"
	"grense/internal/format/geojson"
	"grense/internal/format/input"
	"grense/internal/format/topojson"
)

// readJSON lists the layers of GeoJSON, and the objects of TopoJSON.
func readJSON(_ context.Context, f *input.File, o input.Options) (layers []input.Layer, err error) {
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	names, topology, err := geojson.Names(in)
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	for _, n := range names {
		if topology {
			layers = append(layers, topojson.Layer(f, n, o))
		} else {
			layers = append(layers, geojson.Layer(f, n, o))
		}
	}
	return layers, nil
}
