package ingest_test

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
)

// read gathers what Features gives: ids by a property, and faults.
func read(t *testing.T, text string, id crs.ID) (found []string, faults []ingest.Fault, err error) {
	t.Helper()
	l := ingesttest.Open(t, ingesttest.WriteFile(t, "a.geojson", text), id).Layers[0]
	err = l.Features(t.Context(), func(f *ingest.Feature) error {
		row := f.CRS.String()
		for _, p := range f.Properties {
			row += " " + p.Name + "=" + p.Text
		}
		if f.Geometry.IsNull() || len(f.Geometry.WKB) == 0 {
			row += " null"
		}
		found = append(found, row)
		return nil
	}, func(f ingest.Fault) error {
		faults = append(faults, f)
		return nil
	})
	if done, total := l.Progress(); err == nil && (done != total || total != int64(len(text))) {
		t.Errorf("%d of %d bytes were read", done, total)
	}
	return found, faults, err
}

func TestFeaturesAreReadWithTheirReferenceSystem(t *testing.T) {
	t.Parallel()
	collection := func(crs, features string) string {
		return `{"type":"FeatureCollection","features":[` + features + `]` + crs + `}`
	}
	const legacy = `,"crs":{"type":"name","properties":{"name":"EPSG:25833"}}`
	point := `{"type":"Feature","properties":{"a":1,"b":{"c":2}},"geometry":{"type":"Point","coordinates":[10,60,5]}}`
	found, faults, err := read(t,
		collection("", point+`,{"type":"Feature","properties":{"a":null},"geometry":null},{"type":"Feature",`+
			`"properties":{},"geometry":{"type":"Point","coordinates":[1]}}`), 0)
	if err != nil || strings.Join(found, ";") != `OGC:CRS84 a=1 b={"c":2};OGC:CRS84 a= null` {
		t.Errorf("%v %q", err, found)
	}
	if len(faults) != 1 || faults[0].Feature != 3 || faults[0].Line != 1 || faults[0].Action != input.Refused {
		t.Errorf("%+v", faults)
	}
	if found, _, err := read(t, collection(legacy, point), 0); err != nil ||
		!strings.HasPrefix(found[0], "EPSG:25833 ") {
		// stated after the features
		t.Errorf("%v %q", err, found)
	}
	if found, _, err := read(t, collection(legacy, point), crs.UTM32); err != nil ||
		!strings.HasPrefix(found[0], "EPSG:25832 ") {
		t.Errorf("%v %q", err, found)
	}
	two := strings.Replace(point, `{"type":"Feature"`,
		`{"type":"Feature","crs":{"type":"name","properties":{"name":"EPSG:25832"}}`, 1)
	if _, _, err := read(t, collection(legacy, two), 0); !errors.Is(err, input.ErrRefused) ||
		!strings.Contains(err.Error(), "mixes reference systems: EPSG:25832 and EPSG:25833") {
		t.Errorf("%v", err)
	}
	if _, _, err := read(t, collection(strings.Replace(legacy, "25833", "27700", 1), point), 0); !errors.Is(err,
		input.ErrRefused) || !strings.Contains(err.Error(), "EPSG:27700 is not served") {
		t.Errorf("%v", err)
	}
}

func TestFeaturesEndWithTheErrorOfTheirReader(t *testing.T) {
	t.Parallel()
	stop := errors.New("enough")
	text := `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{},"geometry":{"type":"Point",` +
		`"coordinates":[1]}},{"type":"Feature","properties":{},"geometry":null}]}`
	l := ingesttest.Open(t, ingesttest.WriteFile(t, "a.geojson", text), 0).Layers[0]
	if err := l.Features(t.Context(), func(*ingest.Feature) error {
		return stop
	}, func(ingest.Fault) error { return nil }); !errors.Is(err, stop) {
		t.Errorf("found: %v", err)
	}
	n := 0
	if err := l.Features(t.Context(), func(*ingest.Feature) error {
		n++
		return nil
	}, func(ingest.Fault) error { return stop }); !errors.Is(err, stop) || n > 0 {
		t.Errorf("fault: %v after %d features", err, n)
	}
	flat := ingesttest.Open(t, ingesttest.WriteFile(t, "a.csv", "id,x,y\n1,10,60\n"), 0).Layers[0]
	err := flat.Features(t.Context(), func(*ingest.Feature) error {
		return nil
	}, func(ingest.Fault) error { return nil })
	if !errors.Is(err, input.ErrRefused) || !strings.Contains(err.Error(), "state it with --crs EPSG:n") {
		t.Errorf("no reference system: %v", err)
	}
}

func TestTextsAreFoundInFilesAndArchives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive := filepath.Join(dir, "a.zip")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range []string{"one.gml", "readme.txt", "in/TWO.GML"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	loose := ingesttest.WriteFile(t, "three.gml", "three")
	for name, want := range map[string]string{archive: "one.gml in/TWO.GML", loose: "three",
		ingesttest.WriteFile(t, "x.txt", "x"): ""} {
		list, closer, err := input.Documents(name, []string{".gml"}, input.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range list {
			in, err := x.Open()
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(in)
			if done, total := x.Progress(); err != nil || done != total {
				t.Errorf("%s: %d of %d, %v", x.Path, done, total, err)
			}
			got = append(got, string(b))
			in.Close()
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", name, got)
		}
		if err := closer(); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{dir: "is a folder; name the files in it",
		filepath.Join(dir, "none.gml"):                 "there is no file",
		ingesttest.WriteFile(t, "b.zip", "no archive"): "is not a zip archive"} {
		list, closer, err := input.Documents(name, []string{".gml"}, input.Limits{})
		if !errors.Is(err, input.ErrRefused) || !strings.Contains(err.Error(), want) || len(list) > 0 ||
			closer() != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, closer, err := input.Documents(archive, []string{".gml"}, input.Limits{Entries: 2}); !errors.Is(err,
		input.ErrRefused) || closer() != nil {
		t.Errorf("too many entries: %v", err)
	}
}
