package geojson

import (
	"io"

	"grense/internal/feature"
	"grense/internal/format/output"
	"grense/internal/store"
)

// jsonFGWriter writes a FeatureCollection of JSON-FG (OGC 21-045r1).
type jsonFGWriter struct {
	writer
	fg *feature.JSONFG
}

func newJSONFG(w io.Writer, o output.Options) (output.Writer, error) {
	fg, err := feature.NewJSONFG(o.Collection, feature.Options{CRS: o.CRS, Properties: o.Properties,
		SkipGeometry: o.SkipGeometry, Precision: o.Precision}, o.Profile == "jsonfg-plus")
	if err != nil {
		return nil, err
	}
	j := &jsonFGWriter{writer: writer{Buffered: output.Buffered{W: w}}, fg: fg}
	schema := ""
	if o.Address != "" {
		schema = o.Address + "/schema"
	}
	j.Buf = fg.AppendRoot(append(j.Buf, `{"type":"FeatureCollection",`...), schema, o.CRS)
	j.Buf = append(j.Buf, `,"features":[`...)
	return j, nil
}

func (j *jsonFGWriter) Want() store.Want { return j.fg.Want() }

func (j *jsonFGWriter) Write(f *store.Feature) (err error) {
	if j.some {
		j.Buf = append(j.Buf, ',')
	}
	j.some = true
	if j.Buf, err = j.fg.AppendFeature(append(j.Buf, '\n'), f); err != nil {
		return err
	}
	return j.Flush(output.FlushAt)
}
