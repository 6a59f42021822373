package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"grense/internal/register"
	"grense/internal/store/gpkg"
)

type registerUpgradeCmd struct {
	File string `arg:"" help:"GeoPackage with the register. It is replaced when the new one is complete."`
}

func (registerUpgradeCmd) Help() string {
	return `Computes the columns for searching again, by the rules of this version. Everything else stays, other collections too. Send SIGHUP
to a server of the file afterwards.

Examples:
  grense check register.gpkg
  grense register upgrade register.gpkg`
}

func (c *registerUpgradeCmd) Run(ctx context.Context, p *process) error {
	start := time.Now()
	from, err := gpkg.OpenTables(c.File)
	if err != nil {
		return err
	}
	defer from.Close()
	if _, ok := from.Description("sted"); ok && !from.OldFold() {
		_, err := fmt.Fprintf(p.Stdout, "%s is up to date.\n", c.File)
		return err
	}
	w, err := gpkg.Create(ctx, c.File)
	if err != nil {
		return fmt.Errorf("cannot write the register: %w", err)
	}
	defer w.Close()
	bar := newMeter(p.Stderr, "rows")
	err = register.Upgrade(ctx, from, w, func(rows int) { bar.show(rows, 0) })
	if errors.Is(err, register.ErrNoRegister) {
		return fmt.Errorf("%s holds no register of place names; there is nothing to upgrade", c.File)
	}
	if err != nil {
		return fmt.Errorf("cannot upgrade the register: %w", err)
	}
	bar.end("making indexes")
	if err := w.Commit(ctx); err != nil {
		return fmt.Errorf("cannot write the register: %w", err)
	}
	_, err = fmt.Fprintf(p.Stdout, "%s is up to date, after %s. Send SIGHUP to a server that serves it.\n", c.File,
		time.Since(start).Round(100*time.Millisecond))
	return err
}
