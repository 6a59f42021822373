package glyph_test

import (
	"testing"

	"github.com/paulmach/protoscan"

	"grense/internal/glyph"
)

// letter is a glyph as a map library reads it.
type letter struct {
	bitmap        []byte
	width, height int
	left, top     int
	advance       int
}

func (l *letter) at(x, y int) byte { return l.bitmap[(y+3)*(l.width+6)+x+3] }

// read reads the message of a range as the specification of glyphs has it.
func read(t *testing.T, font string, n int) (name, of string, letters map[rune]*letter) {
	t.Helper()
	b, err := glyph.Range(font, font, n)
	if err != nil {
		t.Fatal(err)
	}
	letters = map[rune]*letter{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	stacks := protoscan.New(b)
	for stacks.Next() {
		stack, err := stacks.Message(nil)
		must(err)
		for stack.Next() {
			switch stack.FieldNumber() {
			case 1:
				name, err = stack.String()
			case 2:
				of, err = stack.String()
			case 3:
				var g *protoscan.Message
				g, err = stack.Message(nil)
				must(err)
				l, id := &letter{}, uint32(0)
				for g.Next() {
					var u uint32
					var s int32
					switch g.FieldNumber() {
					case 1:
						id, err = g.Uint32()
					case 2:
						l.bitmap, err = g.Bytes()
					case 3:
						u, err = g.Uint32()
						l.width = int(u)
					case 4:
						u, err = g.Uint32()
						l.height = int(u)
					case 5:
						s, err = g.Sint32()
						l.left = int(s)
					case 6:
						s, err = g.Sint32()
						l.top = int(s)
					case 7:
						u, err = g.Uint32()
						l.advance = int(u)
					}
					must(err)
				}
				must(g.Err())
				letters[rune(id)] = l
			}
			must(err)
		}
		must(stack.Err())
	}
	must(stacks.Err())
	return name, of, letters
}

func TestRangesHaveTheLettersOfNorwegianAndSamiNames(t *testing.T) {
	t.Parallel()
	for _, font := range glyph.Names() {
		all := map[rune]*letter{}
		for n, want := range []string{"0-255", "256-511"} {
			name, of, letters := read(t, font, n)
			if name != font || of != want {
				t.Errorf("range %d is %q of %q", n, of, name)
			}
			for r, l := range letters {
				all[r] = l
			}
		}
		for _, r := range "ABCÆØÅæøåÁáČčĐđŊŋŠšŦŧŽžÄäÖöÏïÂâ 0123456789-–/'" {
			if r == '–' { // in another range
				continue
			}
			l := all[r]
			if l == nil || l.advance == 0 || r != ' ' && len(l.bitmap) != (l.width+6)*(l.height+6) {
				t.Errorf("%s: %q is %+v", font, r, l)
			}
		}
	}
	if _, _, letters := read(t, "Go Regular", 0x4e00/256); len(letters) > 0 {
		t.Errorf("%d Chinese characters", len(letters))
	}
}

func TestFieldsAreDarkWithinALetterAndEndAtItsEdge(t *testing.T) {
	t.Parallel()
	_, _, letters := read(t, "Go Bold", 0)
	l := letters['I']
	middle, within, outside := l.at(l.width/2, l.height/2), 0, 0
	for _, v := range l.bitmap {
		if v >= 192 {
			within++
		} else {
			outside++
		}
	}
	if middle < 192 || l.at(-3, -3) > 120 || within == 0 || outside == 0 {
		t.Errorf("the middle is %d, the corner %d, %d pixels within", middle, l.at(-3, -3), within)
	}
	if l.height < 16 || l.height > 19 || l.top > -7 || l.top < -10 {
		t.Errorf("a capital is %d high, at %d", l.height, l.top)
	}
	if o := letters['o']; o.at(o.width/2, o.height/2) >= 192 {
		t.Error("the hole of an o is filled")
	}
	if g := letters['g']; g.top-g.height >= l.top-l.height {
		t.Error("a g does not go below the base line")
	}
}

func TestFontStacksHaveTheNearestFont(t *testing.T) {
	t.Parallel()
	for stack, want := range map[string]string{"Go Bold": "Go Bold", "Noto Sans Regular,go italic": "Go Italic",
		"Noto Sans Bold": "Go Bold", "Open Sans Semibold,Arial Unicode MS Bold": "Go Bold",
		"Open Sans Regular": "Go Regular",
		"Roboto Italic":     "Go Italic", "": "Go Regular"} {
		if got := glyph.Face(stack); got != want {
			t.Errorf("%s: %s, want %s", stack, got, want)
		}
	}
}
