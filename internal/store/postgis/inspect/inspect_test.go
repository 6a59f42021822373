package inspect_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"grense/internal/store/postgis/inspect"
	"grense/internal/store/storetest"
)

var cluster storetest.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// TestValuesThatCannotBeGivenAreCounted: finite numbers and days of the years 1 to 9999 are not among them.
func TestValuesThatCannotBeGivenAreCounted(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	storetest.Run(t, url,
		`CREATE TABLE x (id INT PRIMARY KEY, f FLOAT8, r REAL, n NUMERIC, stor NUMERIC, dag DATE, ts TIMESTAMP, tz TIMESTAMPTZ, god FLOAT8, noyaktig NUMERIC(30,10));
		INSERT INTO x VALUES (1, 'NaN', 'infinity', 'NaN', 1e400, 'infinity', '-infinity', '10000-01-01', 1e308, 12345678901234567890.0123456789),
			(2, '-infinity', 1, 1, 1, '0044-03-15 BC', '9999-12-31 23:59:59.999999', '0001-01-01 00:00Z', -1e308, 0.5), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
		CREATE VIEW feil AS SELECT id, 1 / (id - 1)::FLOAT8 AS f FROM x;`)
	list, err := inspect.Database(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, a := range list {
		if m := regexp.MustCompile(`^x: values of "(\w+)" that are given as null.*: (\d+)$`).
			FindStringSubmatch(a.Text); m != nil {
			told[m[1]] = m[2]
		}
	}
	want := map[string]string{"f": "2", "r": "1", "n": "1", "stor": "1", "dag": "2", "ts": "1", "tz": "1"}
	for name, n := range want {
		if told[name] != n {
			t.Errorf("%s: %q, want %s", name, told[name], n)
		}
	}
	if len(told) != len(want) {
		t.Errorf("%v", told)
	}
}

// TestOnlyTablesThatCannotBeReadAreToldAsNotServed: a table with some readable columns is served with those.
func TestOnlyTablesThatCannotBeReadAreToldAsNotServed(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	storetest.Run(t, url, `CREATE TABLE apen (id INT PRIMARY KEY, hemmelig TEXT, geom GEOMETRY(Point, 4258)); `+
		`CREATE TABLE lukket (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258))`)
	role, asRole := storetest.Role(t, url, "")
	storetest.Run(t, url, "GRANT SELECT (id, geom) ON apen TO "+role)
	list, err := inspect.Database(context.Background(), asRole)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, a := range list {
		if strings.Contains(a.Text, "is not served") {
			told = append(told, a.Text)
		}
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], "public.lukket ") {
		t.Errorf("%q", told)
	}
}
