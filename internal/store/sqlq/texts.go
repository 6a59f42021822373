package sqlq

import (
	"regexp"
	"slices"
	"strings"
)

// Stored is how PostgreSQL compares the stored texts of a column. An index on the column has the same order.
type Stored uint8

const (
	StoredOther     Stored = iota // in none of these ways
	StoredCodePoint               // by code point
	// by code point, but the server does not know that and derives no range from a pattern
	StoredUTF8
	StoredEqual   // only identical texts are equal
	StoredRoughly // not only identical texts are equal: nondeterministic collations and citext
	StoredPadded  // as StoredEqual, but without trailing blanks (character)
	StoredUUID    // uuid
	StoredEnum    // an enumeration
)

// Indexes is a set of indexes over all rows that begin with a text column, in other orders than that of the column.
type Indexes uint8

const (
	IndexCodePoint Indexes = 1 << iota // COLLATE "C"
	IndexPattern                       // text_pattern_ops
)

// UUID is an argument of type uuid, in PostgreSQL's format.
type UUID string

// rangeOfText is Range for a column that is compared as text.
func (d PostgreSQL) rangeOfText(column string, f *Field, op string, args []any) (served Fragment, exact, ok bool) {
	texts := make([]string, len(args))
	for i, a := range args {
		if texts[i], ok = a.(string); !ok {
			return served, false, false
		}
	}
	equality := op == "=" || op == "IN"
	if op == "LIKE" {
		p, ok := SplitPattern(texts[0])
		if literal, plain := p.literal(); ok && plain && f.Stored != StoredEnum {
			return d.rangeOfText(column, f, "=", []any{literal})
		}
	}
	switch f.Stored {
	case StoredUTF8:
		if p, ok := SplitPattern(args[0].(string)); op == "LIKE" && ok && p.Prefix != "" {
			return prefixed(Ident(column), p.Prefix), false, true
		}
	case StoredEqual:
		return compared(column, op, "?", args), true, equality && f.Indexes&IndexCodePoint == 0
	case StoredRoughly, StoredPadded:
		form := "?"
		switch {
		case f.Stored == StoredPadded:
			form = "?::bpchar" // "character" has a length of 1
		case f.Declared != "":
			form = "?::" + f.Declared
		}
		padded := slices.ContainsFunc(texts, func(s string) bool { return strings.HasSuffix(s, " ") })
		return compared(column, op, form, args), f.Stored == StoredPadded && !padded, equality
	case StoredUUID:
		return rangeOfUUID(column, op, texts)
	case StoredEnum:
		if op == "<>" {
			return served, false, false
		}
		label := d.ByCodePoint(Ident("e::text"))
		test := compared(label.sql, op, "?", args)
		if op == "LIKE" {
			test, _ = d.Like(label, texts[0])
		}
		return Cat(Ident(column+" = ANY (ARRAY(SELECT e FROM unnest(enum_range(NULL::"+f.Declared+")) AS e WHERE "),
			test, Ident("))")), true, !test.IsEmpty()
	}
	return served, false, false
}

// canonical matches a UUID as PostgreSQL prints it. Such texts sort like the type.
var canonical = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// IsUUID reports whether a text is a UUID in the form in which PostgreSQL prints it.
func IsUUID(s string) bool { return canonical.MatchString(s) }

func rangeOfUUID(column, op string, texts []string) (served Fragment, exact, ok bool) {
	var ids []any
	for _, s := range texts {
		if IsUUID(s) {
			ids = append(ids, UUID(s))
		}
	}
	switch op {
	case "<>":
		return served, false, false
	case "=", "IN":
		if ids == nil {
			return Ident("FALSE"), true, true
		}
		return compared(column, op, "?", ids), true, true
	case "LIKE":
		p, ok := SplitPattern(texts[0])
		low, high := p.Prefix+zeroUUID[min(len(p.Prefix), len(zeroUUID)):], p.Prefix+lastUUID[min(len(p.Prefix),
			len(lastUUID)):]
		if !ok || p.Prefix == "" || !IsUUID(low) || !IsUUID(high) {
			return served, false, false
		}
		return Cat(Ident(column), SQL(" BETWEEN ? AND ?", UUID(low), UUID(high))), false, true
	}
	if ids == nil {
		return served, false, false
	}
	return compared(column, op, "?", ids), true, true
}

const (
	zeroUUID = "00000000-0000-0000-0000-000000000000"
	lastUUID = "ffffffff-ffff-ffff-ffff-ffffffffffff"
)

// literal returns the text of a pattern without wildcards; false if it has wildcards.
func (p Pattern) literal() (string, bool) {
	if len(p.Tokens) == 0 {
		return "", true
	}
	return p.Tokens[0].Text, len(p.Tokens) == 1 && p.Tokens[0].Wild == 0
}
