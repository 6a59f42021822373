//go:build unix

package main_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"grense/api/placename"
)

// TestAttackFixtures writes the files that several steps read. It is the first step.
func TestAttackFixtures(t *testing.T) {
	attack(t)
	start := time.Now()
	communesOfFrance(t)
	generated(t, 50_000)
	largeRegister(t)
	t.Logf("%v", time.Since(start))
}

// largeRegister is the register that GRENSE_ATTACK_REGISTER names, or one of 300,000 places.
func largeRegister(t *testing.T) string {
	t.Helper()
	if file := os.Getenv("GRENSE_ATTACK_REGISTER"); file != "" {
		return file
	}
	return generated(t, 300_000)
}

// TestAttackRegister: a large register under eight clients who ask all kinds of questions stays within 512 MB,
// where limits.memory says so and where a control group does.
func TestAttackRegister(t *testing.T) {
	attack(t)
	file := largeRegister(t)
	t.Run("limits.memory", func(t *testing.T) {
		s := serve(t, []string{"GRENSE_LIMITS_MEMORY=512MiB"}, file)
		mixedLoad(t, s, "`memory: 512MiB`")
	})
	t.Run("control group", func(t *testing.T) {
		group := memoryGroup(t, 512<<20)
		script := filepath.Join(t.TempDir(), "grense")
		text := fmt.Sprintf("#!/bin/sh\necho $$ > '%s/cgroup.procs' && exec '%s' \"$@\"\n", group,
			rootPath(t, "bin", "grense"))
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		s := start(t, &serving{bin: script}, nil, file)
		mixedLoad(t, s, "a control group of 512 MiB")
	})
}

// memoryGroup makes a control group of so many bytes of memory below the one that GRENSE_ATTACK_CGROUP names,
// a folder of the controller memory.
func memoryGroup(t *testing.T, most int64) string {
	t.Helper()
	above := os.Getenv("GRENSE_ATTACK_CGROUP")
	if above == "" {
		t.Skip("SKIPPED: GRENSE_ATTACK_CGROUP does not name a control group of memory in which groups can be made")
	}
	dir := filepath.Join(above, fmt.Sprintf("grense-attack-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil { // after the server, whose cleanup comes later and runs earlier
			t.Error(err)
		}
	})
	for _, name := range []string{"memory.max", "memory.limit_in_bytes"} { // of version 2 and 1
		if os.WriteFile(filepath.Join(dir, name), []byte(strconv.FormatInt(most, 10)), 0o644) == nil {
			return dir
		}
	}
	t.Skip("SKIPPED: the control group takes no limit of memory")
	return ""
}

// mixedLoad lets eight clients ask s, another client for an item beside them.
func mixedLoad(t *testing.T, s *serving, what string) {
	t.Helper()
	s.away = true // what takes too long is 503
	other := s.asker(s.newKey(t))
	ctx, cancel := context.WithTimeout(t.Context(), phase(t, 30*time.Second))
	defer cancel()
	var all sync.WaitGroup
	var answered, refused, failed atomic.Int64
	attacker := s.newKey(t)
	for _, question := range questions {
		a := s.asker(attacker)
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				code, body, _, err := a.do(question(s, n))
				switch {
				case err == nil && code == http.StatusOK:
					answered.Add(1)
				case err == nil && (code == http.StatusServiceUnavailable || code == http.StatusInternalServerError &&
					strings.Contains(body, "LIMIT_EXCEEDED") || strings.Contains(body, "Fault>")):
					refused.Add(1)
				case failed.Add(1) <= 5:
					t.Logf("%d, %v, %.300q", code, err, body)
				}
			}
		})
	}
	seen := other.watch(t, ctx, &all, "/collections/sted/items/2")
	all.Wait()
	t.Logf("%d answered, %d refused", answered.Load(), refused.Load())
	figure(t, "8 clients of one key ask a large register all kinds of questions, "+what+": most memory",
		s.peak(t), 512<<20)
	figure(t, "  answers that are neither right nor a refusal", failed.Load(), 0)
	seen.report(t)
}

// questions are what the clients of mixedLoad ask.
var questions = []func(s *serving, n int) *http.Request{
	func(s *serving, n int) *http.Request {
		return soapAsked(s, fmt.Sprintf("*%c%c*", 'a'+n%26, 'a'+n/26%26))
	},
	func(s *serving, n int) *http.Request {
		return soapAsked(s, fmt.Sprintf("%c%c*", 'A'+n%26, 'a'+n/26%26))
	},
	func(s *serving, n int) *http.Request {
		return asked(s, fmt.Sprintf("/collections/sted/items?limit=5000&offset=%d", n%100*5000))
	},
	func(s *serving, n int) *http.Request {
		return asked(s, "/collections/sted/items?limit=10&filter="+url.QueryEscape(
			fmt.Sprintf("CASEI(visningsnavn) LIKE CASEI('%%%c%c%c%%')", 'a'+n%26, 'a'+n/26%26, 'a'+n%7)))
	},
	func(s *serving, n int) *http.Request {
		x, y := 5+rand.Float64()*20, 58+rand.Float64()*12
		return asked(s, fmt.Sprintf("/collections/sted/items?limit=1000&bbox=%.3f,%.3f,%.3f,%.3f", x, y, x+1, y+.5))
	},
	func(s *serving, n int) *http.Request {
		return asked(s, fmt.Sprintf("/collections/sted/items?f=csv&limit=10000&offset=%d", n%50*10000))
	},
	func(s *serving, n int) *http.Request {
		return asked(s, fmt.Sprintf("/collections/sted/download?f=geojsonseq&bbox=%d,60,%d,61", 5+n%5, 6+n%5))
	},
	func(s *serving, n int) *http.Request {
		return asked(s, fmt.Sprintf("/collections/sted/items?f=html&sortby=-visningsnavn&limit=100&q=%c%c",
			'a'+n%26, 'a'+n/26%26))
	},
}

func asked(s *serving, path string) *http.Request {
	r, _ := http.NewRequest(http.MethodGet, s.base+path, nil) // the address is valid
	return r
}

func soapAsked(s *serving, pattern string) *http.Request {
	body := `<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>` +
		string(placename.AppendRequest(nil,
			&placename.FindSteder{StedSoek: placename.StedSoek{Stedsnavn: &pattern}}, placename.DefaultBase)) +
		`</S:Body></S:Envelope>`
	r, _ := http.NewRequest(http.MethodPost, s.base+"/soap/stedsnavn/v1/SoekServiceWS", strings.NewReader(body))
	r.Header.Set("Content-Type", "text/xml; charset=utf-8")
	return r
}
