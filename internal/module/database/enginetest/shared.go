package enginetest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// SharedVariable names the folder of a PostgreSQL server that all test processes of a run
// share. scripts/check starts it. Each process has its own databases there.
const SharedVariable = "CALLGATE_TEST_POSTGRES"

// portFile is the file in the folder of a shared server that holds its port.
const portFile = "port"

// StartShared starts a PostgreSQL server in dir and stops a server that an earlier run
// left there. The environment variable SharedVariable hands dir to the tests. It returns
// an error if PostgreSQL is not installed.
func StartShared(dir string) (stop func(), err error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	if data := filepath.Join(dir, "data"); isDir(data) {
		_ = run("postgres", filepath.Join(bin, "pg_ctl"), "-D", data, "-m", "immediate", "stop") // it may have ended
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := give(dir, "postgres"); err != nil {
		return nil, err
	}
	server, stopServer, err := startPostgresIn(dir)
	if err != nil {
		return nil, err
	}
	port := []byte(strconv.Itoa(server.Port))
	return func() { stopServer(); _ = os.RemoveAll(dir) }, os.WriteFile(filepath.Join(dir, portFile), port, 0o644)
}

// NotInstalled reports whether an error says that a server is not installed.
func NotInstalled(err error) bool { return errors.Is(err, errNotInstalled) }

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// joinShared connects to the shared server and creates a database for this process.
func (s *Servers) joinShared(dir string) (*Server, error) {
	text, err := os.ReadFile(filepath.Join(dir, portFile))
	if err != nil {
		return nil, fmt.Errorf("%s names no running server: %w", SharedVariable, err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, err
	}
	all, err := openPostgres(port, "postgres")
	if err != nil {
		return nil, err
	}
	prefix := "p" + strings.ToLower(rand.Text()[:8]) + "_"
	name := prefix + "tests"
	if _, err := all.Exec("CREATE DATABASE " + name); err != nil {
		return nil, err
	}
	admin, err := openPostgres(port, name)
	if err != nil {
		return nil, err
	}
	s.atEnd(func() {
		_ = admin.Close()
		_, _ = all.Exec("DROP DATABASE " + name + " WITH (FORCE)")
		_ = all.Close()
	})
	return &Server{Port: port, Socket: dir, User: "postgres", Admin: admin, Database: name, prefix: prefix}, nil
}

// give makes the owner of a server the owner of its folder. Only root can and must.
func give(dir, owner string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup(owner)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	return os.Chown(dir, uid, gid)
}
