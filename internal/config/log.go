package config

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Level returns the least level that is logged.
func (c Config) Level() slog.Level {
	var l slog.Level
	l.UnmarshalText([]byte(c.LogLevel)) // it is valid; info otherwise
	return l
}

// AccessLog says which requests are logged.
type AccessLog struct {
	from   int           // statuses from here on
	slower time.Duration // and requests that took longer; 0: none
}

// Logs reports whether a request with a status, which took some time, is logged.
func (a AccessLog) Logs(status int, took time.Duration) bool {
	return status >= a.from || a.slower > 0 && took > a.slower
}

// Access returns which requests are logged.
func (c Config) Access() AccessLog {
	a, _ := parseAccessLog(c.AccessLog) // it is valid
	return a
}

func parseAccessLog(s string) (AccessLog, error) {
	const never = 1000
	switch limit, slow := strings.CutPrefix(s, "slow>"); {
	case s == "all" || s == "":
		return AccessLog{}, nil
	case s == "errors":
		return AccessLog{from: 400}, nil
	case s == "none":
		return AccessLog{from: never}, nil
	case slow:
		if d, err := time.ParseDuration(limit); err == nil && d > 0 {
			return AccessLog{from: 500, slower: d}, nil
		}
	}
	return AccessLog{},
		fmt.Errorf("%q is no choice; write all, errors, none, or slow> with a duration, as in slow>1s", s)
}
