package server_test

import (
	"strings"
	"testing"
)

// TestRangesAreReadAsTheStandardSays: RFC 9110, 14.1 and 14.2.
func TestRangesAreReadAsTheStandardSays(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	address := a.get("/collections/fylker/download?f=gpkg").wants(200).Header.Get("Content-Location")
	whole := string(a.get(address).wants(200).Body)
	huge := "1" + strings.Repeat("0", 30)
	for value, want := range map[string]struct {
		status int
		body   string
	}{
		"bytes=0-9":                        {206, whole[:10]},
		"Bytes=0-9":                        {206, whole[:10]},
		"BYTES=-10":                        {206, whole[len(whole)-10:]},
		"bytes=0-" + huge:                  {206, whole},
		"bytes=10-" + huge:                 {206, whole[10:]},
		"bytes=-" + huge:                   {206, whole},
		"bytes= 0-9":                       {206, whole[:10]},
		"bytes=0000000000000000000000005-": {206, whole[5:]},
		"bytes=0-9,-0":                     {206, whole[:10]},
		"bytes=0-9," + huge + "-":          {206, whole[:10]},
		"items=0-9":                        {200, whole},
		"seconds=1.5":                      {200, whole},
		"bytes":                            {200, whole},
		"bytes=-0":                         {416, ""},
		"bytes=" + huge + "-":              {416, ""},
		"bytes=" + huge + "-" + huge:       {416, ""},
		"bytes=9-0":                        {416, ""},
		"bytes=x-1":                        {416, ""},
		"bytes=-":                          {416, ""},
	} {
		r := a.get(address, "Range", value, "Accept-Encoding", "identity")
		if r.StatusCode != want.status || want.status != 416 && string(r.Body) != want.body {
			t.Errorf("%s: %d, %d bytes, want %d, %d bytes", value, r.StatusCode, len(r.Body), want.status,
				len(want.body))
		}
		if r.StatusCode == 416 {
			if doc := r.json(); r.Header.Get("Content-Type") != "application/problem+json" || doc["status"] != 416.0 ||
				doc["code"] != "RangeNotSatisfiable" || r.Header.Get("Content-Disposition") != "" {
				t.Errorf("%s: %s, %v", value, r.Header, doc)
			}
		}
	}
	if r := a.get(address, "Range", "bytes=-0", "If-Range", `"other"`); r.StatusCode != 200 {
		t.Errorf("a part of another version: %d", r.StatusCode)
	}
}
