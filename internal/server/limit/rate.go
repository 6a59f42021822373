package limit

import (
	"math"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"grense/internal/problem"
	"grense/internal/store"
)

// Buckets is a token bucket for each owner, in units. A balance may be negative: a request is charged after it ran, and
// the next one has to wait. It is safe for concurrent use.
type Buckets struct {
	rate  float64 // units per second; 0: no limit
	burst float64 // the largest balance

	own func(owner string) (rate int) // returns the rate of an owner that has its own, else 0; nil: none has

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

// bounds returns the rate and the burst of an owner. A rate of 0 means no limit.
func (b *Buckets) bounds(owner string) (rate, burst float64) {
	if b.own != nil {
		if n := b.own(owner); n > 0 {
			return float64(n), float64(n) * rateWindow.Seconds()
		}
	}
	return b.rate, b.burst
}

// units returns the balance of an owner with these bounds at now. The caller holds the lock.
func (b *Buckets) units(owner string, rate, burst float64, now time.Time) float64 {
	x, ok := b.by[owner]
	if !ok {
		return burst
	}
	return min(burst, x.units+rate*now.Sub(x.at).Seconds())
}

// Left returns the balance of an owner that has a limit. Below 1 its requests are refused, and wait is the time until
// it is 1 again.
func (b *Buckets) Left(owner string, now time.Time) (units float64, wait time.Duration) {
	rate, burst := b.bounds(owner)
	b.mu.Lock()
	defer b.mu.Unlock()
	units = b.units(owner, rate, burst, now)
	if units >= 1 {
		return units, 0
	}
	return units, time.Duration((1 - units) / rate * float64(time.Second))
}

// Charge subtracts units from the balance of an owner that has a limit.
func (b *Buckets) Charge(owner string, units float64, now time.Time) {
	rate, burst := b.bounds(owner)
	if rate == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.by) >= maxBuckets {
		for name := range b.by {
			if rate, burst := b.bounds(name); rate == 0 || b.units(name, rate, burst, now) >= burst {
				delete(b.by, name)
			}
		}
		if len(b.by) >= 4*maxBuckets { // an attack from many addresses: reset them all
			clear(b.by)
		}
	}
	b.by[owner] = bucket{max(b.units(owner, rate, burst, now)-units, -mostDebt*burst), now}
}

// mostDebt bounds a negative balance, in bursts, so that an owner can go on some time after a storm of requests.
const mostDebt = 6

// rateWindow is the time over which limits.rate is averaged.
const rateWindow = 10 * time.Second

// Units is the charge for a query, by cost class.
var Units = [...]float64{store.CostPage: 1, store.CostIndexed: 2, store.CostScan: 20, store.CostGeometry: 50}

// unitsRead is the charge for each feature that a query reads after the first.
const unitsRead = 0.01

// newRates returns buckets for limits.rate, in units per second; 0: only owners with their own rate have a limit.
func newRates(rate int) *Buckets {
	return NewBuckets(float64(rate), float64(rate)*rateWindow.Seconds())
}

// Admit returns an error of kind problem.TooMany if the owner has no units left.
func (b *Buckets) Admit(owner string) error {
	if rate, _ := b.bounds(owner); rate == 0 {
		return nil
	}
	if n, wait := b.Left(owner, time.Now()); n < 1 {
		return TooMany("rate", wait, "You have asked more than the server answers one caller in %d seconds. Wait for "+
			"the seconds in Retry-After; ask for larger pages, by id, bbox or an indexed property.",
			int(rateWindow.Seconds()))
	}
	return nil
}

// Accounts are the owners with limits of their own.
type Accounts interface {
	// Rate returns the units that an owner may use in a second; 0 if the owner has no rate of its own.
	Rate(owner string) int
	// Quota returns the units that an owner may use in a day (UTC), and how many of them are left. Both are 0 if it has
	// no quota.
	Quota(owner string, now time.Time) (all, left int64)
	// Spend counts units that an owner has used. It ignores owners without an account.
	Spend(owner string, units float64, now time.Time)
}

// SetAccounts sets the owners with limits of their own, before the first request.
func (t *Turns) SetAccounts(a Accounts) { t.accounts, t.Rates.own = a, a.Rate }

// AdmitOwner returns an error of kind problem.TooMany if an owner has used up its rate, or its quota of the day.
func (t *Turns) AdmitOwner(owner string) error {
	if err := t.Rates.Admit(owner); err != nil || t.accounts == nil {
		return err
	}
	now := time.Now()
	if all, left := t.accounts.Quota(owner, now); all > 0 && left < 1 {
		return TooMany("quota", tomorrow(now), "Your key has used its %d units of today (UTC). Wait for the seconds "+
			"in Retry-After, or ask the operator for a larger quota.", all)
	}
	return nil
}

// tomorrow returns the time until the next day (UTC).
func tomorrow(now time.Time) time.Duration {
	return now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
}

// ChargeOwner charges units to the rate and the quota of an owner.
func (t *Turns) ChargeOwner(owner string, units float64) {
	now := time.Now()
	t.Rates.Charge(owner, units, now)
	if t.accounts != nil {
		t.accounts.Spend(owner, units, now)
	}
}

// TooMany returns an error of kind problem.TooMany with the time to wait. The text addresses the client, the reason is
// for the metrics.
func TooMany(reason string, wait time.Duration, format string, a ...any) error {
	return problem.New(problem.TooMany, &RetryIn{wait, reason}, format, a...)
}

// RetryIn is an error that states when to retry.
type RetryIn struct {
	wait   time.Duration
	Reason string // why: rate, quota, resets, wrong_keys
}

func (r *RetryIn) Error() string { return "again in " + r.Seconds() + " s" }

func (r *RetryIn) Seconds() string { return strconv.Itoa(max(1, int(math.Ceil(r.wait.Seconds())))) }

// RateHeaders returns the values of RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-10): the
// limits of an owner, and what is left of them. Both are empty if there is no limit.
func (t *Turns) RateHeaders(owner string) (policy, left string) {
	now := time.Now()
	if rate, burst := t.Rates.bounds(owner); rate > 0 {
		n, wait := t.Rates.Left(owner, now)
		policy = `"default";q=` + strconv.Itoa(int(burst)) + ";w=" + strconv.Itoa(int(rateWindow.Seconds()))
		left = `"default";r=` + strconv.Itoa(max(0, int(n)))
		if wait > 0 {
			left += ";t=" + (&RetryIn{wait: wait}).Seconds()
		}
	}
	if t.accounts == nil {
		return policy, left
	}
	if all, rest := t.accounts.Quota(owner, now); all > 0 {
		if policy != "" {
			policy, left = policy+", ", left+", "
		}
		policy += `"day";q=` + strconv.FormatInt(all, 10) + ";w=86400"
		left += `"day";r=` + strconv.FormatInt(max(0, rest), 10) + ";t=" + (&RetryIn{wait: tomorrow(now)}).Seconds()
	}
	return policy, left
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

// ShareOf returns the owner of an address in rates and queues: an IPv4 address, or the /64 network of an IPv6 address,
// which belongs to one subscriber (RFC 6177).
func ShareOf(client string) string {
	if !strings.Contains(client, ":") {
		return client
	}
	a, err := netip.ParseAddr(client)
	if err != nil || a.Is4() {
		return client
	}
	p, _ := a.Prefix(64) // an address of 128 bits has 64
	return p.String()
}
