package store_test

import (
	"reflect"
	"testing"

	"grense/internal/store"
)

// TestIDsOfSeveralColumnsAreReadAsTheyWereWritten: escapes are those of JSON Pointers (RFC 6901, 3), with ; for /.
func TestIDsOfSeveralColumnsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name  string
		parts []any
		id    string
	}{
		{"numbers", []any{int64(1), int64(-2)}, "1;-2"},
		{"a text and a number", []any{"0301", int64(7)}, "0301;7"},
		{"an empty text", []any{"", int64(7)}, ";7"},
		{"two empty texts", []any{"", ""}, ";"},
		{"a semicolon in a text", []any{"a;b", "c"}, "a~1b;c"},
		{"a tilde in a text", []any{"a~b", "c"}, "a~0b;c"},
		{"an escape in a text", []any{"~1", "~0"}, "~01;~00"},
		{"a semicolon after a tilde", []any{"~;", "x"}, "~0~1;x"},
		{"a slash and a letter of Norwegian", []any{"a/b", "Bø"}, "a/b;Bø"},
		{"the least number", []any{int64(-1 << 63), "x"}, "-9223372036854775808;x"},
	} {
		if got := store.JoinID(x.parts); got != x.id {
			t.Errorf("%s: %q, want %q", x.name, got, x.id)
		}
		integers := make([]bool, len(x.parts))
		for i, p := range x.parts {
			_, integers[i] = p.(int64)
		}
		if got, ok := store.SplitID(x.id, integers); !ok || !reflect.DeepEqual(got, x.parts) {
			t.Errorf("%s: %q is read as %#v, %t", x.name, x.id, got, ok)
		}
	}
}

// TestOneFeatureHasOneID: another spelling of the same parts is no id, so that caches and links have one address.
func TestOneFeatureHasOneID(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		id       string
		integers []bool
	}{
		"too few parts":               {"1", []bool{true, true}},
		"too many parts":              {"1;2;3", []bool{true, true}},
		"nothing":                     {"", []bool{false, false}},
		"leading zeros":               {"01;x", []bool{true, false}},
		"a sign":                      {"+1;x", []bool{true, false}},
		"a text for a number":         {"a;x", []bool{true, false}},
		"a number that is too large":  {"9223372036854775808;x", []bool{true, false}},
		"no number":                   {";x", []bool{true, false}},
		"a tilde without an escape":   {"a~;x", []bool{false, false}},
		"a tilde at the end":          {"a;x~", []bool{false, false}},
		"an escape of something else": {"a~2;x", []bool{false, false}},
		"an escape in a number":       {"~01;x", []bool{true, false}},
	} {
		if parts, ok := store.SplitID(x.id, x.integers); ok {
			t.Errorf("%s: %q is %#v", name, x.id, parts)
		}
	}
}
