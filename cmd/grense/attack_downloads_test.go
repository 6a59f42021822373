//go:build unix

package main_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// TestAttackWholeDownloads downloads a large register in every format and reports memory above that of the idle server,
// and for two formats that stream the processor time.
func TestAttackWholeDownloads(t *testing.T) {
	attack(t)
	file := largeRegister(t)
	for _, f := range []struct {
		name    string
		streams bool
	}{{"geojsonseq", true}, {"csv", true}, {"json", true}, {"kml", true}, {"gml", true}, {"flatgeobuf", false},
		{"parquet", false}, {"gpkg", false}, {"shapefile", false}, {"topojson", false}, {"xlsx", false}} {
		t.Run(f.name, func(t *testing.T) {
			s := serve(t, []string{tellsMetrics}, file)
			var doc struct{ ItemCount int }
			s.getJSON(t, "/collections/sted", &doc)
			idle, before := s.idle(t), s.cpu(t)
			n := s.discard(t, "/collections/sted/download?f="+f.name)
			used := s.cpu(t) - before
			what := fmt.Sprintf("%s of %d places, %d MB: ", f.name, doc.ItemCount, n>>20)
			if f.streams {
				figure(t, what+"memory above idle", s.peak(t)-idle, 64<<20)
				if f.name == "geojsonseq" || f.name == "csv" {
					figure(t, what+"processor time for 150,000 features",
						used*150000/time.Duration(doc.ItemCount), 2*time.Second)
				}
				return
			}
			figure(t, what+"memory above idle", s.peak(t)-idle, 256<<20)
		})
	}
}

// discard reads an answer as it comes, without a coding, and returns its bytes.
func (s *serving) discard(t *testing.T, path string) int64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", s.key)
	req.Header.Set("Accept-Encoding", "identity")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d after %d bytes, %v", path, res.StatusCode, n, err)
	}
	return n
}
