package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"grense/internal/enrich"
	"grense/internal/history"
)

type harmoniseCmd struct {
	tableFlags
	To          string   `required:"" placeholder:"DAY" help:"Day whose divisions are wanted, such as 2024-01-01."`
	Code        string   `default:"code" placeholder:"NAME" help:"Column with the codes. Defaults to code."`
	Date        string   `default:"date" placeholder:"NAME" help:"Column with the days, as 2019-01-01, or years, months, quarters and half-years, which are their first days: 2019, 2019M01, 2019-01, 2019K1, 2019H1. Defaults to date."`
	Value       string   `default:"value" placeholder:"NAME" help:"Column with the values: digits, with a point or a comma before decimals. Defaults to value."`
	By          []string `placeholder:"NAME,..." help:"Further columns that tell values apart, such as sex and age. They are in the answer."`
	Kind        string   `default:"additive" enum:"additive,ratio" placeholder:"additive|ratio" help:"Whether values are added, or averaged. Defaults to additive."`
	Weights     string   `default:"refuse" enum:"refuse,population,area,supplied" placeholder:"CHOICE" help:"By what a value is shared where a division became several: refuse (default), population, area or supplied, as told above."`
	WeightsFile string   `name:"weights-file" placeholder:"FILE" help:"Your own weights, for --weights supplied: CSV with the columns code and weight, and perhaps date and to."`
	Skip        bool     `help:"Pass over rows that cannot be read, and report them. Without it, the first one ends the command."`
	Interval    bool     `help:"Add the columns low and high: between which the value is, also where it is missing because parts are not known."`
	Scheme      string   `default:"kommune" placeholder:"ID" help:"What the codes are of: kommune (since 1838), fylke (since 1972), or a scheme of --history. Defaults to kommune."`
	History     string   `placeholder:"SOURCE" help:"A GeoPackage or a PostGIS database with an imported history (grense lineage import). Defaults to that of Norway, which is built in."`
}

func (harmoniseCmd) Help() string {
	return `Reads rows of code, date and value, and writes the values of the divisions of one day: code, name, date, value, mark and why. Mergers are
added up, mergers that were undone followed as what they were, new numbers as the same division. The mark is
  exact      the value is made of whole divisions, all of which have a value
  estimated  some of it came by weights
  missing    a part has no value, or became several and the weights do not tell how much is where
Nothing is guessed: by default (--weights refuse) what became several is missing.
  population, area   what the history knows of the people or square metres that went along; often nothing
  supplied           your own weights: how much of code went to "to", and, without "to", how much code counts in a mean
Shared values have as many digits as before, and their parts sum to them: in all, no digit is lost. The summary on standard error tells how
much no cell has. Means of ratios have two digits more.

Codes may have a prefix or a name with them (K-0301, 0301 Oslo), and lack zeros at the beginning (301). An empty value, NA, ".", "..", ":"
and "-" are no value. With --interval, a value of which the parts are not known lies between low and high instead of being blank.
Territory that moved between two municipalities makes values across its day estimated by the people who moved, with --weights population
and values that are numbers of people, or else missing.

The table is CSV with a header, or a JSON object a line; the answer is the same. Tables may be of any length. A million values are held in
memory, at most 600 MB, and more in a temporary file. One day may have a million values. The table may have a million different days and
texts of --by, of 100 MB in all, and rows of 1 MB. A server does the same with POST /harmonise.

Examples:
  grense harmonise people.csv --to 2024-01-01 --out people2024.csv
  grense harmonise people.csv --to 2024-01-01 --code region --date year --value people --by sex,age
  grense harmonise births.csv --to 2024-01-01 --weights population
  grense harmonise turnout.csv --to 2020-01-01 --kind ratio --weights supplied --weights-file voters.csv`
}

func (c *harmoniseCmd) Run(ctx context.Context, p *process) error {
	o := history.SeriesOptions{
		Ratio: c.Kind == "ratio", Weights: history.Weights(c.Weights), Interval: c.Interval, Spill: os.TempDir(),
	}
	var err error
	if o.To, err = history.ParseDate(c.To); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if (c.Weights == "supplied") != (c.WeightsFile != "") {
		return errors.New("--weights supplied and --weights-file go together")
	}
	if err := c.free(); err != nil {
		return err
	}
	if c.WeightsFile != "" {
		err := withFile(c.WeightsFile, func(r io.Reader) error { o.Supplied, err = history.ReadWeights(r); return err })
		if err != nil {
			return fmt.Errorf("%s: %w", c.WeightsFile, err)
		}
	}
	s, err := schemeOf(ctx, c.History, c.Scheme)
	if err != nil {
		return err
	}
	x, err := s.NewSeries(o)
	if err != nil {
		return err
	}
	defer x.Close()
	in, _, err := c.open(p)
	if err != nil {
		return err
	}
	defer in.Close()
	return c.harmonise(ctx, p, x, interruptible(ctx, in))
}

// harmonise writes the answer to a table that is open.
func (c *harmoniseCmd) harmonise(ctx context.Context, p *process, x *history.Series, in io.Reader) error {
	what := c.table()
	table := bufio.NewReader(in)
	head, _ := table.Peek(64) // the next read returns the error
	cols := history.SeriesColumns{Code: c.Code, Date: c.Date, Value: c.Value, By: c.By, Skip: c.Skip, Lines: enrich.IsLines(head)}
	var report history.SeriesReport
	write := func(w io.Writer) (err error) {
		if err = x.Read(table, cols, func(f history.SeriesFault) { fmt.Fprintf(p.Stderr, "%s, %v\n", what, &f) }); err == nil {
			report, err = x.Write(w, cols)
		}
		return err
	}
	err := c.writeTo(p.Stdout, write)
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted; the table was not read to its end")
	case err != nil:
		return fmt.Errorf("cannot harmonise %s: %w", what, err)
	}
	fmt.Fprintf(p.Stderr, "%s: %d exact, %d estimated, %d missing", count(report.Rows, "row"), report.Exact, report.Estimated, report.Missing)
	if report.Total != "" {
		fmt.Fprintf(p.Stderr, "; of the total %s, %s are in cells and %s in none", report.Total, report.Placed, report.LeftOut)
	}
	if report.Skipped > 0 {
		fmt.Fprintf(p.Stderr, "; %d could not be read and were passed over", report.Skipped)
	}
	if report.Unknown > 0 {
		fmt.Fprintf(p.Stderr, "; of %d the code was not in use on its day", report.Unknown)
	}
	if report.Restored > 0 {
		fmt.Fprintf(p.Stderr, "; %d had lost zeros at the beginning of the code, which were put back", report.Restored)
	}
	_, err = fmt.Fprintln(p.Stderr)
	return err
}
