package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"grense/internal/apikey"
	"grense/internal/state"
)

type keyUsageCmd struct {
	ID   string `arg:"" optional:"" help:"Id of a key, as listed. Default: all keys."`
	Days int    `default:"30" placeholder:"N" help:"Days to print, today included, at most 400. Defaults to 30."`
	CSV  bool   `name:"csv" xor:"form" help:"Print CSV with a header."`
	JSON bool   `name:"json" xor:"form" help:"Print a list of objects."`
	keyFlags
}

func (keyUsageCmd) Help() string {
	return `Prints requests, units, bytes of answers and refused requests by day (UTC) and key. Units are those of limits.rate.
Requests that were answered 403 or 429 are refused. Running servers store the use of the last 10 seconds later.

Examples:
  grense key usage --days 7
  grense key usage 4fZk01Qd --days 400 --csv > usage.csv`
}

// usageObject is the use of a key on a day in JSON.
type usageObject struct {
	Day      string `json:"day"`
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	Requests int64  `json:"requests"`
	Units    int64  `json:"units"`
	Bytes    int64  `json:"bytes"`
	Refused  int64  `json:"refused"`
}

func (o usageObject) row() []string {
	row := []string{o.Day, o.ID, o.Name}
	for _, n := range []int64{o.Requests, o.Units, o.Bytes, o.Refused} {
		row = append(row, strconv.FormatInt(n, 10))
	}
	return row
}

func (c *keyUsageCmd) Run(ctx context.Context, p *process) error {
	if c.Days < 1 || c.Days > apikey.UseDays {
		return fmt.Errorf("--days: %d is not a number from 1 to %d", c.Days, apikey.UseDays)
	}
	list, err := c.read(ctx, p)
	if err != nil {
		return err
	}
	header := []string{"day", "id", "name", "requests", "units", "bytes", "refused"}
	switch {
	case c.JSON:
		return p.printJSON(list)
	case c.CSV:
		w := csv.NewWriter(p.Stdout)
		rows := [][]string{header}
		for _, o := range list {
			rows = append(rows, o.row())
		}
		return w.WriteAll(rows)
	case len(list) == 0:
		fmt.Fprintf(p.Stderr, "No key was used in the last %s.\n", count(c.Days, "day"))
		return nil
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DAY\tID\tNAME\tREQUESTS\tUNITS\tBYTES\tREFUSED")
	for _, o := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\n", o.Day, o.ID, o.Name, o.Requests, o.Units, o.Bytes, o.Refused)
	}
	return w.Flush()
}

// read returns the use by day and key.
func (c *keyUsageCmd) read(ctx context.Context, p *process) ([]usageObject, error) {
	st, err := c.openState(ctx, p)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	keys, err := st.Keys(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot read the keys: %w", err)
	}
	names := map[string]string{}
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	if c.ID != "" && names[c.ID] == "" {
		return nil, fmt.Errorf("no key has the id %s; see grense key list", c.ID)
	}
	var uses []state.Use
	if uses, err = st.Uses(ctx, time.Now().UTC().AddDate(0, 0, 1-c.Days), c.ID); err != nil {
		return nil, fmt.Errorf("cannot read the use of keys: %w", err)
	}
	list := []usageObject{}
	for _, u := range uses {
		list = append(list, usageObject{u.Day.Format(time.DateOnly), u.Key, names[u.Key], u.Requests, u.Units, u.Bytes,
			u.Refused})
	}
	return list, nil
}
