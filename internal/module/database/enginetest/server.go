package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	// The drivers of the administrators' connections.
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
)

// Password is the password of every server. No result and no error may contain it.
const Password = "h0rse%battery'staple"

var errNotInstalled = errors.New("not installed")

// Servers starts the servers of one test process, each when a test first needs
// it. The zero value is ready; a test package declares one and stops it in its
// TestMain, by Main.
type Servers struct {
	// Own makes the PostgreSQL server one of this test process even if a run of tests
	// shares one, for tests that crash it.
	Own bool

	postgres, mariadb lazyServer

	mu    sync.Mutex
	stops []func()
}

type lazyServer struct {
	once   sync.Once
	server *Server
	err    error
}

// Server is a running server.
type Server struct {
	Port   int
	Socket string // its socket, or the folder of its socket, as the driver wants it
	User   string // has every privilege
	Admin  *sql.DB
	// Database is the database of Admin. No other test process uses it.
	Database string

	start     func() error // of a server that can be crashed
	data      string       // its folder
	prefix    string       // of the names of this process's databases
	databases atomic.Int64
}

// Main runs the tests of a package and stops the servers. It returns the exit code.
func (s *Servers) Main(m *testing.M) int {
	code := m.Run()
	s.Stop()
	return code
}

// Stop stops the servers, for a package that has more of them than those of Main.
func (s *Servers) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.stops) - 1; i >= 0; i-- {
		s.stops[i]()
	}
	s.stops = nil
}

func (s *Servers) atEnd(stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stops = append(s.stops, stop)
}

// Postgres returns the PostgreSQL server. It skips the test where none is installed.
func (s *Servers) Postgres(t testing.TB) *Server {
	t.Helper()
	return s.postgres.get(t, s.startPostgres)
}

// MariaDB returns the MariaDB server. It skips the test where none is installed.
func (s *Servers) MariaDB(t testing.TB) *Server {
	t.Helper()
	return s.mariadb.get(t, s.startMariaDB)
}

func (l *lazyServer) get(t testing.TB, start func() (*Server, error)) *Server {
	t.Helper()
	l.once.Do(func() { l.server, l.err = start() })
	switch {
	case errors.Is(l.err, errNotInstalled):
		t.Skip(l.err)
	case l.err != nil:
		t.Fatal(l.err)
	}
	return l.server
}

// NewDatabase creates an empty database and returns its name.
func (s *Server) NewDatabase(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("%st%d", s.prefix, s.databases.Add(1))
	if _, err := s.Admin.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	return name
}

func (s *Servers) startPostgres() (*Server, error) {
	if dir := os.Getenv(SharedVariable); dir != "" && !s.Own {
		return s.joinShared(dir)
	}
	dir, err := s.folder("callgate-pg", "postgres")
	if err != nil {
		return nil, err
	}
	server, stop, err := startPostgresIn(dir)
	if err != nil {
		return nil, err
	}
	s.atEnd(stop)
	return server, nil
}

// startPostgresIn starts a new PostgreSQL server whose files are in dir, which the user
// postgres must own.
func startPostgresIn(dir string) (*Server, func(), error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, nil, err
	}
	passwordFile := filepath.Join(dir, "password")
	if err := os.WriteFile(passwordFile, []byte(Password), 0o644); err != nil {
		return nil, nil, err
	}
	data := filepath.Join(dir, "data")
	if err := run("postgres", filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "scram-sha-256",
		"--pwfile", passwordFile, "--no-sync", "-E", "UTF8"); err != nil {
		return nil, nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, nil, err
	}
	ctl := filepath.Join(bin, "pg_ctl")
	options := fmt.Sprintf("-p %d -k %s -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=300", port, dir)
	start := func() error {
		err := run("postgres", ctl, "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o", options, "start")
		if log, _ := os.ReadFile(filepath.Join(dir, "log")); err != nil {
			err = fmt.Errorf("%w\n%s", err, log)
		}
		return err
	}
	if err := start(); err != nil {
		return nil, nil, err
	}
	stop := func() { _ = run("postgres", ctl, "-D", data, "-m", "immediate", "stop") }
	admin, err := openPostgres(port, "postgres")
	return &Server{Port: port, Socket: dir, User: "postgres", Admin: admin, Database: "postgres", start: start, data: data}, stop, err
}

// openPostgres returns a connection pool of the administrator.
func openPostgres(port int, database string) (*sql.DB, error) {
	address := url.URL{
		Scheme: "postgres", User: url.UserPassword("postgres", Password),
		Host: fmt.Sprintf("127.0.0.1:%d", port), Path: "/" + database,
	}
	return sql.Open("pgx", address.String())
}

// postgresBin returns the folder of the newest PostgreSQL's programs.
func postgresBin() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", fmt.Errorf("PostgreSQL is %w (apt-get install postgresql)", errNotInstalled)
	}
	return filepath.Dir(path), nil
}

func (s *Servers) startMariaDB() (*Server, error) {
	install, err1 := exec.LookPath("mariadb-install-db")
	daemon, err2 := exec.LookPath("mariadbd")
	if err1 != nil || err2 != nil {
		return nil, fmt.Errorf("MariaDB is %w (apt-get install mariadb-server)", errNotInstalled)
	}
	dir, err := s.folder("callgate-maria", "mysql")
	if err != nil {
		return nil, err
	}
	data, socket, pidFile := filepath.Join(dir, "data"), filepath.Join(dir, "s"), filepath.Join(dir, "pid")
	own := "--tmpdir=" + dir // one that starts deletes the temporary tables of others in a folder that they share
	if err := run("mysql", install, "--no-defaults", "--datadir="+data, own,
		"--auth-root-authentication-method=normal", "--skip-test-db"); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	server := command("mysql", daemon, "--no-defaults", "--datadir="+data, own, "--socket="+socket,
		"--port="+strconv.Itoa(port), "--bind-address=127.0.0.1", "--pid-file="+pidFile,
		"--innodb-flush-log-at-trx-commit=0", "--secure-file-priv=", "--character-set-server=utf8mb4")
	if err := server.Start(); err != nil {
		return nil, err
	}
	s.atEnd(func() { stopMariaDB(pidFile, server) })
	if err := createUser(socket); err != nil {
		return nil, err
	}
	admin, err := sql.Open("mysql", fmt.Sprintf("app:%s@tcp(127.0.0.1:%d)/", Password, port))
	return &Server{Port: port, Socket: socket, User: "app", Admin: admin}, err
}

// createUser waits for a new server and creates the user app.
func createUser(socket string) error {
	root, err := sql.Open("mysql", "root@unix("+socket+")/")
	if err != nil {
		return err
	}
	defer root.Close()
	if err := awaitServer(root); err != nil {
		return err
	}
	password := strings.ReplaceAll(Password, "'", "''")
	if _, err := root.Exec("CREATE USER 'app'@'%' IDENTIFIED BY '" + password + "'"); err != nil {
		return err
	}
	_, err = root.Exec("GRANT ALL PRIVILEGES ON *.* TO 'app'@'%' WITH GRANT OPTION")
	return err
}

// awaitServer waits until a server accepts connections.
func awaitServer(db *sql.DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
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

// stopMariaDB ends the server. Its process may be a child of the one that was started.
func stopMariaDB(pidFile string, started *exec.Cmd) {
	if text, err := os.ReadFile(pidFile); err == nil {
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
	}
	_ = started.Process.Kill()
	_ = started.Wait()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// folder creates a folder that the owner of a server may write.
func (s *Servers) folder(name, owner string) (string, error) {
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return "", err
	}
	s.atEnd(func() { _ = os.RemoveAll(dir) })
	return dir, give(dir, owner)
}

// command returns a command that runs as the owner of a server. Servers refuse
// to run as root.
func command(owner, name string, args ...string) *exec.Cmd {
	if os.Geteuid() != 0 {
		return exec.Command(name, args...)
	}
	return exec.Command("runuser", append([]string{"-u", owner, "--", name}, args...)...)
}

func run(owner, name string, args ...string) error {
	if out, err := command(owner, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, out)
	}
	return nil
}
