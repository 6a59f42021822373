package config

import (
	"fmt"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes.
type Size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

// ParseSize parses sizes such as "1MiB", "500 kB" or "4096".
func ParseSize(s string) (Size, error) {
	num, unit := s, int64(1)
	for _, u := range sizeUnits {
		if head, ok := strings.CutSuffix(s, u.name); ok {
			num, unit = strings.TrimSpace(head), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(num, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return 0, fmt.Errorf("%q is not a size; write bytes or a unit, for example 1MiB", s)
	}
	return Size(n * unit), nil
}

// setText parses text into v, whose type isText accepts.
func setText(v reflect.Value, text string) error {
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = text
	case *Text:
		*p = Text{"": text}
	case *Words:
		*p = Words{"": list(text)}
	case *[]string:
		*p = list(text)
	case *[]netip.Prefix:
		return setPrefixes(p, list(text))
	case *netip.Prefix:
		return setPrefix(p, text)
	case *bool:
		switch text {
		case "true", "false":
			*p = text == "true"
		default:
			return fmt.Errorf("%q is not true or false", text)
		}
	case **int:
		*p = new(int)
		return setText(reflect.ValueOf(*p).Elem(), text)
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		*p = n
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a duration; write a number and a unit, for example 10s", text)
		}
		*p = d
	case *Size:
		n, err := ParseSize(text)
		if err != nil {
			return err
		}
		*p = n
	default:
		panic(fmt.Sprintf("config: no text for %T", p))
	}
	return nil
}

// isText reports whether setText supports the type of v.
func isText(v reflect.Value) bool {
	switch v.Interface().(type) {
	case string, Text, Words, []string, []netip.Prefix, netip.Prefix, bool, int, *int, time.Duration, Size:
		return true
	}
	return false
}

// expected returns the values that v may have, for error messages.
func expected(v reflect.Value) string {
	switch v.Interface().(type) {
	case Text:
		return "a text, or a text for each of nb, nn, en"
	case Words:
		return "a list of words, or a list for each of nb, nn, en"
	case bool:
		return "true or false"
	case int, *int:
		return "a whole number"
	case time.Duration:
		return "a duration, for example 10s"
	case Size:
		return "a size, for example 1MiB"
	case netip.Prefix:
		return "an address or a CIDR block, for example 10.0.0.0/8"
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map:
		return "a group of keys"
	case reflect.Slice:
		return "a list"
	}
	return "a text"
}

func list(text string) []string {
	var out []string
	for s := range strings.SplitSeq(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func setPrefixes(p *[]netip.Prefix, texts []string) error {
	*p = make([]netip.Prefix, len(texts))
	for i, s := range texts {
		if err := setPrefix(&(*p)[i], s); err != nil {
			return err
		}
	}
	return nil
}

// setPrefix parses a CIDR block; a single address is a block of one address.
func setPrefix(p *netip.Prefix, s string) error {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		a = a.Unmap()
		*p = netip.PrefixFrom(a, a.BitLen())
		return nil
	}
	q, err := netip.ParsePrefix(s)
	if err != nil {
		return fmt.Errorf("%q is not an address or a CIDR block such as 10.0.0.0/8", s)
	}
	*p = q.Masked()
	return nil
}
