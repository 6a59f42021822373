// Package style holds styles of maps as the MapLibre style specification, version 8, describes them: their JSON, the
// checks of a style that somebody else wrote, and the values of their properties for a feature at a zoom.
//
// Divisions makes the style of administrative divisions. Rules evaluates the layers of a style for a renderer: of the
// types background, fill, line, symbol and circle, with the expressions that operators lists. A value that needs
// another expression has its default.
package style

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Style is a style. It is immutable once it is shared.
type Style struct {
	Version  int               `json:"version"` // 8
	Name     string            `json:"name,omitempty"`
	Metadata map[string]any    `json:"metadata,omitempty"`
	Center   *[2]float64       `json:"center,omitempty"` // longitude before latitude, in degrees
	Zoom     *float64          `json:"zoom,omitempty"`
	Bearing  *float64          `json:"bearing,omitempty"`
	Pitch    *float64          `json:"pitch,omitempty"`
	Sources  map[string]Source `json:"sources"`
	Sprite   any               `json:"sprite,omitempty"`
	Glyphs   string            `json:"glyphs,omitempty"`

	Transition json.RawMessage `json:"transition,omitempty"`
	Light      json.RawMessage `json:"light,omitempty"`
	Terrain    json.RawMessage `json:"terrain,omitempty"`
	Sky        json.RawMessage `json:"sky,omitempty"`
	Projection json.RawMessage `json:"projection,omitempty"`

	Layers []Layer `json:"layers"`
}

// Source is where layers take their features from, as it stands in the style.
type Source map[string]any

// VectorSource returns a source of vector tiles. url is that of its TileJSON; promote names the property with the
// feature id by source layer.
func VectorSource(url string, promote map[string]string) Source {
	return Source{"type": "vector", "url": url, "promoteId": promote}
}

// Layer is a layer of a style. The first of a style is drawn first.
type Layer struct {
	ID          string         `json:"id"`
	Type        string         `json:"type"`
	Metadata    map[string]any `json:"metadata,omitempty"`
	Source      string         `json:"source,omitempty"`
	SourceLayer string         `json:"source-layer,omitempty"`
	MinZoom     float64        `json:"minzoom,omitempty"` // the layer is shown from this zoom on
	MaxZoom     float64        `json:"maxzoom,omitempty"` // and below this one; 0: without end
	Filter      any            `json:"filter,omitempty"`
	Layout      Values         `json:"layout,omitempty"`
	Paint       Values         `json:"paint,omitempty"`
}

// Values are properties of a layer by name: numbers, texts, booleans, arrays and expressions, as JSON has them.
type Values map[string]any

// Read reads a style and checks it. All faults are reported together.
func Read(text []byte) (*Style, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	s := &Style{}
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("style: it is not a style of the MapLibre style specification: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("style: something follows the style. Remove it")
	}
	return s, s.Check()
}
