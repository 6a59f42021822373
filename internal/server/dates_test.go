package server_test

import (
	"strings"
	"testing"
)

func TestDaysAndMomentsAreWrittenAsPeopleDo(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, nil)
	moment := a.get("/collections/sted/items?limit=1&oppdatert.from=2020-07-01&oppdatert.to=2020-07-31").wants(
		200).page().Features[0]
	iso := moment.Properties["oppdatert"].(string)
	for lang, want := range map[string]string{"nb": ".\u00a0juli\u00a02020 kl.\u00a0",
		"nn": ".\u00a0juli\u00a02020 kl.\u00a0", "en": "\u00a0July\u00a02020 "} {
		page := string(a.get("/collections/sted/items/" + moment.ID + "?f=html&lang=" + lang).wants(200).Body)
		_, text, ok := strings.Cut(page, `<time datetime="`+iso+`">`)
		text, _, _ = strings.Cut(text, "</time>")
		if !ok || !strings.Contains(text, want) {
			t.Errorf("%s: %s is %q", lang, iso, text)
		}
	}
	page := string(a.get("/collections/divisions_events/items?f=html&lang=nn&limit=1&date=2020-01-01").wants(200).Body)
	if !strings.Contains(page, ">1.\u00a0januar\u00a02020</time>") {
		t.Errorf("a day is not written for people: %s", page)
	}
}

func TestPeriodsOfDaysHaveNoHours(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	page := string(serve(t, path, nil).get("/collections/divisions_events?f=html&lang=nb").wants(200).Body)
	_, period, _ := strings.Cut(page, "<dt>Tidsrom</dt>")
	if period, _, _ = strings.Cut(period, "</dd>"); strings.Contains(period, "kl.") ||
		strings.Count(period, "1.\u00a0januar\u00a0") != 2 {
		t.Errorf("the period is %s", period)
	}
}

func TestTheLandingPageBeginsWithWhatOneFinds(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for lang, want := range map[string]string{"nb": "15 fylker og 357 kommuner.", "nn": "15 fylke og 357 kommunar.",
		"en": "15 counties and 357 municipalities."} {
		page := string(a.get("/?f=html&lang=" + lang).wants(200).Body)
		lead, rest, _ := strings.Cut(page[strings.Index(page, `<p class="lead">`):], "</p>")
		if !strings.Contains(lead, want) || strings.Contains(lead, "API-Key") || !strings.Contains(rest, "X-API-Key") {
			t.Errorf("%s: the page begins %s", lang, lead)
		}
	}
}

func TestThePageOfACollectionShowsItsLastUpdate(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	page := string(a.get("/collections/kommuner?f=html&lang=en").wants(200).Body)
	if _, rest, ok := strings.Cut(page, "<dt>Last updated</dt><dd><time datetime=\""); !ok ||
		!strings.HasPrefix(rest, "20") {
		t.Errorf("the page does not tell it: %t", ok)
	}
}
