package server_test

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
)

// TestAwkwardTextsGiveTheSameAnswer sends texts that a database may refuse to both stores. The responses are the
// same, and none is a server error.
func TestAwkwardTextsGiveTheSameAnswer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	path, err := registerFile()
	if err != nil {
		t.Fatal(err)
	}
	a := serveStore(t, openGeoPackage(t, path), nil)
	b := serveStore(t, openPostGIS(t, path), nil)
	for name, text := range map[string]string{
		"character 0": "a\x00b", "only character 0": "\x00", "no UTF-8": "a\xffb", "cut rune": "vann\xc3",
		"surrogate": "\xed\xa0\x80", "beyond Unicode": "\xf4\x90\x80\x80",
		"quote": "O'", "backslash": `a\b`, "trailing backslash": `vik\`, "percent": "100%", "question mark": "a?b$1",
		"escape": `\u0000`, "noncharacter": "\uffff", "emoji": "🏔️",
		"combining": "a\u030a", "blank": "", "blanks": " \t\r\n ", "regular expression": `.*[a-z](|$)+`,
		"long": strings.Repeat("å", 3000), "long with 0": strings.Repeat("å", 1000) + "\x00",
	} {
		literal := "'" + strings.ReplaceAll(text, "'", "''") + "'"
		for _, query := range []string{
			"q=" + url.QueryEscape(text), "visningsnavn=" + url.QueryEscape(text),
			"filter=" + url.QueryEscape("visningsnavn = "+literal),
			"filter=" + url.QueryEscape("NOT visningsnavn < "+literal),
			"filter=" + url.QueryEscape("visningsnavn LIKE "+literal),
			"filter=" + url.QueryEscape("CASEI(visningsnavn) LIKE CASEI("+literal+")"),
			"filter=" + url.QueryEscape("ACCENTI(visningsnavn) IN (ACCENTI("+literal+"),'Oslo')"),
			"filter=" + url.QueryEscape("visningsnavn BETWEEN "+literal+" AND 'Vik'"),
			"cursor=" + url.QueryEscape(text), "sortby=" + url.QueryEscape(text),
		} {
			p := "/collections/sted/items?f=json&limit=3&" + query
			x, y := a.get(p), b.get(p)
			if x.StatusCode >= 500 || y.StatusCode >= 500 || x.StatusCode != y.StatusCode {
				t.Errorf("%s, %.60q: status %d from the file, %d from the database: %.300s", name, query, x.StatusCode,
					y.StatusCode, y.Body)
			} else if u, v := a.plain(p), b.plain(p); !bytes.Equal(u, v) {
				t.Errorf("%s, %.60q:\nGeoPackage %.300s\nPostGIS    %.300s", name, query, u, v)
			}
		}
		p := "/collections/sted/items/" + url.PathEscape(text)
		if x, y := a.get(p), b.get(p); x.StatusCode >= 500 || x.StatusCode != y.StatusCode {
			t.Errorf("%s as an id: status %d from the file, %d from the database", name, x.StatusCode, y.StatusCode)
		}
	}
}
