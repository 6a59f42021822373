package demo

import (
	"embed"
	"encoding/csv"
	"fmt"
	"strconv"
)

// The facts are numbers, names, rounded positions and rounded areas, ordered by number, and a coarse outline (Natural
// Earth, public domain).
//
//go:embed facts/fylker-2024.csv facts/kommuner-2024.csv facts/norge-omriss.csv
var facts embed.FS

type fylkeFact struct{ nr, navn string }

type kommuneFact struct {
	nr, fylke, navn string
	lon, lat        float64 // degrees, ETRS89; a point inside the largest part
	km2             int
}

func readFacts() ([]fylkeFact, []kommuneFact, error) {
	var fylker []fylkeFact
	known := map[string]bool{}
	err := eachRecord("facts/fylker-2024.csv", 2, func(r []string) error {
		fylker = append(fylker, fylkeFact{r[0], r[1]})
		known[r[0]] = true
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	var kommuner []kommuneFact
	err = eachRecord("facts/kommuner-2024.csv", 6, func(r []string) error {
		lon, lonErr := strconv.ParseFloat(r[3], 64)
		lat, latErr := strconv.ParseFloat(r[4], 64)
		km2, areaErr := strconv.Atoi(r[5])
		if lonErr != nil || latErr != nil || areaErr != nil || km2 < 1 || !known[r[1]] {
			return fmt.Errorf("municipality %q: bad position, area or county", r[0])
		}
		kommuner = append(kommuner, kommuneFact{nr: r[0], fylke: r[1], navn: r[2], lon: lon, lat: lat, km2: km2})
		return nil
	})
	return fylker, kommuner, err
}

// eachRecord calls fn for each record after the header. Every record must have the given number of fields.
func eachRecord(name string, fields int, fn func([]string) error) error {
	file, err := facts.Open(name)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.FieldsPerRecord = fields
	records, err := r.ReadAll()
	if err != nil {
		return fmt.Errorf("demo: %s: %w", name, err)
	}
	for _, rec := range records[1:] {
		if err := fn(rec); err != nil {
			return fmt.Errorf("demo: %s: %w", name, err)
		}
	}
	return nil
}
