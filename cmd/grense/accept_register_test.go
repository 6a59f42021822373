package main_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/api/placename"
	"grense/internal/store/storetest"
)

// What a national register must hold. A figure is printed beside its bar; of making a register only one that is gross
// misses fails, since a machine may be busy; searches that miss theirs are measured again.
const (
	nationalPlaces = 1_100_000
	generateCPU    = 5 * time.Minute // bar of the time, measured as CPU
	generateMemory = 1 << 30         // bar of the resident memory, bytes
	gross          = 3               // times a bar
)

// nationalRegister returns a generated register of the whole country: the file that GRENSE_ACCEPT_REGISTER names,
// else a new one.
func nationalRegister(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("GRENSE_ACCEPT_REGISTER"); path != "" {
		t.Logf("NOT MEASURED: the generation, since GRENSE_ACCEPT_REGISTER names %s", path)
		return path
	}
	path := filepath.Join(t.TempDir(), "register.gpkg")
	cmd := program(t, t.Context(), t.TempDir(), "register", "generate", "--places", strconv.Itoa(nationalPlaces),
		"--out", path)
	cmd.Stderr = os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	spent := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d places generated: %.0f s, CPU %.0f s (bar %.0f s), file %.2f GB", nationalPlaces,
		time.Since(start).Seconds(), spent.Seconds(), generateCPU.Seconds(), float64(info.Size())/1e9)
	if spent > gross*generateCPU {
		t.Errorf("generation takes %v of CPU", spent)
	}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		t.Logf("peak of resident memory %d MB (bar %d MB)", u.Maxrss>>10, generateMemory>>20)
		if u.Maxrss<<10 > generateMemory {
			t.Errorf("generation has %d MB resident", u.Maxrss>>10)
		}
	}
	return path
}

// soapEnvelope wraps the content of a SOAP 1.1 body; s is the namespace of the searches, t that of the search
// objects, d the domain's.
func soapEnvelope(body string) string {
	const b = placename.DefaultBase
	return `<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/" xmlns:s="` + b +
		`/service/soek" xmlns:t="` + b + `/service/servicetyper" xmlns:d="` +
		b + `/domain"><S:Body>` + body + `</S:Body></S:Envelope>`
}

// soapSearch is a request of an operation with the content of its search object.
func soapSearch(op, object, content string) string {
	return soapEnvelope(`<s:` + op + `><s:stedsnavnContext><d:locale>en</d:locale></s:stedsnavnContext><s:` + object +
		`>` + content + `</s:` + object +
		`><s:beregnVisningsnavn>false</s:beregnVisningsnavn><s:inkluderGeometri>false</s:inkluderGeometri></s:` + op +
		`>`)
}

// findPlaces is a request of findSteder.
func findPlaces(content string) string { return soapSearch("findSteder", "stedSoek", content) }

func byName(name string) string { return "<t:stedsnavn>" + name + "</t:stedsnavn>" }

func codeList(field string, codes ...string) string {
	var b strings.Builder
	for _, c := range codes {
		b.WriteString(`<e:item xmlns:e="` + namespaceOf(field) + `"><d:value>` + c + `</d:value></e:item>`)
	}
	return "<t:" + field + ">" + b.String() + "</t:" + field + ">"
}

// namespaceOf is the namespace of the items of a list of ids.
func namespaceOf(field string) string {
	if field == "kommunerIds" {
		return placename.DefaultBase + "/domain/kommune"
	}
	return placename.DefaultBase + "/domain/sted/koder"
}

// sampled draws values of the register for requests.
type sampled struct {
	t    *testing.T
	conn *sqlite.Conn
}

func (s sampled) list(sql string) (rows [][]string) {
	s.t.Helper()
	err := sqlitex.ExecuteTransient(s.conn, sql, &sqlitex.ExecOptions{ResultFunc: func(st *sqlite.Stmt) error {
		row := make([]string, st.ColumnCount())
		for i := range row {
			row[i] = st.ColumnText(i)
		}
		rows = append(rows, row)
		return nil
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(rows) == 0 {
		s.t.Fatalf("nothing by %s", sql)
	}
	return rows
}

// soapClient asks one request after the other over one connection.
type soapClient struct {
	s      *serving
	client http.Client
}

// ask returns the answer and its number of hits; -1 for a refusal.
func (c *soapClient) ask(t testing.TB, body string) (b []byte, hits int) {
	t.Helper()
	if b = c.post(t, "http://"+c.s.addr+"/soap/stedsnavn/v1/SoekServiceWS", body); bytes.Contains(b,
		[]byte("LIMIT_EXCEEDED")) {
		return b, -1
	}
	return b, len(placeID.FindAll(b, -1))
}

// post sends a request and returns the answer.
func (c *soapClient) post(t testing.TB, url, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "text/xml; charset=utf-8")
	req.Header.Set("X-API-Key", c.s.key)
	// registry systems do not ask for compression, and the bare handler writes these bytes as they are
	req.Header.Set("Accept-Encoding", "identity")
	resp, b := exchange(t, &c.client, req)
	if resp.StatusCode != http.StatusOK && !bytes.Contains(b, []byte("LIMIT_EXCEEDED")) {
		t.Errorf("%d: %s\n%s", resp.StatusCode, b, body)
	}
	return b
}

// kindOfSearch is a row of the table of bars.
type kindOfSearch struct {
	name   string
	bar    float64 // milliseconds of CPU beyond the bare handler; 0: none
	bodies []string
}

// searches draws requests of each kind.
func (s sampled) searches() []kindOfSearch {
	each := func(rows [][]string, body func([]string) string) (out []string) {
		for _, r := range rows {
			out = append(out, body(r))
		}
		return out
	}
	names := s.list("SELECT langnavn, norm, sted_id FROM skrivemaate WHERE id IN (SELECT id FROM skrivemaate WHERE " +
		"length(norm) > 7 AND rang % 9973 = 7) LIMIT 100")
	units := s.list("SELECT kommunenummer, gaardsnummer, bruksnummer FROM matrikkel_sted WHERE id % 4999 = 3 LIMIT 100")
	middle := s.list("SELECT oppdatert FROM sted ORDER BY oppdatert LIMIT 1 OFFSET (SELECT count(*)/2 FROM sted)")[0][0]
	late := s.list("SELECT oppdatert FROM sted ORDER BY oppdatert DESC LIMIT 1 OFFSET 4900")[0][0]
	big := s.list("SELECT kommunenummer, count(*) FROM sted_kommune GROUP BY 1 ORDER BY 2 DESC LIMIT 1")[0][0]
	infix := func(length int) string { // the one that most spellings have
		return s.list(fmt.Sprintf("SELECT substr(norm, 4, %d) x, count(*) FROM skrivemaate WHERE rang %% 97 = 0 AND "+
			"length(norm) > %d AND x NOT LIKE '%% %%' GROUP BY 1 ORDER BY 2 DESC LIMIT 1", length, length+4))[0][0]
	}
	prefix := func(r []string) string { return string([]rune(r[1])[:7]) }
	date := func(field, at string) string {
		return "<t:" + field + "><d:timestamp>" + at + "</d:timestamp></t:" + field + ">"
	}
	inBig := codeList("kommunerIds", big)
	return []kindOfSearch{
		{"exact name", 0.15, each(names, func(r []string) string { return findPlaces(byName(r[0])) })},
		{"prefix of 7 letters", 3, each(names, func(r []string) string { return findPlaces(byName(prefix(r) + "*")) })},
		{"prefix of 7 letters, spellings", 3, each(names, func(r []string) string {
			return soapSearch("findSkrivemaater", "skrivemaateSoek", byName(prefix(r)+"*"))
		})},
		{"suffix of 7 letters", 0, each(names, func(r []string) string {
			return findPlaces(byName("*" + string([]rune(r[1])[len([]rune(r[1]))-7:])))
		})},
		{"cadastral reference", 0.3, each(units, func(r []string) string {
			return soapSearch("findStederForMatrikkelenhetreferanse", "soek", "<t:kommunenummer>"+r[0]+
				"</t:kommunenummer><t:gaardsnummer>"+r[1]+"</t:gaardsnummer><t:bruksnummer>"+r[2]+"</t:bruksnummer>")
		})},
		{"updated after, half of all", 15, []string{findPlaces(date("oppdatertEtter", middle))}},
		{"updated after, half of all, spellings", 15,
			[]string{soapSearch("findSkrivemaater", "skrivemaateSoek", date("oppdatertEtter", middle))}},
		{"updated after, 4,900 places written", 0, []string{findPlaces(date("oppdatertEtter", late))}},
		{"biggest municipality", 15, []string{findPlaces(inBig)}},
		{"biggest municipality, names", 15, []string{soapSearch("findStedsnavn", "stedsnavnSoek", inBig)}},
		{"biggest municipality, spellings", 15, []string{soapSearch("findSkrivemaater", "skrivemaateSoek", inBig)}},
		{"infix of 4 letters", 100, each(names, func(r []string) string {
			return findPlaces(byName("*" + string([]rune(r[1])[2:6]) + "*"))
		})},
		{"infix of 4 letters, the widest", 400, []string{findPlaces(byName("*" + infix(4) + "*"))}},
		{"infix of 2 letters, the widest", 400, []string{findPlaces(byName("*" + infix(2) + "*"))}},
		{"infix of 2 letters, no hit", 400, []string{findPlaces(byName("*qx*"))}},
		{"widest infix in the biggest municipality", 400, []string{findPlaces(byName("*"+infix(4)+"*") + inBig)}},
		{"exact name in the biggest municipality", 0, each(names, func(r []string) string {
			return findPlaces(byName(r[0]) + inBig)
		})},
		{"prefix of 2 letters in the biggest municipality", 0, each(names[:10], func(r []string) string {
			return findPlaces(byName(string([]rune(r[1])[:2])+"*") + inBig)
		})},
		{"prefix of 7 letters, updated after", 0, each(names, func(r []string) string {
			return findPlaces(date("oppdatertEtter", middle) + byName(prefix(r)+"*"))
		})},
		{"one type in the biggest municipality", 0,
			[]string{findPlaces(codeList("navneobjekttyperIds", "bekk") + inBig)}},
		{"of general interest", 0, []string{findPlaces("<t:avAllmennInteresse>true</t:avAllmennInteresse>")}},
		{"no criteria", 0, []string{findPlaces("")}},
		{"similar name", 0, each(names[:20], func(r []string) string {
			return findPlaces(byName("~"+strings.Fields(r[1])[0]) + "<t:avansertSoek>true</t:avansertSoek>")
		})},
	}
}

// TestAcceptRegister generates a register of the whole country, searches it, and prints CPU of
// the server beside the bars.
func TestAcceptRegister(t *testing.T) {
	if os.Getenv("GRENSE_ACCEPT") == "" {
		t.Skip("a register of the whole country is measured in make accept")
	}
	if _, err := cpuTime(os.Getpid()); err != nil {
		t.Skipf("NOT MEASURED: the CPU time of a process is read from /proc as Linux has it: %v", err)
	}
	path := nationalRegister(t)
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	kinds := sampled{t, conn}.searches()
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if os.Getenv("GRENSE_ACCEPT_REGISTER") != "" { // its side files are kept
		dir = path + ".home"
	}
	first := program(t, t.Context(), dir, "check", path)
	if out, err := first.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("first look at the file: CPU %.1f s",
		(first.ProcessState.UserTime() + first.ProcessState.SystemTime()).Seconds())
	key := createKey(t, dir)
	start := time.Now()
	// searches are measured, not answers that are kept
	s := serve(t, []string{"HOME=" + dir, "GRENSE_SOAP_MAX_HITS=5000", "GRENSE_LIMITS_ANSWERS=0"}, path)
	s.key = key
	spent, err := cpuTime(s.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("start of the server: %.2f s, CPU %.2f s", time.Since(start).Seconds(), spent.Seconds())
	inFile := s.searchTable(t, kinds, "", nil)
	s.finish(t)
	largeHits(t, dir, path, key)
	if os.Getenv("GRENSE_ACCEPT_STORE") == "gpkg" {
		t.Log("NOT MEASURED: PostGIS, since GRENSE_ACCEPT_STORE names the GeoPackage alone")
		return
	}
	t.Run("PostGIS", func(t *testing.T) { acceptRegisterPostGIS(t, kinds, inFile) })
}

// inDatabase is how many times its bar a search may cost with PostGIS, the server and the database together.
const inDatabase = 3

// acceptRegisterPostGIS asks the same of the same register in a database: the one that GRENSE_ACCEPT_REGISTER_POSTGIS
// names by the address of a superuser, else a new one.
func acceptRegisterPostGIS(t *testing.T, kinds []kindOfSearch, inFile map[string]float64) {
	address := os.Getenv("GRENSE_ACCEPT_REGISTER_POSTGIS")
	if address == "" {
		var cluster storetest.Cluster
		t.Cleanup(cluster.Stop)
		address = cluster.Database(t)
		cmd := program(t, t.Context(), t.TempDir(), "register", "generate", "--places", strconv.Itoa(nationalPlaces),
			"--out", address)
		cmd.Stderr = os.Stderr
		start := time.Now()
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d places generated into a database: %.0f s, CPU of grense %.0f s", nationalPlaces,
			time.Since(start).Seconds(), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			t.Logf("peak of resident memory %d MB (bar %d MB)", u.Maxrss>>10, generateMemory>>20)
			if u.Maxrss<<10 > generateMemory {
				t.Errorf("generation has %d MB resident", u.Maxrss>>10)
			}
		}
	} else {
		t.Log("NOT MEASURED: the generation, since GRENSE_ACCEPT_REGISTER_POSTGIS names a database")
	}
	ask(t, address, "VACUUM ANALYZE") // as the server does by itself in a while
	if size := ask(t, address, "SELECT (pg_database_size(current_database()) / 1000000)::int"); len(size) == 1 {
		t.Logf("the database has %.2f GB", float64(size[0])/1000)
	}
	key := strings.TrimSpace(grense(t, "key", "create", "--name", "searches", "--source", address))
	start := time.Now()
	s := serve(t, []string{"GRENSE_SOAP_MAX_HITS=5000", "GRENSE_LIMITS_ANSWERS=0"}, address)
	s.key = key
	spent, err := cpuTime(s.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("start of the server: %.1f s, CPU %.1f s", time.Since(start).Seconds(), spent.Seconds())
	s.searchTable(t, kinds, address, inFile)
}

// settle asks until a server has begun to make what it keeps in memory for such questions,
// and waits until it has made it.
func (s *serving) settle(t *testing.T, ask func(i int)) {
	t.Helper()
	for range 3 {
		begin := time.Now()
		for i := 0; i < 100 && time.Since(begin) < time.Second; i++ {
			ask(i)
		}
		s.idles(t, 200*time.Millisecond, 20*time.Millisecond)
	}
}

// searchTable measures kinds of searches one after the other, and returns their milliseconds beyond the bare handler.
// With admin, the address of a database's superuser, what the database spends is added, the bars are those of a
// database, and inFile is printed beside.
func (s *serving) searchTable(t *testing.T, kinds []kindOfSearch, admin string,
	inFile map[string]float64) map[string]float64 {
	t.Helper()
	c := &soapClient{s: s}
	found := map[string]float64{}
	most, slack := "Bar", 1.0
	if admin != "" {
		most, slack = fmt.Sprintf("Bar × %d", inDatabase), 2
	}
	cpu := func(pid int) time.Duration {
		d, err := cpuTime(pid)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	var table strings.Builder
	fmt.Fprintf(&table, "\n| Search | Hits | Grense ms | Database ms | Bare ms | Beyond | %s | Beyond in a "+
		"GeoPackage |\n|---|---:|---:|---:|---:|---:|---:|---:|\n", most)
	for _, k := range kinds {
		if only := os.Getenv("GRENSE_ACCEPT_SEARCH"); !strings.Contains(k.name, only) {
			continue
		}
		bar := k.bar
		if admin != "" {
			bar *= inDatabase
		}
		hits := -2
		var answers []recorded
		for i, body := range k.bodies { // warms up
			b, n := c.ask(t, body)
			hits = max(hits, n)
			answers = append(answers, recorded{Path: "/" + strconv.Itoa(i),
				Header: http.Header{"Content-Type": {"text/xml; charset=utf-8"}}, Body: b})
		}
		s.settle(t, func(i int) { c.ask(t, k.bodies[i%len(k.bodies)]) })
		bare := startBare(t, answers, "") // which is asked just as Grense is, one request after the other
		bareClient := &soapClient{s: s}
		at := 0
		measure := func() [][]float64 {
			var rounds, databases, bareRounds []float64
			for begin := time.Now(); len(rounds) < 3 || time.Since(begin) < 2*time.Second && len(rounds) < 20; {
				inBase := time.Duration(0)
				if admin != "" {
					inBase = databaseCPU(t, admin)
				}
				before := cpu(s.cmd.Process.Pid)
				n := max(1, min(len(k.bodies), 50))
				for i := range n {
					c.ask(t, k.bodies[(at+i)%len(k.bodies)])
				}
				rounds = append(rounds, float64(cpu(s.cmd.Process.Pid)-before)/float64(n)/1e6)
				if admin != "" {
					databases = append(databases, float64(databaseCPU(t, admin)-inBase)/float64(n)/1e6)
				}
				before = cpu(bare.pid)
				for i := range n {
					i = (at + i) % len(k.bodies)
					bareClient.post(t, "http://"+bare.addr+answers[i].Path, k.bodies[i])
				}
				bareRounds = append(bareRounds, float64(cpu(bare.pid)-before)/float64(n)/1e6)
				at += n
			}
			return [][]float64{rounds, bareRounds, databases}
		}
		beyondBare := func(took [][]float64) float64 {
			if admin == "" {
				return median(took[0]) - median(took[1])
			}
			return median(took[0]) + median(took[2]) - median(took[1])
		}
		var took [][]float64
		held := ""
		if bar > 0 {
			took, held = hold(t, "SOAP, "+k.name, func(took [][]float64) float64 {
				return beyondBare(took) / (slack * bar)
			}, measure)
		} else {
			took = measure()
		}
		bare.stop()
		ours, theirs, database := median(took[0]), median(took[1]), 0.0
		if admin != "" {
			database = median(took[2])
		}
		beyond := beyondBare(took)
		found[k.name] = beyond
		limit, count, beside := "", strconv.Itoa(hits), ""
		if bar > 0 {
			limit = strconv.FormatFloat(bar, 'f', -1, 64) + ": " + held
		}
		if hits < 0 {
			count = "too many"
		}
		if v, ok := inFile[k.name]; ok {
			beside = fmt.Sprintf("%.2f", v)
		}
		fmt.Fprintf(&table, "| %s | %s | %.2f | %.2f | %.2f | %.2f | %s | %s |\n", k.name, count, ours, database,
			theirs, beyond, limit, beside)
		t.Logf("%s: %.2f ms (bar %s)", k.name, beyond, limit)
	}
	t.Log(table.String())
	return found
}
