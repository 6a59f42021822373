package register_test

import (
	"encoding/csv"
	"strconv"
	"testing"

	"grense/internal/register"
	"grense/internal/sharedtest"
)

func lists(t *testing.T) map[string]register.CodeList {
	t.Helper()
	all, err := register.CodeLists()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]register.CodeList{}
	for _, l := range all {
		if _, ok := out[l.ID]; ok {
			t.Errorf("list %s twice", l.ID)
		}
		out[l.ID] = l
	}
	return out
}

func TestCodeListsAreThePublishedOnes(t *testing.T) {
	t.Parallel()
	rows, err := csv.NewReader(sharedtest.Open(t, "data", "codelists", "ssr-codes.csv")).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	ours := lists(t)
	published := map[string]int{}
	for _, r := range rows[1:] {
		list, value, short := r[0], r[1], r[2]
		at := published[list]
		published[list]++
		if at >= len(ours[list].Codes) {
			t.Errorf("list %s has no code %s", list, value)
			continue
		}
		order, err := strconv.Atoi(r[3])
		if c := ours[list].Codes[at]; err != nil || c.Value != value || c.Short != short || c.Order != order {
			t.Errorf("list %s, number %d: %+v, want %v", list, at, c, r)
		}
	}
	for list, n := range published {
		if got := len(ours[list].Codes); got != n {
			t.Errorf("list %s has %d codes, want %d", list, got, n)
		}
	}
}

func TestCodesHaveNamesAndParents(t *testing.T) {
	t.Parallel()
	ours := lists(t)
	for id, n := range map[string]int{"navneobjekttype": 291, "spraak": 18, "fylke": 15, "kommune": 357, "omraade": 7} {
		if got := len(ours[id].Codes); got != n {
			t.Errorf("list %s has %d codes, want %d", id, got, n)
		}
	}
	above := map[string]string{
		"navneobjekttype":   "navneobjektgruppe",
		"navneobjektgruppe": "navneobjekthovedgruppe",
		"kommune":           "fylke",
	}
	for id, l := range ours {
		if len(l.Codes) == 0 {
			t.Errorf("list %s is empty", id)
		}
		for _, lang := range []string{"nb", "nn", "en"} {
			if l.Title[lang] == "" {
				t.Errorf("list %s has no title in %s", id, lang)
			}
		}
		parents := map[string]bool{}
		for _, c := range ours[above[id]].Codes {
			parents[c.Value] = true
		}
		seen := map[string]bool{}
		for _, c := range l.Codes {
			if c.Value == "" || c.ID == "" || c.Name["nb"] == "" || seen[c.ID] {
				t.Errorf("list %s: bad or repeated code %+v", id, c)
			}
			seen[c.ID] = true
			if c.Name["en"] == "" && id != "kommune" && id != "fylke" {
				t.Errorf("list %s: %s has no English name", id, c.Value)
			}
			if (above[id] != "") != (c.Parent != "") || c.Parent != "" && !parents[c.Parent] {
				t.Errorf("list %s: %s has parent %q", id, c.Value, c.Parent)
			}
		}
	}
	for list, want := range map[string]string{"spraak": "sme", "land": "NO", "navneobjekttype": "fjell",
		"sortering2": "viktighet99"} {
		found := false
		for _, c := range ours[list].Codes {
			found = found || c.ID == want
		}
		if !found {
			t.Errorf("list %s has no code %s", list, want)
		}
	}
}

// Each call makes its own lists: a caller may change them.
func TestCodeListsBelongToTheCaller(t *testing.T) {
	t.Parallel()
	first := lists(t)["land"]
	first.Codes[0].Name["nb"] = "changed"
	first.Title["nb"] = "changed"
	if second := lists(t)["land"]; second.Codes[0].Name["nb"] != "Norge" || second.Title["nb"] != "Land" {
		t.Errorf("a change reached the next caller: %v", second.Codes[0])
	}
}
