package cql2_test

import (
	"testing"

	"grense/internal/cql2"
)

func TestMemberIsTheValueOfATypeInsideJSON(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		text string
		path []string
		typ  cql2.Type
		want any
	}{
		{`{"a":{"b":"x"}}`, []string{"a", "b"}, cql2.TypeText, "x"},
		{`{"a":{"b":"x"}}`, []string{"a", "b"}, cql2.TypeNumber, nil},
		{`{"a":{"b":"x"}}`, []string{"a"}, cql2.TypeText, nil},
		{`{"a":{"b":"x"}}`, []string{"a", "b", "c"}, cql2.TypeText, nil},
		{`{"a":[1]}`, []string{"a", "0"}, cql2.TypeNumber, nil},
		{`{"a":1,"a":2}`, []string{"a"}, cql2.TypeNumber, int64(2)},
		{`{"a":0.5}`, []string{"a"}, cql2.TypeNumber, 0.5},
		{`{"a":9007199254740993}`, []string{"a"}, cql2.TypeNumber, int64(9007199254740993)},
		{`{"a":12345678901234567891}`, []string{"a"}, cql2.TypeNumber, cql2.Decimal("12345678901234567891")},
		{`{"a":1e400}`, []string{"a"}, cql2.TypeNumber, nil},
		{`{"a":false}`, []string{"a"}, cql2.TypeBool, false},
		{`{"a":null}`, []string{"a"}, cql2.TypeBool, nil},
		{`{"a":`, []string{"a"}, cql2.TypeText, nil},
		{`"a"`, []string{"a"}, cql2.TypeText, nil},
	} {
		if got := cql2.Member(x.text, x.path, x.typ); got != x.want {
			t.Errorf("%s of type %d at %q: %#v, want %#v", x.text, x.typ, x.path, got, x.want)
		}
	}
}
