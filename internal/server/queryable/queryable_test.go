package queryable_test

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/server/queryable"
	"grense/internal/store"
)

var places = &store.Collection{ID: "places", Properties: []store.Property{
	{Name: "navn", Type: cql2.TypeText}, {Name: "areal", Type: cql2.TypeNumber},
	{Name: "kind", Type: cql2.TypeText, Enum: []string{"by", "tettsted"}},
	{Name: "areal.to", Type: cql2.TypeText}, {Name: "limit", Type: cql2.TypeInteger},
	{Name: "secret", Type: cql2.TypeText, Hidden: true}, {Name: "names", Type: cql2.TypeJSON, Items: "string"},
	{Name: "doc", Type: cql2.TypeJSON}}}

// TestFieldsAreTheQueryables: neither hidden properties, nor documents, nor names of other parameters.
func TestFieldsAreTheQueryables(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"navn": true, "areal": true, "names": true, "areal.to": true,
		"secret": false, "doc": false, "limit": false, "other": false, "navn.like": false} {
		if got := queryable.Field(places, name) != nil; got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for name, want := range map[string]string{"navn.like": ".like", "areal.from": ".from", "areal.to": "",
		"kind.like": "", "names.like": "", "secret.like": "", "navn.from": ""} {
		if _, got := queryable.Forgiving(places, name); got != want {
			t.Errorf("%s: ending %q, want %q", name, got, want)
		}
	}
}

// TestConditionsAreInTheOrderOfProperties: those of a property begin with equality.
func TestConditionsAreInTheOrderOfProperties(t *testing.T) {
	t.Parallel()
	query := url.Values{"areal.from": {"1"}, "navn.like": {"os"}, "navn": {"Oslo"}, "areal.to": {"9"}, "limit": {"3"}}
	for _, c := range []struct {
		endings bool
		want    []string
	}{{true, []string{"navn", "navn.like", "areal.from", "areal.to"}}, {false, []string{"navn", "areal.to"}}} {
		var got []string
		for _, x := range queryable.Conditions(places, query, c.endings) {
			got = append(got, x.Name())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("endings %t: %q, want %q", c.endings, got, c.want)
		}
	}
}

// TestConditionsAreFilters reads values, and refuses those that no value of the property can equal.
func TestConditionsAreFilters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parameter, value string
		ok               bool
	}{
		"text": {"navn", "Oslo", true}, "number": {"areal", "1.5", true}, "no number": {"areal", "x", false},
		"one of a list": {"kind", "by", true}, "not of the list": {"kind", "bygd", false},
		"words": {"navn.like", "ål", true}, "no words": {"navn.like", "--", false},
		"typed number": {"areal.from", "1 234,5", true}, "element": {"names", "a", true},
	} {
		list := queryable.Conditions(places, url.Values{c.parameter: {c.value}}, true)
		if len(list) != 1 {
			t.Fatalf("%s: %d conditions", name, len(list))
		}
		if _, err := list[0].Expr(time.UTC); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
