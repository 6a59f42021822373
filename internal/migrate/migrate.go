// Package migrate applies the numbered SQL files of package migrations to a database, each once and in one transaction.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"grense/migrations"
)

// Migration is one file.
type Migration struct {
	Number int
	Name   string // without number and ending
	SQL    string // one or more statements
}

// DB is a database to which migrations are applied. It keeps their numbers in a table of its own.
type DB interface {
	// Applied returns the numbers of the migrations that were applied, in any order; none when the database is new.
	Applied(ctx context.Context) ([]int, error)
	// Apply runs the statements and records the number, all or nothing.
	Apply(ctx context.Context, m Migration) error
}

// ErrNewer reports a database to which a migration was applied that this program does not know.
var ErrNewer = errors.New("migrate: the database was written by a newer version of this program")

// GeoPackage returns the migrations of a GeoPackage.
func GeoPackage() ([]Migration, error) { return Read(migrations.GeoPackage()) }

// PostGIS returns the migrations of a PostGIS database.
func PostGIS() ([]Migration, error) { return Read(migrations.PostGIS()) }

// Read returns the migrations of a folder by number: all its files, named NNNN_name.sql, numbered from 1 without a gap.
func Read(fsys fs.FS) ([]Migration, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	var list []Migration
	for _, e := range entries {
		m, ok := parseName(e.Name())
		if !ok {
			return nil, fmt.Errorf("migrate: %s is not named NNNN_name.sql", e.Name())
		}
		b, err := fs.ReadFile(fsys, e.Name())
		if err != nil {
			return nil, fmt.Errorf("migrate: %w", err)
		}
		m.SQL = string(b)
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b Migration) int { return a.Number - b.Number })
	for i, m := range list {
		if m.Number != i+1 {
			return nil, fmt.Errorf("migrate: number %d is missing or used twice", i+1)
		}
	}
	return list, nil
}

func parseName(name string) (m Migration, ok bool) {
	const digits, ending = 4, ".sql"
	if len(name) <= digits+1+len(ending) || name[digits] != '_' || name[len(name)-len(ending):] != ending {
		return m, false
	}
	n, err := strconv.ParseUint(name[:digits], 10, 31)
	if err != nil || n == 0 {
		return m, false
	}
	return Migration{Number: int(n), Name: name[digits+1 : len(name)-len(ending)]}, true
}

// Up applies the migrations that the database lacks, in the order of their numbers, and returns how many these were.
// An error leaves the database as the last migration that succeeded made it.
func Up(ctx context.Context, db DB, list []Migration) (int, error) {
	applied, err := db.Applied(ctx)
	if err != nil {
		return 0, fmt.Errorf("migrate: %w", err)
	}
	for _, n := range applied {
		if n > len(list) {
			return 0, fmt.Errorf("%w (number %d)", ErrNewer, n)
		}
	}
	done := 0
	for _, m := range list {
		if slices.Contains(applied, m.Number) {
			continue
		}
		if err := db.Apply(ctx, m); err != nil {
			return done, fmt.Errorf("migrate: %04d_%s: %w", m.Number, m.Name, err)
		}
		done++
	}
	return done, nil
}
