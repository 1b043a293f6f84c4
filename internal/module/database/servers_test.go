package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

func TestMain(m *testing.M) {
	code := m.Run()
	for i := len(stops) - 1; i >= 0; i-- {
		stops[i]()
	}
	os.Exit(code)
}

var stops []func() // of the servers that were started, each once and by the first test that needs it

// server is a real server that was started for these tests.
type server struct {
	port  int
	local string // its socket, or the socket's folder, as the driver wants it
	admin *sql.DB
	err   error
}

var (
	postgresServer = sync.OnceValue(func() server { return startPostgres() })
	mariadbServer  = sync.OnceValue(func() server { return startMariaDB() })
	errNotThere    = errors.New("not installed")
)

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// folder makes a folder that a server may write, as the user it runs as.
func folder(name, owner string) (string, error) {
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return "", err
	}
	stops = append(stops, func() { os.RemoveAll(dir) })
	if os.Geteuid() != 0 {
		return dir, nil
	}
	u, err := user.Lookup(owner)
	if err != nil {
		return "", err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return dir, os.Chown(dir, uid, gid)
}

// as is a command run by the owner of a server, which refuses to run as root.
func as(owner, name string, args ...string) *exec.Cmd {
	if os.Geteuid() != 0 {
		return exec.Command(name, args...)
	}
	return exec.Command("runuser", append([]string{"-u", owner, "--", name}, args...)...)
}

func startPostgres() (s server) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		if path, err := exec.LookPath("initdb"); err == nil {
			found = []string{path}
		}
	}
	if len(found) == 0 {
		s.err = fmt.Errorf("postgres: %w (apt-get install postgresql)", errNotThere)
		return s
	}
	bin := filepath.Dir(found[len(found)-1])
	dir, err := folder("callgate-pg", "postgres")
	if err != nil {
		s.err = err
		return s
	}
	s.local = dir
	data := filepath.Join(dir, "data")
	if out, err := as("postgres", filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "scram-sha-256", "--pwfile", passwordFile(dir), "--no-sync", "-E", "UTF8").CombinedOutput(); err != nil {
		s.err = fmt.Errorf("initdb: %w: %s", err, out)
		return s
	}
	if s.port, s.err = freePort(); s.err != nil {
		return s
	}
	options := fmt.Sprintf("-p %d -k %s -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=50", s.port, dir)
	ctl := filepath.Join(bin, "pg_ctl")
	if out, err := as("postgres", ctl, "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o", options, "start").CombinedOutput(); err != nil {
		s.err = fmt.Errorf("pg_ctl: %w: %s", err, out)
		return s
	}
	stops = append(stops, func() { as("postgres", ctl, "-D", data, "-m", "immediate", "stop").Run() })
	s.admin, s.err = sql.Open("pgx", (&url.URL{Scheme: "postgres", User: url.UserPassword("postgres", secretWord), Host: fmt.Sprintf("127.0.0.1:%d", s.port), Path: "/postgres"}).String())
	return s
}

// secretWord is the password of both servers. It must never be seen again.
const secretWord = "h0rse%battery'staple"

func passwordFile(dir string) string {
	name := filepath.Join(dir, "password")
	_ = os.WriteFile(name, []byte(secretWord), 0o644)
	return name
}

func startMariaDB() (s server) {
	install, err1 := exec.LookPath("mariadb-install-db")
	daemon, err2 := exec.LookPath("mariadbd")
	if err1 != nil || err2 != nil {
		s.err = fmt.Errorf("mariadb: %w (apt-get install mariadb-server)", errNotThere)
		return s
	}
	dir, err := folder("callgate-maria", "mysql")
	if err != nil {
		s.err = err
		return s
	}
	data := filepath.Join(dir, "data")
	if out, err := as("mysql", install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db").CombinedOutput(); err != nil {
		s.err = fmt.Errorf("mariadb-install-db: %w: %s", err, out)
		return s
	}
	if s.port, s.err = freePort(); s.err != nil {
		return s
	}
	socket := filepath.Join(dir, "s")
	s.local = socket
	run := as("mysql", daemon, "--no-defaults", "--datadir="+data, "--socket="+socket, "--port="+strconv.Itoa(s.port),
		"--bind-address=127.0.0.1", "--pid-file="+filepath.Join(dir, "pid"), "--innodb-flush-log-at-trx-commit=0", "--secure-file-priv=", "--character-set-server=utf8mb4")
	if s.err = run.Start(); s.err != nil {
		return s
	}
	stops = append(stops, func() { stopMariaDB(filepath.Join(dir, "pid"), run) })
	root, err := sql.Open("mysql", "root@unix("+socket+")/")
	if err != nil {
		s.err = err
		return s
	}
	defer root.Close()
	if s.err = answers(root); s.err != nil {
		return s
	}
	if _, s.err = root.Exec("CREATE USER 'app'@'%' IDENTIFIED BY '" + strings.ReplaceAll(secretWord, "'", "''") + "'"); s.err != nil {
		return s
	}
	if _, s.err = root.Exec("GRANT ALL PRIVILEGES ON *.* TO 'app'@'%' WITH GRANT OPTION"); s.err != nil {
		return s
	}
	s.admin, s.err = sql.Open("mysql", fmt.Sprintf("app:%s@tcp(127.0.0.1:%d)/", secretWord, s.port))
	return s
}

func stopMariaDB(pidFile string, run *exec.Cmd) {
	if text, err := os.ReadFile(pidFile); err == nil {
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			if p, err := os.FindProcess(pid); err == nil {
				p.Kill()
			}
		}
	}
	run.Process.Kill()
	run.Wait()
}

// answers waits until a server does.
func answers(db *sql.DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

var fresh atomic.Int64

// newDatabase makes an empty database on a server.
func newDatabase(t testing.TB, s server) string {
	t.Helper()
	switch {
	case errors.Is(s.err, errNotThere):
		t.Skip(s.err)
	case s.err != nil:
		t.Fatal(s.err)
	}
	name := fmt.Sprintf("t%d", fresh.Add(1))
	if _, err := s.admin.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	return name
}
