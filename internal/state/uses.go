package state

import (
	"context"
	"time"
)

// Use is what was done with a key on a day (UTC).
type Use struct {
	Key      string // its id
	Day      time.Time
	Requests int64
	Units    int64 // as limits.rate counts them
	Bytes    int64 // of answers
	Refused  int64 // requests that were answered 403 or 429; they are among Requests
}

var useTable = table{"grense.key_use", `id TEXT NOT NULL, day BIGINT NOT NULL, requests BIGINT NOT NULL,
	units BIGINT NOT NULL, bytes BIGINT NOT NULL, refused BIGINT NOT NULL, PRIMARY KEY (id, day)`}

// dayNumber returns the days from 1970 to t.
func dayNumber(t time.Time) int64 { return t.Unix() / int64(24*time.Hour/time.Second) }

// AddUses adds to what is recorded of keys and days.
func (db *DB) AddUses(ctx context.Context, list []Use) error {
	return db.d.Do(ctx, Write, func(tx Tx) error {
		if err := create(tx, useTable); err != nil {
			return err
		}
		return tx.Batch(`INSERT INTO grense.key_use AS u (id, day, requests, units, bytes, refused)
			VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id, day) DO UPDATE SET requests = u.requests + excluded.requests,
			units = u.units + excluded.units, bytes = u.bytes + excluded.bytes, refused = u.refused + excluded.refused`,
			len(list), func(i int) []any {
				u := list[i]
				return []any{u.Key, dayNumber(u.Day), u.Requests, u.Units, u.Bytes, u.Refused}
			})
	})
}

// Uses returns what is recorded of a key since a day, by day and key; of all keys if key is "".
func (db *DB) Uses(ctx context.Context, since time.Time, key string) (list []Use, err error) {
	err = db.d.Do(ctx, Read, func(tx Tx) error {
		list = nil
		if has, err := tx.Has(useTable.name, ""); err != nil || !has {
			return err
		}
		first := int64(0)
		if !since.IsZero() {
			first = dayNumber(since)
		}
		const sql = `SELECT id, day, requests, units, bytes, refused FROM grense.key_use
			WHERE day >= $1 AND ($2 = '' OR id = $2) ORDER BY day, id`
		return tx.Query(sql, []any{first, key}, func(scan Scan) error {
			var u Use
			var day int64
			err := scan(&u.Key, &day, &u.Requests, &u.Units, &u.Bytes, &u.Refused)
			u.Day = time.Unix(day*int64(24*time.Hour/time.Second), 0).UTC()
			list = append(list, u)
			return err
		})
	})
	return list, err
}

// DropUses removes what is recorded of days before one.
func (db *DB) DropUses(ctx context.Context, before time.Time) error {
	return db.d.Do(ctx, Write, func(tx Tx) error {
		if has, err := tx.Has(useTable.name, "DELETE"); err != nil || !has {
			return err
		}
		_, err := tx.Exec("DELETE FROM grense.key_use WHERE day < $1", dayNumber(before))
		return err
	})
}
