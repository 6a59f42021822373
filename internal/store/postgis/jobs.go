package postgis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
)

var _ store.Jobs = (*State)(nil)

const jobColumns = "id, process, owner, status, created, started, finished, updated, worker, attempt, body"

// PrepareJobs makes the tables of jobs in the schema grense. Jobs are read from the server that takes changes, so that none is a replica's of before.
func (s *State) PrepareJobs(ctx context.Context) error {
	return s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			var there bool
			if err := tx.QueryRow(ctx, `SELECT count(*) = 2 AND coalesce(bool_and(has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'DELETE')), FALSE)
				FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'grense' AND c.relname IN ('job', 'job_piece')`).Scan(&there); err != nil || there {
				return err
			}
			for _, sql := range [...]string{
				"SELECT pg_advisory_xact_lock(hashtext('grense'))",
				`CREATE TABLE IF NOT EXISTS grense.job (id TEXT COLLATE "C" PRIMARY KEY, process TEXT NOT NULL, owner TEXT NOT NULL, status TEXT NOT NULL, created BIGINT NOT NULL, started BIGINT NOT NULL,
					finished BIGINT NOT NULL, updated BIGINT NOT NULL, worker TEXT NOT NULL, attempt INTEGER NOT NULL, body TEXT NOT NULL, request BYTEA NOT NULL)`,
				`CREATE TABLE IF NOT EXISTS grense.job_piece (job TEXT COLLATE "C" NOT NULL, attempt INTEGER NOT NULL, output TEXT NOT NULL, n INTEGER NOT NULL, data BYTEA NOT NULL,
					PRIMARY KEY (job, attempt, output, n))`,
			} {
				if _, err := tx.Exec(ctx, sql); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// PutJob adds a job.
func (s *State) PutJob(ctx context.Context, j store.Job) error {
	body, err := json.Marshal(j)
	if err != nil {
		return own(err)
	}
	return s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		_, err := c.Exec(ctx, "INSERT INTO grense.job ("+jobColumns+", request) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING", j.ID, j.Process, j.Owner, j.Status,
			store.Nanos(j.Created), store.Nanos(j.Started), store.Nanos(j.Finished), store.Nanos(j.Updated), j.Worker, j.Attempt, string(body), j.Request)
		return err
	})
}

// readJob reads a row of jobColumns, and what follows them into more.
func readJob(row pgx.Row, more ...any) (j store.Job, err error) {
	var body string
	var at [4]int64
	var id, process, owner, status, worker string
	var attempt int
	if err := row.Scan(append([]any{&id, &process, &owner, &status, &at[0], &at[1], &at[2], &at[3], &worker, &attempt, &body}, more...)...); err != nil {
		return j, err
	}
	if err := json.Unmarshal([]byte(body), &j); err != nil {
		return j, own(fmt.Errorf("postgis: state: job %s: %w", id, err))
	}
	j.ID, j.Process, j.Owner, j.Status, j.Worker, j.Attempt = id, process, owner, status, worker, attempt
	j.Created, j.Started, j.Finished, j.Updated = store.FromNanos(at[0]), store.FromNanos(at[1]), store.FromNanos(at[2]), store.FromNanos(at[3])
	return j, nil
}

// Job returns one job.
func (s *State) Job(ctx context.Context, id string) (j store.Job, err error) {
	err = s.do(ctx, s.writes, func(c *pgxpool.Conn) (err error) {
		j, err = readJob(c.QueryRow(ctx, "SELECT "+jobColumns+" FROM grense.job WHERE id = $1", id))
		if errors.Is(err, pgx.ErrNoRows) {
			err = own(fmt.Errorf("postgis: state: job: %w", store.ErrNotFound))
		}
		return err
	})
	return j, err
}

// JobList returns all jobs.
func (s *State) JobList(ctx context.Context) (list []store.Job, err error) {
	err = s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		list = nil
		return each(ctx, c, "SELECT "+jobColumns+" FROM grense.job ORDER BY created DESC, id", func(rows pgx.Rows) error {
			j, err := readJob(rows)
			list = append(list, j)
			return err
		})
	})
	return list, err
}

// ClaimJob takes a job that no other is taking at the moment.
func (s *State) ClaimJob(ctx context.Context, worker string, now, stale time.Time) (j store.Job, ok bool, err error) {
	err = s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) (err error) {
			var request []byte
			j, err = readJob(tx.QueryRow(ctx, `UPDATE grense.job SET status = $1, worker = $2, attempt = attempt + 1, started = CASE WHEN started = 0 THEN $3 ELSE started END, updated = $3
				WHERE id = (SELECT id FROM grense.job WHERE status = $4 OR status = $1 AND updated < $5 ORDER BY created, id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING `+jobColumns+", request",
				store.JobRunning, worker, store.Nanos(now), store.JobAccepted, store.Nanos(stale)), &request)
			if errors.Is(err, pgx.ErrNoRows) {
				ok = false
				return nil
			}
			if err != nil {
				return err
			}
			ok, j.Request = true, request
			_, err = tx.Exec(ctx, "DELETE FROM grense.job_piece WHERE job = $1", j.ID) // of an attempt before
			return err
		})
	})
	return j, ok && err == nil, err
}

// KeepJob writes what the worker of a job tells.
func (s *State) KeepJob(ctx context.Context, j store.Job) error {
	body, err := json.Marshal(j)
	if err != nil {
		return own(err)
	}
	return s.changed(ctx, j.ID, "UPDATE grense.job SET status = $1, finished = $2, updated = $3, body = $4 WHERE id = $5 AND worker = $6 AND attempt = $7 AND status = $8",
		j.Status, store.Nanos(j.Finished), store.Nanos(j.Updated), string(body), j.ID, j.Worker, j.Attempt, store.JobRunning)
}

// changed runs a statement that must change a row.
func (s *State) changed(ctx context.Context, id, sql string, args ...any) error {
	return s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		tag, err := c.Exec(ctx, sql, args...)
		if err == nil && tag.RowsAffected() == 0 {
			err = own(fmt.Errorf("postgis: state: job %s: %w", id, store.ErrChanged))
		}
		return err
	})
}

// SwapCall changes what is still to be told.
func (s *State) SwapCall(ctx context.Context, id string, was store.Call, next *store.Call) (j store.Job, err error) {
	err = s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) (err error) {
			var request []byte
			j, err = readJob(tx.QueryRow(ctx, "SELECT "+jobColumns+", request FROM grense.job WHERE id = $1 FOR UPDATE", id), &request)
			switch {
			case errors.Is(err, pgx.ErrNoRows):
				return own(fmt.Errorf("postgis: state: job: %w", store.ErrNotFound))
			case err != nil:
				return err
			case j.Call == nil || *j.Call != was:
				return own(fmt.Errorf("postgis: state: job %s: %w", id, store.ErrChanged))
			}
			j.Call, j.Request = next, request
			body, err := json.Marshal(j)
			if err != nil {
				return own(err)
			}
			_, err = tx.Exec(ctx, "UPDATE grense.job SET body = $1 WHERE id = $2", string(body), id)
			return err
		})
	})
	return j, err
}

// DismissJob ends a job.
func (s *State) DismissJob(ctx context.Context, id string, at time.Time) error {
	return s.changed(ctx, id, "UPDATE grense.job SET status = $1, finished = $2, updated = $2 WHERE id = $3 AND status IN ($4, $5)", store.JobDismissed, store.Nanos(at), id, store.JobAccepted, store.JobRunning)
}

// DropJob removes a job.
func (s *State) DropJob(ctx context.Context, id string) error {
	return s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "DELETE FROM grense.job_piece WHERE job = $1", id); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "DELETE FROM grense.job WHERE id = $1", id)
			return err
		})
	})
}

// PutPiece adds a piece of an output.
func (s *State) PutPiece(ctx context.Context, p store.Piece) error {
	return s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		_, err := c.Exec(ctx, "INSERT INTO grense.job_piece (job, attempt, output, n, data) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING", p.Job, p.Attempt, p.Output, p.N, p.Data)
		return err
	})
}

// Piece reads a piece of an output.
func (s *State) Piece(ctx context.Context, p store.Piece) (data []byte, err error) {
	err = s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		err := c.QueryRow(ctx, "SELECT data FROM grense.job_piece WHERE job = $1 AND attempt = $2 AND output = $3 AND n = $4", p.Job, p.Attempt, p.Output, p.N).Scan(&data)
		if errors.Is(err, pgx.ErrNoRows) {
			err = own(fmt.Errorf("postgis: state: a piece of job %s: %w", p.Job, store.ErrNotFound))
		}
		return err
	})
	return data, err
}
