package enrich_test

import (
	"testing"

	"grense/internal/enrich"
)

func TestRepeatedMembersAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`: "", `[]`: "", `1`: "", `"a"`: "", `{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}`: "", `{"a":1,"A":2}`: "",
		`{"a":"b","b":"a"}`: "",
		`{"a":1,"a":2}`:     "/a", `{"a":1,"\u0061":2}`: "/a", `{"a":{"b":[0,{"c":1,"c":1}]}}`: "/a/b/1/c",
		`{"inputs":{"x/y":1,"x/y":2}}`: "/inputs/x~1y", `[[{"a":{},"a":[]}]]`: "/0/0/a",
		`{"a":1,`: "", `{"a":1,"a"`: "/a", `{"":1,"":2}`: "/",
	} {
		got, found := enrich.RepeatedMember([]byte(text))
		if got != want || found != (want != "") {
			t.Errorf("%s: %q, %v, want %q", text, got, found, want)
		}
	}
}
