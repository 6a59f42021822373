package state

import (
	"context"
	"fmt"
	"time"

	"grense/internal/store"
)

// Tracked describes what the log of changes has recorded of a collection.
type Tracked struct {
	Schema string // hash of the public properties and of how digests are computed
	State  string // version of the data when it was recorded; "" if the store reports none
	Pass   int64  // how many times the collection was recorded; 0: never
}

// Values of Change.Op.
const (
	ChangeLoad   = "load"   // the collection is new or has another schema: followers load all of it again
	ChangeDrop   = "drop"   // the collection was removed
	ChangeAdd    = "add"    // a feature was added
	ChangeUpdate = "update" // a feature was changed
	ChangeRemove = "remove" // a feature was removed
)

// Change is an entry in the log of changes.
type Change struct {
	Seq        int64
	At         time.Time // when it was recorded; never decreases
	Op         string
	Collection string
	ID         string // feature id; "" if the change concerns the whole collection
	Title      string // last recorded title of the feature; "" if it has none
	Count      int64  // number of features in the collection, for ChangeLoad
}

// Recording is the difference between a collection and what is recorded of it.
type Recording struct {
	Collection string
	Was        Tracked // as Tracked returned it
	Now        Tracked // new values; Pass is ignored
	At         time.Time
	Changes    []Change // Seq, At, Collection, and the titles of removed features are ignored
	Digests    []Digest // of new and changed features; after a load, of all features
	Afresh     bool     // delete the digests of all other features
}

// Digest is a hash of the content of a feature.
type Digest struct {
	ID, Title string
	Digest    [16]byte
}

var changeTables = [...]table{
	{"grense.change", `seq BIGINT PRIMARY KEY NOT NULL, at BIGINT NOT NULL, op TEXT NOT NULL, collection TEXT NOT NULL,
		id TEXT NOT NULL, title TEXT NOT NULL, count BIGINT NOT NULL`},
	{"grense.tracked", `collection TEXT COLLATE "C" PRIMARY KEY NOT NULL, schema TEXT NOT NULL, state TEXT NOT NULL,
		pass BIGINT NOT NULL`},
	{"grense.tracked_feature", `collection TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, title TEXT NOT NULL,
		digest BYTEA NOT NULL, PRIMARY KEY (collection, id)`},
}

// PrepareChanges creates the tables for the log of changes. After an error no changes can be recorded.
func (db *DB) PrepareChanges(ctx context.Context) error {
	return db.d.Do(ctx, Write, func(tx Tx) error { return create(tx, changeTables[:]...) })
}

// Tracked returns what is recorded of each collection, by collection id.
func (db *DB) Tracked(ctx context.Context) (all map[string]Tracked, err error) {
	err = db.d.Do(ctx, Write, func(tx Tx) error {
		all = map[string]Tracked{}
		return tx.Query("SELECT collection, schema, state, pass FROM grense.tracked", nil, func(scan Scan) error {
			var id string
			var t Tracked
			err := scan(&id, &t.Schema, &t.State, &t.Pass)
			all[id] = t
			return err
		})
	})
	return all, err
}

// Digests calls fn for each recorded feature of a collection, in any order.
func (db *DB) Digests(ctx context.Context, collection string, fn func(id string, digest [16]byte) error) error {
	return db.d.Do(ctx, Long, func(tx Tx) error {
		const sql = "SELECT id, digest FROM grense.tracked_feature WHERE collection = $1"
		return tx.Query(sql, []any{collection}, func(scan Scan) error {
			var id string
			var digest []byte
			if err := scan(&id, &digest); err != nil {
				return err
			}
			if len(digest) != 16 {
				return fmt.Errorf("state: the digest of %s in %s is broken", id, collection)
			}
			return fn(id, [16]byte(digest))
		})
	})
}

// Record appends changes to the log, numbered after the last one, and stores the new digests, all in one transaction.
// It returns ErrChanged if another Record of the collection came after r.Was was read.
func (db *DB) Record(ctx context.Context, r Recording) error {
	return db.d.Do(ctx, Long, func(tx Tx) error {
		if err := tx.Lock("grense.tracked"); err != nil { // readers then see numbers appear in order
			return err
		}
		var pass int64
		err := tx.Query("SELECT pass FROM grense.tracked WHERE collection = $1", []any{r.Collection},
			func(scan Scan) error { return scan(&pass) })
		if err != nil {
			return err
		}
		if pass != r.Was.Pass {
			return fmt.Errorf("state: %s was recorded meanwhile: %w", r.Collection, store.ErrChanged)
		}
		if err := appendChanges(tx, &r); err != nil {
			return err
		}
		if err := recordDigests(tx, &r); err != nil {
			return err
		}
		if n := len(r.Changes); n > 0 && r.Changes[n-1].Op == ChangeDrop {
			_, err = tx.Exec("DELETE FROM grense.tracked WHERE collection = $1", r.Collection)
			return err
		}
		_, err = tx.Exec(`INSERT INTO grense.tracked (collection, schema, state, pass) VALUES ($1, $2, $3, $4)
			ON CONFLICT (collection) DO UPDATE SET schema = excluded.schema, state = excluded.state, pass = excluded.pass`,
			r.Collection, r.Now.Schema, r.Now.State, pass+1)
		return err
	})
}

// appendChanges numbers the changes of a recording and adds them to the log. Removed features get the title that was
// recorded before.
func appendChanges(tx Tx, r *Recording) error {
	var seq, at int64
	err := tx.Query("SELECT seq, at FROM grense.change ORDER BY seq DESC LIMIT 1", nil,
		func(scan Scan) error { return scan(&seq, &at) })
	if err != nil {
		return err
	}
	at = max(at, Nanos(r.At))
	return tx.Batch(`INSERT INTO grense.change (seq, at, op, collection, id, title, count) VALUES ($1, $2, $3, $4, $5,
		coalesce((SELECT title FROM grense.tracked_feature WHERE $3 = 'remove' AND collection = $4 AND id = $5), $6),
		$7)`, len(r.Changes), func(i int) []any {
		c := &r.Changes[i]
		return []any{seq + 1 + int64(i), at, c.Op, r.Collection, c.ID, c.Title, c.Count}
	})
}

// recordDigests updates the digests of a collection.
func recordDigests(tx Tx, r *Recording) error {
	if r.Afresh {
		if _, err := tx.Exec("DELETE FROM grense.tracked_feature WHERE collection = $1", r.Collection); err != nil {
			return err
		}
	}
	var removed []string
	for _, c := range r.Changes {
		if c.Op == ChangeRemove {
			removed = append(removed, c.ID)
		}
	}
	err := tx.Batch("DELETE FROM grense.tracked_feature WHERE collection = $1 AND id = $2", len(removed),
		func(i int) []any { return []any{r.Collection, removed[i]} })
	if err != nil {
		return err
	}
	return tx.Batch(`INSERT INTO grense.tracked_feature (collection, id, title, digest) VALUES ($1, $2, $3, $4)
		ON CONFLICT (collection, id) DO UPDATE SET title = excluded.title, digest = excluded.digest`,
		len(r.Digests), func(i int) []any {
			d := &r.Digests[i]
			return []any{r.Collection, d.ID, d.Title, d.Digest[:]}
		})
}

// ChangesAfter returns up to limit changes with numbers greater than after, in order. Numbers begin at 1. Only
// restoring a backup leaves a gap.
func (db *DB) ChangesAfter(ctx context.Context, after int64, limit int) ([]Change, error) {
	return db.changes(ctx, "WHERE seq > $1 ORDER BY seq LIMIT $2", after, limit)
}

// LastChanges returns up to limit changes, the latest first.
func (db *DB) LastChanges(ctx context.Context, limit int) ([]Change, error) {
	return db.changes(ctx, "ORDER BY seq DESC LIMIT $1", limit)
}

func (db *DB) changes(ctx context.Context, rest string, args ...any) (list []Change, err error) {
	err = db.d.Do(ctx, Write, func(tx Tx) error {
		list = nil
		const sql = "SELECT seq, at, op, collection, id, title, count FROM grense.change "
		return tx.Query(sql+rest, args, func(scan Scan) error {
			var c Change
			var at int64
			err := scan(&c.Seq, &at, &c.Op, &c.Collection, &c.ID, &c.Title, &c.Count)
			c.At = FromNanos(at)
			list = append(list, c)
			return err
		})
	})
	return list, err
}
