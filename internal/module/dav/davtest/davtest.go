// Package davtest has a real CalDAV and CardDAV server for tests: Radicale, as a process of its
// own with a folder and a port of its own. Law: it is started when a test first needs it, and
// ends with the tests.
package davtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Password is that of every user.
const Password = "h0rse.battery-staple"

// users is how many there may be.
const users = 200

var errNotInstalled = errors.New("not installed")

// Servers starts the server of one test process. The zero value is ready; a test package
// declares one and stops it in its TestMain, by Main.
type Servers struct {
	once   sync.Once
	server *Server
	err    error
	stops  []func()
}

// Server is a running server.
type Server struct {
	URL string

	dir  string
	used atomic.Int64
}

// Main runs the tests of a package and stops the server. It returns the exit code.
func (s *Servers) Main(m *testing.M) int {
	code := m.Run()
	for i := len(s.stops) - 1; i >= 0; i-- {
		s.stops[i]()
	}
	return code
}

// Get returns the server. It skips the test where none is installed.
func (s *Servers) Get(t testing.TB) *Server {
	t.Helper()
	s.once.Do(func() { s.server, s.err = s.start() })
	switch {
	case errors.Is(s.err, errNotInstalled):
		t.Skip(s.err)
	case s.err != nil:
		t.Fatal(s.err)
	}
	return s.server
}

// NewUser makes a user with collections, whose names are given with their types: VCALENDAR or
// VADDRESSBOOK. It returns the user's name.
func (s *Server) NewUser(t testing.TB, collections map[string]string) string {
	t.Helper()
	name := fmt.Sprintf("u%d", s.used.Add(1))
	for title, tag := range collections {
		s.Write(t, name, title, ".Radicale.props", asJSON(t, map[string]string{"tag": tag, "D:displayname": title}))
	}
	return name
}

func asJSON(t testing.TB, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Write puts a file into a collection of a user, as another program might have.
func (s *Server) Write(t testing.TB, user, collection, name, text string) {
	t.Helper()
	dir := filepath.Join(s.dir, "collections", "collection-root", user, collection)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Log is what the server said.
func (s *Server) Log() string {
	said, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(said)
}

func (s *Servers) start() (*Server, error) {
	program, err := exec.LookPath("radicale")
	if err != nil {
		return nil, fmt.Errorf("a CalDAV server is %w (apt-get install radicale)", errNotInstalled)
	}
	dir, err := os.MkdirTemp("", "callgate-dav")
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() { _ = os.RemoveAll(dir) })
	var logins []byte
	for i := range users {
		logins = fmt.Appendf(logins, "u%d:%s\n", i+1, Password)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	_ = l.Close()
	config := fmt.Sprintf("[server]\nhosts = %[2]s\n[auth]\ntype = htpasswd\nhtpasswd_filename = %[1]s/users\n"+
		"htpasswd_encryption = plain\ndelay = 0\n[storage]\nfilesystem_folder = %[1]s/collections\n", dir, address)
	for name, text := range map[string]string{"config": config, "users": string(logins)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c := exec.Command(program, "-C", filepath.Join(dir, "config"))
	c.Stdout, c.Stderr, c.Dir = log, log, dir
	if err := c.Start(); err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() { _ = c.Process.Kill(); _ = c.Wait() })
	return &Server{URL: "http://" + address + "/", dir: dir}, await(address, log.Name())
}

// await waits until the server listens.
func await(address, log string) error {
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(log)
			return fmt.Errorf("the CalDAV server does not listen: %w: %s", err, said)
		}
		<-tick.C
	}
}
