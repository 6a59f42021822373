package gpkg

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"grense/internal/store"
)

var _ store.Jobs = (*State)(nil)

const jobColumns = "id, process, owner, status, created, started, finished, updated, worker, attempt, body"

// PrepareJobs makes the tables of jobs, and sets room aside.
func (s *State) PrepareJobs(ctx context.Context) error {
	s.setAside() // as far as there is room; PutJob sees what lacks
	return s.do(ctx, func() error {
		for _, sql := range [...]string{
			`CREATE TABLE IF NOT EXISTS grense_job (id TEXT PRIMARY KEY NOT NULL, process TEXT NOT NULL, owner TEXT NOT NULL, status TEXT NOT NULL, created INTEGER NOT NULL,
				started INTEGER NOT NULL, finished INTEGER NOT NULL, updated INTEGER NOT NULL, worker TEXT NOT NULL, attempt INTEGER NOT NULL, body TEXT NOT NULL, request BLOB NOT NULL)`,
			`CREATE TABLE IF NOT EXISTS grense_job_piece (job TEXT NOT NULL, attempt INTEGER NOT NULL, output TEXT NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL,
				PRIMARY KEY (job, attempt, output, n))`,
		} {
			if err := s.c.exec(sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// PutJob adds a job, where there is room enough to begin and to end it.
func (s *State) PutJob(ctx context.Context, j store.Job) error {
	if err := s.setAside(); err != nil {
		return err
	}
	body, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return s.do(ctx, func() error {
		return s.c.exec("INSERT INTO grense_job ("+jobColumns+", request) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", j.ID, j.Process, j.Owner, j.Status, store.Nanos(j.Created),
			store.Nanos(j.Started), store.Nanos(j.Finished), store.Nanos(j.Updated), j.Worker, int64(j.Attempt), string(body), j.Request)
	})
}

func readJob(r row) (j store.Job, err error) {
	if err := json.Unmarshal([]byte(r.Text(10)), &j); err != nil {
		return j, fmt.Errorf("gpkg: state: job %s: %w", r.Text(0), err)
	}
	j.ID, j.Process, j.Owner, j.Status, j.Worker, j.Attempt = r.Text(0), r.Text(1), r.Text(2), r.Text(3), r.Text(8), int(r.Int(9))
	j.Created, j.Started, j.Finished, j.Updated = store.FromNanos(r.Int(4)), store.FromNanos(r.Int(5)), store.FromNanos(r.Int(6)), store.FromNanos(r.Int(7))
	return j, nil
}

// Job returns one job.
func (s *State) Job(ctx context.Context, id string) (j store.Job, err error) {
	found := false
	err = s.do(ctx, func() error {
		return s.c.query("SELECT "+jobColumns+" FROM grense_job WHERE id = ?", []any{id}, func(r row) (err error) {
			found = true
			j, err = readJob(r)
			return err
		})
	})
	if err == nil && !found {
		err = fmt.Errorf("gpkg: state: job: %w", store.ErrNotFound)
	}
	return j, err
}

// JobList returns all jobs.
func (s *State) JobList(ctx context.Context) (list []store.Job, err error) {
	err = s.do(ctx, func() error {
		return s.c.query("SELECT "+jobColumns+" FROM grense_job ORDER BY created DESC, id", nil, func(r row) error {
			j, err := readJob(r)
			list = append(list, j)
			return err
		})
	})
	return list, err
}

// ClaimJob takes a job. There is one writer at a time, so that no other gets the same.
func (s *State) ClaimJob(ctx context.Context, worker string, now, stale time.Time) (j store.Job, ok bool, err error) {
	err = s.must(ctx, func() error {
		err := s.c.query("SELECT "+jobColumns+", request FROM grense_job WHERE status = ? OR status = ? AND updated < ? ORDER BY created, id LIMIT 1",
			[]any{store.JobAccepted, store.JobRunning, store.Nanos(stale)}, func(r row) (err error) {
				ok = true
				if j, err = readJob(r); err == nil {
					j.Request = append([]byte(nil), r.Bytes(11, nil)...)
				}
				return err
			})
		if err != nil || !ok {
			return err
		}
		if j.Started.IsZero() {
			j.Started = now
		}
		j.Status, j.Worker, j.Updated = store.JobRunning, worker, now
		j.Attempt++
		if err := s.c.exec("DELETE FROM grense_job_piece WHERE job = ?", j.ID); err != nil { // of an attempt before
			return err
		}
		return s.c.exec("UPDATE grense_job SET status = ?, worker = ?, attempt = ?, started = ?, updated = ? WHERE id = ?", j.Status, worker, int64(j.Attempt), store.Nanos(j.Started), store.Nanos(now), j.ID)
	})
	return j, ok && err == nil, err
}

// KeepJob writes what the worker of a job tells.
func (s *State) KeepJob(ctx context.Context, j store.Job) error {
	body, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return s.must(ctx, func() error {
		return s.changed(j.ID, "UPDATE grense_job SET status = ?, finished = ?, updated = ?, body = ? WHERE id = ? AND worker = ? AND attempt = ? AND status = ?",
			j.Status, store.Nanos(j.Finished), store.Nanos(j.Updated), string(body), j.ID, j.Worker, int64(j.Attempt), store.JobRunning)
	})
}

// changed runs a statement that must change a row.
func (s *State) changed(id, sql string, args ...any) error {
	if err := s.c.exec(sql, args...); err != nil {
		return err
	}
	if s.c.changes() == 0 {
		return fmt.Errorf("gpkg: state: job %s: %w", id, store.ErrChanged)
	}
	return nil
}

// SwapCall changes what is still to be told.
func (s *State) SwapCall(ctx context.Context, id string, was store.Call, next *store.Call) (j store.Job, err error) {
	err = s.must(ctx, func() error {
		found := false
		err := s.c.query("SELECT "+jobColumns+", request FROM grense_job WHERE id = ?", []any{id}, func(r row) (err error) {
			found = true
			if j, err = readJob(r); err == nil {
				j.Request = append([]byte(nil), r.Bytes(11, nil)...)
			}
			return err
		})
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("gpkg: state: job: %w", store.ErrNotFound)
		}
		if j.Call == nil || *j.Call != was {
			return fmt.Errorf("gpkg: state: job %s: %w", id, store.ErrChanged)
		}
		j.Call = next
		body, err := json.Marshal(j)
		if err != nil {
			return err
		}
		return s.c.exec("UPDATE grense_job SET body = ? WHERE id = ?", string(body), id)
	})
	return j, err
}

// DismissJob ends a job.
func (s *State) DismissJob(ctx context.Context, id string, at time.Time) error {
	return s.must(ctx, func() error {
		return s.changed(id, "UPDATE grense_job SET status = ?, finished = ?, updated = ? WHERE id = ? AND status IN (?, ?)", store.JobDismissed, store.Nanos(at), store.Nanos(at), id, store.JobAccepted, store.JobRunning)
	})
}

// DropJob removes a job.
func (s *State) DropJob(ctx context.Context, id string) error {
	return s.must(ctx, func() error {
		if err := s.c.exec("DELETE FROM grense_job_piece WHERE job = ?", id); err != nil {
			return err
		}
		return s.c.exec("DELETE FROM grense_job WHERE id = ?", id)
	})
}

// PutPiece adds a piece of an output.
func (s *State) PutPiece(ctx context.Context, p store.Piece) error {
	return s.do(ctx, func() error {
		return s.c.exec("INSERT INTO grense_job_piece VALUES (?, ?, ?, ?, ?)", p.Job, int64(p.Attempt), p.Output, int64(p.N), p.Data)
	})
}

// Piece reads a piece of an output.
func (s *State) Piece(ctx context.Context, p store.Piece) (data []byte, err error) {
	found := false
	err = s.do(ctx, func() error {
		return s.c.query("SELECT data FROM grense_job_piece WHERE job = ? AND attempt = ? AND output = ? AND n = ?", []any{p.Job, int64(p.Attempt), p.Output, int64(p.N)}, func(r row) error {
			found, data = true, append([]byte(nil), r.Bytes(0, nil)...)
			return nil
		})
	})
	if err == nil && !found {
		err = fmt.Errorf("gpkg: state: a piece of job %s: %w", p.Job, store.ErrNotFound)
	}
	return data, err
}
