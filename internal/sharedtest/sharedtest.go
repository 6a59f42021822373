// Package sharedtest reads the shared test data, which lie beside the project and are no part of it. It is for tests.
package sharedtest

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paulmach/orb"
)

// Find returns the path of a file or folder of the shared data, which need not exist: below GRENSE_SHARED,
// by default the folder shared beside the project's root, from which a relative GRENSE_SHARED counts.
func Find(elem ...string) string {
	dir := os.Getenv("GRENSE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "shared")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root(), dir)
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

// root is the folder at or above the working one that holds go.mod; "." where there is none.
func root() string {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return "."
}

// Path is Find of what has to be there: without it the test is skipped, and says so.
func Path(tb testing.TB, elem ...string) string {
	tb.Helper()
	path := Find(elem...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("SKIPPED: no shared test data: %v; set GRENSE_SHARED", err)
	}
	return path
}

// Open reads a file, unpacked where its name ends in .gz, until the test ends; without the file the test is skipped.
func Open(tb testing.TB, elem ...string) io.Reader {
	tb.Helper()
	path := Path(tb, elem...)
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { f.Close() })
	if !strings.HasSuffix(path, ".gz") {
		return f
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	return z
}

// A Feature is one of GeoJSON whose geometry is an area.
type Feature struct {
	Properties map[string]any
	Area       orb.MultiPolygon // longitude and latitude; empty without geometry
}

// Features returns those of a GeoJSON document, or of one with a feature a line, in the order of the file.
func Features(tb testing.TB, elem ...string) []Feature {
	tb.Helper()
	type feature struct {
		Properties map[string]any
		Geometry   *shape
	}
	var out []Feature
	for d := json.NewDecoder(Open(tb, elem...)); d.More(); {
		var c struct {
			Type string
			feature
			Features []feature
		}
		if err := d.Decode(&c); err != nil {
			tb.Fatal(err)
		}
		if c.Type == "Feature" {
			c.Features = append(c.Features, c.feature)
		}
		for _, x := range c.Features {
			m, err := x.Geometry.areas()
			if err != nil {
				tb.Fatal(err)
			}
			out = append(out, Feature{x.Properties, m})
		}
	}
	return out
}

type shape struct {
	Type        string
	Coordinates json.RawMessage
}

func (s *shape) areas() (m orb.MultiPolygon, err error) {
	switch {
	case s == nil:
	case s.Type == "Polygon":
		m = make(orb.MultiPolygon, 1)
		err = json.Unmarshal(s.Coordinates, &m[0])
	default:
		err = json.Unmarshal(s.Coordinates, &m)
	}
	return m, err
}
