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
	To          string   `required:"" placeholder:"DAY" help:"Day of the divisions, such as 2024-01-01."`
	Code        string   `default:"code" placeholder:"NAME" help:"Column with the codes. Defaults to code."`
	Date        string   `default:"date" placeholder:"NAME" help:"Column with days, as 2019-01-01, or with periods that count as their first day: 2019, 2019M01, 2019-01, 2019K1, 2019H1. Defaults to date."`
	Value       string   `default:"value" placeholder:"NAME" help:"Column with the values: digits, with a point or a comma before decimals. Defaults to value."`
	By          []string `placeholder:"NAME,..." help:"Further columns that distinguish values, such as sex and age. They are in the output."`
	Kind        string   `default:"additive" enum:"additive,ratio" placeholder:"additive|ratio" help:"Whether values are added, or averaged. Defaults to additive."`
	Weights     string   `default:"refuse" enum:"refuse,population,area,supplied" placeholder:"CHOICE" help:"Weights for a division that was split: refuse (default), population, area or supplied; see above."`
	WeightsFile string   `name:"weights-file" placeholder:"FILE" help:"CSV for --weights supplied: the columns code and weight, and optionally date and to."`
	Skip        bool     `help:"Skip rows that cannot be read, and report them. Otherwise the first one ends the command."`
	Interval    bool     `help:"Add the columns low and high, the bounds of a value whose parts are unknown."`
	Scheme      string   `default:"kommune" placeholder:"ID" help:"Scheme of the codes: kommune (since 1838), fylke (since 1972), or one of --history. Defaults to kommune."`
	History     string   `placeholder:"SOURCE" help:"GeoPackage or PostGIS database with an imported history (grense lineage import). Defaults to the built-in one of Norway."`
}

func (harmoniseCmd) Help() string {
	return `Reads rows of code, date and value, and writes the values of the divisions of one day: code, name, date, value, mark and why. Mergers
are added up, mergers that were undone are followed, and a new number is the same division. The mark is
  exact      the value consists of whole divisions that all have a value
  estimated  a part of it was computed by weights
  missing    a part has no value, or was split and the weights do not say how
--weights decides about a division that was split:
  refuse     the value is missing, the default
  population, area   the people or square metres that moved, where the history knows them
  supplied   your own weights: how much of code went to "to"; without "to", how much code counts in a mean
Shared values keep their digits, and the parts sum to the whole. Means of ratios have two digits more.

Codes may have a prefix or a name (K-0301, 0301 Oslo), and lack leading zeros (301). An empty value, NA, ".", "..", ":" and "-" are no
value. Territory that moved between two municipalities makes values across its day estimated with --weights population, else
missing.

The table is CSV with a header, or a JSON object a line. It may have any length: a million values are held in memory, at most
600 MB, and more in a temporary file. It may have a million days and texts of --by, and rows of 1 MB. POST /harmonise of a server
does the same.

Examples:
  grense harmonise people.csv --to 2024-01-01 --code region --date year --value people --by sex,age
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

// harmonise reads an open table and writes the result.
func (c *harmoniseCmd) harmonise(ctx context.Context, p *process, x *history.Series, in io.Reader) error {
	what := c.table()
	table := bufio.NewReader(in)
	head, _ := table.Peek(64) // the next read returns the same error
	cols := history.SeriesColumns{
		Code:  c.Code,
		Date:  c.Date,
		Value: c.Value,
		By:    c.By,
		Skip:  c.Skip,
		Lines: enrich.IsLines(head),
	}
	var report history.SeriesReport
	write := func(w io.Writer) (err error) {
		if err = x.Read(table, cols, func(f history.SeriesFault) {
			fmt.Fprintf(p.Stderr, "%s, %v\n", what, &f)
		}); err == nil {
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
	fmt.Fprintf(p.Stderr, "%s: %d exact, %d estimated, %d missing", count(report.Rows, "row"), report.Exact,
		report.Estimated, report.Missing)
	if report.Total != "" {
		fmt.Fprintf(p.Stderr, "; of the total %s, %s are in cells and %s in none", report.Total, report.Placed,
			report.LeftOut)
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
