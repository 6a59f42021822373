package gpkg

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"grense/internal/cql2"
)

// canonical returns a text that identifies an expression: equal texts mean equal expressions.
func canonical(e cql2.Expr) string {
	var b strings.Builder
	writeCanonical(&b, reflect.ValueOf(e))
	return b.String()
}

func writeCanonical(b *strings.Builder, v reflect.Value) {
	if !v.IsValid() {
		b.WriteString("nil")
		return
	}
	if t, ok := v.Interface().(time.Time); ok {
		b.WriteString(t.UTC().Format(time.RFC3339Nano))
		return
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteString("nil")
		} else {
			writeCanonical(b, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(b, "%s[", v.Type().Name())
		for i := range v.Len() {
			writeCanonical(b, v.Index(i))
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case reflect.Struct:
		fmt.Fprintf(b, "%s{", v.Type().Name())
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Pos" && f.Name != "Quoted" {
				// a property stands for its name
				writeCanonical(b, v.Field(i))
				b.WriteByte(',')
			}
		}
		b.WriteByte('}')
	default:
		fmt.Fprintf(b, "%s:%#v", v.Type().Name(), v.Interface())
	}
}
