package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"grense/internal/store"
)

// Pool is a pool of connections to a revision of a file.
type Pool struct {
	turns chan struct{} // one token for each idle connection
	all   []*Conn
	Ready func(*Conn) error // called with each connection before Get returns it; may be nil

	mu   sync.Mutex
	idle []*Conn // a stack: the last used connection has a warm page cache
}

// NewPool opens all connections at once, so that files may be removed or replaced later. The caller must verify that
// the path still belongs to the same file.
func NewPool(size int, open func() (*Conn, error)) (*Pool, error) {
	p := &Pool{turns: make(chan struct{}, size+1)}
	for range size {
		c, err := open()
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.Add(c)
	}
	return p, nil
}

// Add adds a connection beyond the size of the pool. It will be used first.
func (p *Pool) Add(c *Conn) {
	p.all = append(p.all, c)
	p.Put(c)
}

// AtFirst makes all connections, which must be idle, call fn before they are first used, and before what they would
// call now.
func (p *Pool) AtFirst(fn func(*Conn) error) {
	for _, c := range p.all {
		first := c.First
		c.First = func(c *Conn) error { return errors.Join(fn(c), first(c)) }
	}
}

// Prepare prepares all connections, which must be idle, so that files may be removed later.
func (p *Pool) Prepare() error {
	for _, c := range p.all {
		if err := c.prepareFirst(); err != nil {
			return err
		}
	}
	return nil
}

// prepareFirst prepares a connection before its first use.
func (c *Conn) prepareFirst() error {
	if c.First == nil {
		return nil
	}
	if err := c.First(c); err != nil {
		return err
	}
	c.First = nil
	return nil
}

// Distrust makes all connections, which must be idle, treat the file as changed.
func (p *Pool) Distrust() {
	for _, c := range p.all {
		c.still, c.state = false, -1
	}
}

// Get returns an idle connection. The caller must Put it back.
func (p *Pool) Get(ctx context.Context) (*Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := p.turn(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	last := len(p.idle) - 1
	c := p.idle[last]
	p.idle = p.idle[:last]
	p.mu.Unlock()
	err := c.prepareFirst()
	if err == nil && p.Ready != nil {
		err = p.Ready(c)
	}
	if err != nil {
		p.Put(c)
		return nil, err
	}
	return c, nil
}

// turn waits until a connection is idle.
func (p *Pool) turn(ctx context.Context) error {
	select {
	case <-p.turns:
		return nil
	default:
	}
	var late <-chan time.Time
	if until, bounded := store.Patience(ctx); bounded {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-p.turns:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return fmt.Errorf("gpkg: %w", store.ErrBusy)
	}
}

// Put returns a connection to the pool.
func (p *Pool) Put(c *Conn) {
	p.mu.Lock()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	p.turns <- struct{}{}
}

// Use runs fn with a connection in a read transaction. If ctx ends, it returns the error of ctx.
func (p *Pool) Use(ctx context.Context, fn func(*Conn) error) error {
	c, err := p.Get(ctx)
	if err != nil {
		return err
	}
	defer p.Put(c)
	if err := c.snapshot(ctx, fn); err != nil {
		if ctx.Err() != nil && IsInterrupted(err) {
			return ctx.Err()
		}
		return err
	}
	return nil
}

// Size returns the number of connections and how many of them are idle.
func (p *Pool) Size() (all, idle int) { return len(p.all), len(p.turns) }

// Close closes all connections, which must be idle. p may be nil.
func (p *Pool) Close() error {
	if p == nil {
		return nil
	}
	var errs []error
	for _, c := range p.all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
