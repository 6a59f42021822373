package docs

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// yamlOf converts JSON to YAML in block style. It leaves strings as in JSON, which YAML 1.2 accepts.
func yamlOf(doc []byte) ([]byte, error) {
	y := yamlWriter{in: json.NewDecoder(bytes.NewReader(doc))}
	y.in.UseNumber()
	if err := y.value(0); err != nil {
		return nil, err
	}
	return bytes.TrimLeft(y.out.Bytes(), " \n"), nil
}

type yamlWriter struct {
	in  *json.Decoder
	out bytes.Buffer
}

// plainKey matches keys that need no quotes in YAML, with the exceptions in key.
var plainKey = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{2,}$`)

// value writes the next value after a key or a dash. Its members are indented by so many spaces.
func (y *yamlWriter) value(indent int) error {
	t, err := y.in.Token()
	if err != nil {
		return err
	}
	d, nested := t.(json.Delim)
	switch {
	case !nested:
		y.out.WriteByte(' ')
		return y.scalar(t)
	case !y.in.More():
		y.out.WriteString(map[json.Delim]string{'{': " {}\n", '[': " []\n"}[d])
	default:
		y.out.WriteByte('\n')
	}
	for y.in.More() {
		y.out.WriteString(strings.Repeat(" ", indent))
		if d == '[' {
			y.out.WriteByte('-')
		} else if err := y.key(); err != nil {
			return err
		}
		if err := y.value(indent + 2); err != nil {
			return err
		}
	}
	_, err = y.in.Token() // the closing delimiter
	return err
}

func (y *yamlWriter) key() error {
	t, err := y.in.Token()
	if err != nil {
		return err
	}
	key, _ := t.(string)
	switch lower := strings.ToLower(key); {
	case plainKey.MatchString(key) && lower != "true" && lower != "false" && lower != "null" && lower != "yes" &&
		lower != "off":
		y.out.WriteString(key)
	default:
		b, err := json.Marshal(key)
		if err != nil {
			return err
		}
		y.out.Write(b)
	}
	y.out.WriteByte(':')
	return nil
}

// scalar writes a value and ends the line.
func (y *yamlWriter) scalar(v any) error {
	to := json.NewEncoder(&y.out)
	to.SetEscapeHTML(false)
	return to.Encode(v)
}
