package state

import (
	"context"
	"fmt"
	"time"

	"grense/internal/store"
)

// Key is the stored record of an API key. The key itself is never stored.
type Key struct {
	ID       string // 8 characters, not secret
	Name     string
	Hash     [32]byte // SHA-256 of the whole key
	Created  time.Time
	Expires  time.Time // zero: never
	Revoked  time.Time // zero: not revoked
	LastUsed time.Time // day of the last use; zero: never
	Terms
}

// Terms are what a key may be used for. The zero value allows everything that the configuration allows.
type Terms struct {
	Note    string // for operators
	Scopes  string // separated by spaces, as package apikey reads them; "": all
	Origins string // of the web pages that may use the key, separated by spaces; "": all, and other programs
	Rate    int    // units a second; 0: limits.rate
	Quota   int64  // units a day (UTC); 0: no quota
}

const keyColumns = "id, name, hash, created, expires, revoked, last_used"

// keyTable is there in every state; see file.migrate and postgis.OpenState.
var keyTable = table{"grense.api_key", `id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, hash BYTEA NOT NULL,
	created TEXT NOT NULL, expires TEXT, revoked TEXT, last_used TEXT`}

// termsTable has a row for each key whose terms are not zero.
var termsTable = table{"grense.key_terms", `id TEXT PRIMARY KEY NOT NULL, note TEXT NOT NULL, scopes TEXT NOT NULL,
	origins TEXT NOT NULL, rate BIGINT NOT NULL, quota BIGINT NOT NULL`}

func (k *Key) values() []any {
	return []any{k.ID, k.Name, k.Hash[:], k.Created, k.Expires, k.Revoked, k.LastUsed}
}

// putTerms stores the terms of a key that was added in the same transaction.
func putTerms(tx Tx, k Key) error {
	t := k.Terms
	if t == (Terms{}) {
		return nil
	}
	if err := create(tx, termsTable); err != nil {
		return err
	}
	_, err := tx.Exec("INSERT INTO grense.key_terms (id, note, scopes, origins, rate, quota) VALUES ($1, $2, $3, $4, "+
		"$5, $6)", k.ID, t.Note, t.Scopes, t.Origins, int64(t.Rate), t.Quota)
	return err
}

// putKey adds a key, and reports whether its id was new.
func putKey(tx Tx, k Key) (added bool, err error) {
	n, err := tx.Exec("INSERT INTO grense.api_key ("+keyColumns+
		") VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING", k.values()...)
	if err != nil || n == 0 {
		return false, err
	}
	return true, putTerms(tx, k)
}

// putNewKey is putKey of a key whose id must be new.
func putNewKey(tx Tx, k Key) error {
	added, err := putKey(tx, k)
	if err == nil && !added {
		err = fmt.Errorf("state: key %s exists already", k.ID)
	}
	return err
}

// Keys lists all keys, the oldest first.
func (db *DB) Keys(ctx context.Context) (keys []Key, err error) {
	err = db.d.Do(ctx, Read, func(tx Tx) error {
		keys = nil
		err := tx.Query("SELECT "+keyColumns+" FROM grense.api_key ORDER BY created, id", nil, func(scan Scan) error {
			k := Key{}
			var hash []byte
			err := scan(&k.ID, &k.Name, &hash, moment{&k.Created}, moment{&k.Expires},
				moment{&k.Revoked}, moment{&k.LastUsed})
			if err != nil {
				return fmt.Errorf("state: key %s: %w", k.ID, err)
			}
			copy(k.Hash[:], hash)
			keys = append(keys, k)
			return nil
		})
		if err != nil {
			return err
		}
		return readTerms(tx, keys) // after the keys, so that no key is read without terms that were stored with it
	})
	return keys, err
}

// readTerms sets the terms of keys.
func readTerms(tx Tx, keys []Key) error {
	if has, err := tx.Has(termsTable.name, ""); err != nil || !has {
		return err
	}
	at := make(map[string]*Key, len(keys))
	for i := range keys {
		at[keys[i].ID] = &keys[i]
	}
	const sql = "SELECT id, note, scopes, origins, rate, quota FROM grense.key_terms"
	return tx.Query(sql, nil, func(scan Scan) error {
		var id string
		var t Terms
		if err := scan(&id, &t.Note, &t.Scopes, &t.Origins, &t.Rate, &t.Quota); err != nil {
			return fmt.Errorf("state: terms of key %s: %w", id, err)
		}
		if k := at[id]; k != nil {
			k.Terms = t
		}
		return nil
	})
}

// PutKey adds a key. It fails if the ID exists.
func (db *DB) PutKey(ctx context.Context, k Key) error {
	return db.d.Do(ctx, Write, func(tx Tx) error { return putNewKey(tx, k) })
}

// PutFirstKey adds a key if there are none, and reports whether it did. If several processes call it at once, only one
// succeeds.
func (db *DB) PutFirstKey(ctx context.Context, k Key) (added bool, err error) {
	err = db.d.Do(ctx, Write, func(tx Tx) error {
		if err := tx.Lock("grense.api_key"); err != nil {
			return err
		}
		n, err := tx.Exec("INSERT INTO grense.api_key ("+keyColumns+`) SELECT $1, $2, $3, $4, $5, $6, $7
			WHERE NOT EXISTS (SELECT 1 FROM grense.api_key)`, k.values()...)
		if added = n > 0; added && err == nil {
			err = putTerms(tx, k)
		}
		return err
	})
	return added && err == nil, err
}

// RevokeKey marks a key as revoked. Revoking it again does not change the time. It returns ErrNotFound if there is no
// such key.
func (db *DB) RevokeKey(ctx context.Context, id string, at time.Time) error {
	return db.d.Do(ctx, Finish, func(tx Tx) error {
		return must(tx, fmt.Errorf("state: key %s: %w", id, store.ErrNotFound),
			"UPDATE grense.api_key SET revoked = coalesce(revoked, $1) WHERE id = $2", at, id)
	})
}

// RotateKey adds k as the successor of the key old, which remains valid at most until the time until. It returns
// ErrNotFound if old does not exist or is revoked.
func (db *DB) RotateKey(ctx context.Context, old string, until time.Time, k Key) error {
	return db.d.Do(ctx, Write, func(tx Tx) error {
		err := must(tx, fmt.Errorf("state: key %s: %w", old, store.ErrNotFound),
			"UPDATE grense.api_key SET expires = CASE WHEN expires < $1 THEN expires ELSE $1 END WHERE id = $2 AND "+
				"revoked IS NULL", until, old)
		if err != nil {
			return err
		}
		return putNewKey(tx, k)
	})
}

// ImportKeys adds the keys whose IDs do not exist yet, and returns how many it added.
func (db *DB) ImportKeys(ctx context.Context, keys []Key) (added int, err error) {
	err = db.d.Do(ctx, Write, func(tx Tx) error {
		added = 0
		for _, k := range keys {
			ok, err := putKey(tx, k)
			if err != nil {
				return err
			}
			if ok {
				added++
			}
		}
		return nil
	})
	return added, err
}

// TouchKeys records the day on which keys were last used. An earlier day than the recorded one is ignored.
func (db *DB) TouchKeys(ctx context.Context, day time.Time, ids []string) error {
	day = day.UTC().Truncate(24 * time.Hour)
	return db.d.Do(ctx, Write, func(tx Tx) error {
		return tx.Batch(
			"UPDATE grense.api_key SET last_used = $1 WHERE id = $2 AND (last_used IS NULL OR last_used < $1)",
			len(ids), func(i int) []any { return []any{day, ids[i]} })
	})
}

var secretTable = table{"grense.secret", "id INTEGER PRIMARY KEY CHECK (id = 1), value BYTEA NOT NULL"}

// Secret returns SecretSize random bytes that are the same for all processes using the DB. The first call creates them.
func (db *DB) Secret(ctx context.Context) (secret []byte, err error) {
	name := secretTable.name
	read := func(tx Tx) error {
		return tx.Query("SELECT value FROM "+name, nil, func(scan Scan) error { return scan(&secret) })
	}
	err = db.d.Do(ctx, Read, func(tx Tx) error {
		secret = nil
		has, err := tx.Has(name, "")
		if err != nil || !has {
			return err
		}
		return read(tx)
	})
	if err != nil || secret != nil {
		return secret, err
	}
	err = db.d.Do(ctx, Write, func(tx Tx) error {
		if err := create(tx, secretTable); err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO "+name+" (id, value) VALUES (1, $1) ON CONFLICT DO NOTHING",
			NewSecret()); err != nil {
			return err
		}
		return read(tx)
	})
	return secret, err
}
