package apikey

import (
	"context"
	"sync"
	"time"

	"grense/internal/state"
)

// How often the use of keys is stored, and how many days of it are kept.
const (
	storeEvery = 10 * time.Second
	UseDays    = 400
)

// tally counts the use of keys until it is stored.
type tally struct {
	mu      sync.Mutex
	pending map[dayOfKey]use
	day     time.Time        // of stored
	stored  map[string]int64 // units of the day that all processes have stored, of keys with a quota
}

type dayOfKey struct {
	id  string
	day time.Time
}

type use struct {
	requests, bytes, refused int64
	units                    float64
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func (t *tally) add(id string, u use, day time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := dayOfKey{id, day}
	p := t.pending[k]
	t.pending[k] = use{p.requests + u.requests, p.bytes + u.bytes, p.refused + u.refused, p.units + u.units}
}

// units returns the units that a key has used on a day.
func (t *tally) units(id string, day time.Time) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := int64(t.pending[dayOfKey{id, day}].units)
	if t.day.Equal(day) {
		n += t.stored[id]
	}
	return n
}

// take removes what is to be stored, which counts as stored from then on. Parts of units stay.
func (t *tally) take(today time.Time) []state.Use {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []state.Use
	for k, u := range t.pending {
		n := state.Use{Key: k.id, Day: k.day, Requests: u.requests, Units: int64(u.units), Bytes: u.bytes,
			Refused: u.refused}
		delete(t.pending, k)
		if rest := u.units - float64(n.Units); rest > 0 && k.day.Equal(today) {
			t.pending[k] = use{units: rest}
		}
		if n.Requests+n.Units > 0 {
			list = append(list, n)
			t.count(n, 1)
		}
	}
	return list
}

// count adds a use to the stored units, or takes it away; the lock is held.
func (t *tally) count(u state.Use, sign int64) {
	if t.day.Equal(u.Day) {
		t.stored[u.Key] += sign * u.Units
	}
}

// giveBack undoes take.
func (t *tally) giveBack(list []state.Use) {
	for _, u := range list {
		t.add(u.Key, use{u.Requests, u.Bytes, u.Refused, float64(u.Units)}, u.Day)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, u := range list {
		t.count(u, -1)
	}
}

// set replaces the stored units of a day.
func (t *tally) set(day time.Time, list []state.Use) {
	stored := map[string]int64{}
	for _, u := range list {
		if u.Day.Equal(day) {
			stored[u.Key] += u.Units
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.day, t.stored = day, stored
}

// Used counts a request with a key: the bytes of its answer, and whether it was refused.
func (c *Checker) Used(id string, bytes int64, refused bool, now time.Time) {
	u := use{requests: 1, bytes: bytes}
	if refused {
		u.refused = 1
	}
	c.uses.add(id, u, dayOf(now))
}

// Rate returns the units that a key may use in a second; 0 if it has no rate of its own.
func (c *Checker) Rate(id string) int { return c.Terms(id).Rate }

// Quota returns the units that a key may use in a day (UTC), and how many of them are left at now. Both are 0 if it
// has no quota. What other processes have answered counts some seconds later.
func (c *Checker) Quota(id string, now time.Time) (all, left int64) {
	all = c.Terms(id).Quota
	if all == 0 {
		return 0, 0
	}
	return all, all - c.uses.units(id, dayOf(now))
}

// Spend counts units that a key has used. An id of no key is ignored.
func (c *Checker) Spend(id string, units float64, now time.Time) {
	if (*c.keys.Load())[id] != nil {
		c.uses.add(id, use{units: units}, dayOf(now))
	}
}

// storeUses stores what was counted, and reads what other processes have stored, if a key has a quota.
func (c *Checker) storeUses(ctx context.Context, now time.Time) error {
	today := dayOf(now)
	if list := c.uses.take(today); len(list) > 0 {
		if err := c.kept.AddUses(ctx, list); err != nil {
			c.uses.giveBack(list)
			return err
		}
	}
	for _, k := range *c.keys.Load() {
		if k.Quota > 0 {
			list, err := c.kept.Uses(ctx, today, "")
			if err == nil {
				c.uses.set(today, list)
			}
			return err
		}
	}
	return nil
}
