package format_test

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"grense/internal/format"
	"grense/internal/format/formattest"
)

// TestJSONFGFollowsTheOfficialSchemas validates files of both profiles, of all kinds of values and geometries, in all
// systems.
func TestJSONFGFollowsTheOfficialSchemas(t *testing.T) {
	t.Parallel()
	s := formattest.JSONFG(t)
	for name, o := range selections() {
		if o.Properties != nil {
			continue // features have all values
		}
		for _, profile := range []string{"jsonfg", "jsonfg-plus"} {
			c, fs := places()
			o.Collection, o.Address, o.Profile = c, "http://localhost/collections/places", profile
			b := write(t, format.Find("json"), o, fs)
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
			if err == nil {
				err = s.Validate(doc)
			}
			if err != nil {
				t.Errorf("%s, %s: %v", name, profile, err)
			}
			// A document that breaks a rule must not pass, or nothing would be proved.
			doc.(map[string]any)["features"].([]any)[0].(map[string]any)["time"] = map[string]any{"date": "2020-13-45x"}
			if s.Validate(doc) == nil {
				t.Errorf("%s, %s: a date that is none passes", name, profile)
			}
		}
	}
}
