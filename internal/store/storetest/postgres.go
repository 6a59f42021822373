package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Cluster is a PostgreSQL server for tests: the one at GRENSE_TEST_POSTGRES (the address of a superuser),
// else one started from installed binaries in a temporary folder. The zero value starts at first use; Stop ends it.
type Cluster struct {
	Private bool // always a server of our own, for tests that stop it

	once  sync.Once
	err   error
	admin string // superuser's address in the database postgres
	dir   string // folder of our own server; "" if it is another's
	bin   string
	run   *syscall.Credential // nil: the current user
	names atomic.Int64
	guard *exec.Cmd      // ends the servers in dir when its input closes, even if this process was killed
	alive io.WriteCloser // the input of guard

	mu      sync.Mutex
	lasting []string // databases that Stop removes
}

// missing lists what to install.
const missing = "these tests need PostgreSQL with PostGIS: install postgresql and postgis (on Debian: " +
	"apt-get install postgresql postgresql-15-postgis-3), " +
	"or set GRENSE_TEST_POSTGRES to the address of a superuser of a server for tests"

// Main is TestMain of a package whose tests use the server: it runs them, stops the server and returns the exit status.
func (c *Cluster) Main(m *testing.M) int {
	defer c.Stop()
	return m.Run()
}

// Database creates a database with PostGIS, dropped at the end of the test, and returns its address as a superuser.
// Without a server the test fails: nothing is skipped silently.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	name := c.create(t)
	t.Cleanup(func() {
		if err := execute(c.admin, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return c.address(name)
}

// Located is Database with the locale that options of CREATE DATABASE give; false where the server does not have it.
func (c *Cluster) Located(t testing.TB, options string) (address string, ok bool) {
	t.Helper()
	c.ready(t)
	name := fmt.Sprintf("grense_test_%d_%d", os.Getpid(), c.names.Add(1))
	if err := execute(c.admin, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8' "+options); err != nil {
		t.Log(err)
		return "", false
	}
	t.Cleanup(func() {
		if err := execute(c.admin, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	if err := execute(c.address(name), "CREATE EXTENSION postgis"); err != nil {
		t.Fatal(err)
	}
	return c.address(name), true
}

// Lasting is Database for several tests: Stop removes the database.
func (c *Cluster) Lasting(t testing.TB) string {
	t.Helper()
	name := c.create(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lasting = append(c.lasting, name)
	return c.address(name)
}

// ready starts the server.
func (c *Cluster) ready(t testing.TB) {
	t.Helper()
	c.once.Do(func() { c.err = c.start() })
	if c.err != nil {
		t.Fatal(c.err)
	}
}

func (c *Cluster) create(t testing.TB) string {
	t.Helper()
	c.ready(t)
	name := fmt.Sprintf("grense_test_%d_%d", os.Getpid(), c.names.Add(1))
	if err := execute(c.admin, "CREATE DATABASE "+name+" TEMPLATE "+c.template()); err != nil {
		t.Fatal(err)
	}
	return name
}

func (c *Cluster) template() string { return fmt.Sprintf("grense_template_%d", os.Getpid()) }

func (c *Cluster) address(database string) string {
	u, err := url.Parse(c.admin)
	if err != nil {
		panic("storetest: " + err.Error()) // it was parsed when the server started
	}
	u.Path = "/" + database
	return u.String()
}

func (c *Cluster) start() error {
	if !c.Private {
		c.admin = os.Getenv("GRENSE_TEST_POSTGRES")
	}
	if c.admin == "" {
		if c.bin = binaries(); c.bin == "" {
			return errors.New(missing)
		}
		if err := c.boot(); err != nil {
			return err
		}
	} else if _, err := url.Parse(c.admin); err != nil {
		return errors.New("GRENSE_TEST_POSTGRES is not a URL")
	}
	return errors.Join(execute(c.admin, "CREATE DATABASE "+c.template()),
		execute(c.address(c.template()), "CREATE EXTENSION postgis"))
}

// binaries returns the folder with initdb of the newest PostgreSQL; "" if there is none.
func binaries() string {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is valid
	slices.SortFunc(dirs, func(a, b string) int {
		x, _ := strconv.Atoi(filepath.Base(filepath.Dir(a)))
		y, _ := strconv.Atoi(filepath.Base(filepath.Dir(b)))
		return y - x
	})
	if p, err := exec.LookPath("initdb"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			dirs = append(dirs, filepath.Dir(p))
		}
	}
	for _, d := range dirs {
		if _, err := os.Stat(filepath.Join(d, "initdb")); err == nil {
			return d
		}
	}
	return ""
}

// boot creates and starts a server. PostgreSQL refuses to run as root: then it runs as postgres or nobody.
func (c *Cluster) boot() error {
	var err error
	if c.dir, err = os.MkdirTemp("", "grense-postgres"); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		if c.run, err = other(); err != nil {
			return err
		}
		if err := os.Chown(c.dir, int(c.run.Uid), int(c.run.Gid)); err != nil {
			return err
		}
	}
	if err := c.watch(); err != nil {
		return err
	}
	data := filepath.Join(c.dir, "data")
	if err := c.command("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale",
		"--no-sync"); err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	c.admin = "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable"
	return c.launch("data", port)
}

// atEnd waits for the end of its input, stops the servers in the folder $2 with the program $1 and removes the folder.
const atEnd = `cat; for pid in "$2"/*/postmaster.pid; do [ ! -e "$pid" ] || "$1" -D "${pid%/*}" -m immediate -w ` +
	`stop; done; rm -rf "$2"`

// watch starts guard. A signal to the group of this process does not reach it.
func (c *Cluster) watch() error {
	c.guard = exec.Command("/bin/sh", "-c", atEnd, "sh", filepath.Join(c.bin, "pg_ctl"), c.dir)
	c.guard.Dir = os.TempDir()
	c.guard.SysProcAttr = &syscall.SysProcAttr{Credential: c.run, Setpgid: true}
	var err error
	if c.alive, err = c.guard.StdinPipe(); err != nil {
		return err
	}
	return c.guard.Start()
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), l.Close()
}

// launch starts the server whose data is in a folder of c.dir.
func (c *Cluster) launch(data, port string) error {
	return c.command("pg_ctl", "-D", filepath.Join(c.dir, data), "-w", "-l", filepath.Join(c.dir, data+".log"), "-o",
		"-p "+port+" -k "+c.dir+
			" -c listen_addresses=127.0.0.1 -c fsync=off -c full_page_writes=off -c max_connections=60 -c "+
			"shared_buffers=64MB", "start")
}

// Replica starts a streaming replica of this server, which must be private, until the test ends.
// It returns the address of a database on the replica.
func (c *Cluster) Replica(t testing.TB, address string) string {
	t.Helper()
	here, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	data := "replica" + port
	if err := c.command("pg_basebackup", "-D", filepath.Join(c.dir, data), "-R", "-X", "stream", "-c", "fast",
		"--no-sync", "-d", c.admin); err != nil {
		t.Fatal(err)
	}
	// its data is removed with that of c
	t.Cleanup(func() { c.command("pg_ctl", "-D", filepath.Join(c.dir, data), "-m", "immediate", "-w", "stop") })
	if err := c.launch(data, port); err != nil {
		t.Fatal(err)
	}
	here.Host = "127.0.0.1:" + port
	return here.String()
}

// other returns a user who may run a server.
func other() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errU := strconv.ParseUint(u.Uid, 10, 32)
		gid, errG := strconv.ParseUint(u.Gid, 10, 32)
		if errU == nil && errG == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

// command runs a program of PostgreSQL.
func (c *Cluster) command(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	if c.dir != "" {
		cmd.Dir = c.dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.run}
	}
	var out bytes.Buffer
	if name != "pg_ctl" { // the server would keep the pipe open
		cmd.Stdout, cmd.Stderr = &out, &out
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out.Bytes())
	}
	return nil
}

func execute(address, sql string) error {
	ctx := context.Background() // also when the test is over
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// Run runs statements in the database at an address.
func Run(t testing.TB, address, sql string) {
	t.Helper()
	if err := execute(address, sql); err != nil {
		t.Fatal(err)
	}
}

// Lines returns the texts in the first column of a query's result.
func Lines(t testing.TB, address, sql string) []string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	rows, err := c.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return list
}

// roles counts the created roles.
var roles atomic.Int64

// Role creates a role that may log in, with options of CREATE ROLE, and returns its name and the address of a database
// for it. The role and its rights in that database are dropped at the end of the test.
func Role(t testing.TB, address, options string) (name, as string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name = fmt.Sprintf("grense_role_%d_%d", os.Getpid(), roles.Add(1))
	password, stated := u.User.Password()
	if !stated {
		password = "unasked"
	}
	if err := execute(address, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s' %s", name, password, options)); err !=
		nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := execute(address, fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %[1]s", name)); err != nil {
			t.Error(err)
		}
	})
	if u.User = url.User(name); stated {
		u.User = url.UserPassword(name, password)
	}
	return name, u.String()
}

// Halt stops our own server at once, like a crash, and Resume starts it again; ok is false if the server is another's.
func (c *Cluster) Halt() (bool, error) {
	if c.dir == "" {
		return false, nil
	}
	return true, c.command("pg_ctl", "-D", filepath.Join(c.dir, "data"), "-m", "immediate", "-w", "stop")
}

// Resume starts a server that Halt stopped.
func (c *Cluster) Resume() error {
	u, err := url.Parse(c.admin)
	if err != nil {
		return err
	}
	return c.launch("data", u.Port())
}

// Stop stops our own server and removes its data; on another's server, it drops our databases.
// Call it after all tests of a package.
func (c *Cluster) Stop() {
	switch {
	case c.alive != nil:
		c.alive.Close()
		c.guard.Wait() // there is nothing to save
	case c.admin != "":
		for _, name := range append(c.lasting, c.template()) {
			// a database that stays is recognisable by its name
			execute(c.admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		}
	}
}
