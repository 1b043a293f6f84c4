// Package postgrestest is a real PostgreSQL server for the tests of what keeps something in one.
//
// A test package declares a server, which starts when a test first needs it, and stops it in its TestMain:
//
//	var server postgrestest.Server
//
//	func TestMain(m *testing.M) { os.Exit(server.Main(m)) }
//
//	func TestX(t *testing.T) { db, err := postgres.Open(t.Context(), server.URL(t), …) }
//
// Where PostgreSQL is not installed, the test that asks for the server is skipped with a message.
package postgrestest

import (
	"database/sql"
	"net/url"
	"strconv"
	"testing"

	"callgate/internal/module/database/enginetest"
)

// Password is the password in every URL. Nothing that is shown, logged or kept may contain it.
const Password = enginetest.Password

// Server is a PostgreSQL server on 127.0.0.1. The zero value is ready; it is safe for concurrent use. All test
// processes of `make test` share one server, in which each has its own databases.
type Server struct{ servers enginetest.Servers }

// Own returns a server that no other test process uses, for tests that crash it. The caller stops it.
func Own() *Server { return &Server{enginetest.Servers{Own: true}} }

// Main runs the tests of a package and stops the server. It returns the exit code.
func (s *Server) Main(m *testing.M) int { return s.servers.Main(m) }

// Stop stops the server, for a package that has more of them than that of Main.
func (s *Server) Stop() { s.servers.Stop() }

// URL is that of a fresh database, which is dropped when the test ends. Making one takes some tens of milliseconds and
// megabytes: a package with many tests gives each a schema instead.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	server := s.servers.Postgres(t)
	name := server.NewDatabase(t)
	t.Cleanup(func() {
		if _, err := server.Admin.Exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"); err != nil {
			t.Logf("dropping the database of the test: %v", err)
		}
	})
	return s.address(t, "/"+name, nil)
}

// Schema is the URL of a schema in the one database that such tests share. Who opens it makes the schema.
func (s *Server) Schema(t testing.TB, name string) string {
	t.Helper()
	return s.address(t, "/"+s.servers.Postgres(t).Database, url.Values{"search_path": {name}})
}

func (s *Server) address(t testing.TB, database string, options url.Values) string {
	t.Helper()
	if options == nil {
		options = url.Values{}
	}
	options.Set("sslmode", "disable")
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(s.servers.Postgres(t).User, Password),
		Host: s.Host(t), Path: database, RawQuery: options.Encode(),
	}
	return u.String()
}

// Host is the host and the port of the server.
func (s *Server) Host(t testing.TB) string {
	t.Helper()
	return "127.0.0.1:" + strconv.Itoa(s.servers.Postgres(t).Port)
}

// Admin is a connection that may do everything, to the database that schemas share.
func (s *Server) Admin(t testing.TB) *sql.DB {
	t.Helper()
	return s.servers.Postgres(t).Admin
}

// Crash kills every process of the server, as hard as can be, and waits until they are gone. It skips the test where
// the system has no /proc.
func (s *Server) Crash(t testing.TB) {
	t.Helper()
	s.servers.Postgres(t).Crash(t)
}

// Start starts the server again after a crash, and waits until it has recovered.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.servers.Postgres(t).Start(t)
}
