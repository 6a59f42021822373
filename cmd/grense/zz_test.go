package main_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

func TestZZ(t *testing.T) {
	if os.Getenv("ZZ") == "" { t.Skip() }
	path, address, _ := bothStores(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var ms []*measured
	var vs [][]float64
	for _, s := range []*serving{serve(t, nil, path), serve(t, nil, address), serve(t, []string{"ZZW=1"}, address)} {
		ms = append(ms, &measured{addr: s.addr, pid: s.cmd.Process.Pid, key: s.key})
		vs = append(vs, nil)
	}
	qs := []question{{name: "10", path: "/collections/kommuner/items?limit=10"}}
	for _, q := range qs {
		for _, m := range ms { m.calibrate(t, q, rng) }
		for range 9 { for i, m := range ms { vs[i] = append(vs[i], m.round(t, q, rng)) } }
		t.Log(q.name)
		for i := range ms { t.Log(spread(vs[i]), median(vs[i])/median(vs[0])) }
		ms[1].n *= 10
		cmd := exec.Command("perf", "record", "-o", "/tmp/pg2/srv.data", "-F", "4000", "-g", "-p", strconv.Itoa(ms[1].pid))
		cmd.Start()
		ms[1].round(t, q, rng)
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	}
}
