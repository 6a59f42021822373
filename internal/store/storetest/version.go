package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"grense/internal/store"
)

// ExerciseVersion compares the versions, revisions and snapshots of a store with its results, before and after another
// program has changed the data. If a result differs, the version differs or is unknown. sees lists the collections.
// change is what the other program does; it must change a result, at the latest after a reload.
func ExerciseVersion(t *testing.T, s store.Store, sees []string, change func()) {
	t.Helper()
	x := &versionTest{contents: map[string]string{}}
	before := make([]seenAnswer, len(sees))
	for i, id := range sees {
		before[i] = x.see(t, s, id)
	}
	snaps, pinned := make([]store.Snapshot, len(sees)), make([]store.Version, len(sees))
	for i, id := range sees {
		var err error
		if snaps[i], err = s.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer snaps[i].Close()
		if pinned[i], err = snaps[i].Version(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	change()
	changed := false
	compare := func(when string) {
		for i, id := range sees {
			now := x.see(t, s, id)
			if now.answer == before[i].answer {
				continue
			}
			changed = true
			if now.version != "" && now.version == before[i].version {
				t.Errorf("%s %s: version %q before and after, but the answer\n%s\nis now\n%s", id, when, now.version,
					before[i].answer, now.answer)
			}
		}
	}
	compare("after the change")
	for i, id := range sees {
		snap := snaps[i]
		rows, err := x.rows(t, snap, id)
		if v, verr := snap.Version(t.Context(), id); err == nil && verr == nil && v != pinned[i] {
			t.Errorf("%s: the snapshot has version %q and then %q", id, pinned[i], v)
		}
		switch snap.Close(); {
		case pinned[i] == "": // of a view, whose definition is the current one
		case err == nil && !strings.HasPrefix(before[i].answer, rows+"\n"):
			t.Errorf("%s: the snapshot of\n%s\nanswers\n%s", id, before[i].answer, rows)
		case err != nil && !errors.Is(err, store.ErrChanged) && !errors.Is(err, store.ErrUnavailable):
			t.Errorf("%s: the snapshot: %v", id, err)
		}
	}
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	compare("after a reload")
	if !changed {
		t.Error("no answer has changed")
	}
}

// versionTest stores the content of rows in each revision.
type versionTest struct{ contents map[string]string }

// seenAnswer is what a store returns for a collection.
type seenAnswer struct {
	version store.Version // "" also if it returns an error
	answer  string
}

// see reads a page of a collection and its first item, as the response cache does: the version first.
func (x *versionTest) see(t *testing.T, s store.Store, collection string) seenAnswer {
	t.Helper()
	v, err := s.Version(t.Context(), collection)
	if err != nil {
		v = ""
	}
	c, _ := s.Catalog().Collection(collection)
	if c == nil {
		return seenAnswer{v, "no collection\n"}
	}
	answer, err := x.rows(t, s, collection)
	if err != nil {
		return seenAnswer{v, "an error\n"}
	}
	id, _, _ := strings.Cut(answer, " ")
	row, prev, next, err := s.Neighbours(t.Context(), collection, id)
	answer += fmt.Sprintf("\nitem %s %q %q %v\n", row.ID, prev, next, err != nil)
	err = s.Fetch(context.Background(), collection, store.Current(id), store.Want{}, func(f *store.Feature) error {
		answer += x.content(t, collection, f) + "\n"
		return nil
	})
	for _, p := range c.Properties {
		answer += fmt.Sprintln(p.Name, p.Type)
	}
	return seenAnswer{v, answer + fmt.Sprintln(err != nil)}
}

// rows reads a page of a collection.
func (x *versionTest) rows(t *testing.T, s store.Reader, collection string) (string, error) {
	t.Helper()
	p, err := s.Page(t.Context(), store.Query{Collection: collection, Limit: 10, Count: store.CountNone})
	if err != nil {
		return "", err
	}
	var lines []string
	err = s.Fetch(t.Context(), collection, p.Rows, store.Want{}, func(f *store.Feature) error {
		lines = append(lines, x.content(t, collection, f))
		return nil
	})
	return strings.Join(lines, "\n"), err
}

// content returns the content of a feature and fails if it differs within a revision.
func (x *versionTest) content(t *testing.T, collection string, f *store.Feature) string {
	t.Helper()
	content := fmt.Sprintf("%s %q %x", f.ID, f.Values, f.Geometry.WKB)
	key := fmt.Sprint(collection, " ", f.ID, " ", f.Rev)
	if was, ok := x.contents[key]; ok && was != content {
		t.Errorf("%s in one revision is %s and %s", collection, was, content)
	}
	x.contents[key] = content
	return content
}
