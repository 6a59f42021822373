package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/paulmach/orb"
)

func same(x, y float64) (float64, float64) { return x, y }

// wellFormed fails when a map is no XML, or holds what the policy of the pages refuses.
func wellFormed(t *testing.T, name, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%s: %v in %.300s", name, err, svg)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "style=", "<script", "http:", "onclick"} {
		if strings.Contains(svg, bad) {
			t.Errorf("%s: the map has %q", name, bad)
		}
	}
	if len(svg) > Budget {
		t.Errorf("%s: %d bytes", name, len(svg))
	}
}

func TestMapsOfAnyGeometryAreDrawn(t *testing.T) {
	t.Parallel()
	square := func(x, y, s float64) orb.Ring {
		return orb.Ring{{x, y}, {x + s, y}, {x + s, y + s}, {x, y + s}, {x, y}}
	}
	nan := math.NaN()
	for name, tt := range map[string]struct {
		g    orb.Geometry
		want string // pattern; "" when nothing is drawn
	}{
		"null":            {nil, ""},
		"empty":           {orb.MultiPolygon{}, ""},
		"empty ring":      {orb.Polygon{{}}, ""},
		"no numbers":      {orb.Point{nan, 1}, ""},
		"some no numbers": {orb.LineString{{nan, 1}, {1, 1}, {2, 3}}, `class="line" d="M\d`},
		"point":           {orb.Point{10, 60}, `class="point" d="M\d+ \d+h0"`},
		"points":          {orb.MultiPoint{{10, 60}, {11, 61}}, `class="point" d="M\d+ \d+h0M\d+ \d+h0"`},
		"line":            {orb.LineString{{10, 60}, {11, 61}}, `class="line" d="M\d+ \d+l`},
		"line of a point": {orb.LineString{{10, 60}, {10, 60}}, `class="line" d="M\d+ \d+h0`},
		"lines":           {orb.MultiLineString{{{1, 2}, {3, 4}}, {{5, 6}, {7, 9}}}, `class="line" d="M[^"]+M`},
		"area":            {orb.Polygon{square(10, 60, 1)}, `<path d="M[^"]+z"`},
		"hole":            {orb.Polygon{square(10, 60, 1), square(10.2, 60.2, .5)}, `<path d="M[^"]+zM[^"]+z"`},
		"area of a point": {orb.Polygon{{{10, 60}, {10, 60}, {10, 60}, {10, 60}}}, `<path d="M`},
		"area of a line":  {orb.Polygon{{{10, 60}, {11, 61}, {10, 60}}}, `<path d="M`},
		"open ring":       {orb.Polygon{{{10, 60}, {11, 61}, {10, 62}}}, `<path d="M[^"]+z"`},
		"collection": {orb.Collection{orb.Point{1, 2}, orb.LineString{{1, 2}, {3, 4}},
			orb.Polygon{square(0, 0, 9)}}, `class="line".*class="point"`},
		"whole world": {orb.Polygon{{{-180, -90}, {180, -90}, {180, 90}, {-180, 90}, {-180, -90}}},
			`<path d="M32 480l`},
		"pole":             {orb.Point{0, 90}, `class="point"`},
		"nested":           {orb.Collection{orb.Collection{orb.Point{1, 2}}}, `class="point"`},
		"tiny beside huge": {orb.MultiPolygon{{square(0, 0, 40)}, {square(50, 0, 1e-9)}}, `<path d="M[^M]+z"`},
	} {
		for _, degrees := range []bool{true, false} {
			p := Picture{
				Degrees: degrees,
				Text:    `a "map" of <x>`,
				Labels:  true,
				Marks:   []Mark{{Outline: NewOutline("A & B", tt.g, same), Href: "/x?a=1&b=<"}},
			}
			svg := string(p.SVG())
			if tt.want == "" {
				if svg != "" {
					t.Errorf("%s is drawn: %s", name, svg)
				}
				continue
			}
			wellFormed(t, name, svg)
			if !regexp.MustCompile(tt.want).MatchString(svg) ||
				!strings.Contains(svg, `<a href="/x?a=1&amp;b=&lt;"><title>A &amp; B</title>`) {
				t.Errorf("%s (degrees %t): %s", name, degrees, svg)
			}
		}
	}
}

// star is a ring of n positions with an outline that simplification cannot shorten much.
func star(r *rand.Rand, x, y, size float64, n int) orb.Ring {
	out := make(orb.Ring, n, n+1)
	for i := range out {
		a, d := 2*math.Pi*float64(i)/float64(n), size*(.6+.4*r.Float64())
		out[i] = orb.Point{x + d*math.Cos(a), y + d*math.Sin(a)}
	}
	return append(out, out[0])
}

func TestMapsStayWithinTheirBudget(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for name, tt := range map[string]struct {
		features, positions int
		linked              bool
	}{"few": {20, 200, true}, "fine": {3, 100000, true}, "many": {1000, 40, false}, "points": {1000, 0, false}} {
		var p Picture
		for i := range tt.features {
			var g orb.Geometry = orb.Point{r.Float64() * 1e6, r.Float64() * 1e6}
			if tt.positions > 0 {
				g = orb.Polygon{star(r, r.Float64()*1e6, r.Float64()*1e6, 3e4, tt.positions)}
			}
			p.Marks = append(p.Marks,
				Mark{Outline: NewOutline(strings.Repeat("n", 200), g, same),
					Href: fmt.Sprintf("/collections/some/items/%d", i)})
		}
		svg := string(p.SVG())
		wellFormed(t, name, svg)
		if n := strings.Count(svg, "<path"); n < tt.features*9/10 {
			t.Errorf("%s: %d shapes of %d", name, n, tt.features)
		}
		if strings.Contains(svg, "<a ") != tt.linked {
			t.Errorf("%s: linked is %t", name, !tt.linked)
		}
	}
}

// TestMapsKeepToAPixel holds each position of an outline against the lines that are drawn for it.
func TestMapsKeepToAPixel(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	ring := star(r, 0, 0, 1000, 300)
	p := Picture{Marks: []Mark{{Outline: NewOutline("", orb.Polygon{ring}, same)}}}
	d, _ := p.plan()
	d.draw(&p, 1)
	m := regexp.MustCompile(`<g class="here"><path d="([^"]+)"`).FindSubmatch(d.b)
	if m == nil {
		t.Fatalf("%s", d.b)
	}
	drawn := parsePath(t, string(m[1]))
	for _, q := range ring {
		q, best := d.xy(q), math.Inf(1)
		for i := range drawn {
			best = min(best, toSegment(q, drawn[i], drawn[(i+1)%len(drawn)]))
		}
		if best > 2.5 {
			t.Fatalf("%v is %.1f units from what is drawn", q, best)
		}
	}
}

// parsePath reads a path of M, l and z with whole numbers.
func parsePath(t *testing.T, s string) (out []orb.Point) {
	t.Helper()
	nums := regexp.MustCompile(`-?\d+`).FindAllString(s, -1)
	var at orb.Point
	for i := 0; i+1 < len(nums); i += 2 {
		var x, y float64
		if _, err := fmt.Sscan(nums[i], &x); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(nums[i+1], &y); err != nil {
			t.Fatal(err)
		}
		at = orb.Point{at[0] + x, at[1] + y}
		out = append(out, at)
	}
	return out
}

func toSegment(p, a, b orb.Point) float64 {
	dx, dy := b[0]-a[0], b[1]-a[1]
	f := 0.0
	if l := dx*dx + dy*dy; l > 0 {
		f = min(max(((p[0]-a[0])*dx+(p[1]-a[1])*dy)/l, 0), 1)
	}
	return math.Hypot(p[0]-a[0]-f*dx, p[1]-a[1]-f*dy)
}

func TestMapsCrossTheAntimeridian(t *testing.T) {
	t.Parallel()
	area := func(w, s, e, n float64) orb.Polygon {
		return orb.Polygon{{{w, s}, {e, s}, {e, n}, {w, n}, {w, s}}}
	}
	fiji := orb.MultiPolygon{area(177, -19, 180, -16), area(-180, -18, -178, -16)}
	p := Picture{Degrees: true, Marks: []Mark{{Outline: NewOutline("Fiji", fiji, same)}}}
	d, ok := p.plan()
	if !ok || d.view.Min[0] < 176 || d.view.Max[0] > 183 {
		t.Errorf("the view is %v", d.view)
	}
	if n := NewOutline("", orb.MultiPolygon{{star(rand.New(rand.NewPCG(9, 9)), 178, -17, 1, 200)},
		area(-180, -18, -178, -16)}, same); len(n.rings[0]) < 150 {
		t.Errorf("an outline at the antimeridian keeps %d positions of 200", len(n.rings[0]))
	}
	world := Picture{
		Degrees: true,
		Marks:   []Mark{{Outline: NewOutline("", fiji, same)}, {Outline: NewOutline("", area(-120, 0, 150, 60), same)}},
	}
	if d, _ = world.plan(); d.view.Min[0] > -179 || d.view.Max[0] > 200 {
		t.Errorf("the view of the world is %v", d.view)
	}
}

func TestLabelsDoNotOverlap(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	p := Picture{Labels: true}
	for range 200 {
		p.Marks = append(p.Marks,
			Mark{Outline: NewOutline("Somewhere - Elsewhere", orb.Point{r.Float64() * 1e5, r.Float64() * 1e5}, same)})
	}
	sets := regexp.MustCompile(`<g class="names[^>]*>(.*?)</g>`).FindAllSubmatch([]byte(p.SVG()), -1)
	if len(sets) != 2 {
		t.Fatalf("%d sets of labels", len(sets))
	}
	for i, size := range []float64{labelSize, narrowSize} {
		at := regexp.MustCompile(`<text x="(\d+)" y="(\d+)">Somewhere<`).FindAllSubmatch(sets[i][1], -1)
		if len(at) < 10 || len(at) > labelMost {
			t.Fatalf("%d labels", len(at))
		}
		var xy []orb.Point
		for _, m := range at {
			xy = append(xy, parsePath(t, string(bytes.Join(m[1:], []byte(" "))))[0])
		}
		for i, a := range xy {
			for _, b := range xy[:i] {
				if math.Abs(a[1]-b[1]) < size && math.Abs(a[0]-b[0]) < .58*size*9 {
					t.Errorf("labels at %v and %v overlap", a, b)
				}
			}
		}
	}
}

func TestMapsOfManyNameTheLargestFirst(t *testing.T) {
	t.Parallel()
	p := Picture{Labels: true}
	for i := range 100 { // in rows of ten; each fifth is larger, and all are smaller than their names
		x, y, size := float64(i%10)*1e4, float64(i/10)*1e4, 2e3
		title := "Small place " + strconv.Itoa(i)
		if i%10 == 2 && i/10%2 == 0 {
			title, size = "Large place "+strconv.Itoa(i), 6e3
		}
		p.Marks = append(
			p.Marks,
			Mark{
				Outline: NewOutline(title,
					orb.Polygon{{{x, y}, {x + size, y}, {x + size, y + size}, {x, y + size}, {x, y}}}, same),
			},
		)
	}
	for _, set := range regexp.MustCompile(`<g class="names[^>]*>(.*?)</g>`).FindAllSubmatch([]byte(p.SVG()), -1) {
		large, all := bytes.Count(set[1], []byte(">Large")), bytes.Count(set[1], []byte("<text"))
		if large < 4 || all > overMost {
			t.Errorf("%d names, %d of 5 large places: %s", all, large, set[1])
		}
	}
}

// TestNamesOfFewAreThere draws a small area that larger ones enclose: its name has no room there, and stands apart
// with a line to it.
func TestNamesOfFewAreThere(t *testing.T) {
	t.Parallel()
	box := func(title string, x, y, w, h float64) Mark {
		return Mark{Outline: NewOutline(title, orb.Polygon{{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}, {x, y}}},
			same)}
	}
	p := Picture{
		Labels: true,
		Marks: []Mark{
			box("Northern county of the country", 0, 60e3, 100e3, 100e3),
			box("Southern county of the country", 0, -50e3, 100e3, 100e3),
			box("Western county", 0, 50e3, 45e3, 10e3),
			box("Eastern county", 55e3, 50e3, 45e3, 10e3),
			box("The capital of all", 45e3, 50e3, 10e3, 10e3),
			box("Far island", 400e3, 0, 10e3, 10e3),
		},
	}
	for _, set := range regexp.MustCompile(`<g class="names[^>]*>(.*?)</g>`).FindAllSubmatch([]byte(p.SVG()), -1) {
		if bytes.Count(set[1], []byte("<text")) != len(p.Marks) ||
			!bytes.Contains(set[1], []byte(`<path class="leader"`)) {
			t.Errorf("names: %s", set[1])
		}
	}
}

func TestUnionHasNoBordersInIt(t *testing.T) {
	t.Parallel()
	cell := func(x, y float64) *Outline {
		return NewShared("", "", orb.MultiPolygon{{{{x, y}, {x + 1, y}, {x + 1, y + 1}, {x, y + 1}, {x, y}}}})
	}
	var all []*Outline
	for i := range 9 {
		if i != 4 { // a lake in the middle
			all = append(all, cell(float64(i%3), float64(i/3)))
		}
	}
	u := Union(append(all, cell(5, 5)))
	edges := 0
	for _, r := range u.rings {
		edges += len(r) - 1
		if r[0] != r[len(r)-1] {
			t.Errorf("%v is not closed", r)
		}
	}
	if edges != 12+4+4 || u.bound != (orb.Bound{Max: orb.Point{6, 6}}) {
		t.Errorf("%d edges within %v: %v", edges, u.bound, u.rings)
	}
	if Union([]*Outline{all[0], NewOutline("", orb.Point{1, 1}, same)}) != nil {
		t.Error("areas with borders of their own are joined")
	}
}

func TestLabelsLieInTheirArea(t *testing.T) {
	t.Parallel()
	horseshoe := orb.Ring{{0, 0}, {30, 0}, {30, 30}, {20, 30}, {20, 10}, {10, 10}, {10, 30}, {0, 30}, {0, 0}}
	if p := inside(horseshoe, nil); p[0] > 10 && p[0] < 20 && p[1] > 10 {
		t.Errorf("%v is in the gap", p)
	}
	if p := inside(orb.Ring{{5, 5}}, nil); p != (orb.Point{5, 5}) {
		t.Errorf("a point gives %v", p)
	}
	if p := inside(orb.Ring{{0, 0}, {30, 0}, {30, 30}, {0, 30}, {0, 0}},
		[]orb.Bound{{Min: orb.Point{5, 5}, Max: orb.Point{25, 40}}}); p[0] > 5 &&
		p[0] < 25 &&
		p[1] > 5 {
		t.Errorf("%v is covered", p)
	}
}

// TestNothingCoversAPoint draws a point in the corner of a map, where the buttons are on screens of 360 px, and a
// small island, which its own name would cover.
func TestNothingCoversAPoint(t *testing.T) {
	t.Parallel()
	islet := orb.Polygon{{{100e3, 0}, {101e3, 0}, {101e3, 1e3}, {100e3, 1e3}, {100e3, 0}}}
	p := Picture{
		Labels: true,
		Marks: []Mark{
			{Outline: NewOutline("Far islet", islet, same)},
			{Outline: NewOutline("Here", orb.Point{0, 60e3}, same)},
		},
	}
	d, _ := p.plan()
	if at, corner := d.xy(orb.Point{0, 60e3}), 44.0*mapWidth/328; at[0] < corner-4 && at[1] < corner-4 {
		t.Errorf("the point is at %v", at)
	}
	at := d.xy(orb.Point{100.5e3, .5e3})
	for _, m := range regexp.MustCompile(`x="(\d+)" y="\d+">Far islet<`).FindAllStringSubmatch(string(p.SVG()), -1) {
		if x, _ := strconv.ParseFloat(m[1], 64); math.Abs(x-at[0]) < .5*labelSize*9/2 {
			t.Errorf("the name at %s covers the islet at %v", m[1], at)
		}
	}
}

func TestExtentIsDrawnWithoutFeatures(t *testing.T) {
	t.Parallel()
	p := Picture{Degrees: true, Text: "x", Box: &orb.Bound{Min: orb.Point{5, 58}, Max: orb.Point{11, 63}}}
	svg := string(p.SVG())
	wellFormed(t, "box", svg)
	if !strings.Contains(svg, `class="box"`) || !strings.Contains(svg, `role="img" aria-label="x"`) ||
		!regexp.MustCompile(`>\d+ km<`).MatchString(svg) {
		t.Errorf("%s", svg)
	}
}

// A page of 100 outlines of 60 positions takes well below 10 ms.
func BenchmarkMap(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	var p Picture
	p.Labels = true
	for i := range 100 {
		p.Marks = append(
			p.Marks,
			Mark{
				Outline: NewOutline("Somewhere", orb.Polygon{star(r, r.Float64()*1e6, r.Float64()*1e6, 3e4, 60)}, same),
				Href:    fmt.Sprintf("/collections/some/items/%d", i),
			},
		)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.SVG()
	}
}

func TestExtentsLieOverAGridOfDegrees(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		box  orb.Bound
		want []string // names of lines, in English
	}{
		"a country": {orb.Bound{Min: orb.Point{5, 58}, Max: orb.Point{31, 71}}, []string{"10°\u00a0E", "60°\u00a0N"}},
		"the world": {orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}},
			[]string{"60°\u00a0W", "0°", "120°\u00a0E", "60°\u00a0S"}},
		"a place": {orb.Bound{Min: orb.Point{-10.75, -59.9}, Max: orb.Point{-10.75, -59.9}},
			[]string{"10.7°\u00a0W", "59.9°\u00a0S"}},
	} {
		p := Picture{Lang: "en", Degrees: true, Box: &x.box, DegreeGrid: true}
		svg := string(p.SVG())
		for _, want := range x.want {
			if !strings.Contains(svg, ">"+want+"</text>") {
				t.Errorf("%s lies over no line %s: %s", name, want, svg)
			}
		}
		if n := strings.Count(svg, `class="degree"`); n < 4 || n > 24 {
			t.Errorf("%s lies over %d lines", name, n)
		}
		if strings.Contains(svg, "210°") || strings.Contains(svg, "120°\u00a0N") {
			t.Errorf("%s has lines that the earth has not", name)
		}
	}
}

// TestNeighboursKeepTheirBorderWhateverIsLeftOut draws a wavy border between two areas so fine that the picture has
// no room for it.
func TestNeighboursKeepTheirBorderWhateverIsLeftOut(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	var west, east orb.Ring
	for i := range 30_000 {
		west = append(west, orb.Point{500_000 + 20_000*rnd.Float64(), 30 * float64(i)})
	}
	for i := range west {
		east = append(east, west[len(west)-1-i])
	}
	west = append(west, orb.Point{0, 900_000}, orb.Point{0, 0}, west[0])
	east = append(east, orb.Point{1_000_000, 0}, orb.Point{1_000_000, 900_000}, east[0])
	p := Picture{
		Marks: []Mark{
			{Outline: NewShared("west", "", orb.MultiPolygon{{west}})},
			{Outline: NewShared("east", "", orb.MultiPolygon{{east}})},
		},
	}
	svg := string(p.SVG())
	wellFormed(t, "two areas", svg)
	steps := map[[4]int]int{}
	for _, d := range regexp.MustCompile(` d="([^"]*)"`).FindAllStringSubmatch(svg, 2) {
		numbers := regexp.MustCompile(`-?\d+`).FindAllString(d[1], -1)
		var x, y int
		for i := 0; i < len(numbers); i += 2 {
			dx, _ := strconv.Atoi(numbers[i])
			dy, _ := strconv.Atoi(numbers[i+1])
			if i > 0 {
				steps[[4]int{min(x, x+dx), min(y, y+dy), max(x, x+dx), max(y, y+dy)}]++
			}
			x, y = x+dx, y+dy
		}
	}
	alone := 0
	for _, n := range steps {
		if n%2 == 1 {
			alone++
		}
	}
	if len(steps) < 20 || alone > 8 { // the outer sides
		t.Errorf("%d of %d steps are of one area only", alone, len(steps))
	}
}

// TestNamesBesideTheirFeaturesHaveNoLine: a name that stands right beside what it names needs no line, which would be
// a dot.
func TestNamesBesideTheirFeaturesHaveNoLine(t *testing.T) {
	t.Parallel()
	rng, lines := rand.New(rand.NewPCG(51, 52)), 0
	for range 40 {
		p := Picture{Labels: true, Around: true}
		for i, title := range []string{"Oslo", "Bærum", "Nittedal", "Nannestad", "Hole", "Rælingen", "Enebakk"} {
			x, y, w, h := 60e3*rng.Float64(), 60e3*rng.Float64(), 10e3*rng.Float64(), 10e3*rng.Float64()
			p.Marks = append(
				p.Marks,
				Mark{
					Near: i > 3,
					Outline: NewOutline(title, orb.Polygon{{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}, {x, y}}},
						same),
				},
			)
		}
		for _, m := range regexp.MustCompile(`class="leader" d="M-?\d+ ?-?\d+l(-?\d+) ?(-?\d+)"`).
			FindAllStringSubmatch(string(p.SVG()), -1) {
			lines++
			x, _ := strconv.Atoi(m[1])
			y, _ := strconv.Atoi(m[2])
			if max(x, -x, y, -y) < 3 {
				t.Errorf("a line of %d by %d", x, y)
			}
		}
	}
	if lines == 0 {
		t.Error("no lines")
	}
}

// TestLinesToNamesDoNotCross draws small areas side by side, whose names stand apart.
func TestLinesToNamesDoNotCross(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	leader, lines := regexp.MustCompile(`class="leader" d="([^"]*)"`), 0
	for n := range 200 {
		p := Picture{
			Labels: true,
			Marks:  []Mark{{Outline: NewOutline("Far island", orb.Polygon{star(r, 4e5, 0, 1e4, 20)}, same)}},
		}
		for i := range 3 + n%12 {
			p.Marks = append(
				p.Marks,
				Mark{
					Outline: NewOutline("County number "+strconv.Itoa(i),
						orb.Polygon{star(r, r.Float64()*1e5, r.Float64()*1e5, 1e4, 20)}, same),
				},
			)
		}
		for _, set := range regexp.MustCompile(`<g class="names[^>]*>(.*?)</g>`).FindAllSubmatch([]byte(p.SVG()), -1) {
			var seen [][]orb.Point
			for _, m := range leader.FindAllSubmatch(set[1], -1) {
				l := parsePath(t, string(m[1]))
				for _, k := range seen {
					if cross(l[0], l[1], k[0], k[1]) {
						t.Errorf("picture %d: the line %v crosses %v", n, l, k)
					}
				}
				seen, lines = append(seen, l), lines+1
			}
		}
	}
	if lines < 500 {
		t.Errorf("only %d lines", lines)
	}
}

// cross reports whether two segments cross each other.
func cross(a, b, c, d orb.Point) bool {
	side := func(p, q, r orb.Point) float64 { return (q[0]-p[0])*(r[1]-p[1]) - (q[1]-p[1])*(r[0]-p[0]) }
	return side(a, b, c)*side(a, b, d) < 0 && side(c, d, a)*side(c, d, b) < 0
}
