package register_test

import (
	"strings"
	"testing"

	contract "grense/api/placename"
	"grense/internal/register"
)

// TestTheContractTellsTheCodesThatTheRegisterHas: generated clients show them.
func TestTheContractTellsTheCodesThatTheRegisterHas(t *testing.T) {
	t.Parallel()
	lists, err := register.CodeLists()
	if err != nil {
		t.Fatal(err)
	}
	types := map[string][]string{
		"tilleggsopplysningstype": {"StedTilleggsopplysningstypeKodeId", "StedsnavnTilleggsopplysningstypeKodeId"},
	}
	for _, l := range lists {
		switch l.ID {
		case "land", "spraak", "sortering1", "sortering2", "kommune", "fylke":
			continue // described in other words
		}
		values := make([]string, len(l.Codes))
		for i, c := range l.Codes {
			values[i] = c.ID
		}
		names := types[l.ID]
		if names == nil {
			names = []string{strings.ToUpper(l.ID[:1]) + l.ID[1:] + "KodeId"}
		}
		for _, name := range names {
			if got := contract.CodeValues(name); got != strings.Join(values, ", ") {
				t.Errorf("%s: %.100s, want %.100s", name, got, strings.Join(values, ", "))
			}
		}
	}
}
