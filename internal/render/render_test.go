package render_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"grense/internal/render"
	"grense/internal/style"
)

// rules reads the layers of a style, which stand between brackets.
func rules(t testing.TB, layers string) []*style.Rules {
	t.Helper()
	s, err := style.Read([]byte(`{"version":8,"sources":{"a":{"type":"vector"}},"layers":[` + layers + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// area is a feature with one ring.
func area(id uint64, tags []render.Tag, ring ...render.Point) render.Feature {
	return render.Feature{ID: id, Kind: render.Polygons, Parts: [][]render.Point{ring}, Tags: tags}
}

func drawn(t testing.TB, m *render.Map) *render.Drawing {
	t.Helper()
	d, err := render.Draw(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func painted(t testing.TB, m *render.Map) *image.RGBA {
	t.Helper()
	img, err := drawn(t, m).Image(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return img
}

const byIndex = `{"id":"x","type":"fill","source":"a","source-layer":"f","paint":
	{"fill-color":["match",["get","n"],0,"#00ff00","#0000ff"]}}`

// slanted are two areas of 100 pixels that share an edge which is neither upright nor level.
func slanted() []render.Feature {
	a := []render.Tag{{Key: "n", Value: 0.0}}
	b := []render.Tag{{Key: "n", Value: 1.0}}
	return []render.Feature{
		area(1, a, render.Point{X: -10, Y: -10}, render.Point{X: 37.3, Y: -10}, render.Point{X: 61.8, Y: 110},
			render.Point{X: -10, Y: 110}),
		area(2, b, render.Point{X: 37.3, Y: -10}, render.Point{X: 110, Y: -10}, render.Point{X: 110, Y: 110},
			render.Point{X: 61.8, Y: 110}),
	}
}

func TestNoGroundShinesThroughBetweenNeighbours(t *testing.T) {
	t.Parallel()
	img := painted(t, &render.Map{Width: 100, Height: 100, Rules: rules(t, byIndex),
		Sources: map[string][]render.Feature{"f": slanted()}, Ground: &color.NRGBA{255, 0, 0, 255}})
	mixed := 0
	for y := range 100 {
		for x := range 100 {
			c := img.RGBAAt(x, y)
			if c.R > 2 || int(c.G)+int(c.B) < 252 {
				t.Fatalf("%v at %d, %d", c, x, y)
			}
			if c.G > 0 && c.B > 0 {
				mixed++
			}
		}
	}
	if left, right := img.RGBAAt(10, 50), img.RGBAAt(90, 50); left.G != 255 || right.B != 255 || mixed < 50 {
		t.Errorf("left %v, right %v, %d mixed pixels", left, right, mixed)
	}
}

func TestSharedBordersAreDrawnOnce(t *testing.T) {
	t.Parallel()
	layer := `{"id":"x","type":"line","source":"a","source-layer":"f",
		"paint":{"line-color":"#000000","line-width":0.5}}`
	both := painted(t, &render.Map{Width: 100, Height: 100, Rules: rules(t, layer),
		Sources: map[string][]render.Feature{"f": slanted()}, Ground: &color.NRGBA{255, 255, 255, 255}})
	one := painted(t, &render.Map{Width: 100, Height: 100, Rules: rules(t, layer),
		Sources: map[string][]render.Feature{"f": slanted()[:1]}, Ground: &color.NRGBA{255, 255, 255, 255}})
	if !bytes.Equal(both.Pix, one.Pix) {
		t.Error("the border is darker with both of its sides")
	}
	if bytes.Count(one.Pix, []byte{255, 255, 255, 255}) == 100*100 {
		t.Error("there is no border")
	}
}

func TestHolesStayEmpty(t *testing.T) {
	t.Parallel()
	f := area(1, nil, render.Point{X: 10, Y: 10}, render.Point{X: 90, Y: 10}, render.Point{X: 90, Y: 90},
		render.Point{X: 10, Y: 90})
	f.Parts = append(f.Parts, []render.Point{{X: 30, Y: 30}, {X: 30, Y: 70}, {X: 70, Y: 70}, {X: 70, Y: 30}})
	img := painted(t, &render.Map{Width: 100, Height: 100, Rules: rules(t, byIndex),
		Sources: map[string][]render.Feature{"f": {f}}})
	if in, out, side := img.RGBAAt(50, 50), img.RGBAAt(5, 5), img.RGBAAt(20, 50); in.A != 0 || out.A != 0 ||
		side != (color.RGBA{0, 0, 255, 255}) {
		t.Errorf("hole %v, outside %v, area %v", in, out, side)
	}
}

func TestDashesAndWidths(t *testing.T) {
	t.Parallel()
	line := render.Feature{Kind: render.Lines, Parts: [][]render.Point{{{X: 0, Y: 50}, {X: 100, Y: 50}}}}
	img := painted(t, &render.Map{Width: 100, Height: 100, Ratio: 2, Rules: rules(t, `{"id":"x","type":"line",
		"source":"a","source-layer":"f","paint":{"line-color":"#000000","line-width":5,"line-dasharray":[2,1]}}`),
		Sources: map[string][]render.Feature{"f": {line}}})
	for x, want := range map[int]uint8{5: 255, 15: 255, 25: 0, 35: 255, 55: 0} {
		if got := img.RGBAAt(x, 50).A; got != want {
			t.Errorf("opacity %d at %d, not %d", got, x, want)
		}
	}
	if img.RGBAAt(5, 46).A != 255 || img.RGBAAt(5, 44).A != 0 { // 10 pixels wide
		t.Error("the line is not 10 pixels wide")
	}
}

// named is a layer that writes names.
const named = `{"id":"y","type":"symbol","source":"a","source-layer":"f","layout":
	{"text-field":["get","name"],"text-size":14,"symbol-sort-key":["get","rank"]},
	"paint":{"text-color":"#000000","text-halo-color":"#ffffff","text-halo-width":1}}`

// places are n named points in a row.
func places(n int, apart float32, name string) (list []render.Feature) {
	for i := range n {
		list = append(list, render.Feature{ID: uint64(i), Kind: render.Points,
			Parts: [][]render.Point{{{X: 40 + float32(i)*apart, Y: 50}}},
			Tags:  []render.Tag{{Key: "name", Value: name}, {Key: "rank", Value: float64(n - i)}}})
	}
	return list
}

func TestLabelsKeepApartAndTheMostImportantStays(t *testing.T) {
	t.Parallel()
	text := func(n int, apart float32) string {
		d := drawn(t, &render.Map{Width: 400, Height: 100, Rules: rules(t, named),
			Sources: map[string][]render.Feature{"f": places(n, apart, "Tromsø")}})
		b, err := d.AppendSVG(t.Context(), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if n := strings.Count(text(5, 75), "Tromsø"); n != 5 {
		t.Errorf("%d labels, not 5", n)
	}
	if n := strings.Count(text(5, 5), "Tromsø"); n != 1 {
		t.Errorf("%d labels, not 1", n)
	}
	if s := text(2, 30); strings.Count(s, "Tromsø") != 1 || !strings.Contains(s, `x="70"`) {
		t.Errorf("the more important label is not there: %s", s)
	}
	if s := text(1, 0); !strings.Contains(s, "Tromsø") {
		t.Errorf("no label: %s", s)
	}
}

func TestNeighbouringPicturesAgreeAboutLabels(t *testing.T) {
	t.Parallel()
	sources := func(shift float32) map[string][]render.Feature {
		list := places(8, 30, "Lillehammer")
		for i := range list {
			list[i].Parts[0][0].X -= shift
		}
		return map[string][]render.Feature{"f": list}
	}
	at := func(shift float32) *image.RGBA {
		return painted(t, &render.Map{Width: 128, Height: 100, Rules: rules(t, named), Sources: sources(shift),
			Reach: 256})
	}
	whole := painted(t, &render.Map{Width: 256, Height: 100, Rules: rules(t, named), Sources: sources(0), Reach: 256})
	left, right := at(0), at(128)
	for y := range 100 {
		for x := range 256 {
			half := left.RGBAAt(x, y)
			if x >= 128 {
				half = right.RGBAAt(x-128, y)
			}
			if c := whole.RGBAAt(x, y); math.Abs(float64(c.A)-float64(half.A)) > 2 {
				t.Fatalf("%v and %v at %d, %d", c, half, x, y)
			}
		}
	}
}

// TestLabelsAcrossEdgesAreInBothPictures: in a crowd, where each label may displace others, none is cut at the edge of
// a tile.
func TestLabelsAcrossEdgesAreInBothPictures(t *testing.T) {
	t.Parallel()
	const side, reach, columns, rows = 256, 128, 3, 3
	random := rand.New(rand.NewPCG(1, 2))
	list := make([]render.Feature, 1500)
	for i := range list {
		name := fmt.Sprintf("Kommune %d.", i)
		list[i] = render.Feature{ID: uint64(i), Kind: render.Points,
			Parts: [][]render.Point{{{X: random.Float32()*side*(columns+1) - reach,
				Y: random.Float32()*side*(rows+1) - reach}}},
			Tags: []render.Tag{{Key: "name", Value: name}, {Key: "rank", Value: float64(random.IntN(1000))}}}
	}
	towns := list[:len(list):len(list)] // every tenth name is in a higher layer too
	var upper []render.Feature
	for i := 0; i < len(towns); i += 10 {
		f := towns[i]
		p := f.Parts[0][0]
		f.Parts = [][]render.Point{{{X: p.X + 30, Y: p.Y + 9}}}
		f.Tags = []render.Tag{{Key: "name", Value: fmt.Sprintf("D %d.", i)}, f.Tags[1]}
		upper = append(upper, f)
	}
	list = append(list, upper...)
	two := rules(t, named+","+strings.NewReplacer(`"y"`, `"u"`, `"f"`, `"u"`).Replace(named))
	var texts [columns][rows]string
	for x := range columns {
		for y := range rows {
			var moved []render.Feature
			for _, f := range list {
				p := f.Parts[0][0]
				f.Parts = [][]render.Point{{{X: p.X - float32(side*x), Y: p.Y - float32(side*y)}}}
				moved = append(moved, f)
			}
			d := drawn(t, &render.Map{Width: side, Height: side, Rules: two, Reach: reach,
				Sources: map[string][]render.Feature{"f": moved[:len(towns)], "u": moved[len(towns):]}})
			b, err := d.AppendSVG(t.Context(), nil, "")
			if err != nil {
				t.Fatal(err)
			}
			texts[x][y] = string(b)
		}
	}
	across := 0
	for _, f := range list {
		p, name := f.Parts[0][0], f.Tags[0].Value.(string)
		x, y := int(math.Floor(float64(p.X)/side)), int(math.Floor(float64(p.Y)/side))
		near := func(v float32, within float64) bool {
			return math.Abs(math.Remainder(float64(v), side)) < within
		}
		var one, two string
		switch {
		case p.X < 100 || p.Y < 100 || p.X > side*columns-100 || p.Y > side*rows-100:
			continue
		case near(p.X, 20) && !near(p.Y, 10):
			at := int(math.Round(float64(p.X) / side))
			one, two = texts[at-1][y], texts[at][y]
		case near(p.Y, 4) && !near(p.X, 50):
			at := int(math.Round(float64(p.Y) / side))
			one, two = texts[x][at-1], texts[x][at]
		default:
			continue
		}
		if strings.Contains(one, name) != strings.Contains(two, name) {
			t.Errorf("%s at %v is cut", name, p)
		}
		if strings.Contains(one, name) {
			across++
		}
	}
	if across < 10 {
		t.Errorf("%d labels are across edges", across)
	}
}

func TestSVGIsSoundWhateverTheTexts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Å", `<script>alert("1")</script>`, "a\x00b\xff", "]]>",
		strings.Repeat("x y ", 1000)} {
		d := drawn(t, &render.Map{Width: 4000, Height: 400, Ground: &color.NRGBA{1, 2, 3, 128},
			Rules: rules(t, byIndex+","+named), Sources: map[string][]render.Feature{
				"f": append(places(1, 0, name), slanted()...)}})
		b, err := d.AppendSVG(t.Context(), nil, name)
		if err != nil {
			t.Fatal(err)
		}
		for dec := xml.NewDecoder(bytes.NewReader(b)); ; {
			tok, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%q: %v", name, err)
			}
			if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "script" {
				t.Errorf("%q became an element", name)
			}
		}
		if !bytes.Contains(b, []byte(`viewBox="0 0 4000 400"`)) {
			t.Error("the view box is not that of the picture")
		}
	}
}

func TestPicturesAreDecodedAsPainted(t *testing.T) {
	t.Parallel()
	some := map[string][]render.Feature{"f": append(slanted()[:1:1], places(1, 0, "Bodø")...)}
	for name, m := range map[string]*render.Map{
		"opaque":      {Ground: &color.NRGBA{240, 240, 240, 255}, Sources: some, Rules: rules(t, byIndex+","+named)},
		"transparent": {Sources: some, Rules: rules(t, byIndex)},
		"empty":       {},
	} {
		m.Width, m.Height = 100, 100
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameDecoded(t, m)
		})
	}
}

func sameDecoded(t *testing.T, m *render.Map) {
	t.Helper()
	want := painted(t, m)
	d := drawn(t, m)
	b, err := d.PNG(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for y := range 100 {
		for x := range 100 {
			c, w := color.RGBAModel.Convert(got.At(x, y)).(color.RGBA), want.RGBAAt(x, y)
			for i, v := range [4][2]uint8{{c.R, w.R}, {c.G, w.G}, {c.B, w.B}, {c.A, w.A}} {
				if max(v[0], v[1])-min(v[0], v[1]) > 16 { // rare colours are merged with similar ones
					t.Fatalf("%v is %v at %d, %d: %d", c, w, x, y, i)
				}
			}
		}
	}
	if b, err = d.JPEG(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := jpeg.Decode(bytes.NewReader(b)); err != nil {
		t.Error(err)
	}
}

func TestLargePicturesAreTheSameInBands(t *testing.T) {
	t.Parallel()
	f := slanted()
	img := painted(t, &render.Map{Width: 100, Height: 40_000, Rules: rules(t, byIndex),
		Sources: map[string][]render.Feature{"f": append(f, area(3, nil, render.Point{X: 10, Y: 100},
			render.Point{X: 90, Y: 39_990}, render.Point{X: 10, Y: 39_990}))}})
	for _, y := range []int{20_971, 20_972, 30_000} { // beside the edge of a band, and in the second one
		if c := img.RGBAAt(20, y); c.B != 255 {
			t.Errorf("%v at %d", c, y)
		}
	}
}

func TestDrawingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	d := drawn(t, &render.Map{Width: 10, Height: 10, Rules: rules(t, byIndex),
		Sources: map[string][]render.Feature{"f": slanted()}})
	cancel()
	if _, err := render.Draw(ctx, &render.Map{Width: 10, Height: 10, Rules: rules(t, byIndex)}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("Draw: %v", err)
	}
	if _, err := d.PNG(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("PNG: %v", err)
	}
	if _, err := d.AppendSVG(ctx, nil, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("SVG: %v", err)
	}
}

func FuzzReadTile(f *testing.F) {
	f.Add([]byte{0x1a, 2, 0x0a, 0})
	f.Add([]byte("\x1a\x1ax\x02\n\x05hello\x12\x08\x18\x01\"\x04\t2<\x0f(\x80 "))
	f.Fuzz(func(t *testing.T, b []byte) {
		sources := map[string][]render.Feature{}
		if render.ReadTile(sources, b, func(x, y int32) render.Point {
			return render.Point{X: float32(x) / 16, Y: float32(y) / 16}
		}) != nil {
			return
		}
		for name, list := range sources {
			d := drawn(t, &render.Map{Width: 16, Height: 16, Rules: rules(t, byIndex), Zoom: 3,
				Sources: map[string][]render.Feature{"f": list}})
			if _, err := d.Image(t.Context()); err != nil {
				t.Error(name, err)
			}
		}
	})
}

// TestFlatColoursOfPNGAreExact however similar they are, and however many colours the edges have.
func TestFlatColoursOfPNGAreExact(t *testing.T) {
	t.Parallel()
	var list []render.Feature
	for i := range 40 { // stripes, whose edges mix two of three colours
		x := float32(10 * i)
		list = append(list, area(uint64(i), []render.Tag{{Key: "n", Value: float64(i % 3)}},
			render.Point{X: x + 9.7, Y: 0}, render.Point{X: x + 39, Y: 400}, render.Point{X: x + 29, Y: 400},
			render.Point{X: x, Y: 0}))
	}
	m := &render.Map{Width: 400, Height: 400, Ground: &color.NRGBA{0xf3, 0xf3, 0xf3, 255},
		Sources: map[string][]render.Feature{"f": append(list, places(4, 90, "Kautokeino")...)},
		Rules: rules(t, `{"id":"x","type":"fill","source":"a","source-layer":"f","paint":
			{"fill-color":["match",["get","n"],0,"#f8f8f8",1,"#205080","#e0a020"]}},`+named)}
	want := painted(t, m)
	b, err := drawn(t, m).PNG(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	counts, exact := map[color.RGBA]int{}, map[color.RGBA]int{}
	for y := range 400 {
		for x := range 400 {
			w := want.RGBAAt(x, y)
			if counts[w]++; color.RGBAModel.Convert(img.At(x, y)) == w {
				exact[w]++
			}
		}
	}
	if _, ok := img.(*image.Paletted); !ok || len(counts) <= 256 {
		t.Errorf("%T of %d colours", img, len(counts))
	}
	for _, c := range []color.RGBA{{0xf3, 0xf3, 0xf3, 255}, {0xf8, 0xf8, 0xf8, 255}, {0x20, 0x50, 0x80, 255},
		{0xe0, 0xa0, 0x20, 255}} {
		if n := counts[c]; n < 160 || exact[c] != n {
			t.Errorf("%v: %d of %d pixels are exact", c, exact[c], n)
		}
	}
}
