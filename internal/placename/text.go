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
	"grense/internal/cql2/fold"
)

// minLiterals is the number of characters other than wildcards and spaces that a pattern needs if nothing else narrows
// the search. With fewer, a search would read most of the register.
const minLiterals = 2

const wildcards = "*?"

// folded returns a text property folded by the cql2 function "norm" or "exact".
func folded(function, property string) cql2.Expr {
	return cql2.Func{Name: function, Args: []cql2.Expr{prop(property)}}
}

// textTest returns the condition on a text property.
type textTest func(property string) cql2.Expr

// name adds the condition on a place name. The name is an expression if advanced is true; otherwise plain. through
// converts a condition on a spelling to one on the records that are searched. For a plain name without wildcards it
// also sets c.exact.
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
		c.exact = through(equalTo("exact", alternatives(*v), fold.CaseI)("langnavn"))
	}
}

// names is like name, but the name is always plain and c.exact is not set.
func (c *criteria) names(field string, v *string, through func(cql2.Expr) cql2.Expr) {
	if !c.given(field, v, c.s.options.MaxName) {
		return
	}
	if test, ok := c.plain(field, *v); ok {
		c.where = append(c.where, through(test("langnavn")))
	}
}

// plain returns the test that a text equals one of the alternatives of a name, or matches it if it has wildcards.
func (c *criteria) plain(field, v string) (textTest, bool) {
	names := alternatives(v)
	if !strings.ContainsAny(v, wildcards) {
		return equalTo("norm", names, fold.Norm), true
	}
	return eachOf(names, func(name string) (textTest, bool) {
		if !strings.ContainsAny(name, wildcards) {
			return exactly("norm", fold.Norm(name)), true
		}
		return c.pattern(field, v, name, "norm")
	})
}

// alternatives returns the names to compare with: v and v without full stops at its end. If v holds several names,
// separated by a slash or by a dash between spaces, it also returns each of them.
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

// separators separate the names of a place in several languages: Guovdageaidnu/Kautokeino, Porsanger – Porsáŋgu.
var separators = regexp.MustCompile(`\s*/\s*|\s+\p{Pd}\s+`)

// eachOf returns a test that holds if the test of at least one of the names does.
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

// contains returns the condition that a property contains a free text. With a wildcard, the text is a pattern of the
// whole property.
func (c *criteria) contains(field, property string, v *string) conditions {
	if !c.given(field, v, c.s.options.MaxText) {
		return nil
	}
	var test textTest
	ok := true
	switch wild := strings.ContainsAny(*v, wildcards); {
	case !wild && fold.Norm(*v) == "": // only hard spaces or apostrophes
		c.fault(field, *v, api.FewLiterals, minLiterals)
		return nil
	case !wild && literals(escape(*v)) < minLiterals:
		test = exactly("norm", fold.Norm(*v)) // one character is a value: sheet 1, edition 3
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

// around returns the pattern of texts that contain v, which has no wildcards.
func around(v string) string { return "*" + strings.TrimSpace(v) + "*" }

// pattern returns the test for a pattern of the whole property, folded by the given cql2 function ("" for none). A
// pattern with too few literal characters is refused later, unless something else narrows the search. One of which
// folding leaves nothing is refused at once.
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

// foldPattern folds a LIKE pattern; with function "" it returns it unchanged. n is the number of characters other than
// wildcards and spaces before folding, or foldedAway if there were some and folding removed all.
func foldPattern(function, p string) (folded string, n int) {
	n = literals(p)
	if function == "" {
		return p, n
	}
	if folded, _ = fold.Pattern(function, p); n > 0 && literals(folded) == 0 {
		n = foldedAway
	}
	return folded, n
}

const foldedAway = -1

// narrows reports whether a condition selects so few records that a pattern with few literal characters can be compared
// with all of them.
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
		return !flag && x.L != prop("art") // every search for a kind of documentation has a condition on art
	case cql2.In:
		return true
	}
	return false
}

// equalTo returns a test that the property, folded by the cql2 function, equals one of the texts after fold.
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

// exactly returns a test that the property, folded by the cql2 function, equals text, which is folded already.
func exactly(function, text string) textTest {
	return func(property string) cql2.Expr {
		return cql2.Compare{Op: cql2.Eq, L: folded(function, property), R: cql2.Text(text)}
	}
}

// like returns a test that the property, folded by the cql2 function, matches a pattern that is folded already. With
// function "" the property is not folded.
func like(function, pattern string) textTest {
	return func(property string) cql2.Expr {
		x := prop(property)
		if function != "" {
			x = folded(function, property)
		}
		return cql2.Like{X: x, Pattern: cql2.Text(pattern)}
	}
}

// likePattern converts a text with * and ? to a LIKE pattern. It shortens runs of wildcards without changing their
// meaning.
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

// escape returns a text as a LIKE pattern that matches it literally.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

// literals returns the number of characters of a LIKE pattern other than wildcards and spaces.
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

// expression adds the condition for an expression; a single spelling must fulfil all of it.
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
		if narrow { // another term for the same spelling narrows the search
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

// term returns the test of a term; nil if the term is invalid, or if similar texts must be looked up first.
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
		return func(property string) cql2.Expr { // the first part follows from the second, but can use an index
			return cql2.And{exactly("norm", fold.Norm(text))(property), compare(cql2.Eq, property, cql2.Text(text))}
		}
	case opSimilar:
		if _, n := foldPattern("norm", escape(t.text)); n < minLiterals {
			c.fault(field, whole, api.FewLiterals, minLiterals)
		}
	}
	return test
}

// wordAlternatives returns the alternatives of a word of an expression. If one of them is too short to search for
// inside names, it returns only the word.
func wordAlternatives(word string) []string {
	words := alternatives(word)
	if slices.ContainsFunc(words[1:],
		func(w string) bool { return !strings.ContainsAny(w, wildcards) && literals(escape(w)) < minLiterals }) {
		return words[:1]
	}
	return words
}

// phrase returns the test that a text contains the words of v consecutively: the folded text equals v, begins or ends
// with it, or contains it between spaces.
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
