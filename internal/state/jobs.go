package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"grense/internal/store"
)

// Jobs stores asynchronous executions of processes. Times come from the callers' clocks, which should agree to a
// second.
type Jobs interface {
	// PrepareJobs creates what is needed to store jobs. After an error no jobs can be stored.
	PrepareJobs(ctx context.Context) error
	// PutJob adds a job. It returns ErrFull if there is not enough space to finish the job later.
	PutJob(ctx context.Context, j Job) error
	// Job returns a job without its request, or ErrNotFound.
	Job(ctx context.Context, id string) (Job, error)
	// JobCounts returns how many jobs there are of each status.
	JobCounts(ctx context.Context) (map[string]int, error)
	// JobList returns all jobs without their requests, the newest first.
	JobList(ctx context.Context) ([]Job, error)
	// ClaimJob assigns the oldest waiting job to a worker. Running jobs whose worker has not reported since stale count
	// as waiting. It returns false if there is none.
	ClaimJob(ctx context.Context, worker string, now, stale time.Time) (Job, bool, error)
	// KeepJob stores the progress and, at the end, the status of a job. It returns ErrChanged if the job was dismissed
	// or belongs to another worker.
	KeepJob(ctx context.Context, j Job) error
	// SwapCall replaces the pending call of a job, was, by next (nil: none) and returns the job with its request. It
	// returns ErrChanged if the pending call is another one, so that only one of several callers succeeds, and
	// ErrNotFound if there is no such job.
	SwapCall(ctx context.Context, id string, was Call, next *Call) (Job, error)
	// DismissJob ends an unfinished job. It returns ErrChanged if the job has finished.
	DismissJob(ctx context.Context, id string, at time.Time) error
	// DropJob removes a job and its outputs. It succeeds if there is no such job.
	DropJob(ctx context.Context, id string) error

	// PutPiece stores a piece of an output of a job.
	PutPiece(ctx context.Context, p Piece) error
	// Piece returns the bytes of a piece, or ErrNotFound.
	Piece(ctx context.Context, p Piece) ([]byte, error)
}

var _ Jobs = (*DB)(nil)

// PieceSize is the length of the pieces of outputs in bytes; the last one is shorter.
const PieceSize = 512 << 10

// Piece is part of an output of a job. N counts from 0.
type Piece struct {
	Job     string
	Attempt int
	Output  string
	N       int
	Data    []byte
}

// States of a job (OGC 18-062r2, 7.12).
const (
	JobAccepted   = "accepted"
	JobRunning    = "running"
	JobSuccessful = "successful"
	JobFailed     = "failed"
	JobDismissed  = "dismissed"
)

// Job is an asynchronous execution of a process.
type Job struct {
	ID      string `json:"-"`
	Process string `json:"-"`
	Owner   string `json:"-"` // id of the client's API key; "" if keys are not required
	Status  string `json:"-"`

	Created  time.Time `json:"-"`
	Started  time.Time `json:"-"` // zero: not started
	Finished time.Time `json:"-"` // zero: not finished
	Updated  time.Time `json:"-"` // when its worker last reported

	Worker  string `json:"-"`
	Attempt int    `json:"-"` // how many times it was started

	Call     *Call           `json:"call,omitempty"`     // pending call to its subscriber; nil: none
	Progress int             `json:"progress,omitempty"` // percent
	Message  string          `json:"message,omitempty"`
	Bytes    int64           `json:"bytes,omitempty"`   // size of all outputs
	How      json.RawMessage `json:"how,omitempty"`     // requested form of the outputs
	Results  json.RawMessage `json:"results,omitempty"` // descriptions of the outputs
	Failure  json.RawMessage `json:"failure,omitempty"` // the problem of a failed job

	Request []byte `json:"-"` // body of the request; immutable
}

// Call is a pending call to the subscriber of a finished job.
type Call struct {
	// After is the earliest time of the next attempt, in nanoseconds since 1970. A process claims the call by moving
	// After forward with a compare-and-swap; it may be sending the call until the new time.
	After int64 `json:"after"`
	Tries int   `json:"tries"` // number of attempts so far
}

// Done reports whether a job has ended.
func (j *Job) Done() bool { return j.Status != JobAccepted && j.Status != JobRunning }

var jobTables = [...]table{
	{"grense.job", `id TEXT COLLATE "C" PRIMARY KEY NOT NULL, process TEXT NOT NULL, owner TEXT NOT NULL,
		status TEXT NOT NULL, created BIGINT NOT NULL, started BIGINT NOT NULL, finished BIGINT NOT NULL,
		updated BIGINT NOT NULL, worker TEXT NOT NULL, attempt INTEGER NOT NULL, body TEXT NOT NULL, request BYTEA NOT NULL`},
	{"grense.job_piece",
		`job TEXT COLLATE "C" NOT NULL, attempt INTEGER NOT NULL, output TEXT NOT NULL, n INTEGER NOT NULL,
		data BYTEA NOT NULL, PRIMARY KEY (job, attempt, output, n)`},
}

const jobColumns = "id, process, owner, status, created, started, finished, updated, worker, attempt, body"

// PrepareJobs creates the tables and reserves disk space. If there is no space, it succeeds, and PutJob will fail.
func (db *DB) PrepareJobs(ctx context.Context) error {
	fn := func(tx Tx) error { return create(tx, jobTables[:]...) }
	err := db.d.Do(ctx, Accept, fn)
	if errors.Is(err, store.ErrFull) {
		err = db.d.Do(ctx, Write, fn)
	}
	return err
}

func (db *DB) PutJob(ctx context.Context, j Job) error {
	body, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return db.d.Do(ctx, Accept, func(tx Tx) error {
		_, err := tx.Exec("INSERT INTO grense.job ("+jobColumns+`, request)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING`,
			j.ID, j.Process, j.Owner, j.Status, Nanos(j.Created), Nanos(j.Started), Nanos(j.Finished), Nanos(j.Updated),
			j.Worker, j.Attempt, string(body), j.Request)
		return err
	})
}

// queryJobs reads jobs; rest is the SQL after the table name. requests includes the request bodies.
func queryJobs(tx Tx, requests bool, rest string, args ...any) (list []Job, err error) {
	sql := "SELECT " + jobColumns
	if requests {
		sql += ", request"
	}
	err = tx.Query(sql+" FROM grense.job "+rest, args, func(scan Scan) error {
		var j Job
		var body []byte
		var at [4]int64
		dest := []any{&j.ID, &j.Process, &j.Owner, &j.Status, &at[0], &at[1], &at[2], &at[3],
			&j.Worker, &j.Attempt, &body}
		if requests {
			dest = append(dest, &j.Request)
		}
		if err := scan(dest...); err != nil {
			return err
		}
		if err := json.Unmarshal(body, &j); err != nil {
			return fmt.Errorf("state: job %s: %w", j.ID, err)
		}
		j.Created, j.Started, j.Finished, j.Updated = FromNanos(at[0]), FromNanos(at[1]), FromNanos(at[2]),
			FromNanos(at[3])
		list = append(list, j)
		return nil
	})
	return list, err
}

// jobs runs queryJobs in its own transaction. It reads from the primary server, since replicas may lag behind.
func (db *DB) jobs(ctx context.Context, rest string, args ...any) (list []Job, err error) {
	err = db.d.Do(ctx, Write, func(tx Tx) (err error) {
		list, err = queryJobs(tx, false, rest, args...)
		return err
	})
	return list, err
}

func (db *DB) Job(ctx context.Context, id string) (Job, error) {
	list, err := db.jobs(ctx, "WHERE id = $1", id)
	if err != nil {
		return Job{}, err
	}
	if len(list) == 0 {
		return Job{}, fmt.Errorf("state: job: %w", store.ErrNotFound)
	}
	return list[0], nil
}

func (db *DB) JobCounts(ctx context.Context) (counts map[string]int, err error) {
	err = db.d.Do(ctx, Read, func(tx Tx) error {
		counts = map[string]int{JobAccepted: 0, JobRunning: 0, JobSuccessful: 0, JobFailed: 0, JobDismissed: 0}
		return tx.Query("SELECT status, count(*) FROM grense.job GROUP BY status", nil, func(scan Scan) error {
			var status string
			var n int
			err := scan(&status, &n)
			counts[status] = n
			return err
		})
	})
	return counts, err
}

func (db *DB) JobList(ctx context.Context) ([]Job, error) {
	return db.jobs(ctx, "ORDER BY created DESC, id")
}

func (db *DB) ClaimJob(ctx context.Context, worker string, now, stale time.Time) (j Job, ok bool, err error) {
	err = db.d.Do(ctx, Finish, func(tx Tx) error {
		list, err := queryJobs(tx, true, `WHERE status = $1 OR status = $2 AND updated < $3
			ORDER BY created, id LIMIT 1 FOR UPDATE SKIP LOCKED`, JobAccepted, JobRunning, Nanos(stale))
		if ok = len(list) > 0; err != nil || !ok {
			return err
		}
		j = list[0]
		if j.Started.IsZero() {
			j.Started = now
		}
		j.Status, j.Worker, j.Updated = JobRunning, worker, now
		j.Attempt++
		if err := dropPieces(tx, j.ID); err != nil { // of an earlier attempt
			return err
		}
		_, err = tx.Exec(`UPDATE grense.job SET status = $1, worker = $2, attempt = $3, started = $4, updated = $5
			WHERE id = $6`, j.Status, j.Worker, j.Attempt, Nanos(j.Started), Nanos(j.Updated), j.ID)
		return err
	})
	return j, ok && err == nil, err
}

// changeJob runs a statement that must change a job. If it changes none, the error is ErrChanged.
func (db *DB) changeJob(ctx context.Context, id, sql string, args ...any) error {
	return db.d.Do(ctx, Finish, func(tx Tx) error {
		return must(tx, fmt.Errorf("state: job %s: %w", id, store.ErrChanged), sql, args...)
	})
}

func (db *DB) KeepJob(ctx context.Context, j Job) error {
	body, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return db.changeJob(ctx, j.ID, `UPDATE grense.job SET status = $1, finished = $2, updated = $3, body = $4
		WHERE id = $5 AND worker = $6 AND attempt = $7 AND status = $8`,
		j.Status, Nanos(j.Finished), Nanos(j.Updated), string(body), j.ID, j.Worker, j.Attempt, JobRunning)
}

func (db *DB) SwapCall(ctx context.Context, id string, was Call, next *Call) (j Job, err error) {
	err = db.d.Do(ctx, Finish, func(tx Tx) error {
		list, err := queryJobs(tx, true, "WHERE id = $1 FOR UPDATE", id)
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return fmt.Errorf("state: job: %w", store.ErrNotFound)
		}
		if j = list[0]; j.Call == nil || *j.Call != was {
			return fmt.Errorf("state: job %s: %w", id, store.ErrChanged)
		}
		j.Call = next
		body, err := json.Marshal(j)
		if err != nil {
			return err
		}
		_, err = tx.Exec("UPDATE grense.job SET body = $1 WHERE id = $2", string(body), id)
		return err
	})
	return j, err
}

func (db *DB) DismissJob(ctx context.Context, id string, at time.Time) error {
	return db.changeJob(ctx, id, `UPDATE grense.job SET status = $1, finished = $2, updated = $2
		WHERE id = $3 AND status IN ($4, $5)`, JobDismissed, Nanos(at), id, JobAccepted, JobRunning)
}

func dropPieces(tx Tx, job string) error {
	_, err := tx.Exec("DELETE FROM grense.job_piece WHERE job = $1", job)
	return err
}

func (db *DB) DropJob(ctx context.Context, id string) error {
	return db.d.Do(ctx, Finish, func(tx Tx) error {
		if err := dropPieces(tx, id); err != nil {
			return err
		}
		_, err := tx.Exec("DELETE FROM grense.job WHERE id = $1", id)
		return err
	})
}

func (db *DB) PutPiece(ctx context.Context, p Piece) error {
	return db.d.Do(ctx, Write, func(tx Tx) error {
		_, err := tx.Exec(`INSERT INTO grense.job_piece (job, attempt, output, n, data) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT DO NOTHING`, p.Job, p.Attempt, p.Output, p.N, p.Data)
		return err
	})
}

func (db *DB) Piece(ctx context.Context, p Piece) (data []byte, err error) {
	found := false
	err = db.d.Do(ctx, Write, func(tx Tx) error {
		return tx.Query("SELECT data FROM grense.job_piece WHERE job = $1 AND attempt = $2 AND output = $3 AND n = $4",
			[]any{p.Job, p.Attempt, p.Output, p.N}, func(scan Scan) error { found = true; return scan(&data) })
	})
	if err == nil && !found {
		err = fmt.Errorf("state: a piece of job %s: %w", p.Job, store.ErrNotFound)
	}
	return data, err
}
