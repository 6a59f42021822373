package conn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
)

// Explain converts errors of the server and the network. Errors not caused by the caller become store.ErrUnavailable.
// That includes a server that does not respond by the deadline, but not one that works until then and confirms the
// cancellation.
func Explain(ctx context.Context, pool *pgxpool.Pool, err error) error {
	if err == nil {
		return nil
	}
	c := pool.Config().ConnConfig
	own, ours := errors.AsType[*ownError](err)
	pe, ok := errors.AsType[*pgconn.PgError](err)
	if ours && errors.Is(own.err, store.ErrBusy) {
		return own.err
	}
	if ended := ctx.Err(); ended != nil {
		if ended == context.DeadlineExceeded && err != ended && !ok && !ours {
			return fmt.Errorf("postgis: %s does not answer: %w: %v", Target(c), store.ErrUnavailable, ended)
		}
		return ended
	}
	if ours {
		return own.err
	}
	switch {
	case !ok:
		return fmt.Errorf("postgis: %s: %w: %w", Target(c), store.ErrUnavailable, err)
	case pe.Code == "57014": // query_canceled: statement_timeout
		return fmt.Errorf("postgis: %w: %w", context.DeadlineExceeded, err)
	case pe.Code == "53100":
		return fmt.Errorf("postgis: %s: %w: %w: %w", Target(c), store.ErrUnavailable, store.ErrFull, err)
	case pe.Code == "55P03": // lock_not_available: lock_timeout
		return fmt.Errorf("postgis: %w: %w: %w", store.ErrUnavailable, store.ErrLocked, err)
	case unavailable(pe.Code):
		return fmt.Errorf("postgis: %s: %w: %w", Target(c), store.ErrUnavailable, err)
	}
	return fmt.Errorf("postgis: %w", err)
}

// unavailable reports whether an error code (PostgreSQL, appendix A) is temporary: connection, authorization, missing
// database, resources, operator intervention, system errors, and conflicts with recovery; also dropped or revoked
// tables and columns, which the catalog will notice soon.
func unavailable(code string) bool {
	switch code {
	case "42P01", "42703", "42501", "42704", "42804", "42846", "42809", "42P21", "42P22", "0A000", "3D000", "3F000",
		"40001", "40P01", "25006", "42883":
		return true
	}
	switch code[:min(2, len(code))] {
	case "08", "28", "53", "55", "57", "58", "HV", "XX":
		return true
	}
	return false
}

// ErrRefused reports that the server rejects the user or does not have the database. Waiting does not help.
var ErrRefused = errors.New("postgis: the server refuses the connection")

// Refused returns ErrRefused with the cure instead of store.ErrUnavailable if the server rejects the user (class 28 of
// PostgreSQL, appendix A) or has no such database (3D000). It is for startup only: a server that has worked before may
// do so again.
func Refused(pool *pgxpool.Pool, err error) error {
	c := pool.Config().ConnConfig
	pe, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case errors.Is(err, ErrPooler):
		return fmt.Errorf("postgis: %s: %w: %s", Target(c), ErrPooler, poolerCure)
	case ok && strings.Contains(pe.Message, "unsupported startup parameter"):
		return fmt.Errorf("postgis: %s: %w: %s (%s)", Target(c), ErrPooler, poolerCure, pe.Message)
	case ok && pe.Code == "3D000":
		return fmt.Errorf("postgis: %s: %w: %s (SQLSTATE 3D000); correct the name of the database in the address, "+
			"or create it", Target(c), ErrRefused, pe.Message)
	case !ok || !strings.HasPrefix(pe.Code, "28"):
		return err
	}
	return fmt.Errorf("postgis: %s: %w: %s (SQLSTATE %s); look at the user and the password in the address, "+
		"or in PGPASSWORD and ~/.pgpass, and at pg_hba.conf of the server",
		Target(c), ErrRefused, pe.Message, pe.Code)
}

// ownError is an error that Explain returns unchanged.
type ownError struct{ err error }

func (e *ownError) Error() string { return e.err.Error() }

func (e *ownError) Unwrap() error { return e.err }

// Own marks an error of our own, or of a caller's function, for Explain, which returns it unchanged; nil for nil.
func Own(err error) error {
	if err == nil {
		return nil
	}
	return &ownError{err}
}

// IsFull reports whether the server, the role or a pooler has no connections left for now (PostgreSQL, appendix A,
// 53300).
func IsFull(err error) bool {
	pe, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pe.Code == "53300" || strings.Contains(pe.Message, "no more connections allowed"))
}

// ErrPooler reports a pooler that the address does not declare.
var ErrPooler = errors.New("postgis: there is a pooler between")

const poolerCure = "it does not pass settings on when a connection is made; add pool_mode=session or " +
	"pool_mode=transaction to the address, as the pooler has it"
