package limit

import (
	"math"
	"strconv"
	"sync"
	"time"

	"grense/internal/problem"
	"grense/internal/store"
)

// Buckets bound a rate for each of many owners. An owner may be in debt: what was answered is charged, and the next
// request waits. It is safe for concurrent use.
type Buckets struct {
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

func NewBuckets(rate, burst float64) *Buckets {
	return &Buckets{rate: rate, burst: burst, by: map[string]bucket{}}
}

// units returns what an owner has at now; the lock is held.
func (b *Buckets) units(owner string, now time.Time) float64 {
	x, ok := b.by[owner]
	if !ok {
		return b.burst
	}
	return min(b.burst, x.units+b.rate*now.Sub(x.at).Seconds())
}

// Left returns the units of an owner. Below 1 its requests are refused, and wait is how long it takes until there is
// one.
func (b *Buckets) Left(owner string, now time.Time) (units float64, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	units = b.units(owner, now)
	if units >= 1 {
		return units, 0
	}
	return units, time.Duration((1 - units) / b.rate * float64(time.Second))
}

// Charge takes units from an owner.
func (b *Buckets) Charge(owner string, units float64, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.by) >= maxBuckets {
		for name := range b.by {
			if b.units(name, now) >= b.burst {
				delete(b.by, name)
			}
		}
		if len(b.by) >= 4*maxBuckets { // so many in debt at once are an attack from many addresses; all start over
			clear(b.by)
		}
	}
	b.by[owner] = bucket{max(b.units(owner, now)-units, -mostDebt*b.burst), now}
}

// mostDebt is how much an owner owes at most, in bursts, so that a storm is forgiven some time after its end.
const mostDebt = 6

// rateWindow is the time over which limits.rate is an average.
const rateWindow = 10 * time.Second

// Units are what a question of each class is charged.
var Units = [...]float64{store.CostPage: 1, store.CostIndexed: 2, store.CostScan: 20, store.CostGeometry: 50}

// unitsRead is what a feature is charged that is read, beyond the first of a question.
const unitsRead = 0.01

// newRates returns nil when there is no limit.
func newRates(rate int) *Buckets {
	if rate == 0 {
		return nil
	}
	b := NewBuckets(float64(rate), float64(rate)*rateWindow.Seconds())
	b.policy = `"default";q=` + strconv.Itoa(int(b.burst)) + ";w=" + strconv.Itoa(int(rateWindow.Seconds()))
	return b
}

// Admit refuses a request of an owner who has used up the rate.
func (b *Buckets) Admit(owner string) error {
	if b == nil {
		return nil
	}
	if n, wait := b.Left(owner, time.Now()); n < 1 {
		return TooMany(wait, "You have asked more than the server answers one caller in %d seconds. Wait for the "+
			"seconds in Retry-After; ask for larger pages, by id, bbox or an indexed property.",
			int(rateWindow.Seconds()))
	}
	return nil
}

// TooMany is the refusal of a caller who has to wait.
func TooMany(wait time.Duration, format string, a ...any) error {
	return problem.New(problem.TooMany, &RetryIn{wait}, format, a...)
}

// RetryIn is an error that states when to retry.
type RetryIn struct{ wait time.Duration }

func (r *RetryIn) Error() string { return "again in " + r.Seconds() + " s" }

func (r *RetryIn) Seconds() string { return strconv.Itoa(max(1, int(math.Ceil(r.wait.Seconds())))) }

// Headers returns the values of RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-10): the limit,
// and what an owner has left of it. Both are empty if there is no limit.
func (b *Buckets) Headers(owner string) (policy, left string) {
	if b == nil {
		return "", ""
	}
	n, wait := b.Left(owner, time.Now())
	left = `"default";r=` + strconv.Itoa(max(0, int(n)))
	if wait > 0 {
		left += ";t=" + (&RetryIn{wait}).Seconds()
	}
	return b.policy, left
}

// A caller may cancel requests: resetsAtOnce in a burst, then resetsRate a second. Beyond that, its requests get 429
// without a query. Maps that are moved quickly cancel some dozens a second.
const (
	resetsAtOnce = 1000
	resetsRate   = 100
)

// Wrong keys: so many of one address are answered at once, then one in each second. A right key is never refused for
// it.
const (
	WrongKeysAtOnce = 20
	WrongKeysRate   = 1
)
