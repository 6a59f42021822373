package server_test

import (
	"strings"
	"testing"

	"grense/internal/config"
)

func TestTheDemoSaysThatItIsOne(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	for _, auth := range []string{"open", "required"} {
		a := serve(t, path, func(c *config.Config) { c.Auth = auth })
		for path, says := range map[string]bool{"/?f=html": true, "/collections?f=html": true,
			"/collections/kommuner?f=html": true, "/collections/kommuner/items?f=html&limit=1": true,
			"/collections/kommuner/items/0301?f=html": true, "/collections/sted/items?f=html&limit=1": true,
			"/lookup?f=html&lon=10.75&lat=59.91": true, "/tiles?f=html": true,
			"/collections/kommuner/tiles/utm33n?f=html": true, "/soap/stedsnavn/v1?f=html": true, "/about?f=html": true,
			"/collections/divisions_events/items?f=html&limit=1": false} {
			body := string(a.get(path+"&lang=en", "X-API-Key", a.key).wants(200).Body)
			_, line, _ := strings.Cut(body, `<p class="demo">`)
			line, _, _ = strings.Cut(line, "</p>")
			if got := strings.Contains(line, ">Demo: borders are schematic"); got != says {
				t.Errorf("%s says that it is a demo: %t", path, got)
			}
			if caption := strings.Contains(body, "Demo: not real borders and places."); caption !=
				(says && strings.Contains(body, "<figcaption")) {
				t.Errorf("%s: its caption says so: %t", path, caption)
			}
		}
		for _, path := range []string{"/?lang=en", "/?f=jsonld&lang=en", "/about?f=json&lang=en",
			"/collections/kommuner?lang=en"} {
			if text, _ := a.get(path).wants(200).json()["description"].(string); !strings.Contains(
				text, "This is a demo: ") {
				t.Errorf("%s: the description does not say that it is a demo: %s", path, text)
			}
		}
	}
	other := serve(t, referring(t), nil)
	for _, path := range []string{"/?f=html&lang=en", "/?lang=en", "/about?f=html&lang=en"} {
		if body := string(other.get(path).wants(200).Body); strings.Contains(body, "a demo") {
			t.Errorf("%s of other data says that they are a demo", path)
		}
	}
}

func TestNobodyIsThePublisherUnlessConfigured(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	body := string(a.get("/v1?f=html&lang=en").wants(200).Body)
	if !strings.Contains(body, `/v1/about?f=html&amp;lang=en">About the service</a>`) ||
		strings.Contains(body, ">Publisher") {
		t.Error("the landing page names a publisher, or does not lead to the page about the service")
	}
	if l := a.get("/v1").wants(200).links()[0]; l.Rel != "about" || l.Href != a.URL+"/v1/about" {
		t.Errorf("about leads to %+v", l)
	}
	if _, there := a.get("/?f=jsonld").wants(200).json()["provider"]; there {
		t.Error("JSON-LD has a provider")
	}
	a = serve(t, "", func(c *config.Config) {
		c.Service.Publisher = config.Publisher{Name: "The Agency", URL: "https://example.org/agency"}
		c.Service.Feedback = "data@example.org"
	})
	if l := a.get("/").wants(200).links()[0]; l.Href != "https://example.org/agency" {
		t.Errorf("about leads to %+v", l)
	}
	for _, path := range []string{"/?f=html&lang=en", "/about?f=html&lang=en"} {
		if body := string(a.get(path).wants(200).Body); !strings.Contains(
			body, `<a href="https://example.org/agency">The Agency</a>`) {
			t.Errorf("%s does not name the publisher", path)
		}
	}
	if body := string(a.get("/about?f=html&lang=en").wants(200).Body); !strings.Contains(
		body, `<a href="mailto:data@example.org">`) {
		t.Error("the page about the service does not tell where to write")
	}
}
