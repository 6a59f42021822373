package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Setting is a setting with its effective value.
type Setting struct {
	Path  string // such as "limits.query_timeout"
	Value string // in the notation of the file and of variables; secrets in addresses are replaced by xxxxx
	From  string // "grense.yaml:12", "GRENSE_ADDR", "--addr", or "default"
}

// Effective returns all settings, in the order of the fields of Config. Its errors are those of Load.
func Effective(src Sources) ([]Setting, error) {
	c, where, err := load(src)
	if err != nil {
		return nil, err
	}
	c.fillTexts()
	var list []Setting
	values("", reflect.ValueOf(&c).Elem(), func(path, value string) {
		from := "default"
		if at, ok := where[path]; ok {
			if from = at.name; at.line > 0 {
				from = fmt.Sprintf("%s:%d", at.name, at.line)
			}
		}
		list = append(list, Setting{path, hidden(value), from})
	})
	return list, nil
}

// values calls fn with each setting in v and its value as a text.
func values(path string, v reflect.Value, fn func(path, value string)) {
	switch {
	case isText(v):
		if text := v.Interface(); v.Kind() == reflect.Map { // texts by language
			for _, lang := range sortedKeys(v) {
				fn(strings.TrimSuffix(join(path, lang), "."), valueText(v.MapIndex(reflect.ValueOf(lang)).Interface()))
			}
		} else {
			fn(path, valueText(text))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			values(join(path, v.Type().Field(i).Tag.Get("yaml")), v.Field(i), fn)
		}
	case v.Kind() == reflect.Map:
		for _, key := range sortedKeys(v) {
			values(join(path, key), v.MapIndex(reflect.ValueOf(key)), fn)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			values(fmt.Sprintf("%s.%d", path, i), v.Index(i), fn)
		}
	}
}

func sortedKeys(v reflect.Value) []string {
	var keys []string
	for _, k := range v.MapKeys() {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	return keys
}

// valueText is the inverse of setText.
func valueText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []string:
		return strings.Join(v, ", ")
	case []netip.Prefix:
		list := make([]string, len(v))
		for i, p := range v {
			list[i] = p.String()
		}
		return strings.Join(list, ", ")
	case *int:
		if v == nil {
			return ""
		}
		return fmt.Sprint(*v)
	case time.Duration:
		return v.String()
	case Size:
		for _, u := range []struct {
			name  string
			bytes Size
		}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
			if v > 0 && v%u.bytes == 0 {
				return fmt.Sprintf("%d%s", v/u.bytes, u.name)
			}
		}
	}
	return fmt.Sprint(value)
}

// secretName matches the names of query parameters whose values are secret.
var secretName = regexp.MustCompile(`(?i)(password|passwd|token|secret|key|signature|sig)$`)

// hidden replaces the password and secret parameters in an address.
func hidden(value string) string {
	if !strings.Contains(value, "://") {
		return value
	}
	u, err := url.Parse(value)
	if err != nil {
		return "(an address that cannot be read)"
	}
	q, secrets := u.Query(), false
	for name := range q {
		if secretName.MatchString(name) {
			q.Set(name, "xxxxx")
			secrets = true
		}
	}
	if secrets {
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}
