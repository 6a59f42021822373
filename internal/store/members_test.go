package store_test

import (
	"fmt"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
)

func TestMembersOfOneTypeThroughoutAreListed(t *testing.T) {
	t.Parallel()
	var m store.Members
	for _, text := range []string{`{"b":{"c":"x","d":1},"a":true,"mixed":1,"list":[1],"a.b":1,"":2,"sometimes":null}`,
		`{"b":null,"mixed":"x","sometimes":"y"}`, `[1]`, `{`,
		`{"b":{"e":{"f":{"g":{"h":1,"i":2}}},"d":-2.5}}`} {
		m.Add([]byte(text))
	}
	var got []string
	for _, x := range m.List() {
		got = append(got, fmt.Sprintf("%s:%d", strings.Join(x.Path, "."), x.Type))
	}
	text, number := cql2.TypeText, cql2.TypeNumber
	want := fmt.Sprintf("a:%d b.c:%d b.d:%d b.e.f.g.h:%d b.e.f.g.i:%d sometimes:%d", cql2.TypeBool, text, number,
		number, number, text)
	if strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestMembersAreBounded(t *testing.T) {
	t.Parallel()
	var deep, wide store.Members
	deep.Add([]byte(`{"a":{"a":{"a":{"a":{"a":{"a":1}}}}}}`))
	var members []string
	for i := range 300 {
		members = append(members, fmt.Sprintf(`"m%03d":1`, i))
	}
	wide.Add([]byte("{" + strings.Join(members, ",") + "}"))
	if len(deep.List()) != 0 || len(wide.List()) != 100 {
		t.Errorf("%d deep ones, %d of many", len(deep.List()), len(wide.List()))
	}
	for range store.SampledValues {
		wide.Add([]byte(`{"late":1}`))
	}
	if !wide.Full() {
		t.Error("the sample never ends")
	}
}
