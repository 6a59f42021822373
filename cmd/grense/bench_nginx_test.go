package main_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"grense/internal/await"
)

// longestNginx is how long one word of the configuration of nginx may be, in bytes.
const longestNginx = 4000

// startNginx runs nginx with one worker, which sends the answers from files, compressed before, with their header and
// its access log on. It is nil where there is no nginx, or the answers have longer addresses than
// its configuration takes.
func startNginx(t *testing.T, answers []recorded) *measured {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr, dir := l.Addr().String(), t.TempDir()
	l.Close()
	conf, ok := nginxConf(answers, addr, dir)
	if !ok {
		return nil
	}
	files := map[string][]byte{"nginx.conf": conf}
	for i, a := range answers {
		files[strconv.Itoa(i)] = a.Body
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, "-p", dir, "-c", "nginx.conf", "-e", "error.log")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() { cancel(); cmd.Wait() })
	t.Cleanup(stop)
	var worker int
	await.True(t, "a worker of nginx", func() bool {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
		worker, err = strconv.Atoi(strings.TrimSpace(string(children)))
		return err == nil
	})
	return &measured{addr: addr, pid: worker, key: strings.Repeat("k", 54), stop: stop}
}

// nginxConf is the configuration for the answers, in files that are called by their numbers.
func nginxConf(answers []recorded, addr, dir string) (conf []byte, ok bool) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "daemon off;\npid nginx.pid;\nworker_processes 1;\n")
	if os.Getuid() == 0 {
		b.WriteString("user root root;\n") // who owns the files
	}
	b.WriteString("events { worker_connections 64; }\nhttp {\n\tmap_hash_bucket_size 16384;\n\tmap_hash_max_size " +
		"65536;\n\tlarge_client_header_buffers 4 32k;\n\tkeepalive_requests 100000000;\n\tsendfile on;\n" +
		"\ttcp_nopush on;\n\tetag off;\n\tserver_tokens off;\n\taccess_log access.log combined;\n\tmap $request_uri " +
		"$file {\n\t\tdefault none;\n")
	known := map[string]bool{}
	for i, a := range answers {
		path, fits := nginxWord(a.Path)
		if !fits {
			return nil, false
		}
		if known[strings.ToLower(path)] { // its maps know no case
			continue
		}
		known[strings.ToLower(path)] = true
		fmt.Fprintf(&b, "\t\t%s %d;\n", path, i)
	}
	fmt.Fprintf(&b, "\t}\n\tserver {\n\t\tlisten %s;\n\t\troot %s;\n\t\ttypes {}\n", addr, dir)
	for name, values := range answers[0].Header { // others differ in some values, not in what they cost
		for _, v := range values {
			word, fits := nginxWord(v)
			switch {
			case name == "Content-Length" || !fits: // nginx returns the length itself
			case name == "Content-Type":
				fmt.Fprintf(&b, "\t\tdefault_type %s;\n", word)
			default:
				fmt.Fprintf(&b, "\t\tadd_header %s %s;\n", name, word)
			}
		}
	}
	b.WriteString("\t\tlocation / { try_files /$file =404; }\n\t}\n}\n")
	return b.Bytes(), true
}

// nginxWord is a text as a word of the configuration; false for one that it does not take.
func nginxWord(s string) (string, bool) {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`,
		len(s) <= longestNginx && !strings.ContainsAny(s, "$\n")
}
