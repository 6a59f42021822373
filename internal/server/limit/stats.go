package limit

import (
	"context"
	"errors"
	"maps"
	"time"

	"grense/internal/store"
)

// Waits is a histogram of waits for places.
type Waits struct {
	Count uint64
	Sum   time.Duration
	below [len(waitBounds)]uint64 // waits of at most each bound that were longer than the bound before
}

// waitBounds are the buckets, in seconds.
var waitBounds = [...]float64{.001, .01, .1, .5, 2}

func (w *Waits) add(d time.Duration) {
	w.Count++
	w.Sum += d
	for i, b := range waitBounds {
		if d.Seconds() <= b {
			w.below[i]++
			return
		}
	}
}

// Buckets returns how many waits there were of at most each bound, in seconds.
func (w *Waits) Buckets() map[float64]uint64 {
	out, sum := make(map[float64]uint64, len(waitBounds)), uint64(0)
	for i, b := range waitBounds {
		sum += w.below[i]
		out[b] = sum
	}
	return out
}

// ClassStats is the state of a class of work.
type ClassStats struct {
	Name                   string
	Places, InUse, Waiting int
	Waits                  Waits // of those that got a place
}

var classNames = [costs]string{store.CostPage: "page", store.CostIndexed: "indexed", store.CostScan: "scan",
	store.CostGeometry: "geometry", CostWriting: "writing", CostDirect: "direct", CostMaking: "making",
	CostFileDirect: "file_direct", CostFileMaking: "file_making", costHeld: "held", CostExecuting: "executing",
	CostTile: "tile"}

// Stats returns the state of each class.
func (t *Turns) Stats() []ClassStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]ClassStats, len(t.classes))
	for i := range t.classes {
		x := &t.classes[i]
		list[i] = ClassStats{classNames[i], x.places, x.places - x.free, x.waiting, x.waits}
	}
	return list
}

// fail counts an error of the store by its class.
func (t *Turns) fail(err error) {
	class := classOf(err)
	if class == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = map[string]uint64{}
	}
	t.failed[class]++
}

// classOf returns the class of an error of the store: the first two characters of an SQLSTATE, or a word. "" for what
// is no fault of the store.
func classOf(err error) string {
	var coded interface{ SQLState() string }
	switch {
	case err == nil:
	case errors.As(err, &coded) && len(coded.SQLState()) >= 2:
		return coded.SQLState()[:2]
	case errors.Is(err, store.ErrLocked):
		return "locked"
	case errors.Is(err, store.ErrFull):
		return "full"
	case errors.Is(err, store.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return ""
}

// Failed returns how many queries have failed, by class.
func (t *Turns) Failed() map[string]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.failed)
}
