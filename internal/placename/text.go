package placename

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	api "grense/api/placename"
	"grense/internal/cql2"
)

// minLiterals is the number of characters other than wildcards and blanks that a pattern needs where nothing else
// narrows the search; fewer would read most of the register.
const minLiterals = 2

const wildcards = "*?"

// folded is a text property folded by a function of cql2: "norm" or "exact".
func folded(function, property string) cql2.Expr {
	return cql2.Func{Name: function, Args: []cql2.Expr{prop(property)}}
}

// textTest makes the condition on one text property.
type textTest func(property string) cql2.Expr

// name is a place name: plain, or an expression when advanced is true. through puts the condition on a spelling,
// whose text is langnavn, where it belongs among the relations of what is searched. For a text without wildcard it
// also says what comes first.
func (c *criteria) name(field string, v *string, advanced *bool, through func(cql2.Expr) cql2.Expr) {
	if !c.given(field, v, c.s.options.MaxName) {
		return
	}
	if advanced != nil && *advanced {
		c.expression(field, *v, through)
		return
	}
	test, ok := c.plain(field, *v)
	if !ok {
		return
	}
	c.where = append(c.where, through(test("langnavn")))
	if !strings.ContainsAny(*v, wildcards) {
		c.exact = through(equalTo("exact", alternatives(*v), cql2.CaseI)("langnavn"))
	}
}

// names is name without the expressions and without saying what comes first.
func (c *criteria) names(field string, v *string, through func(cql2.Expr) cql2.Expr) {
	if !c.given(field, v, c.s.options.MaxName) {
		return
	}
	if test, ok := c.plain(field, *v); ok {
		c.where = append(c.where, through(test("langnavn")))
	}
}

// plain is equality of the whole text, or a pattern of it, with one of the alternatives of a name.
func (c *criteria) plain(field, v string) (textTest, bool) {
	names := alternatives(v)
	if !strings.ContainsAny(v, wildcards) {
		return equalTo("norm", names, cql2.Norm), true
	}
	return eachOf(names, func(name string) (textTest, bool) {
		if !strings.ContainsAny(name, wildcards) {
			return exactly("norm", cql2.Norm(name)), true
		}
		return c.pattern(field, v, name, "norm")
	})
}

// alternatives returns the names that a name is compared with: itself, without the full stops at its end; and where
// it holds several names, which a slash or a dash between blanks separates, each of them.
func alternatives(v string) []string {
	v = strings.TrimSpace(v)
	names := []string{v}
	for _, name := range append([]string{v}, separators.Split(v, -1)...) {
		name = strings.TrimRight(name, ".\t ")
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// separators stand between the names of a place in several languages: Guovdageaidnu/Kautokeino, Porsanger – Porsáŋgu.
var separators = regexp.MustCompile(`\s*/\s*|\s+\p{Pd}\s+`)

// eachOf holds where the test of one of the names does.
func eachOf(names []string, test func(name string) (textTest, bool)) (textTest, bool) {
	var tests []textTest
	for _, name := range names {
		f, ok := test(name)
		if !ok {
			return nil, false
		}
		tests = append(tests, f)
	}
	if len(tests) == 1 {
		return tests[0], true
	}
	return func(property string) cql2.Expr {
		var either cql2.Or
		for _, f := range tests {
			either = append(either, f(property))
		}
		return either
	}, true
}

// contains is a free text: contained in the property, or with a wildcard a pattern of the whole.
func (c *criteria) contains(field, property string, v *string) conditions {
	if !c.given(field, v, c.s.options.MaxText) {
		return nil
	}
	var test textTest
	ok := true
	switch wild := strings.ContainsAny(*v, wildcards); {
	case !wild && cql2.Norm(*v) == "": // hard blanks or apostrophes alone
		c.fault(field, *v, api.FewLiterals, minLiterals)
		return nil
	case !wild && literals(escape(*v)) < minLiterals:
		test = exactly("norm", cql2.Norm(*v)) // a single character is a value: sheet 1, edition 3
	case !wild:
		test, ok = c.pattern(field, *v, around(*v), "norm")
	default:
		test, ok = c.pattern(field, *v, *v, "norm")
	}
	if !ok {
		return nil
	}
	return conditions{test(property)}
}

// around is a pattern of texts that contain v, which has no wildcards.
func around(v string) string { return "*" + strings.TrimSpace(v) + "*" }

// pattern is a pattern of the whole property, folded by a function of cql2; "" for none. One with few literals is
// refused later unless something else narrows the search, one that folding leaves nothing of at once.
func (c *criteria) pattern(field, whole, v, function string) (textTest, bool) {
	p, n := foldPattern(function, likePattern(v))
	switch few := (api.Fault{Path: c.path + "/" + field, Value: whole, Reason: api.FewLiterals, N: minLiterals}); {
	case n == foldedAway:
		c.fault(field, whole, api.FewLiterals, minLiterals)
		return nil, false
	case n < minLiterals:
		if c.wide++; !slices.Contains(c.few, few) {
			c.few = append(c.few, few)
		}
	}
	return like(function, p), true
}

// foldPattern folds a pattern of LIKE; function "" leaves it as it is. n is the number of its characters other than
// wildcards and blanks, before folding; foldedAway when there were some and folding leaves none.
func foldPattern(function, p string) (folded string, n int) {
	n = literals(p)
	if function == "" {
		return p, n
	}
	if folded, _ = cql2.FoldPattern(function, p); n > 0 && literals(folded) == 0 {
		n = foldedAway
	}
	return folded, n
}

const foldedAway = -1

// narrows reports whether a condition leaves so little of a register that a pattern with few literals may be compared
// with the rest.
func narrows(x cql2.Expr) bool {
	switch x := x.(type) {
	case cql2.And:
		return slices.ContainsFunc(x, narrows)
	case cql2.Or:
		return !slices.ContainsFunc(x, func(e cql2.Expr) bool { return !narrows(e) })
	case cql2.Related:
		return narrows(x.X)
	case cql2.Like:
		p, _ := x.Pattern.(cql2.Text)
		return literals(string(p)) >= minLiterals
	case cql2.Compare:
		_, flag := x.R.(cql2.Bool)
		return !flag && x.L != prop("art") // which every search for a kind of documentation says by itself
	case cql2.In:
		return true
	}
	return false
}

// equalTo compares the property, folded by a function, with several texts, which fold folds.
func equalTo(function string, texts []string, fold func(string) string) textTest {
	var list []cql2.Expr
	for _, text := range texts {
		if text := cql2.Expr(cql2.Text(fold(text))); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	if len(list) == 1 {
		return exactly(function, string(list[0].(cql2.Text)))
	}
	return func(property string) cql2.Expr { return cql2.In{X: folded(function, property), List: list} }
}

// exactly compares the property, folded by a function, with a text that is folded already.
func exactly(function, text string) textTest {
	return func(property string) cql2.Expr {
		return cql2.Compare{Op: cql2.Eq, L: folded(function, property), R: cql2.Text(text)}
	}
}

// like compares the property with a pattern that is folded already; function "" compares the text as it is.
func like(function, pattern string) textTest {
	return func(property string) cql2.Expr {
		x := prop(property)
		if function != "" {
			x = folded(function, property)
		}
		return cql2.Like{X: x, Pattern: cql2.Text(pattern)}
	}
}

// likePattern turns a text with * and ? into a pattern of LIKE. Runs of wildcards become the shortest run that means
// the same.
func likePattern(v string) string {
	var b strings.Builder
	single, run := 0, false
	flush := func() {
		b.WriteString(strings.Repeat("_", single))
		if run {
			b.WriteByte('%')
		}
		single, run = 0, false
	}
	for _, r := range norm.NFC.String(strings.TrimSpace(v)) {
		switch r {
		case '?':
			single++
			continue
		case '*':
			run = true
			continue
		}
		flush()
		b.WriteString(escape(string(r)))
	}
	flush()
	return b.String()
}

// escape makes a text that a pattern of LIKE takes literally.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

// literals counts the characters of a pattern of LIKE other than wildcards and blanks.
func literals(pattern string) int {
	n, escaped := 0, false
	for _, r := range pattern {
		switch {
		case !escaped && r == '\\':
			escaped = true
			continue
		case !escaped && (r == '%' || r == '_'), unicode.IsSpace(r):
		default:
			n++
		}
		escaped = false
	}
	return n
}

// expression is an expression over the text of a spelling; one spelling must fulfil it all.
func (c *criteria) expression(field, v string, through func(cql2.Expr) cql2.Expr) {
	e, pos := parseExpression(v)
	if pos > 0 {
		c.fault(field, v, api.BadExpression, int64(pos))
		return
	}
	all := true
	for _, list := range e {
		before, narrow := c.few, false
		for _, t := range list {
			n := c.wide
			t.test = c.term(field, v, t)
			narrow = narrow || !t.not && c.wide == n
		}
		if narrow { // by another term that the same spelling fulfils
			c.few = before
		}
		all = all && narrow
	}
	c.narrow = c.narrow || all
	c.later = append(c.later, func(ctx context.Context) (cql2.Expr, error) {
		x, err := e.compile(func(t *term) (textTest, error) {
			if t.op == opSimilar {
				return c.similar(ctx, field, v, t.text)
			}
			return t.test, nil
		})
		if err != nil {
			return nil, err
		}
		return through(x), nil
	})
}

// term checks a term; nil when it is bad, or similar to a text that must be looked up.
func (c *criteria) term(field, whole string, t *term) (test textTest) {
	switch t.op {
	case opWord:
		test, _ = eachOf(wordAlternatives(t.text), func(word string) (textTest, bool) {
			if !strings.ContainsAny(word, wildcards) {
				word = around(word)
			}
			return c.pattern(field, whole, word, "norm")
		})
	case opPhrase:
		test = c.phrase(field, whole, t.text)
	case opSame:
		if strings.ContainsAny(t.text, wildcards) {
			test, _ = c.pattern(field, whole, t.text, "")
			return test
		}
		text := norm.NFC.String(t.text)
		return func(property string) cql2.Expr { // the first part follows from the second, and has an index
			return cql2.And{exactly("norm", cql2.Norm(text))(property), compare(cql2.Eq, property, cql2.Text(text))}
		}
	case opSimilar:
		if _, n := foldPattern("norm", escape(t.text)); n < minLiterals {
			c.fault(field, whole, api.FewLiterals, minLiterals)
		}
	}
	return test
}

// wordAlternatives returns the alternatives of a word of an expression; only the word where one of them is too short
// to be looked for inside a name.
func wordAlternatives(word string) []string {
	words := alternatives(word)
	if slices.ContainsFunc(words[1:],
		func(w string) bool { return !strings.ContainsAny(w, wildcards) && literals(escape(w)) < minLiterals }) {
		return words[:1]
	}
	return words
}

// phrase is words beside each other: the folded text is the phrase, or begins or ends with it, or has it inside,
// between blanks.
func (c *criteria) phrase(field, whole, v string) textTest {
	if _, ok := c.pattern(field, whole, v, "norm"); !ok {
		return nil
	}
	inner, _ := foldPattern("norm", likePattern(v))
	return func(property string) cql2.Expr {
		return cql2.Or{
			like("norm", inner)(property), like("norm", inner+" %")(property),
			like("norm", "% "+inner)(property), like("norm", "% "+inner+" %")(property),
		}
	}
}
