package ingest_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"grense/internal/ingest"
)

// BenchmarkJSON reads GeoJSON of 200 polygons with 500 corners each with our scanner and with the tokens of jsontext,
// including the line of each number.
func BenchmarkJSON(b *testing.B) {
	text := polygons(200, 500)
	want, line, err := ingest.ScanJSON(bytes.NewReader(text))
	if err != nil {
		b.Fatal(err)
	}
	for name, scan := range map[string]func(io.Reader) (float64, int, error){"scanner": ingest.ScanJSON,
		"jsontext": scanTokens} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if sum, at, err := scan(bytes.NewReader(text)); err != nil || sum != want || at != line {
					b.Fatal(sum, at, err)
				}
			}
		})
	}
}

func polygons(n, corners int) []byte {
	r := rand.New(rand.NewPCG(1, 1))
	b := []byte(`{"type":"FeatureCollection","features":[`)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "\n{\"type\":\"Feature\",\"properties\":{\"nr\":%d,\"navn\":\"Sted "+
			"%d\"},\"geometry\":{\"type\":\"Polygon\",\"coordinates\":[[", i, i)
		for k := range corners {
			if k > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, "[%.6f,%.6f]", 4+28*r.Float64(), 57+14*r.Float64())
		}
		b = append(b, "]]}}"...)
	}
	return append(b, "\n]}\n"...)
}

// scanTokens is ingest.ScanJSON by the other library.
func scanTokens(in io.Reader) (sum float64, line int, err error) {
	lines := &lineReader{in: in}
	d := jsontext.NewDecoder(lines)
	for {
		t, err := d.ReadToken()
		if err == io.EOF {
			return sum, line, nil
		}
		if err != nil {
			return 0, 0, err
		}
		if t.Kind() == '0' {
			sum += t.Float()
			line = lines.line(d.InputOffset())
		}
	}
}

// lineReader knows where lines end in what has been read.
type lineReader struct {
	in   io.Reader
	read int64
	ends []int64
	at   int // of ends, where the last question was answered
}

func (l *lineReader) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	for rest := p[:n]; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		l.ends = append(l.ends, l.read+int64(n-len(rest)+i))
		rest = rest[i+1:]
	}
	l.read += int64(n)
	return n, err
}

func (l *lineReader) line(offset int64) int {
	for l.at < len(l.ends) && l.ends[l.at] < offset {
		l.at++
	}
	return l.at + 1
}
