package format

import (
	"io"

	"grense/internal/feature"
	"grense/internal/store"
)

// jsonFGWriter writes a FeatureCollection of JSON-FG (OGC 21-045r1).
type jsonFGWriter struct {
	geoJSONWriter
	fg *feature.JSONFG
}

func newJSONFG(w io.Writer, o Options) (Writer, error) {
	fg, err := feature.NewJSONFG(o.Collection, feature.Options{CRS: o.CRS, Properties: o.Properties, SkipGeometry: o.SkipGeometry, Precision: o.Precision}, o.Profile == "jsonfg-plus")
	if err != nil {
		return nil, err
	}
	j := &jsonFGWriter{geoJSONWriter: geoJSONWriter{buffered: buffered{w: w}}, fg: fg}
	schema := ""
	if o.Address != "" {
		schema = o.Address + "/schema"
	}
	j.buf = fg.AppendRoot(append(j.buf, `{"type":"FeatureCollection",`...), schema, o.CRS)
	j.buf = append(j.buf, `,"features":[`...)
	return j, nil
}

func (j *jsonFGWriter) Want() store.Want { return j.fg.Want() }

func (j *jsonFGWriter) Write(f *store.Feature) (err error) {
	if j.some {
		j.buf = append(j.buf, ',')
	}
	j.some = true
	if j.buf, err = j.fg.AppendFeature(append(j.buf, '\n'), f); err != nil {
		return err
	}
	return j.flush(flushAt)
}
