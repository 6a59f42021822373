package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// gathered writes lines some at a time: what came within gatherTime, or gatherBytes of it. It is safe for concurrent
// use.
type gathered struct {
	w io.Writer

	mu   sync.Mutex
	buf  []byte
	soon bool // a timer will flush
}

const (
	gatherTime  = 100 * time.Millisecond
	gatherBytes = 64 << 10
)

// Write takes lines; it fails as writing the lines before did.
func (g *gathered) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.buf = append(g.buf, p...)
	if len(g.buf) >= gatherBytes {
		return len(p), g.flush()
	}
	if !g.soon {
		g.soon = true
		time.AfterFunc(gatherTime, g.Flush)
	}
	return len(p), nil
}

// Flush writes what has gathered.
func (g *gathered) Flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.soon = false
	g.flush() //nolint:errcheck // nobody can be notified
}

func (g *gathered) flush() error {
	if len(g.buf) == 0 {
		return nil
	}
	_, err := g.w.Write(g.buf)
	g.buf = g.buf[:0]
	return err
}

// repeatWindow is for how long warnings and errors of one text are counted instead of written, after the first.
const repeatWindow = 10 * time.Second

// maxRepeats is how many different texts are counted at once; others are written.
const maxRepeats = 1000

// counting writes the first of equal warnings and errors, and how many more there were when the window has passed: a
// fault that every request runs into must not fill the disk. What is below a warning is written as it comes.
type counting struct {
	slog.Handler
	seen *repeats
	out  *gathered // nil: what the handler writes goes out by itself
	with string    // attributes and groups of the logger, in a text
}

type repeats struct {
	mu sync.Mutex
	n  map[string]int
}

// newCounting counts for a handler that writes to out, which warnings and errors go through at once.
func newCounting(h slog.Handler, out *gathered) slog.Handler {
	return counting{Handler: h, seen: &repeats{n: map[string]int{}}, out: out}
}

// flush lets out go what was written.
func (c counting) flush() {
	if c.out != nil {
		c.out.Flush()
	}
}

// Handle writes a record, or counts it.
func (c counting) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return c.Handler.Handle(ctx, r)
	}
	key := c.with + r.Level.String() + r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "err" || a.Key == "error" || a.Key == "panic" || a.Key == "category" {
			// others differ for each request
			key += "\x00" + a.Value.String()
		}
		return true
	})
	c.seen.mu.Lock()
	n, again := c.seen.n[key]
	if again {
		c.seen.n[key] = n + 1
	} else if len(c.seen.n) < maxRepeats {
		c.seen.n[key] = 0
		time.AfterFunc(repeatWindow, func() { c.repeat(key, r.Clone()) })
	}
	c.seen.mu.Unlock()
	if again {
		return nil
	}
	defer c.flush()
	return c.Handler.Handle(ctx, r)
}

// repeat writes how often a record came again.
func (c counting) repeat(key string, r slog.Record) {
	c.seen.mu.Lock()
	n := c.seen.n[key]
	delete(c.seen.n, key)
	c.seen.mu.Unlock()
	if n > 0 {
		again := slog.NewRecord(time.Now(), r.Level, r.Message, r.PC)
		again.AddAttrs(slog.Int("repeated", n), slog.Duration("within", repeatWindow))
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "err" || a.Key == "error" {
				again.AddAttrs(a)
			}
			return true
		})
		c.Handler.Handle(context.Background(), again) //nolint:errcheck // nobody can be notified
		c.flush()
	}
}

// WithAttrs and WithGroup keep the counts.
func (c counting) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := c.with
	for _, a := range attrs {
		with += a.String() + "\x00"
	}
	return counting{c.Handler.WithAttrs(attrs), c.seen, c.out, with}
}

func (c counting) WithGroup(name string) slog.Handler {
	return counting{c.Handler.WithGroup(name), c.seen, c.out, c.with + name + "\x00"}
}
