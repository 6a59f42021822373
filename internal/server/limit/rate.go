package limit

import (
	"math"
	"strconv"
	"sync"
	"time"

	"grense/internal/problem"
	"grense/internal/store"
)

// Buckets is a token bucket for each owner, in units. A balance may be negative: a request is charged after it ran, and
// the next one has to wait. It is safe for concurrent use.
type Buckets struct {
	rate   float64 // units per second
	burst  float64 // the largest balance
	policy string  // value of RateLimit-Policy

	mu sync.Mutex
	by map[string]bucket
}

// bucket is the balance of an owner at a time.
type bucket struct {
	units float64
	at    time.Time
}

// maxBuckets is the number of owners from which full buckets are deleted.
const maxBuckets = 1 << 14

func NewBuckets(rate, burst float64) *Buckets {
	return &Buckets{rate: rate, burst: burst, by: map[string]bucket{}}
}

// units returns the balance of an owner at now. The caller holds the lock.
func (b *Buckets) units(owner string, now time.Time) float64 {
	x, ok := b.by[owner]
	if !ok {
		return b.burst
	}
	return min(b.burst, x.units+b.rate*now.Sub(x.at).Seconds())
}

// Left returns the balance of an owner. Below 1 its requests are refused, and wait is the time until it is 1 again.
func (b *Buckets) Left(owner string, now time.Time) (units float64, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	units = b.units(owner, now)
	if units >= 1 {
		return units, 0
	}
	return units, time.Duration((1 - units) / b.rate * float64(time.Second))
}

// Charge subtracts units from the balance of an owner.
func (b *Buckets) Charge(owner string, units float64, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.by) >= maxBuckets {
		for name := range b.by {
			if b.units(name, now) >= b.burst {
				delete(b.by, name)
			}
		}
		if len(b.by) >= 4*maxBuckets { // an attack from many addresses: reset them all
			clear(b.by)
		}
	}
	b.by[owner] = bucket{max(b.units(owner, now)-units, -mostDebt*b.burst), now}
}

// mostDebt bounds a negative balance, in bursts, so that an owner can go on some time after a storm of requests.
const mostDebt = 6

// rateWindow is the time over which limits.rate is averaged.
const rateWindow = 10 * time.Second

// Units is the charge for a query, by cost class.
var Units = [...]float64{store.CostPage: 1, store.CostIndexed: 2, store.CostScan: 20, store.CostGeometry: 50}

// unitsRead is the charge for each feature that a query reads after the first.
const unitsRead = 0.01

// newRates returns buckets for limits.rate, in units per second; nil if there is no limit.
func newRates(rate int) *Buckets {
	if rate == 0 {
		return nil
	}
	b := NewBuckets(float64(rate), float64(rate)*rateWindow.Seconds())
	b.policy = `"default";q=` + strconv.Itoa(int(b.burst)) + ";w=" + strconv.Itoa(int(rateWindow.Seconds()))
	return b
}

// Admit returns an error of kind problem.TooMany if the owner has no units left. A nil b admits all.
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

// TooMany returns an error of kind problem.TooMany with the time to wait. The text addresses the client.
func TooMany(wait time.Duration, format string, a ...any) error {
	return problem.New(problem.TooMany, &RetryIn{wait}, format, a...)
}

// RetryIn is an error that states when to retry.
type RetryIn struct{ wait time.Duration }

func (r *RetryIn) Error() string { return "again in " + r.Seconds() + " s" }

func (r *RetryIn) Seconds() string { return strconv.Itoa(max(1, int(math.Ceil(r.wait.Seconds())))) }

// Headers returns the values of RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-10). Both are
// empty if there is no limit.
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

// A caller may cancel resetsAtOnce requests in a burst, then resetsRate each second. Further requests get 429 and run
// no query. A map that is panned fast cancels some dozens each second.
const (
	resetsAtOnce = 1000
	resetsRate   = 100
)

// A client address may send WrongKeysAtOnce wrong keys in a burst, then WrongKeysRate each second. Requests with a
// right key are never refused for it.
const (
	WrongKeysAtOnce = 20
	WrongKeysRate   = 1
)
