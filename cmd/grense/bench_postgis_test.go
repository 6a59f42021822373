package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/demo"
	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
)

// benchPlaces is the size of the register that both stores are measured with.
const benchPlaces = 10_000

// TestBenchTablePostGIS adds to the file that GRENSE_BENCH names the server CPU of the same requests to the same data
// in both stores, and what the database spends besides.
func TestBenchTablePostGIS(t *testing.T) {
	file := os.Getenv("GRENSE_BENCH")
	if file == "" {
		t.Skip("make bench measures")
	}
	var table bytes.Buffer
	defer func() {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = f.Write(table.Bytes())
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}()
	if _, err := cpuTime(os.Getpid()); err != nil {
		fmt.Fprintf(&table, "\nNOT MEASURED: the CPU time of a process is read from /proc as Linux has it: %v\n", err)
		t.Skip(table.String())
	}
	path, address, admin := bothStores(t)
	var versions storetest.Cluster
	t.Cleanup(versions.Stop)
	past := versions.Database(t)
	writeTwoVersions(t, past)
	compareTimes(t, &table, serve(t, keepsNone, reader(t, past)), past)
	if source := sharedPath(t, "data", communesFile); exists(source) {
		compareCommunes(t, &table, source)
	}
	both, base := serve(t, nil, path), serve(t, nil, address)
	againPostGIS(t, &table, base, admin)
	fmt.Fprintf(&table, "\nBoth stores with the same data: the demo, and a register of %d invented places. "+
		"The database is another process; its CPU comes on top.\n\n", benchPlaces)
	fmt.Fprint(&table, "| Request | GeoPackage µs | PostGIS µs | Ratio | Database µs |\n|---|---:|---:|---:|---:|\n")
	name := func(rng *rand.Rand) string {
		return url.QueryEscape([]string{"stor", "bjor", "tverr", "lang", "midt", "ytre"}[rng.IntN(6)] +
			string(rune('a'+rng.IntN(26))))
	}
	against(t, &table, both, base, admin, []question{
		{name: "One municipality", path: "/collections/kommuner/items/0301"},
		{name: "10 municipalities", path: "/collections/kommuner/items?limit=10"},
		{name: "10 municipalities, page 6", path: "/collections/kommuner/items?limit=10&offset=50"},
		{name: "10 municipalities of a county", path: "/collections/kommuner/items?limit=10&fylke_nr=11"},
		{name: "10 places", path: "/collections/sted/items?limit=10"},
		{name: "A fresh box, at most 10 places", next: func(rng *rand.Rand) string {
			return "/collections/sted/items?limit=10&" + alongNorway(rng)
		}},
		{name: "10 places by words", next: func(rng *rand.Rand) string {
			return "/collections/sted/items?limit=10&q=" + name(rng)
		}},
		{name: "10 names, CASEI LIKE", next: func(rng *rand.Rand) string {
			return "/collections/stedsnavn/items?limit=10&filter=" + url.QueryEscape("CASEI(stedsnavn) LIKE CASEI('") +
				name(rng) + "%25%27)"
		}},
	})
}

// againPostGIS adds a row for each kind of question that is asked again on unchanged data:
// the server beside the bare handler, which may cost a round trip to the database more.
func againPostGIS(t *testing.T, table io.Writer, base *serving, admin string) {
	t.Helper()
	trip, database := roundTrip(t, base, admin)
	fmt.Fprintf(table, "\nPostGIS, asked again on unchanged data: the server alone, whose bar is that of a file and "+
		"a round trip to the database, SELECT 1 over a pool. That costs a process that does nothing else\n"+
		"%.1f µs, and the database %.1f.\n\n| Request, again | Bytes sent | PostGIS µs | Bare µs | Ratio | Bar | "+
		"Database µs |\n|---|---:|---:|---:|---:|---|---:|\n", trip, database)
	record(t, base, warmTile)
	for _, q := range demoQuestions(t, base) {
		most := bars[q.kind].again
		if !q.asked() || q.next != nil || most.times == 0 {
			continue
		}
		if code, _, _, err := base.asker(base.key).ask(t.Context(), q.path); err != nil || code != http.StatusOK {
			t.Logf("PostGIS, %s: %d, %v, so it is not measured", q.name, code, err) // the database has no history
			continue
		}
		most.trip = trip
		for range 3 {
			record(t, base, q.path)
		}
		answer := record(t, base, q.path)
		server, bare := &measured{addr: base.addr, pid: base.cmd.Process.Pid, key: base.key},
			startBare(t, []recorded{answer}, "")
		rng := rand.New(rand.NewPCG(1, 1))
		server.calibrate(t, q, rng)
		bare.calibrate(t, q, rng)
		var asked []float64
		name := strings.TrimPrefix(q.name, "Demo: ")
		took, told := most.hold(t, "PostGIS, "+name+", again", func() [][]float64 {
			asked = nil
			return append(roundsOf(func() float64 {
				before := databaseCPU(t, admin)
				took := server.round(t, q, rng)
				asked = append(asked, float64(databaseCPU(t, admin)-before)/float64(server.n)/1000)
				return took
			}, func() float64 { return bare.round(t, q, rng) }), asked)
		})
		bare.stop()
		ours, theirs, asked := took[0], took[1], took[2]
		a, b := median(ours), median(theirs)
		fmt.Fprintf(table, "| %s | %d | %s | %s | %.1f | %s | %s |\n", name, len(answer.Body), spread(ours),
			spread(theirs), a/b, told, spread(asked))
		t.Logf("PostGIS, %s, again: %.1f µs, bare %.1f µs, %.1f µs in the database", name, a, b, median(asked))
	}
}

// roundTrip is what a round trip to the database costs in microseconds of CPU: a process that does nothing else but
// write an answer, and the database.
func roundTrip(t *testing.T, base *serving, admin string) (process, database float64) {
	t.Helper()
	q := question{path: "/collections/kommuner/items/0301"}
	answers := []recorded{record(t, base, q.path)}
	bare, asks := startBare(t, answers, ""),
		startBare(t, answers, strings.Replace(admin, "?", "?application_name=grense&", 1))
	defer bare.stop()
	defer asks.stop()
	rng := rand.New(rand.NewPCG(1, 1))
	bare.calibrate(t, q, rng)
	asks.calibrate(t, q, rng)
	var spent []float64
	without, with := rounds(func() float64 { return bare.round(t, q, rng) }, func() float64 {
		before := databaseCPU(t, admin)
		took := asks.round(t, q, rng)
		spent = append(spent, float64(databaseCPU(t, admin)-before)/float64(asks.n)/1000)
		return took
	})
	return median(with) - median(without), median(spent)
}

// bothStores writes the same data into a GeoPackage and a database, which a role that may only read serves.
// Admin is the address of a superuser.
func bothStores(t *testing.T) (path, address, admin string) {
	t.Helper()
	var cluster storetest.Cluster
	t.Cleanup(cluster.Stop)
	admin = cluster.Database(t)
	path = filepath.Join(t.TempDir(), "both.gpkg")
	for _, create := range []func() (store.Writer, error){
		func() (store.Writer, error) { return gpkg.Create(t.Context(), path) },
		func() (store.Writer, error) { return writer.Create(t.Context(), admin) },
	} {
		w, err := create()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := demo.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		if err := register.Generate(t.Context(), w, register.Options{Places: benchPlaces, Seed: 1}); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return path, reader(t, admin), admin
}

// roundTrips returns a function that asks a database for nothing and waits for the answer.
func roundTrips(t *testing.T, address string) func(context.Context) error {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) error {
		var one int
		return pool.QueryRow(ctx, "SELECT 1", pgx.QueryExecModeSimpleProtocol).Scan(&one)
	}
}

// reader is the address for a role that may only read; admin is that of a superuser.
func reader(t *testing.T, admin string) string {
	t.Helper()
	role := fmt.Sprintf("grense_bench_%d", os.Getpid())
	ask(t, admin, "VACUUM ANALYZE", "CREATE ROLE "+role+" LOGIN", "GRANT USAGE ON SCHEMA grense TO "+role,
		"GRANT SELECT ON ALL TABLES IN SCHEMA grense TO "+role)
	t.Cleanup(func() { ask(t, admin, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	return strings.Replace(admin, "://postgres@", "://"+role+"@", 1)
}

// ask runs statements and returns the numbers in the first column of the last one's rows.
func ask(t *testing.T, address string, statements ...string) (list []int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	for _, s := range statements {
		rows, err := c.Query(ctx, s, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		list = nil
		for rows.Next() {
			v, err := rows.Values()
			if err != nil {
				t.Fatal(err)
			}
			if n, ok := v[0].(int32); ok {
				list = append(list, int(n))
			}
		}
		if rows.Close(); rows.Err() != nil {
			t.Fatalf("%s: %v", s, rows.Err())
		}
	}
	return list
}

// against adds a row for each question, asked of the same data in both stores in interleaved rounds.
func against(t *testing.T, table io.Writer, file, base *serving, admin string, questions []question) {
	t.Helper()
	rng := rand.New(rand.NewPCG(2, uint64(len(questions))))
	a := &measured{addr: file.addr, pid: file.cmd.Process.Pid, key: file.key}
	b := &measured{addr: base.addr, pid: base.cmd.Process.Pid, key: base.key}
	for _, q := range questions {
		if !q.asked() {
			continue
		}
		record(t, file, q.paths(rng, 1)[0]) // fails when the answer is no page
		record(t, base, q.paths(rng, 1)[0])
		a.calibrate(t, q, rng)
		b.calibrate(t, q, rng)
		var ours, theirs, database []float64
		for range benchRounds {
			ours = append(ours, a.round(t, q, rng))
			before := databaseCPU(t, admin)
			theirs = append(theirs, b.round(t, q, rng))
			database = append(database, float64(databaseCPU(t, admin)-before)/float64(b.n)/1000)
		}
		fmt.Fprintf(table, "| %s | %s | %s | %.2f | %s |\n", q.name, spread(ours), spread(theirs),
			median(theirs)/median(ours), spread(database))
		t.Logf("%s: %.1f µs in a GeoPackage, %.1f µs with PostGIS and %.1f µs in the database", q.name, median(ours),
			median(theirs), median(database))
	}
}

// databaseCPU is what the processes of a database server on this machine, which serve grense, have spent on a CPU.
func databaseCPU(t *testing.T, admin string) (sum time.Duration) {
	t.Helper()
	for _, pid := range ask(t, admin,
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'grense' AND pid <> pg_backend_pid()") {
		d, err := cpuTime(pid)
		if err != nil {
			t.Fatal(err)
		}
		sum += d
	}
	return sum
}
