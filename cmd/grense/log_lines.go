package main

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"
)

// plainly writes records of plain values by itself, byte for byte as the handler of slog before it, which takes twice as long (BenchmarkLogLine); others it leaves to that one. A line is
// written for each request. It is for handlers without options, attributes and groups.
type plainly struct {
	slog.Handler
	out  *gathered
	json bool
}

var linePool = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }}

// Handle writes a record.
func (h plainly) Handle(ctx context.Context, r slog.Record) error {
	if r.Level != slog.LevelInfo || r.Time.IsZero() {
		return h.Handler.Handle(ctx, r)
	}
	p := linePool.Get().(*[]byte)
	defer linePool.Put(p)
	line, ok := (*p)[:0], false
	if h.json {
		line, ok = appendJSONLine(line, r)
	} else {
		line, ok = appendTextLine(line, r)
	}
	*p = line
	if !ok {
		return h.Handler.Handle(ctx, r)
	}
	_, err := h.out.Write(line)
	return err
}

// WithAttrs and WithGroup are those of the handler before.
func (h plainly) WithAttrs(attrs []slog.Attr) slog.Handler { return h.Handler.WithAttrs(attrs) }
func (h plainly) WithGroup(name string) slog.Handler       { return h.Handler.WithGroup(name) }

func appendJSONLine(b []byte, r slog.Record) ([]byte, bool) {
	year := r.Time.Year()
	ok := year >= 0 && year <= 9999
	b = r.Time.AppendFormat(append(b, `{"time":"`...), time.RFC3339Nano)
	b = append(b, `","level":"INFO","msg":`...)
	text := func(s string) {
		ok = ok && plainText(s, false)
		b = append(append(append(b, '"'), s...), '"')
	}
	text(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		b = append(b, ',')
		text(a.Key)
		b = append(b, ':')
		switch v := a.Value; v.Kind() {
		case slog.KindString:
			text(v.String())
		case slog.KindInt64:
			b = strconv.AppendInt(b, v.Int64(), 10)
		case slog.KindBool:
			b = strconv.AppendBool(b, v.Bool())
		case slog.KindDuration:
			b = strconv.AppendInt(b, int64(v.Duration()), 10)
		default: // an empty attribute, which is left out, among them
			ok = false
		}
		return ok
	})
	return append(b, "}\n"...), ok
}

func appendTextLine(b []byte, r slog.Record) ([]byte, bool) {
	// To the millisecond, of which all digits stand there: one more is written behind them, and taken away again.
	const digits = len("2006-01-02T15:04:05.000")
	year := r.Time.Year()
	ok := year >= 0 && year <= 9999
	b = append(b, "time="...)
	n := len(b) + digits
	b = r.Time.Truncate(time.Millisecond).Add(time.Millisecond/10).AppendFormat(b, time.RFC3339Nano)
	if ok {
		b = append(b[:n], b[n+1:]...)
	}
	b = append(b, " level=INFO msg="...)
	text := func(s string) {
		switch {
		case s != "" && plainText(s, true):
			b = append(b, s...)
		case plainText(s, false):
			b = append(append(append(b, '"'), s...), '"')
		default:
			ok = false
		}
	}
	text(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		b = append(b, ' ')
		text(a.Key)
		b = append(b, '=')
		switch v := a.Value; v.Kind() {
		case slog.KindString:
			text(v.String())
		case slog.KindInt64:
			b = strconv.AppendInt(b, v.Int64(), 10)
		case slog.KindBool:
			b = strconv.AppendBool(b, v.Bool())
		case slog.KindDuration:
			b = append(b, v.Duration().String()...)
		default: // an empty attribute, which is left out, among them
			ok = false
		}
		return ok
	})
	return append(b, '\n'), ok
}

// plainText reports whether a text is of ASCII that needs no escape in quotes; bare: and no quotes either.
func plainText(s string, bare bool) bool {
	for i := range len(s) {
		if x := s[i]; x < ' ' || x > '~' || x == '"' || x == '\\' || bare && (x == ' ' || x == '=') {
			return false
		}
	}
	return true
}
