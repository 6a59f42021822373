package format_test

import (
	"bytes"
	"testing"

	"grense/internal/crs"
	"grense/internal/format"
)

// A kept file that was removed is made again under the same address: what a client has of the first must go with the rest of the second.
func TestTheSameFeaturesAreTheSameBytes(t *testing.T) {
	t.Parallel()
	c, fs := places()
	for _, f := range format.All() {
		o := format.Options{Collection: c, CRS: crs.UTM33, Title: "Places", Address: "http://localhost/collections/places", Temp: t.TempDir()}
		first := write(t, f, o, fs)
		if second := write(t, f, o, fs); !bytes.Equal(first, second) {
			t.Errorf("%s: two files of the same features differ", f.Name)
		}
	}
}
