package cql2_test

import (
	"errors"
	"fmt"

	"grense/internal/cql2"
	"grense/internal/cql2/cql2test"
	"grense/internal/geo/crs"
	"grense/internal/problem"
)

func Example() {
	const filter = `casei(kommunenavn) LIKE casei('%berg%') AND dag > '2020-01-01' AND S_INTERSECTS(geometry, ` +
		`BBOX(4,58,12,64))`
	e, err := cql2.ParseText(filter)
	if err == nil {
		e, err = cql2.Check(e, places)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cql2.FormatText(e))
	fmt.Println(string(cql2test.FormatJSON(e.(cql2.And)[1])))
	fmt.Println(cql2.Extent(e, "geometry", crs.CRS84))
	// Output:
	// casei(kommunenavn) LIKE casei('%berg%') AND dag > DATE('2020-01-01') AND S_INTERSECTS(geometry,POLYGON((4 58,12 58,12 64,4 64,4 58)))
	// {"op":">","args":[{"property":"dag"},{"date":"2020-01-01"}]}
	// [{[4 58] [12 64]}] true
}

func ExampleLocate() {
	const filter = "kyst AND\n  kommunenr = '0301'"
	e, err := cql2.ParseText(filter)
	if err == nil {
		_, err = cql2.Check(e, places)
	}
	if p, ok := errors.AsType[*problem.Error](cql2.Locate(err, filter)); ok {
		fmt.Println(p.Faults[0].Cure)
	}
	// Output: line 2, column 3: no property 'kommunenr'; did you mean 'kommunenummer'?
}
