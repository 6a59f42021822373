package cql2_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/problem"
)

func bits(f float64) uint64 { return math.Float64bits(f) }

// bare returns a tree without positions.
func bare(e cql2.Expr) cql2.Expr {
	v := reflect.New(reflect.TypeFor[cql2.Expr]()).Elem()
	v.Set(reflect.ValueOf(e))
	return strip(v).Interface().(cql2.Expr)
}

// strip copies a value with all positions of Prop set to zero.
func strip(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		out.Set(strip(v.Elem()))
		return out
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() != reflect.Interface {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(strip(v.Index(i)))
		}
		return out
	case reflect.Struct:
		if p, ok := v.Interface().(cql2.Prop); ok {
			p.Pos, p.Quoted = 0, false
			return reflect.ValueOf(p)
		}
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Interface || f.Kind() == reflect.Slice {
				out.Field(i).Set(strip(f))
			}
		}
		return out
	}
	return v
}

// wantFault checks the kind of an error and that a cure holds all of some words.
func wantFault(t testing.TB, err error, kind problem.Kind, words ...string) {
	t.Helper()
	p, ok := errors.AsType[*problem.Error](err)
	if !ok {
		t.Errorf("error %v; want a problem of kind %v", err, kind)
		return
	}
	if p.Kind != kind {
		t.Errorf("kind %v, want %v: %v", p.Kind, kind, err)
	}
	text := p.Detail
	for _, f := range p.Faults {
		text += "; " + f.Cure
		if f.In != "query" || f.Param == "" {
			t.Errorf("fault names no parameter: %+v", f)
		}
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
}
