package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"testing"
	"time"
)

// lineRecord is what is logged of a request.
func lineRecord(at time.Time, query, agent string) slog.Record {
	r := slog.NewRecord(at, slog.LevelInfo, "request", 0)
	r.AddAttrs(slog.String("request", "0123456789abcdef"), slog.String("method", "GET"), slog.String("path", "/collections/kommuner/items"), slog.String("query", query), slog.Int("status", 200),
		slog.Int64("bytes", 1234), slog.Duration("took", 1234*time.Microsecond), slog.String("key", "4fZk01Qd"), slog.String("client", "127.0.0.1"), slog.String("agent", agent), slog.Bool("cached", true))
	return r
}

// TestLinesAreThoseOfSlog: whatever a record holds, the log has the bytes that the handlers of slog write, and what is plain goes no other way than ours.
func TestLinesAreThoseOfSlog(t *testing.T) {
	oslo := time.FixedZone("CET", 3600)
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901234, oslo)
	with := func(level slog.Level, msg string, attrs ...slog.Attr) slog.Record {
		r := slog.NewRecord(at, level, msg, 0)
		r.AddAttrs(attrs...)
		return r
	}
	cases := map[string]struct {
		record slog.Record
		ours   bool
	}{
		"request":         {lineRecord(at, "limit=10", "curl/8.5.0"), true},
		"agent in words":  {lineRecord(at, "", "Mozilla/5.0 (X11; Linux x86_64) <b>&amp;</b>"), true},
		"now":             {lineRecord(time.Now(), "a=b&c=d%20e", "q"), true},
		"full second":     {lineRecord(time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC), "", ""), true},
		"last nanosecond": {lineRecord(time.Date(2026, 12, 31, 23, 59, 59, 999999999, time.UTC), "", ""), true},
		"tenth":           {lineRecord(time.Date(2026, 12, 31, 23, 59, 59, 100000000, time.UTC), "", ""), true},
		"negative":        {with(slog.LevelInfo, "a message", slog.Int("n", math.MinInt64), slog.Duration("d", -time.Hour), slog.Bool("no", false)), true},
		"no attributes":   {with(slog.LevelInfo, ""), true},
		"odd key":         {with(slog.LevelInfo, "x", slog.String("a b=c", "")), true},
		"DEL":             {lineRecord(at, "\x7f", ""), false},
		"letters":         {lineRecord(at, "navn=Sør-Odal", "\u2028"), false},
		"escapes":         {lineRecord(at, "a\"b", "a\\b\n\t\x00"), false},
		"not UTF-8":       {lineRecord(at, "\xff", ""), false},
		"no key":          {with(slog.LevelInfo, "x", slog.String("", "y")), true},
		"empty":           {with(slog.LevelInfo, "x", slog.Attr{}, slog.Int("n", 1)), false},
		"any":             {with(slog.LevelInfo, "x", slog.Any("err", errors.New("it broke")), slog.Any("nil", nil)), false},
		"float":           {with(slog.LevelInfo, "x", slog.Float64("f", 0.1)), false},
		"time":            {with(slog.LevelInfo, "x", slog.Time("t", at)), false},
		"group":           {with(slog.LevelInfo, "x", slog.Group("g", slog.Int("n", 1))), false},
		"warning":         {with(slog.LevelWarn, "x", slog.Int("n", 1)), false},
		"level between":   {with(slog.LevelInfo+1, "x"), false},
		"year 10000":      {lineRecord(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "", ""), false},
		"year -1":         {lineRecord(time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), "", ""), false},
		"no time":         {lineRecord(time.Time{}, "", ""), false},
	}
	for name, c := range cases {
		for form, theirs := range map[string]func(io.Writer) slog.Handler{
			"json": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
			"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		} {
			var want, other bytes.Buffer
			if err := theirs(&want).Handle(context.Background(), c.record.Clone()); err != nil {
				t.Fatal(err)
			}
			out := &gathered{w: io.Discard, soon: true} // no timer
			if err := (plainly{theirs(&other), out, form == "json"}).Handle(context.Background(), c.record.Clone()); err != nil {
				t.Fatal(err)
			}
			if got := string(out.buf) + other.String(); got != want.String() {
				t.Errorf("%s, %s:\n%s\nwant\n%s", name, form, got, want.String())
			}
			if ours := other.Len() == 0; ours != c.ours {
				t.Errorf("%s, %s: written by ourselves %v, want %v", name, form, ours, c.ours)
			}
		}
	}
}

func BenchmarkLogLine(b *testing.B) {
	out := &gathered{w: io.Discard}
	r := lineRecord(time.Now(), "lon=10.12345&lat=60.12345", "Mozilla/5.0 (X11; Linux x86_64)")
	for name, h := range map[string]slog.Handler{"slog": slog.NewJSONHandler(out, nil), "ours": plainly{slog.NewJSONHandler(out, nil), out, true}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h.Handle(context.Background(), r) //nolint:errcheck // it writes to nowhere
			}
		})
	}
}
