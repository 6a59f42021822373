package cql2_test

import (
	"testing"

	"grense/internal/cql2"
	"grense/internal/cql2/cql2test"
	"grense/internal/problem"
)

func FuzzParseText(f *testing.F) {
	for _, s := range []string{
		"a = 'it''s' AND b NOT IN (1, -2.5e3)", "S_INTERSECTS(g, BBOX(170,0,-170,1))",
		"T_DURING(INTERVAL('..', b), INTERVAL('2024-01-01', c))",
		"A_EQUALS(a, ((1), \"x\"))", "casei(a) LIKE accenti('%\\\\_')", "NOT (a - -1 ^ 2 div 3 IS NULL)", "(((",
		"f((a))", "S_WITHIN(g, MULTIPOINT(1 2,(3 4 5)))", "a = 'x\xff", "\u3000",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := cql2.ParseText(s)
		tried(t, string(s), e, err)
	})
}

// tried holds that a text is refused with a problem of the client's, or parsed.
func tried(t *testing.T, s string, e cql2.Expr, err error) {
	if err == nil {
		parsed(t, e)
	} else if p := problem.Of(err); p.Kind != problem.Invalid && p.Kind != problem.TooLarge {
		t.Errorf("%q: %v", s, err)
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{
		`{"op":"and","args":[{"op":"=","args":[{"property":"a"},1.0]},true]}`,
		`{"op":"s_within","args":[{"property":"g"},{"bbox":[1,2,3,4]}]}`,
		`{"op":"t_metBy","args":[{"interval":["..",{"property":"a"}]},{"date":"2024-01-01"}]}`,
		`{"op":"a_equals","args":[[["x"],[]],{"property":"a"}]}`, `[[[`, `{"op":"isNull","args":[[1]]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		e, err := cql2.ParseJSON(s)
		tried(t, string(s), e, err)
	})
}

// parsed checks what must hold for every tree a parser makes.
func parsed(t *testing.T, e cql2.Expr) {
	t.Helper()
	nodes := 0
	cql2.Walk(e, func(x cql2.Expr) bool {
		nodes++
		switch x := x.(type) {
		case cql2.BBox, cql2.Interval, cql2.Search, cql2.Related:
			t.Errorf("%T is parsed", x)
		case cql2.Func:
			if x.Name == "norm" || x.Name == "exact" {
				t.Errorf("the function %s is parsed", x.Name)
			}
		}
		return true
	})
	if nodes > cql2.MaxNodes {
		t.Errorf("%d nodes", nodes)
	}
	text, doc := cql2.FormatText(e), cql2test.FormatJSON(e)
	if len(text) < cql2.MaxBytes {
		again, err := cql2.ParseText(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if s := cql2.FormatText(again); s != text {
			t.Errorf("%s becomes %s", text, s)
		}
	}
	if len(doc) < cql2.MaxBytes {
		again, err := cql2.ParseJSON(doc)
		if err != nil {
			t.Errorf("%s: %v", doc, err)
		} else if s := cql2test.FormatJSON(again); string(s) != string(doc) {
			t.Errorf("%s becomes %s", doc, s)
		}
	}
	schema := columns{"a": cql2.TypeInteger, "b": cql2.TypeTimestamp, "g": cql2.TypeGeometry}
	x, err := cql2.Check(e, schema)
	if err != nil {
		return
	}
	if _, err := cql2.Eval(x, record{values: map[string]any{"a": int64(1), "b": nil}}); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}
