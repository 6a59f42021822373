package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"grense/internal/apikey"
	"grense/internal/state"
	"grense/internal/store"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Make a key and print it, once."`

	Generate keyGenerateCmd `cmd:"" help:"Print a new key without storing it."`

	List   keyListCmd   `cmd:"" help:"List the keys by their ids; the keys themselves are not kept."`
	Revoke keyRevokeCmd `cmd:"" help:"Make a key invalid for ever."`
}

// Help teaches; kong prints it below the flags' list.
func (keyCmd) Help() string {
	return `Running servers with the same data directory, or the same database, see a change within 5 seconds.

Examples:
  grense key create --name "Map on the front page" --expires 90d
  grense key list
  grense key revoke 4fZk01Qd
  grense key list --source postgres://grense@db.example.org/divisions`
}

func openStateIn(ctx context.Context, dir string) (*state.DB, error) {
	st, err := state.Open(ctx, filepath.Join(dir, stateFile))
	if err != nil {
		return nil, fmt.Errorf("cannot open the keys in %s: %w", dir, err)
	}
	return st, nil
}

type keyCreateCmd struct {
	Name    string `required:"" placeholder:"NAME" help:"Who or what will use the key."`
	Expires string `placeholder:"WHEN" help:"A day, 2027-01-01 (UTC), or a number of days, 90d. Default: never."`
	keyFlags
}

func (keyCreateCmd) Help() string {
	return `Prints the key, and nothing else, on standard output. Only its hash is kept.

Examples:
  grense key create --name "Map on the front page"
  grense key create --name "Summer project" --expires 90d > key.txt`
}

func (c *keyCreateCmd) Run(ctx context.Context, p *process) error {
	now := time.Now()
	expires, err := apikey.ParseExpiry(c.Expires, now)
	if err != nil {
		return err
	}
	key, rec, err := apikey.New(c.Name, expires, now)
	if err != nil {
		return err
	}
	st, err := c.openState(ctx, p)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := st.PutKey(ctx, rec); err != nil {
		return fmt.Errorf("cannot store the key: %w", err)
	}
	fmt.Fprintf(p.Stderr, "Key %s for %s. It is shown only now; send it in the header X-API-Key.\n", rec.ID, rec.Name)
	_, err = fmt.Fprintln(p.Stdout, key)
	return err
}

type keyGenerateCmd struct{}

func (keyGenerateCmd) Help() string {
	return `Print a new key without storing it, for the setting first_key_file.

Examples:
  grense key generate > first-key
  GRENSE_FIRST_KEY_FILE=first-key grense serve kommuner.gpkg`
}

func (keyGenerateCmd) Run(p *process) error {
	_, err := fmt.Fprintln(p.Stdout, apikey.Generate())
	return err
}

type keyListCmd struct{ keyFlags }

func (c *keyListCmd) Run(ctx context.Context, p *process) error {
	st, err := c.openState(ctx, p)
	if err != nil {
		return err
	}
	defer st.Close()
	keys, err := st.Keys(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the keys: %w", err)
	}
	if len(keys) == 0 {
		fmt.Fprintln(p.Stderr, "There are no keys; make one with: grense key create --name NAME")
		return nil
	}
	t := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tNAME\tSTATUS\tCREATED\tLAST USED\tEXPIRES")
	for _, k := range keys {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Name, apikey.Status(k, time.Now()), day(k.Created), day(k.LastUsed), day(k.Expires))
	}
	return t.Flush()
}

// day prints the UTC day of t; a hyphen for the zero time.
func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.DateOnly)
}

type keyRevokeCmd struct {
	ID string `arg:"" help:"Id of the key, as listed."`
	keyFlags
}

func (c *keyRevokeCmd) Run(ctx context.Context, p *process) error {
	id := c.ID
	if whole, err := apikey.Parse(id); err == nil {
		id = whole
	}
	st, err := c.openState(ctx, p)
	if err != nil {
		return err
	}
	defer st.Close()
	switch err := st.RevokeKey(ctx, id, time.Now()); {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("no key has the id %s; see grense key list", id)
	case err != nil:
		return fmt.Errorf("cannot revoke the key: %w", err)
	}
	_, err = fmt.Fprintf(p.Stdout, "Key %s is revoked; running servers refuse it within 5 seconds.\n", id)
	return err
}
