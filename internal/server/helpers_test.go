package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"testing"

	"github.com/peterstace/simplefeatures/geom"
)

func escape(id string) string { return url.PathEscape(id) }

func decode(t testing.TB, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%v: %.200s", err, b)
	}
}

// gunzip reads one member and checks its sum and that nothing follows.
func gunzip(t testing.TB, b []byte) []byte {
	t.Helper()
	r := bytes.NewReader(b)
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	out, err := io.ReadAll(z)
	if err != nil || r.Len() != 0 {
		t.Fatalf("%v, %d bytes left over", err, r.Len())
	}
	return out
}

var timeStamp = regexp.MustCompile(`"timeStamp":"[^"]*"`)

// stamped blanks the time of a response.
func stamped(b []byte) string { return string(timeStamp.ReplaceAll(b, nil)) }

// touches reports whether the geometry of a feature, as delivered, touches a box, computed independently of the
// server. Features without geometry are in every box.
func touches(t testing.TB, f featureDoc, box [4]float64) bool {
	t.Helper()
	if f.Geometry == nil {
		return true
	}
	b, err := json.Marshal(map[string]any{"type": f.Geometry.Type, "coordinates": f.Geometry.Coordinates})
	if err != nil {
		t.Fatal(err)
	}
	g, err := geom.UnmarshalGeoJSON(b, geom.NoValidate{})
	if err != nil {
		t.Fatal(err)
	}
	e := geom.NewEnvelope(geom.XY{X: box[0], Y: box[1]}, geom.XY{X: box[2], Y: box[3]})
	return geom.Intersects(e.AsGeometry(), g)
}
