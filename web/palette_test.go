package web_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"grense/internal/style"
)

// TestMapsOfPagesHaveTheColoursOfTheStyle of one level, light and dark.
func TestMapsOfPagesHaveTheColoursOfTheStyle(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("static/map.js")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile(`--map-sea: #.*`).FindAllString(string(script), -1)
	for i, theme := range []style.Theme{style.Light, style.Dark} {
		colors := map[string]string{}
		for _, m := range regexp.MustCompile(`--map-(\w+): (#\w+)`).FindAllStringSubmatch(blocks[i], -1) {
			colors[m[1]] = m[2]
		}
		for _, l := range style.Divisions([]style.Data{{ID: "x", Dimension: 2, Count: 10, Name: "navn"}},
			style.Drawing{Source: "s", Theme: theme}) {
			want := map[string]any{}
			switch l.Type {
			case "background":
				want["sea"] = l.Paint["background-color"]
			case "fill":
				stated := l.Paint["fill-color"].([]any)
				match := stated[len(stated)-1].([]any)
				for n := range 4 {
					want["a"+strconv.Itoa(n)] = match[3+2*n]
				}
				want["area"], want["here"] = match[len(match)-1], stated[2]
			case "line":
				of := l.Paint["line-color"].([]any)
				want["chosen"], want["line"] = of[2], of[3]
			case "symbol":
				want["text"] = l.Paint["text-color"]
			}
			for name, color := range want {
				if text, _ := color.(string); !strings.EqualFold(text, colors[name]) {
					t.Errorf("%s: --map-%s is %s, %s in the style", theme, name, colors[name], text)
				}
			}
		}
	}
}
