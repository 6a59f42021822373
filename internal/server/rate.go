package server

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"grense/internal/problem"
	"grense/internal/store"
)

// buckets bound a rate for each of many owners. An owner may be in debt: what was answered is charged, and the next request waits. It is safe
// for concurrent use.
type buckets struct {
	rate   float64 // units in a second
	burst  float64 // units that gather at most
	policy string  // both, for those who ask

	mu sync.Mutex
	by map[string]bucket
}

// bucket is how many units there were at a moment.
type bucket struct {
	units float64
	at    time.Time
}

// maxBuckets is from how many owners on those that owe nothing are forgotten.
const maxBuckets = 1 << 14

func newBuckets(rate, burst float64) *buckets {
	return &buckets{rate: rate, burst: burst, by: map[string]bucket{}}
}

// units returns what an owner has at now; the lock is held.
func (b *buckets) units(owner string, now time.Time) float64 {
	x, ok := b.by[owner]
	if !ok {
		return b.burst
	}
	return min(b.burst, x.units+b.rate*now.Sub(x.at).Seconds())
}

// left returns the whole units of an owner, 0 when it has none, and how long it takes until there is one again.
func (b *buckets) left(owner string, now time.Time) (units int, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.units(owner, now)
	if u >= 1 {
		return int(u), 0
	}
	return 0, time.Duration((1 - u) / b.rate * float64(time.Second))
}

// charge takes units from an owner.
func (b *buckets) charge(owner string, units float64, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.by) >= maxBuckets {
		for name := range b.by {
			if b.units(name, now) >= b.burst {
				delete(b.by, name)
			}
		}
		if len(b.by) >= 4*maxBuckets { // so many in debt at once are an attack from many addresses; all begin anew
			clear(b.by)
		}
	}
	b.by[owner] = bucket{max(b.units(owner, now)-units, -mostDebt*b.burst), now}
}

// mostDebt is how much an owner owes at most, in bursts, so that a storm is forgiven some time after its end.
const mostDebt = 6

// rateWindow is the time over which limits.rate is an average.
const rateWindow = 10 * time.Second

// units are what a question of each class is charged.
var units = [...]float64{store.CostPage: 1, store.CostIndexed: 2, store.CostScan: 20, store.CostGeometry: 50}

// unitsRead is what a feature is charged that is read, beyond the first of a question.
const unitsRead = 0.01

// newRates returns nil when there is no limit.
func newRates(rate int) *buckets {
	if rate == 0 {
		return nil
	}
	b := newBuckets(float64(rate), float64(rate)*rateWindow.Seconds())
	b.policy = `"default";q=` + strconv.Itoa(int(b.burst)) + ";w=" + strconv.Itoa(int(rateWindow.Seconds()))
	return b
}

// admit refuses a request of an owner who has used up the rate.
func (b *buckets) admit(owner string) error {
	if b == nil {
		return nil
	}
	if n, wait := b.left(owner, time.Now()); n == 0 {
		return tooMany(wait, "You have asked more than the server answers one caller in %d seconds. Wait for the seconds in Retry-After; ask for larger pages, by id, bbox or an indexed property.", int(rateWindow.Seconds()))
	}
	return nil
}

// tooMany is the refusal of a caller who has to wait.
func tooMany(wait time.Duration, format string, a ...any) error {
	return problem.New(problem.TooMany, &retryIn{wait}, format, a...)
}

// retryIn tells when to try again.
type retryIn struct{ wait time.Duration }

func (r *retryIn) Error() string { return "again in " + r.seconds() + " s" }

func (r *retryIn) seconds() string { return strconv.Itoa(max(1, int(math.Ceil(r.wait.Seconds())))) }

// headers tell the limit and what is left of it (draft-ietf-httpapi-ratelimit-headers-10).
func (b *buckets) headers(w http.ResponseWriter, owner string) {
	if b == nil {
		return
	}
	n, wait := b.left(owner, time.Now())
	setHeader(w, "Ratelimit-Policy", b.policy)
	v := `"default";r=` + strconv.Itoa(n)
	if wait > 0 {
		v += ";t=" + (&retryIn{wait}).seconds()
	}
	setHeader(w, "Ratelimit", v)
}

// Requests that are broken off (429 by turns.go): so many of one caller at once, then so many in each second. Beyond, nothing is asked for it. Maps that are moved quickly
// break off some dozens in a second.
const (
	resetsAtOnce = 1000
	resetsRate   = 100
)

// Wrong keys: so many of one address are answered at once, then one in each second. A right key is never refused for it.
const (
	wrongKeysAtOnce = 20
	wrongKeysRate   = 1
)
