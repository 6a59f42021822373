package state

import (
	"context"
	"fmt"
	"time"

	"grense/internal/store"
)

// Tracked is what is recorded of a collection.
type Tracked struct {
	Schema string // identifies the public properties and the form of digests
	State  string // version of the data, if they have one; else ""
	Pass   int64  // how often it was recorded; 0: never
}

// Values of Change.Op.
const (
	ChangeLoad   = "load"   // the collection is new or has another schema: copies load it again
	ChangeDrop   = "drop"   // the collection was removed
	ChangeAdd    = "add"    // a feature was added
	ChangeUpdate = "update" // a feature was changed
	ChangeRemove = "remove" // a feature was removed
)

// Change is an entry of the log.
type Change struct {
	Seq        int64
	At         time.Time // when it was recorded; never before an earlier change
	Op         string
	Collection string
	ID         string // of the feature; "" for a whole collection
	Title      string // of the feature as last recorded; "" if it has none
	Count      int64  // features of the collection, for ChangeLoad
}

// Recording is the result of comparing a collection with what is recorded of it.
type Recording struct {
	Collection string
	Was        Tracked // as Tracked returned it
	Now        Tracked // Pass is ignored
	At         time.Time
	Changes    []Change // Seq, At and Collection are ignored, and the titles of removed features
	Digests    []Digest // of features that are new or changed; after a load, of all
	Afresh     bool     // whether what is recorded of other features is deleted
}

// Digest identifies the content of a feature.
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

// PrepareChanges creates what is missing to keep changes. After an error none can be kept.
func (db *DB) PrepareChanges(ctx context.Context) error {
	return db.d.Do(ctx, Write, func(tx Tx) error { return create(tx, changeTables[:]...) })
}

// Tracked returns what is recorded of each collection, by id.
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

// Digests calls fn for each recorded feature of a collection, in no order.
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

// Record appends changes to the log, with the numbers that follow the last one, and records what the collection holds
// now: all or nothing. ErrChanged if the collection was recorded since r.Was.
func (db *DB) Record(ctx context.Context, r Recording) error {
	return db.d.Do(ctx, Long, func(tx Tx) error {
		if err := tx.Lock("grense.tracked"); err != nil { // so that numbers become visible in their order
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

// appendChanges numbers the changes of a recording and adds them to the log. The titles of removed features are those
// that were recorded.
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

// recordDigests replaces what is recorded of the features of a recording.
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

// ChangesAfter returns changes with larger numbers than after, at most limit of them, in order.
// Numbers begin with 1 and have no gaps but that of a restored backup.
func (db *DB) ChangesAfter(ctx context.Context, after int64, limit int) ([]Change, error) {
	return db.changes(ctx, "WHERE seq > $1 ORDER BY seq LIMIT $2", after, limit)
}

// LastChanges returns the last changes, at most limit of them, the last first.
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
