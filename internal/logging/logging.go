// Package logging creates the logger of a server: lines are written together, and faults that repeat are counted.
package logging

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Buffer buffers lines of a log and writes them together after BufferTime, or when it has bufferBytes. It is safe for
// concurrent use.
type Buffer struct {
	w io.Writer

	mu   sync.Mutex
	buf  []byte
	soon bool // a timer is set to flush
}

// BufferTime is how long a Buffer holds lines.
const (
	BufferTime  = 100 * time.Millisecond
	bufferBytes = 64 << 10
)

// NewBuffer returns a buffer for w.
func NewBuffer(w io.Writer) *Buffer { return &Buffer{w: w} }

// Write buffers p. It returns the error of writing the buffer, if it writes.
func (g *Buffer) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.buf = append(g.buf, p...)
	if len(g.buf) >= bufferBytes {
		return len(p), g.flush()
	}
	if !g.soon {
		g.soon = true
		time.AfterFunc(BufferTime, g.Flush)
	}
	return len(p), nil
}

// Flush writes the buffered lines.
func (g *Buffer) Flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.soon = false
	g.flush() //nolint:errcheck // nobody to notify
}

func (g *Buffer) flush() error {
	if len(g.buf) == 0 {
		return nil
	}
	_, err := g.w.Write(g.buf)
	g.buf = g.buf[:0]
	return err
}

// repeatWindow is the time during which repeated warnings and errors are counted instead of written.
const repeatWindow = 10 * time.Second

// maxRepeats is the largest number of different messages that are counted at a time; further ones are written.
const maxRepeats = 1000

// counting is a slog.Handler that writes the first of several equal warnings or errors and, after repeatWindow, the
// number of repetitions. Otherwise a fault in every request could fill the disk. It writes other records at once.
type counting struct {
	slog.Handler
	seen *repeats
	out  *Buffer // flushed after warnings and errors; nil: the handler does not buffer
	with string  // attributes and groups of the logger, as text
}

type repeats struct {
	mu sync.Mutex
	n  map[string]int
}

// New returns a logger that writes to w in a format, text or json, from a level up. If w is a Buffer, the logger
// flushes it after warnings and errors. Repeated ones are counted; see repeatWindow.
func New(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, o)
	if format == "json" {
		h = slog.NewJSONHandler(w, o)
	}
	out, _ := w.(*Buffer)
	return slog.New(newCounting(h, out))
}

// newCounting wraps h, which writes to out.
func newCounting(h slog.Handler, out *Buffer) slog.Handler {
	return counting{Handler: h, seen: &repeats{n: map[string]int{}}, out: out}
}

// flush flushes out.
func (c counting) flush() {
	if c.out != nil {
		c.out.Flush()
	}
}

// Handle writes a record, or counts it if it repeats an earlier one.
func (c counting) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return c.Handler.Handle(ctx, r)
	}
	key := c.with + r.Level.String() + r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "err" || a.Key == "error" || a.Key == "panic" || a.Key == "category" {
			// the values of other attributes differ for each request
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

// repeat writes how many times a record was repeated.
func (c counting) repeat(key string, r slog.Record) {
	c.seen.mu.Lock()
	n := c.seen.n[key]
	delete(c.seen.n, key)
	c.seen.mu.Unlock()
	if n > 0 {
		again := slog.NewRecord(time.Now(), r.Level, r.Message, r.PC)
		again.AddAttrs(slog.Int("repeated", n), slog.Float64("within_seconds", repeatWindow.Seconds()))
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "err" || a.Key == "error" {
				again.AddAttrs(a)
			}
			return true
		})
		c.Handler.Handle(context.Background(), again) //nolint:errcheck // nobody to notify
		c.flush()
	}
}

// WithAttrs and WithGroup return handlers that share the counts.
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
