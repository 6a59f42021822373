package apikey

import (
	"sync"
	"time"
)

// codeLife is how long a one-time code can be redeemed.
const codeLife = 10 * time.Minute

// Codes are one-time codes for links, which must not contain a key. A code lives in memory for ten minutes and works
// once. The zero value is ready to use, also concurrently.
type Codes struct {
	mu    sync.Mutex
	codes map[string]pending
}

type pending struct {
	key string
	end time.Time
}

// Issue returns a new code for key.
func (c *Codes) Issue(key string, now time.Time) (code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for old, p := range c.codes {
		if !now.Before(p.end) {
			delete(c.codes, old)
		}
	}
	if c.codes == nil {
		c.codes = map[string]pending{}
	}
	code = randomText(secretLen)
	c.codes[code] = pending{key, now.Add(codeLife)}
	return code
}

// Redeem returns the key of a code, once. ok is false if the code is unknown, used or expired.
func (c *Codes) Redeem(code string, now time.Time) (key string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.codes[code]
	delete(c.codes, code)
	if !ok || !now.Before(p.end) {
		return "", false
	}
	return p.key, true
}
