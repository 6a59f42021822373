package apikey

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"slices"
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
	AddUses(ctx context.Context, list []state.Use) error
	Uses(ctx context.Context, since time.Time, key string) ([]state.Use, error)
	DropUses(ctx context.Context, before time.Time) error
}

// Checker checks keys against the stored ones. It is safe for concurrent use. Check takes no lock for an invalid key,
// and a short one for a valid key.
type Checker struct {
	kept Keys
	log  *slog.Logger
	keys atomic.Pointer[map[string]*state.Key] // by id; immutable
	uses tally

	mu    sync.Mutex
	await map[string]func()    // called at the first use of a key, by id
	used  map[string]time.Time // ids with the day of use that is not stored yet
	seen  map[string]time.Time // ids with the day of use that is stored or in used
}

// NewChecker reads the keys. The caller runs Run to see later changes, and closes kept after Run has returned.
func NewChecker(ctx context.Context, kept Keys, log *slog.Logger) (*Checker, error) {
	c := &Checker{kept: kept, log: log, await: map[string]func(){}, used: map[string]time.Time{},
		seen: map[string]time.Time{}, uses: tally{pending: map[dayOfKey]use{}, stored: map[string]int64{}}}
	if err := c.Refresh(ctx); err != nil {
		return nil, err
	}
	if err := c.storeUses(ctx, time.Now()); err != nil { // so that quotas hold from the first request on
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
	m := make(map[string]*state.Key, len(list))
	for i := range list {
		m[list[i].ID] = &list[i]
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

// Run reads the keys every 2 seconds, stores their use, and warns of those that end soon, until ctx ends.
// Then it stores the use that is left.
func (c *Checker) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { c.runUses(ctx) })
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
	k := (*c.keys.Load())[id]
	found := k != nil
	if !found {
		k = &noKey
	}
	hash := sha256.Sum256([]byte(key))
	// Also compare for an unknown id, so that both cases take the same time.
	same := subtle.ConstantTimeCompare(hash[:], k.Hash[:]) == 1
	if !found || !same || Status(*k, now) != "active" {
		return "", false
	}
	c.touch(k, now)
	return id, true
}

// noKey is compared with in place of a key that does not exist.
var noKey state.Key

// Terms returns what a key may be used for; the zero value for an unknown id.
func (c *Checker) Terms(id string) state.Terms {
	if k := (*c.keys.Load())[id]; k != nil {
		return k.Terms
	}
	return state.Terms{}
}

// EndsSoon is how long before its end a key is warned of.
const EndsSoon = 14 * 24 * time.Hour

// Expiring returns the valid keys that end within EndsSoon after now, by their ends.
func (c *Checker) Expiring(now time.Time) (list []state.Key) {
	for _, k := range *c.keys.Load() {
		if Status(*k, now) == "active" && !k.Expires.IsZero() && k.Expires.Sub(now) <= EndsSoon {
			list = append(list, *k)
		}
	}
	slices.SortFunc(list, func(a, b state.Key) int { return a.Expires.Compare(b.Expires) })
	return list
}

// runUses stores the use of keys every 10 seconds until ctx ends, and then what is left. Once a day (UTC) it warns of
// keys that end soon, and removes the use of days that are past.
func (c *Checker) runUses(ctx context.Context) {
	tick := time.NewTicker(storeEvery)
	defer tick.Stop()
	var day time.Time
	for failed := false; ; {
		now := time.Now()
		if today := dayOf(now); !today.Equal(day) {
			day = today
			for _, k := range c.Expiring(now) {
				c.log.Warn("an API key ends soon; replace it with: grense key rotate "+k.ID, "key", k.ID,
					"name", k.Name, "expires", k.Expires.UTC().Format(time.RFC3339))
			}
			if err := c.kept.DropUses(ctx, day.AddDate(0, 0, -UseDays)); err != nil && ctx.Err() == nil {
				c.log.Warn("the use of keys of past days cannot be removed", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), poll) // the storage is still open
			defer cancel()
			if err := c.storeUses(last, time.Now()); err != nil {
				c.log.Warn("the use of keys since the last seconds is lost", "err", err)
			}
			return
		case <-tick.C:
		}
		err := c.storeUses(ctx, time.Now())
		if err != nil && !failed && ctx.Err() == nil {
			c.log.Warn("the use of keys cannot be stored; trying again", "err", err)
		}
		failed = err != nil
	}
}

// Count returns how many keys exist, and how many of them are valid at now.
func (c *Checker) Count(now time.Time) (all, active int) {
	keys := *c.keys.Load()
	for _, k := range keys {
		if Status(*k, now) == "active" {
			active++
		}
	}
	return len(keys), active
}

// touch notes the day of use; flush stores it later.
func (c *Checker) touch(k *state.Key, now time.Time) {
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
