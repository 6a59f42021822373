package server_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"grense/internal/config"
)

var copiedTexts = regexp.MustCompile(`(?s)<li>(\S+): <code>([^<]*)</code></li>`)

func TestWhatIsCopiedHasTheFilterAndNoLanguage(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for path, ids := range map[string]string{"/collections/kommuner/items/3201?f=html&lang=nn": "3201",
		"/collections/kommuner/items?f=html&lang=nn&filter=areal_km2%3E2000&sortby=-areal_km2&limit=1": "5612"} {
		texts := map[string]string{}
		for _, m := range copiedTexts.FindAllStringSubmatch(string(a.get(path).wants(200).Body), -1) {
			texts[m[1]] = html.UnescapeString(m[2])
		}
		u, err := url.Parse(texts["GeoJSON"])
		if err != nil || u.Query().Get("lang") != "" || u.Query().Get("f") != "json" ||
			texts["curl"] != `curl "`+texts["GeoJSON"]+`"` {
			t.Errorf("%s: %q", path, texts)
			continue
		}
		if body := string(a.get(texts["GeoJSON"]).wants(200).Body); !strings.Contains(body, `"`+ids+`"`) {
			t.Errorf("%s leads to %.200s", path, body)
		}
		if strings.Contains(path, "items/") && texts["Id"] != ids {
			t.Errorf("%s: the id is %q", path, texts["Id"])
		}
	}
}

func TestPagesForTheKeyNameTheContact(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) {
		c.Auth = "required"
		c.Service.Contact = config.Contact{Name: "Map desk", Email: "maps@example.org"}
	})
	for path, status := range map[string]int{"/key?f=html": 200, "/collections/kommuner/items?f=html": 401} {
		if body := string(a.get(path).wants(status).Body); !strings.Contains(
			body, `<a href="mailto:maps@example.org">Map desk</a>`) {
			t.Errorf("%s does not tell where to ask for a key", path)
		}
	}
	for feedback, shown := range map[string]bool{"faults@example.org": true, "https://example.org/faults": true,
		"maps@example.org": false} {
		b := serve(t, "", func(c *config.Config) {
			c.Auth, c.Service.Feedback = "required", feedback
			c.Service.Contact = config.Contact{Name: "Map desk", Email: "maps@example.org"}
		})
		for path, status := range map[string]int{"/key?f=html": 200, "/collections/kommuner/items?f=html": 401} {
			if body := string(b.get(path).wants(status).Body); !strings.Contains(body, ">Map desk</a>") ||
				strings.Contains(body, ">"+feedback+"</a>") != shown {
				t.Errorf("%s with feedback to %s tells it: %t", path, feedback, !shown)
			}
		}
	}
}
