package trace

import (
	"log/slog"
	"strconv"
	"time"
)

// The messages of OTLP in JSON: ids in hexadecimal digits, integers of 64 bits as texts.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	span struct {
		TraceID      string      `json:"traceId"`
		SpanID       string      `json:"spanId"`
		ParentSpanID string      `json:"parentSpanId,omitempty"`
		Name         string      `json:"name"`
		Kind         int         `json:"kind"`
		Start        string      `json:"startTimeUnixNano"`
		End          string      `json:"endTimeUnixNano"`
		Attributes   []attribute `json:"attributes,omitempty"`
		Status       *status     `json:"status,omitempty"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string  `json:"stringValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
		Bool   *bool    `json:"boolValue,omitempty"`
	}
	status struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code"`
	}
)

const (
	kindInternal = 1
	kindServer   = 2
	statusError  = 2
)

func (s *Span) encode(trace, id, parent string) span {
	out := span{TraceID: trace, SpanID: id, ParentSpanID: parent, Name: s.Name, Kind: kindInternal,
		Start: nanoseconds(s.Start), End: nanoseconds(s.End), Attributes: attributes(s.Attrs)}
	if s.Serves {
		out.Kind = kindServer
	}
	if s.Failure != "" {
		out.Status = &status{s.Failure, statusError}
	}
	return out
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// attributes leaves out empty texts.
func attributes(list []slog.Attr) (out []attribute) {
	for _, a := range list {
		var v value
		switch a.Value.Kind() {
		case slog.KindInt64:
			v.Int = new(strconv.FormatInt(a.Value.Int64(), 10))
		case slog.KindFloat64:
			v.Double = new(a.Value.Float64())
		case slog.KindBool:
			v.Bool = new(a.Value.Bool())
		default:
			text := a.Value.String()
			if text == "" {
				continue
			}
			v.String = &text
		}
		out = append(out, attribute{a.Key, v})
	}
	return out
}
