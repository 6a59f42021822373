package enrich_test

import (
	"errors"
	"strings"
	"testing"

	"grense/internal/enrich"
	"grense/internal/history"
)

func TestTablesAreTranslatedWithWordsForWhatIsSeveralOrUnknown(t *testing.T) {
	t.Parallel()
	h, err := history.Norway()
	if err != nil {
		t.Fatal(err)
	}
	const table = "nr,n\n1507,1\n1534,2\n9998,3\n301,4\n"
	translation := func(choice history.Choice) *enrich.Translation {
		return &enrich.Translation{
			Codes: h.Scheme(history.Kommune).NewTranslator(20230101, 20240101, choice),
			Added: [2]string{"now", "name"},
		}
	}
	var out strings.Builder
	f := translation(history.ChooseList)
	e := enrich.NewCSV(f, enrich.Options{Code: "nr", Error: "why"})
	if err := e.Run(&out, strings.NewReader(table), nil); err != nil {
		t.Fatal(err)
	}
	const want = "nr,n,now,name,why\n1507,1,1508 1580,Ålesund; Haram,\n" +
		"1534,2,,,\"the code was not in use on 2023-01-01, but from 1838-01-01 until 2020-01-01 (Haram)\"\n9998,3,,," +
		"the code was never in use\n301,4,0301,Oslo,\n"
	if out.String() != want || f.Ambiguous != 1 || e.Report.RestoredCodes != 1 {
		t.Errorf("%d several, %+v:\n%s", f.Ambiguous, e.Report, &out)
	}
	f = translation(history.ChooseError)
	err = enrich.NewCSV(f, enrich.Options{Code: "nr"}).Run(&out, strings.NewReader(table), nil)
	if !errors.Is(err, history.ErrAmbiguous) || f.Asked != "1507" || f.Several != "1508 1580" {
		t.Errorf("%v: %q is %q", err, f.Asked, f.Several)
	}
}
