package cql2

import (
	"slices"
	"strings"

	"grense/internal/cql2/fold"
	"grense/internal/problem"
)

// suggest returns the end of a message about an unknown name: the most similar name, or the list of names.
func suggest(name string, names []string, list string) problem.Saying {
	if best := Nearest(name, names); best != "" {
		return problem.Sayf("; did you mean '%s'?", best)
	}
	const most = 20
	if len(names) == 0 {
		return problem.Sayf("; there are none")
	}
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	if len(sorted) > most {
		return problem.Sayf(list, strings.Join(sorted[:most], ", ")+" …")
	}
	return problem.Sayf(list, strings.Join(sorted, ", "))
}

// Nearest returns the name most similar to s, or "". It prefers names equal but for case and marks, then names that s
// abbreviates ("kommunenr" for "kommunenummer"), then names with few changed letters.
func Nearest(s string, names []string) string {
	best, least := "", 1000
	key := fold.Norm(s)
	for _, name := range names {
		if d := distance(key, fold.Norm(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance returns a measure of difference; 1000 if too large.
func distance(s, name string) int {
	a, b := []rune(s), []rune(name)
	if len(a) > 100 || len(b) > 100 {
		return 1000
	}
	if s == name {
		return 0
	}
	if len(a) >= 3 && len(b) > 0 && a[0] == b[0] && isShortForm(a, b) {
		return 1 + (len(b)-len(a))/4
	}
	if d := edits(a, b); d <= max(1, len(a)/3) && d < len(a) {
		return 1 + d
	}
	return 1000
}

// isShortForm reports whether s is name with some letters left out.
func isShortForm(s, name []rune) bool {
	for _, r := range name {
		if len(s) > 0 && s[0] == r {
			s = s[1:]
		}
	}
	return len(s) == 0
}

// edits returns the Levenshtein distance; a swap of neighbours counts as one edit.
func edits(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
