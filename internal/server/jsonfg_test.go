package server_test

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"grense/internal/format/formattest"
)

// TestEveryJSONFGFollowsTheOfficialSchemas validates the response of each route in both profiles.
func TestEveryJSONFGFollowsTheOfficialSchemas(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	s := formattest.JSONFG(t)
	for _, path := range []string{"/collections/fylker/items?limit=2", "/collections/fylker/items?skipGeometry=true",
		"/collections/fylker/items/46?f=json", "/collections/fylker/items?bbox=0,0,1,1",
		"/lookup?lon=10.75&lat=59.91", "/collections/fylker/download?f=json&bbox=10,59,11,60"} {
		for _, profile := range []string{"jsonfg", "jsonfg-plus"} {
			for _, crs := range []string{"", "&crs=http://www.opengis.net/def/crs/EPSG/0/25833",
				"&crs=http://www.opengis.net/def/crs/EPSG/0/4258"} {
				res, b := fetchAs(t, a.URL+path+"&profile="+profile+crs, nil)
				doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
				if err == nil && res.StatusCode == 200 {
					err = s.Validate(doc)
				}
				if err != nil || res.StatusCode != 200 {
					t.Errorf("%s, %s%s: %d: %v", path, profile, crs, res.StatusCode, err)
				}
			}
		}
	}
}
