package style

import "strings"

// kind is the type of the values of a property.
type kind int

const (
	isNumber kind = iota
	isColor
	isBool
	isText
	isEnum
	isNumbers
	isTexts
	isAny // of properties that are not drawn
)

// property is a property of a type of layers.
type property struct {
	layout bool
	kind   kind
	value  any    // default; nil: none
	words  string // of an enum, between spaces
}

// drawn lists the properties of the types of layers that Rules evaluates, by type and name (MapLibre style
// specification, version 8, layers).
var drawn = map[string]map[string]property{
	"background": table(`
		visibility L enum visible visible,none
		background-color P color #000000
		background-opacity P number 1
		background-pattern P any -`),
	"fill": table(`
		visibility L enum visible visible,none
		fill-sort-key L number -
		fill-antialias P bool true
		fill-color P color #000000
		fill-opacity P number 1
		fill-outline-color P color -
		fill-pattern P any -
		fill-translate P numbers 0,0
		fill-translate-anchor P enum map map,viewport`),
	"line": table(`
		visibility L enum visible visible,none
		line-cap L enum butt butt,round,square
		line-join L enum miter bevel,round,miter
		line-miter-limit L number 2
		line-round-limit L number 1.05
		line-sort-key L number -
		line-blur P number 0
		line-color P color #000000
		line-dasharray P numbers -
		line-gap-width P number 0
		line-gradient P any -
		line-offset P number 0
		line-opacity P number 1
		line-pattern P any -
		line-translate P numbers 0,0
		line-translate-anchor P enum map map,viewport
		line-width P number 1`),
	"circle": table(`
		visibility L enum visible visible,none
		circle-sort-key L number -
		circle-blur P number 0
		circle-color P color #000000
		circle-opacity P number 1
		circle-pitch-alignment P enum viewport map,viewport
		circle-pitch-scale P enum map map,viewport
		circle-radius P number 5
		circle-stroke-color P color #000000
		circle-stroke-opacity P number 1
		circle-stroke-width P number 0
		circle-translate P numbers 0,0
		circle-translate-anchor P enum map map,viewport`),
	"symbol": table(`
		visibility L enum visible visible,none
		icon-allow-overlap L bool false
		icon-anchor L enum center center,left,right,top,bottom,top-left,top-right,bottom-left,bottom-right
		icon-ignore-placement L bool false
		icon-image L any -
		icon-keep-upright L bool false
		icon-offset L numbers 0,0
		icon-optional L bool false
		icon-overlap L enum - never,always,cooperative
		icon-padding L any -
		icon-pitch-alignment L enum auto map,viewport,auto
		icon-rotate L number 0
		icon-rotation-alignment L enum auto map,viewport,auto
		icon-size L number 1
		icon-text-fit L enum none none,width,height,both
		icon-text-fit-padding L numbers 0,0,0,0
		symbol-avoid-edges L bool false
		symbol-placement L enum point point,line,line-center
		symbol-sort-key L number -
		symbol-spacing L number 250
		symbol-z-order L enum auto auto,viewport-y,source
		text-allow-overlap L bool false
		text-anchor L enum center center,left,right,top,bottom,top-left,top-right,bottom-left,bottom-right
		text-field L text -
		text-font L texts -
		text-ignore-placement L bool false
		text-justify L enum center auto,left,center,right
		text-keep-upright L bool true
		text-letter-spacing L number 0
		text-line-height L number 1.2
		text-max-angle L number 45
		text-max-width L number 10
		text-offset L numbers 0,0
		text-optional L bool false
		text-overlap L enum - never,always,cooperative
		text-padding L number 2
		text-pitch-alignment L enum auto map,viewport,auto
		text-radial-offset L number 0
		text-rotate L number 0
		text-rotation-alignment L enum auto map,viewport,viewport-glyph,auto
		text-size L number 16
		text-transform L enum none none,uppercase,lowercase
		text-variable-anchor L texts -
		text-variable-anchor-offset L any -
		text-writing-mode L texts -
		icon-color P color #000000
		icon-halo-blur P number 0
		icon-halo-color P color transparent
		icon-halo-width P number 0
		icon-opacity P number 1
		icon-translate P numbers 0,0
		icon-translate-anchor P enum map map,viewport
		text-color P color #000000
		text-halo-blur P number 0
		text-halo-color P color transparent
		text-halo-width P number 0
		text-opacity P number 1
		text-translate P numbers 0,0
		text-translate-anchor P enum map map,viewport`),
}

// undrawn are the other types of layers.
var undrawn = []string{"fill-extrusion", "heatmap", "hillshade", "color-relief", "raster", "sky"}

// table reads a property from each line: name, L for layout or P for paint, kind, default and the words of an enum.
func table(lines string) map[string]property {
	kinds := map[string]kind{"number": isNumber, "color": isColor, "bool": isBool, "text": isText, "enum": isEnum,
		"numbers": isNumbers, "texts": isTexts, "any": isAny}
	out := map[string]property{}
	for line := range strings.SplitSeq(lines, "\n") {
		part := strings.Fields(line)
		if len(part) == 0 {
			continue
		}
		p := property{layout: part[1] == "L", kind: kinds[part[2]]}
		if len(part) > 4 {
			p.words = " " + strings.ReplaceAll(part[4], ",", " ") + " "
		}
		if part[3] != "-" {
			p.value = defaultOf(p.kind, part[3])
		}
		out[part[0]] = p
	}
	return out
}

func defaultOf(k kind, s string) any {
	switch k {
	case isNumber:
		return evalNumber([]any{s}, 0, nil)
	case isBool:
		return s == "true"
	case isColor:
		c, _ := Color(s)
		return c
	case isNumbers:
		var list []any
		for x := range strings.SplitSeq(s, ",") {
			list = append(list, evalNumber([]any{x}, 0, nil))
		}
		return list
	}
	return s
}
