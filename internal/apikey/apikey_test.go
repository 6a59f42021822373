package apikey_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"grense/internal/apikey"
	"grense/internal/state"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newKey(t *testing.T, expires time.Time) (string, state.Key) {
	t.Helper()
	key, rec, err := apikey.New("test", expires, now)
	if err != nil {
		t.Fatal(err)
	}
	return key, rec
}

func TestNewKey(t *testing.T) {
	t.Parallel()
	key, rec := newKey(t, now.Add(time.Hour))
	if len(key) != len("grense_")+8+1+32+6 || !strings.HasPrefix(key, "grense_"+rec.ID+"_") {
		t.Errorf("key of %d characters with id %q", len(key), rec.ID)
	}
	want := state.Key{ID: rec.ID, Name: "test", Hash: sha256.Sum256([]byte(key)), Created: now,
		Expires: now.Add(time.Hour)}
	if rec != want {
		t.Errorf("record %+v, want %+v", rec, want)
	}
	if id, err := apikey.Parse(key); id != rec.ID || err != nil {
		t.Errorf("Parse: %q, %v", id, err)
	}
	if other, _ := newKey(t, time.Time{}); other == key {
		t.Error("two keys are the same")
	}
}

func TestNewKeyRefuses(t *testing.T) {
	t.Parallel()
	key, _ := newKey(t, time.Time{})
	for name, c := range map[string]struct {
		name    string
		expires time.Time
	}{
		"no name":       {" ", time.Time{}},
		"long name":     {strings.Repeat("x", 201), time.Time{}},
		"line feed":     {"a\nb", time.Time{}},
		"key as a name": {key, time.Time{}},
		"expired":       {"a", now},
	} {
		if _, _, err := apikey.New(c.name, c.expires, now); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestParseFindsTypingErrors changes, drops and swaps each character of a key.
func TestParseFindsTypingErrors(t *testing.T) {
	t.Parallel()
	key, _ := newKey(t, time.Time{})
	refuse := func(s, what string, i int) {
		t.Helper()
		if id, err := apikey.Parse(s); !errors.Is(err, apikey.ErrFormat) || id != "" {
			t.Errorf("%s at %d passes", what, i)
		}
	}
	for i := range len(key) {
		for _, c := range []byte("aZ09_-\x00") {
			if key[i] != c {
				refuse(key[:i]+string(c)+key[i+1:], "another character", i)
			}
		}
		refuse(key[:i]+key[i+1:], "a missing character", i)
		refuse(key[:i]+"x"+key[i:], "one more character", i)
		if i > 0 && key[i] != key[i-1] {
			refuse(key[:i-1]+key[i:i+1]+key[i-1:i]+key[i+1:], "two swapped characters", i)
		}
	}
	refuse("", "nothing", 0)
	refuse(key+" ", "a blank", len(key))
	refuse(strings.ToUpper(key), "capitals", 0)
}

// TestChecksumIsStable holds the format: keys made by an older version stay valid.
func TestChecksumIsStable(t *testing.T) {
	t.Parallel()
	const body = "grense_AbCdEf01_0123456789ABCDEFGHIJabcdefghij01"
	var passed []string
	for _, check := range []string{"000000", stableCheck} {
		if _, err := apikey.Parse(body + check); err == nil {
			passed = append(passed, check)
		}
	}
	if !slices.Equal(passed, []string{stableCheck}) {
		t.Errorf("passed: %v", passed)
	}
}

// stableCheck is the CRC-32 of the body, computed by Python's zlib, in base62.
const stableCheck = "39MRGM"

func TestParseExpiry(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"":           "0001-01-01T00:00:00Z",
		"2027-01-01": "2027-01-01T00:00:00Z",
		"90d":        "2027-02-19T12:00:00Z",
		"1d":         "2026-11-22T12:00:00Z",
		"2026-11-21": "", "2020-01-01": "", "0d": "", "-1d": "", "+1d": "", "90": "", "d": "", "90days": "", "1.5d": "",
		"2027-13-01": "", "99999d": "", "tomorrow": "",
	} {
		got, err := apikey.ParseExpiry(s, now)
		text := got.Format(time.RFC3339)
		if err != nil {
			text = ""
		}
		if text != want {
			t.Errorf("%q: %q (%v), want %q", s, text, err, want)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	key, rec := newKey(t, time.Time{})
	for _, s := range []string{key, "k=" + key + "&x", strings.ToUpper(key), key[:30]} {
		got := apikey.Redact("a " + s + " b")
		if strings.Contains(got, s) || !strings.Contains(strings.ToLower(got), strings.ToLower(rec.ID)+"_***") {
			t.Errorf("%q is left of %q", got, s)
		}
	}
	secret := key[len("grense_")+9:]
	all, id := escaped(key), escaped("grense_"+rec.ID)
	for s, want := range map[string]string{
		"x=" + strings.ReplaceAll(key, "_", "%5f") + "&y=%zz": "x=grense%5f" + rec.ID + "_***&y=%zz",
		all + "%": id + "_***%",
		strings.ReplaceAll(all, "%", "%2525") + "%2": strings.ReplaceAll(id, "%", "%2525") + "_***%2",
		key + "%20" + key:    "grense_" + rec.ID + "_***%20grense_" + rec.ID + "_***",
		"50%25 of " + secret: "50%25 of " + secret,
	} {
		if got := apikey.Redact(s); got != want {
			t.Errorf("%q becomes %q, want %q", s, got, want)
		}
	}
	if got := apikey.Redact("grense_key and grense.yaml"); got != "grense_key and grense.yaml" {
		t.Errorf("no key, yet %q", got)
	}
}

// escaped is a text with each of its characters escaped for an address.
func escaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

// TestRedactIsLinear: a long text full of keys takes milliseconds.
func TestRedactIsLinear(t *testing.T) {
	t.Parallel()
	key, _ := newKey(t, time.Time{})
	long := strings.Repeat(escaped(key)+" ", 20_000)
	if got := apikey.Redact(long); strings.Count(got, "***") != 20_000 {
		t.Errorf("%d keys are hidden", strings.Count(got, "***"))
	}
}

func TestFromRequest(t *testing.T) {
	t.Parallel()
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	const none, conflict = "none", "conflict"
	for name, c := range map[string]struct {
		header http.Header
		cookie string
		want   string
	}{
		"nothing":                  {http.Header{}, "", none},
		"header":                   {http.Header{"X-Api-Key": {" K "}}, "", "K"},
		"empty header":             {http.Header{"X-Api-Key": {""}}, "", none},
		"bearer":                   {http.Header{"Authorization": {"Bearer K"}}, "", "K"},
		"bearer, other case":       {http.Header{"Authorization": {"bEARER  K"}}, "", "K"},
		"basic":                    {http.Header{"Authorization": {basic("any:K")}}, "", "K"},
		"basic without user":       {http.Header{"Authorization": {basic(":K")}}, "", "K"},
		"basic, colon in password": {http.Header{"Authorization": {basic("u:K:L")}}, "", "K:L"},
		"basic without padding":    {http.Header{"Authorization": {strings.TrimRight(basic("ab:K"), "=")}}, "", "K"},
		"basic without password":   {http.Header{"Authorization": {basic("K:")}}, "", "malformed"},
		"basic, no base64":         {http.Header{"Authorization": {"Basic grense_x"}}, "", "malformed"},
		"cookie":                   {http.Header{}, "K", "K"},
		"another scheme":           {http.Header{"Authorization": {"Negotiate K"}}, "", none},
		"scheme alone":             {http.Header{"Authorization": {"Bearer"}}, "", none},
		"all the same":             {http.Header{"X-Api-Key": {"K", "K"}, "Authorization": {basic("a:K")}}, "K", "K"},
		"header and cookie":        {http.Header{"X-Api-Key": {"K"}}, "L", conflict},
		"header twice":             {http.Header{"X-Api-Key": {"K", "L"}}, "", conflict},
		"bearer and header":        {http.Header{"X-Api-Key": {"K"}, "Authorization": {"Bearer L"}}, "", conflict},
		"malformed and header":     {http.Header{"X-Api-Key": {"K"}, "Authorization": {"Basic ?"}}, "", conflict},
	} {
		key, found, differ := apikey.FromRequest(c.header, c.cookie)
		got := key
		switch {
		case differ:
			got = conflict
		case !found:
			got = none
		}
		if got != c.want || found == (c.want == none) || differ && key != "" {
			t.Errorf("%s: %q, found %v, conflict %v; want %s", name, key, found, differ, c.want)
		}
	}
}

func FuzzFromRequest(f *testing.F) {
	key, rec, err := apikey.New("fuzz", time.Time{}, now)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("Bearer "+key, key, key)
	f.Add("Basic OjpL", "", "K")
	f.Add("Basic", "x", "")
	f.Fuzz(func(t *testing.T, authorization, header, cookie string) {
		got, found, conflict := apikey.FromRequest(http.Header{"Authorization": {authorization}, "X-Api-Key": {header}},
			cookie)
		if got != "" && (!found || conflict) || conflict && !found {
			t.Errorf("%q, found %v, conflict %v", got, found, conflict)
		}
		if id, err := apikey.Parse(got); err == nil && id == rec.ID && got != key {
			t.Errorf("%q passes for %q", got, key)
		}
	})
}

// memory is a storage of keys in memory that can be made to fail.
type memory struct {
	mu      sync.Mutex
	keys    []state.Key
	touched map[string]time.Time
	touches int
	fail    error
	uses    []state.Use
}

func (m *memory) Keys(context.Context) ([]state.Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.keys), m.fail
}

func (m *memory) PutKey(_ context.Context, k state.Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys = append(m.keys, k)
	return m.fail
}

func (m *memory) RevokeKey(_ context.Context, id string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.keys {
		if m.keys[i].ID == id {
			m.keys[i].Revoked = at
		}
	}
	return m.fail
}

func (m *memory) TouchKeys(_ context.Context, day time.Time, ids []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.touches++
	for _, id := range ids {
		m.touched[id] = day
	}
	return nil
}

func (m *memory) AddUses(_ context.Context, list []state.Use) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.uses = append(m.uses, list...)
	}
	return m.fail
}

func (m *memory) Uses(context.Context, time.Time, string) ([]state.Use, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.uses), m.fail
}

func (m *memory) DropUses(context.Context, time.Time) error { return nil }

func (m *memory) setFail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

func setup(t *testing.T, keys ...state.Key) (*apikey.Checker, *memory, *strings.Builder) {
	t.Helper()
	m, log := &memory{keys: keys, touched: map[string]time.Time{}}, &strings.Builder{}
	c, err := apikey.NewChecker(t.Context(), m, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return c, m, log
}

func TestCheck(t *testing.T) {
	t.Parallel()
	key, rec := newKey(t, time.Time{})
	limited, limitedRec := newKey(t, now.Add(time.Hour))
	gone, goneRec := newKey(t, time.Time{})
	goneRec.Revoked = now
	unknown, _ := newKey(t, time.Time{})
	other, otherRec := newKey(t, time.Time{})
	otherRec.Hash = rec.Hash // the id of one key with the secret of another
	c, _, _ := setup(t, rec, limitedRec, goneRec, otherRec)
	for name, x := range map[string]struct {
		key  string
		at   time.Time
		want string
	}{
		"valid":         {key, now, rec.ID},
		"before expiry": {limited, now.Add(time.Hour - 1), limitedRec.ID},
		"at expiry":     {limited, now.Add(time.Hour), ""},
		"revoked":       {gone, now, ""},
		"never issued":  {unknown, now, ""},
		"wrong secret":  {other, now, ""},
		"malformed":     {"malformed", now, ""},
		"nothing":       {"", now, ""},
	} {
		if id, ok := c.Check(x.key, x.at); id != x.want || ok != (x.want != "") {
			t.Errorf("%s: %q, %v", name, id, ok)
		}
	}
	if all, active := c.Count(now); all != 4 || active != 3 {
		t.Errorf("Count: %d, %d", all, active)
	}
}

func TestNewCheckerNeedsTheKeys(t *testing.T) {
	t.Parallel()
	failed := errors.New("disk")
	if c, err := apikey.NewChecker(t.Context(), &memory{fail: failed}, slog.Default()); c != nil ||
		!errors.Is(err, failed) {
		t.Errorf("%v, %v", c, err)
	}
}

// TestChangesCountWithinFiveSeconds revokes a key and creates another while the checker runs.
func TestChangesCountWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		key, rec := newKey(t, time.Time{})
		late, lateRec := newKey(t, time.Time{})
		c, m, _ := setup(t, rec)
		go c.Run(t.Context())
		m.RevokeKey(t.Context(), rec.ID, now)
		m.PutKey(t.Context(), lateRec)
		if _, ok := c.Check(late, now); ok {
			t.Error("known at once, so the test proves nothing")
		}
		time.Sleep(5*time.Second - 1) // of the test's own clock
		synctest.Wait()
		if _, ok := c.Check(key, now); ok {
			t.Error("the revoked key passes")
		}
		if _, ok := c.Check(late, now); !ok {
			t.Error("the new key does not pass")
		}
	})
}

// running runs a checker until stop has returned.
func running(t *testing.T, c *apikey.Checker) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { c.Run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

func TestStateAwayKeepsKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		key, rec := newKey(t, time.Time{})
		c, m, log := setup(t, rec)
		stop := running(t, c)
		m.setFail(errors.New("disk"))
		if _, ok := c.Check(key, now); !ok {
			t.Error("the key does not pass")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, ok := c.Check(key, now); !ok {
			t.Error("the key does not pass while the state is away")
		}
		if n := strings.Count(log.String(), "WARN"); n != 1 {
			t.Errorf("%d warnings of one outage:\n%s", n, log)
		}
		m.setFail(nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if m.touched[rec.ID].IsZero() {
			t.Error("the use during the outage is forgotten")
		}
		stop()
		if strings.Contains(log.String(), key) {
			t.Error("the log holds the key")
		}
	})
}

func TestLastUsedIsStoredOncePerDay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		key, rec := newKey(t, time.Time{})
		c, m, _ := setup(t, rec)
		stop := running(t, c)
		for range 100 {
			c.Check(key, now)
			time.Sleep(time.Second)
		}
		if want := now.Truncate(24 * time.Hour); m.touches != 1 || !m.touched[rec.ID].Equal(want) {
			t.Errorf("%d times, day %v, want %v", m.touches, m.touched[rec.ID], want)
		}
		c.Check(key, now.Add(24*time.Hour))
		stop() // what is left is stored at the end
		if want := now.Add(24 * time.Hour).Truncate(24 * time.Hour); m.touches != 2 || !m.touched[rec.ID].Equal(want) {
			t.Errorf("%d times, day %v, want %v", m.touches, m.touched[rec.ID], want)
		}
	})
}

func TestCodes(t *testing.T) {
	t.Parallel()
	var c apikey.Codes
	code := c.Issue("K", now)
	if code == "K" || len(code) < 20 {
		t.Errorf("code %q", code)
	}
	if _, ok := c.Redeem("another", now); ok {
		t.Error("an unknown code is redeemed")
	}
	if _, ok := c.Redeem("", now); ok {
		t.Error("no code is redeemed")
	}
	if key, ok := c.Redeem(code, now.Add(10*time.Minute-1)); key != "K" || !ok {
		t.Errorf("%q, %v", key, ok)
	}
	if key, ok := c.Redeem(code, now); ok || key != "" {
		t.Error("a code is redeemed twice")
	}
	old := c.Issue("K", now)
	if key, ok := c.Redeem(old, now.Add(10*time.Minute)); ok || key != "" {
		t.Error("a code is redeemed after 10 minutes")
	}
}

func TestCodeIsRedeemedOnceByManyAtOnce(t *testing.T) {
	t.Parallel()
	var c apikey.Codes
	code := c.Issue("K", now)
	var wg sync.WaitGroup
	won := make(chan bool, 50)
	for range 50 {
		wg.Go(func() {
			c.Issue("other", now)
			if _, ok := c.Redeem(code, now); ok {
				won <- true
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Errorf("redeemed %d times", len(won))
	}
}

func BenchmarkCheck(b *testing.B) {
	key, rec, err := apikey.New("bench", time.Time{}, now)
	if err != nil {
		b.Fatal(err)
	}
	c, err := apikey.NewChecker(b.Context(), &memory{keys: []state.Key{rec}, touched: map[string]time.Time{}},
		slog.Default())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.Check(key, now); !ok {
			b.Fatal("refused")
		}
	}
}

func TestTermsAreChecked(t *testing.T) {
	t.Parallel()
	for _, list := range [][]string{{"all"}, {"soap/x"}, {"collections/"}, {"collections/A b"}, {"tiles/a/b"}, {""}} {
		if s, err := apikey.ParseScopes(list); err == nil {
			t.Errorf("%q gives %q", list, s)
		}
	}
	s, err := apikey.ParseScopes([]string{"tiles/a-b", "soap", "collections", "soap"})
	if err != nil || s != "collections soap tiles/a-b" {
		t.Errorf("%q, %v", s, err)
	}
	for _, list := range [][]string{{"example.org"}, {"https://example.org/"}, {"ftp://a"}, {"https://u@a"}, {"null"}} {
		if s, err := apikey.ParseOrigins(list); err == nil {
			t.Errorf("%q gives %q", list, s)
		}
	}
	if s, err := apikey.ParseOrigins([]string{"http://B.example:8080", "https://a.example"}); err != nil ||
		s != "http://b.example:8080 https://a.example" {
		t.Errorf("%q, %v", s, err)
	}
	for _, terms := range []state.Terms{{Rate: -1}, {Quota: -1}, {Rate: 1 << 30}, {Note: "a\nb"},
		{Note: apikey.Generate()}} {
		if apikey.CheckTerms(terms) == nil {
			t.Errorf("%+v is accepted", terms)
		}
	}
}

// TestUseIsStoredAndCountsAgainstTheQuota with the use that other processes have stored.
func TestUseIsStoredAndCountsAgainstTheQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, rec := newKey(t, time.Time{})
		rec.Quota = 10
		c, m, log := setup(t, rec)
		stop := running(t, c)
		left := func(want int64) {
			t.Helper()
			if all, n := c.Quota(rec.ID, time.Now()); all != 10 || n != want {
				t.Errorf("%d of %d, want %d of 10", n, all, want)
			}
		}
		c.Spend(rec.ID, 1.5, time.Now())
		c.Spend(rec.ID, 1.75, time.Now())
		c.Spend("192.0.2.1", 100, time.Now())
		c.Used(rec.ID, 100, true, time.Now())
		left(7)
		m.setFail(errors.New("disk"))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		left(7)
		m.setFail(nil)
		m.AddUses(t.Context(), []state.Use{{Key: rec.ID, Day: time.Now().UTC().Truncate(24 * time.Hour), Units: 4}})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		left(3)
		if n := len(m.uses); n != 2 || m.uses[1].Requests != 1 || m.uses[1].Units != 3 || m.uses[1].Bytes != 100 ||
			m.uses[1].Refused != 1 {
			t.Errorf("%+v", m.uses)
		}
		c.Spend(rec.ID, 0.75, time.Now())
		left(2) // with the quarter that was not stored
		stop()
		if u := m.uses[len(m.uses)-1]; u.Units != 1 {
			t.Errorf("%+v is stored at the end", u)
		}
		if strings.Count(log.String(), "use of keys cannot be stored") != 1 {
			t.Errorf("%s", log)
		}
		if _, n := c.Quota(rec.ID, time.Now().Add(24*time.Hour)); n != 10 {
			t.Errorf("%d are left of the next day", n)
		}
	})
}

// TestKeysThatEndSoonAreWarnedOf once a day.
func TestKeysThatEndSoonAreWarnedOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, soon, err := apikey.New("soon", begin.AddDate(0, 0, 15), begin)
		if err != nil {
			t.Fatal(err)
		}
		_, never := newKey(t, time.Time{})
		c, _, log := setup(t, soon, never)
		stop := running(t, c)
		synctest.Wait()
		if list := c.Expiring(begin); len(list) != 0 {
			t.Errorf("at once: %+v", list)
		}
		time.Sleep(50 * time.Hour)
		synctest.Wait()
		stop()
		if n := strings.Count(log.String(), "grense key rotate "+soon.ID); n != 2 {
			t.Errorf("%d warnings:\n%s", n, log)
		}
		if list := c.Expiring(time.Now()); len(list) != 1 || list[0] != soon {
			t.Errorf("%+v", list)
		}
	})
}
