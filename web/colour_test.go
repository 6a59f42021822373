package web_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// luminance is the relative luminance of a colour in hexadecimal (WCAG 2.2, definition of relative luminance).
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	rgb, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || len(hex) != 6 {
		t.Fatalf("colour %q", hex)
	}
	linear := func(shift uint) float64 {
		c := float64(rgb>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(16) + 0.7152*linear(8) + 0.0722*linear(0)
}

// TestTheMapShowsBordersAndWhatIsChosen reads the colours of the map of tiles, light and dark: borders stand out from
// ground and sea, and the outline of what is chosen from its area and its neighbours (WCAG 2.2, 1.4.11).
func TestTheMapShowsBordersAndWhatIsChosen(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("static/map.js")
	if err != nil {
		t.Fatal(err)
	}
	themes := 0
	for _, line := range regexp.MustCompile(`--map-sea: #.*`).FindAllString(string(script), -1) {
		themes++
		c := map[string]float64{}
		for _, m := range regexp.MustCompile(`--map-(\w+): #(\w+)`).FindAllStringSubmatch(line, -1) {
			c[m[1]] = luminance(t, m[2])
		}
		for _, pair := range [][2]string{{"line", "area"}, {"line", "sea"}, {"line", "a0"}, {"line", "a1"},
			{"line", "a2"}, {"line", "a3"}, {"upper", "a0"}, {"upper", "sea"}, {"chosen", "here"},
			{"chosen", "a0"}, {"chosen", "a1"}, {"chosen", "a2"}, {"chosen", "a3"}, {"point", "here"},
			{"point", "area"}, {"point", "sea"}} {
			if r := (max(c[pair[0]], c[pair[1]]) + .05) / (min(c[pair[0]], c[pair[1]]) + .05); r < 3 {
				t.Errorf("%s on %s: %.2f", pair[0], pair[1], r)
			}
		}
	}
	if themes != 2 {
		t.Errorf("%d themes", themes)
	}
}

// TestMapsOfTilesAreOnTheGroundOfDrawnMaps: sea, land and shore look the same on both, light and dark.
func TestMapsOfTilesAreOnTheGroundOfDrawnMaps(t *testing.T) {
	t.Parallel()
	read := func(file, pattern string) (out []map[string]string) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile(pattern).FindAllString(string(b), 2) {
			colours := map[string]string{}
			for _, m := range regexp.MustCompile(`--([a-z0-3-]+): (#\w+)`).FindAllStringSubmatch(block, -1) {
				colours[m[1]] = m[2]
			}
			out = append(out, colours)
		}
		return out
	}
	drawn, tiles := read("static/site.css", `(?s):root \{.*?\}`), read("static/map.js", `--map-sea: #.*`)
	if len(drawn) != 2 || len(tiles) != 2 {
		t.Fatalf("%d and %d themes", len(drawn), len(tiles))
	}
	for i := range drawn {
		for on, of := range map[string]string{"sea": "sea", "land": "area", "shore": "line", "a0": "a0", "a1": "a1",
			"a2": "a2", "a3": "a3"} {
			if drawn[i][on] != tiles[i]["map-"+of] {
				t.Errorf("theme %d: %s is %s when drawn, %s of tiles", i, on, drawn[i][on], tiles[i]["map-"+of])
			}
		}
	}
}
