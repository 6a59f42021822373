package apikey

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"grense/internal/state"
)

// poll is the interval between two readings of the stored keys. A key that another process creates or revokes takes
// effect within 5 seconds.
const poll = 2 * time.Second

// Keys is the storage of keys, such as a state.DB.
type Keys interface {
	Keys(ctx context.Context) ([]state.Key, error)
	TouchKeys(ctx context.Context, day time.Time, ids []string) error // records the day on which keys were last used
}

// Checker checks keys against the stored ones. It is safe for concurrent use. Check takes no lock for an invalid key,
// and a short one for a valid key.
type Checker struct {
	kept Keys
	log  *slog.Logger
	keys atomic.Pointer[map[string]state.Key] // by id; immutable

	mu    sync.Mutex
	await map[string]func()    // called at the first use of a key, by id
	used  map[string]time.Time // ids with the day of use that is not stored yet
	seen  map[string]time.Time // ids with the day of use that is stored or in used
}

// NewChecker reads the keys. The caller runs Run to see later changes, and closes kept after Run has returned.
func NewChecker(ctx context.Context, kept Keys, log *slog.Logger) (*Checker, error) {
	c := &Checker{kept: kept, log: log, await: map[string]func(){}, used: map[string]time.Time{},
		seen: map[string]time.Time{}}
	if err := c.Refresh(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Refresh reads the keys now. After an error, the keys that were read before stay in force.
func (c *Checker) Refresh(ctx context.Context) error {
	list, err := c.kept.Keys(ctx)
	if err != nil {
		return err
	}
	m := make(map[string]state.Key, len(list))
	for _, k := range list {
		m[k.ID] = k
	}
	c.keys.Store(&m)
	for _, k := range list {
		if !k.LastUsed.IsZero() {
			c.firstUse(k.ID)
		}
	}
	return nil
}

// OnFirstUse calls fn once when the key with this id is first used, by this process or by another one.
// It calls fn at once if the key was used before or does not exist.
func (c *Checker) OnFirstUse(id string, fn func()) {
	c.mu.Lock()
	k, known := (*c.keys.Load())[id]
	if known && k.LastUsed.IsZero() && c.seen[id].IsZero() {
		c.await[id] = fn
		fn = func() {}
	}
	c.mu.Unlock()
	fn()
}

// firstUse calls the function that waits for the first use of a key, if there is one.
func (c *Checker) firstUse(id string) {
	c.mu.Lock()
	fn := c.await[id]
	delete(c.await, id)
	c.mu.Unlock()
	if fn != nil {
		fn()
	}
}

// Run reads the keys every 2 seconds and stores the days of last use until ctx ends.
// Then it stores the days that are left.
func (c *Checker) Run(ctx context.Context) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for failed := false; ; {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), poll) // the storage is still open
			defer cancel()
			c.warn(c.flush(last))
			return
		case <-tick.C:
		}
		err := c.Refresh(ctx)
		if err == nil {
			err = c.flush(ctx)
		}
		if err != nil && !failed && ctx.Err() == nil {
			c.warn(err)
		}
		failed = err != nil
	}
}

func (c *Checker) warn(err error) {
	if err != nil {
		c.log.Warn("keys cannot be read or marked as used; those known stay valid", "err", err)
	}
}

// Check reports whether key is valid at now, and its id. The id is safe to log.
func (c *Checker) Check(key string, now time.Time) (id string, ok bool) {
	id, err := Parse(key)
	if err != nil {
		return "", false
	}
	k, found := (*c.keys.Load())[id]
	hash := sha256.Sum256([]byte(key))
	// Also compare for an unknown id, so that both cases take the same time.
	same := subtle.ConstantTimeCompare(hash[:], k.Hash[:]) == 1
	if !found || !same || Status(k, now) != "active" {
		return "", false
	}
	c.touch(k, now)
	return id, true
}

// Count returns how many keys exist, and how many of them are valid at now.
func (c *Checker) Count(now time.Time) (all, active int) {
	keys := *c.keys.Load()
	for _, k := range keys {
		if Status(k, now) == "active" {
			active++
		}
	}
	return len(keys), active
}

// touch notes the day of use; flush stores it later.
func (c *Checker) touch(k state.Key, now time.Time) {
	day := now.UTC().Truncate(24 * time.Hour)
	if !k.LastUsed.Before(day) {
		return
	}
	c.mu.Lock()
	first := c.seen[k.ID].Before(day)
	if first {
		c.seen[k.ID], c.used[k.ID] = day, day
	}
	c.mu.Unlock()
	if first {
		c.firstUse(k.ID)
	}
}

// flush stores the days of use. After an error it retries them the next time.
func (c *Checker) flush(ctx context.Context) error {
	c.mu.Lock()
	used := c.used
	c.used = map[string]time.Time{}
	c.mu.Unlock()
	days := map[time.Time][]string{}
	for id, day := range used {
		days[day] = append(days[day], id)
	}
	for day, ids := range days {
		if err := c.kept.TouchKeys(ctx, day, ids); err != nil {
			c.mu.Lock()
			for id, d := range used {
				if c.used[id].Before(d) {
					c.used[id] = d
				}
			}
			c.mu.Unlock()
			return err
		}
	}
	return nil
}
