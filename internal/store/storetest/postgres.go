package storetest

import (
	"bytes"
	"errors"
	"fmt"
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
)

// Cluster is a PostgreSQL server for tests: the one that GRENSE_TEST_POSTGRES names (the address of a superuser), else one of installed
// binaries in a temporary folder. Its zero value starts when it is first used; Stop ends it.
type Cluster struct {
	once  sync.Once
	err   error
	admin string // address of a superuser in the database postgres
	dir   string // of a server of ours; "" when it is another's
	bin   string
	run   *syscall.Credential // nil: as we are
	names atomic.Int64

	mu      sync.Mutex
	lasting []string // databases that Stop removes
}

// missing says what to install.
const missing = "these tests need PostgreSQL with PostGIS: install postgresql and postgis (on Debian: apt-get install postgresql postgresql-15-postgis-3), " +
	"or set GRENSE_TEST_POSTGRES to the address of a superuser of a server for tests"

// Database makes a new database with PostGIS, removed when the test ends, and returns its address as a superuser. Without a server the test
// fails: nothing is skipped silently.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	name := c.create(t)
	t.Cleanup(func() {
		if err := c.psql(c.admin, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return c.address(name)
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

func (c *Cluster) create(t testing.TB) string {
	t.Helper()
	c.once.Do(func() { c.err = c.start() })
	if c.err != nil {
		t.Fatal(c.err)
	}
	name := fmt.Sprintf("grense_test_%d_%d", os.Getpid(), c.names.Add(1))
	if err := c.psql(c.admin, "CREATE DATABASE "+name+" TEMPLATE "+c.template()); err != nil {
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
	c.admin = os.Getenv("GRENSE_TEST_POSTGRES")
	c.bin = binaries()
	if c.bin == "" {
		return errors.New(missing)
	}
	if c.admin == "" {
		if err := c.boot(); err != nil {
			return err
		}
	} else if _, err := url.Parse(c.admin); err != nil {
		return errors.New("GRENSE_TEST_POSTGRES is not a URL")
	}
	return errors.Join(c.psql(c.admin, "CREATE DATABASE "+c.template()), c.psql(c.address(c.template()), "CREATE EXTENSION postgis"))
}

// binaries returns the folder of initdb and psql of the newest PostgreSQL; "" when there is none.
func binaries() string {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is sound
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

// boot makes and starts a server. PostgreSQL does not run as root: then it runs as postgres or nobody.
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
	data := filepath.Join(c.dir, "data")
	if err := c.command("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	if err := l.Close(); err != nil {
		return err
	}
	c.admin = "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable"
	return c.command("pg_ctl", "-D", data, "-w", "-l", filepath.Join(c.dir, "log"), "-o", "-p "+port+" -k "+c.dir+
		" -c listen_addresses=127.0.0.1 -c fsync=off -c full_page_writes=off -c max_connections=60 -c shared_buffers=64MB", "start")
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

func (c *Cluster) psql(address, sql string) error {
	return c.command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", sql)
}

// Halt stops a server of ours at once, as a crash does, and Resume starts it again; false when the server is another's.
func (c *Cluster) Halt() (bool, error) {
	if c.dir == "" {
		return false, nil
	}
	return true, c.command("pg_ctl", "-D", filepath.Join(c.dir, "data"), "-m", "immediate", "-w", "stop")
}

// Resume starts a server again that Halt stopped.
func (c *Cluster) Resume() error {
	u, err := url.Parse(c.admin)
	if err != nil {
		return err
	}
	return c.command("pg_ctl", "-D", filepath.Join(c.dir, "data"), "-w", "-l", filepath.Join(c.dir, "log"), "-o", "-p "+u.Port()+" -k "+c.dir+
		" -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=60", "start")
}

// Stop ends a server of ours and removes its data; of another's, it removes our databases. Call it when all tests of a package have run.
func (c *Cluster) Stop() {
	switch {
	case c.admin == "":
	case c.dir == "":
		for _, name := range append(c.lasting, c.template()) {
			c.psql(c.admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") // what stays is told by its name
		}
	default:
		c.Halt() // nothing is left to save
		os.RemoveAll(c.dir)
	}
}
