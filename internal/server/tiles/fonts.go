package tiles

import (
	"net/http"
	"strconv"
	"strings"

	"grense/internal/cache"
	"grense/internal/glyph"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/wire"
)

// asGlyphs are letters for map libraries.
var asGlyphs = media.Format{F: "pbf", Media: "application/x-protobuf", Also: []string{"application/octet-stream"},
	Binary: true}

// fontsPath is where the letters are, with the variables that styles have in it.
const fontsPath = "/fonts/{fontstack}/{range}.pbf"

// glyphKey names a range of a font under the name that a map library gives it.
type glyphKey struct {
	stack string
	n     int
}

// glyphBytes bounds the letters that are cached: the ranges of Latin names take 100 KB.
const glyphBytes = 2 << 20

func newGlyphs(g *cache.Group) *cache.Cache[glyphKey, *wire.Body] {
	return cache.New[glyphKey, *wire.Body](cache.Options{Name: "glyphs", Bytes: glyphBytes, Group: g})
}

// longestStack is how long the name of a font stack may be.
const longestStack = 200

// letters gives a range of the letters of a font (MapLibre style specification, glyphs).
func (s *surface) letters(c *call, w http.ResponseWriter) error {
	stack, from := c.PathParam("fontstack"), c.PathParam("range")
	first, last, _ := strings.Cut(from, "-")
	n, err := strconv.Atoi(first)
	if err != nil || n < 0 || n%256 != 0 || n/256 >= glyph.Ranges || last != strconv.Itoa(n+255) {
		return problem.NotFoundf("there is no range %q of letters; ranges are 0-255, 256-511 and so on to 65280-65535",
			problem.Clip(from))
	}
	if len(stack) > longestStack {
		return problem.NotFoundf("there is no font %q; use %s", problem.Clip(stack), strings.Join(glyph.Names(), ", "))
	}
	key := glyphKey{stack, n / 256}
	body, ok := s.glyphs.Get(key)
	if !ok {
		plain, err := glyph.Range(glyph.Face(stack), stack, n/256)
		if err != nil {
			return err
		}
		body = wire.NewBody(plain)
		s.glyphs.Put(key, body, int64(len(body.Plain)+len(body.Gz)+len(stack)+128))
	}
	h := w.Header()
	h.Set("Cache-Control", server.Briefly)
	h.Set("Content-Type", c.Format.ContentType())
	c.WriteBody(w, http.StatusOK, body)
	return nil
}

// glyphsURL is the address of the letters of styles.
func (c *call) glyphsURL() string {
	if set := c.s.Config.Service.Glyphs; set != "" {
		return set
	}
	return c.Base() + fontsPath
}
