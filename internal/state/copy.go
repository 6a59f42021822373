package state

import (
	"context"
	"time"
)

// Copied counts what Copy has copied.
type Copied struct {
	Keys    int `json:"keys"`
	Jobs    int `json:"jobs"` // finished ones, with their outputs
	Changes int `json:"changes"`
}

// Copy copies the keys, their use, the secret, the finished jobs and the log of changes into an empty DB. Other
// processes may write to db during the copy. Each part is consistent, but the parts may be of different times.
func (db *DB) Copy(ctx context.Context, to *DB) (n Copied, err error) {
	for _, step := range []func(context.Context, *DB, *Copied) error{db.copyKeys, db.copyUse, db.copySecret,
		db.copyChanges, db.copyJobs} {
		if err := step(ctx, to, &n); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (db *DB) copyKeys(ctx context.Context, to *DB, n *Copied) error {
	keys, err := db.Keys(ctx)
	if err == nil {
		n.Keys, err = to.ImportKeys(ctx, keys)
	}
	return err
}

func (db *DB) copyUse(ctx context.Context, to *DB, _ *Copied) error {
	list, err := db.Uses(ctx, time.Time{}, "")
	if err != nil || len(list) == 0 {
		return err
	}
	return to.AddUses(ctx, list)
}

// has reports whether a table exists.
func (db *DB) has(ctx context.Context, name string) (has bool, err error) {
	err = db.d.Do(ctx, Read, func(tx Tx) (err error) {
		has, err = tx.Has(name, "SELECT")
		return err
	})
	return has, err
}

func (db *DB) copySecret(ctx context.Context, to *DB, _ *Copied) error {
	if has, err := db.has(ctx, secretTable.name); err != nil || !has {
		return err
	}
	secret, err := db.Secret(ctx)
	if err != nil {
		return err
	}
	return to.d.Do(ctx, Write, func(tx Tx) error {
		if err := create(tx, secretTable); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO "+secretTable.name+" (id, value) VALUES (1, $1) ON CONFLICT DO NOTHING", secret)
		return err
	})
}

// copyBatch is the number of changes copied in one transaction.
const copyBatch = 10_000

func (db *DB) copyChanges(ctx context.Context, to *DB, n *Copied) error {
	if has, err := db.has(ctx, "grense.change"); err != nil || !has {
		return err
	}
	if err := to.PrepareChanges(ctx); err != nil {
		return err
	}
	for after := int64(0); ; {
		list, err := db.ChangesAfter(ctx, after, copyBatch)
		if err != nil || len(list) == 0 {
			return err
		}
		err = to.d.Do(ctx, Long, func(tx Tx) error {
			return tx.Batch("INSERT INTO grense.change (seq, at, op, collection, id, title, count) VALUES ($1, $2, "+
				"$3, $4, $5, $6, $7)", len(list),
				func(i int) []any {
					c := &list[i]
					return []any{c.Seq, Nanos(c.At), c.Op, c.Collection, c.ID, c.Title, c.Count}
				})
		})
		if err != nil {
			return err
		}
		n.Changes += len(list)
		after = list[len(list)-1].Seq
	}
}

func (db *DB) copyJobs(ctx context.Context, to *DB, n *Copied) error {
	if has, err := db.has(ctx, "grense.job"); err != nil || !has {
		return err
	}
	if err := to.PrepareJobs(ctx); err != nil {
		return err
	}
	all, err := db.JobList(ctx)
	if err != nil {
		return err
	}
	for _, j := range all {
		if !j.Done() {
			continue
		}
		copied, err := db.copyJob(ctx, to, j.ID)
		if err != nil {
			return err
		}
		if copied {
			n.Jobs++
		}
	}
	return nil
}

// copyJob copies a finished job, its outputs first. It returns false if the job was removed during the copy.
func (db *DB) copyJob(ctx context.Context, to *DB, id string) (bool, error) {
	var jobs []Job
	var pieces []Piece
	err := db.d.Do(ctx, Write, func(tx Tx) (err error) {
		if jobs, err = queryJobs(tx, true, "WHERE id = $1", id); err != nil {
			return err
		}
		pieces = nil
		return tx.Query("SELECT attempt, output, n FROM grense.job_piece WHERE job = $1", []any{id},
			func(scan func(...any) error) error {
				p := Piece{Job: id}
				err := scan(&p.Attempt, &p.Output, &p.N)
				pieces = append(pieces, p)
				return err
			})
	})
	if err != nil || len(jobs) == 0 {
		return false, err
	}
	for _, p := range pieces {
		if p.Data, err = db.Piece(ctx, p); err != nil {
			return false, err
		}
		if err := to.PutPiece(ctx, p); err != nil {
			return false, err
		}
	}
	return true, to.PutJob(ctx, jobs[0])
}

// restoreGap is how many change numbers a restored log skips for each second between the backup and the restore, plus
// one second.
const restoreGap = 1_000

// Restored adjusts the log of changes of a restored backup that was made at the time copied. The next change gets a
// number greater than any given out before. Each collection gets a ChangeLoad, since the changes after the backup are
// not known.
func (db *DB) Restored(ctx context.Context, copied, now time.Time) error {
	last, err := db.LastChanges(ctx, 1)
	if err != nil || len(last) == 0 {
		return err
	}
	gap := restoreGap * (1 + max(0, int64(now.Sub(copied).Seconds())))
	return db.d.Do(ctx, Write, func(tx Tx) error {
		var names []string
		err := tx.Query(`SELECT DISTINCT collection FROM grense.change`, nil, func(scan func(...any) error) error {
			var name string
			err := scan(&name)
			names = append(names, name)
			return err
		})
		if err != nil {
			return err
		}
		at := max(Nanos(now), Nanos(last[0].At))
		return tx.Batch("INSERT INTO grense.change (seq, at, op, collection, id, title, count) VALUES ($1, $2, $3, "+
			"$4, '', '', 0)", len(names),
			func(i int) []any { return []any{last[0].Seq + gap + int64(i), at, ChangeLoad, names[i]} })
	})
}
