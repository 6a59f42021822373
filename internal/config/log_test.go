package config_test

import (
	"testing"
	"time"

	"grense/internal/config"
)

func TestAccessLogChoosesRequests(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for setting, want := range map[string]map[int][2]bool{ // by status: of 10 ms, of 1.5 s
		"":         {200: {true, true}, 404: {true, true}, 500: {true, true}},
		"all":      {200: {true, true}, 304: {true, true}, 404: {true, true}},
		"errors":   {200: {false, false}, 304: {false, false}, 400: {true, true}, 499: {true, true}, 503: {true, true}},
		"slow>1s":  {200: {false, true}, 404: {false, true}, 499: {false, true}, 500: {true, true}, 503: {true, true}},
		"slow>2s":  {200: {false, false}, 404: {false, false}, 500: {true, true}},
		"slow>5ms": {200: {true, true}},
		"none":     {200: {false, false}, 404: {false, false}, 500: {false, false}, 503: {false, false}},
	} {
		a := config.Config{AccessLog: setting}.Access()
		for status, logged := range want {
			if got := [2]bool{a.Logs(status, 10*ms), a.Logs(status, 1500*ms)}; got != logged {
				t.Errorf("access_log: %s, status %d: quick and slow are logged %v, want %v", setting, status, got,
					logged)
			}
		}
	}
}
