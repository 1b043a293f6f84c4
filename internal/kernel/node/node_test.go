package node_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/kernel/node"
	"callgate/internal/statedir"
	"callgate/internal/storage/postgres/postgrestest"
	"callgate/tool"
)

var server postgrestest.Server

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hold takes a fresh state directory.
func hold(t testing.TB) *statedir.Held {
	t.Helper()
	dir, err := statedir.At(t.TempDir())
	ok(t, err)
	held, err := dir.Hold()
	ok(t, err)
	t.Cleanup(func() { ok(t, held.Release()) })
	return held
}

func TestOpenFile(t *testing.T) {
	t.Parallel()
	state, elsewhere := hold(t), filepath.Join(t.TempDir(), "other.db")
	for place, file := range map[string]string{"": state.Database(), elsewhere: elsewhere} {
		n, held, err := node.Open(t.Context(), node.Options{Place: place, State: state})
		ok(t, err)
		if held != nil || n.ID != "" || n.Stopped() != nil || n.Draining() != nil || n.Secret() != "" {
			t.Errorf("%q: it is not that of a kernel alone: %+v, %v", place, n, held)
		}
		if members, err := n.Members(t.Context()); err != nil || len(members) != 0 {
			t.Errorf("%q: its members are %v, %v", place, members, err)
		}
		ok(t, n.Close())
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%q: %v", place, err)
		}
	}
}

// What cannot be opened says what to do, and never shows a password.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	write := func(name, text string) func(*testing.T, *statedir.Held) {
		return func(t *testing.T, s *statedir.Held) {
			ok(t, os.WriteFile(filepath.Join(s.String(), name), []byte(text), 0o600))
		}
	}
	const id = "abcdefghijklmnopqrstuvwxyz"
	for name, tt := range map[string]struct {
		place   string
		prepare func(*testing.T, *statedir.Held)
		kind    tool.Kind
		want    string
	}{
		"another kind": {"mysql://ada:geheimnis@db", nil, tool.Invalid, `no storage of the kind "mysql"`},
		"no server": {"postgres://ada:geheimnis@127.0.0.1:1/callgate", nil, tool.Unavailable,
			"see that the server runs and can be reached"},
		"no URL": {"postgres://ada:geheim%nis@127.0.0.1:port/x", nil, tool.Invalid, "not the URL of a PostgreSQL database"},
		"a directory with a file of its own": {"postgres://ada:geheimnis@127.0.0.1:1/callgate", write("callgate.db", "x"),
			tool.Invalid, "callgate migrate moves it"},
		"that of a node, without its database": {"", write("node", id+"\n"), tool.Invalid, "CALLGATE_DATABASE or --database"},
		"a damaged ID":                         {"postgres://ada:geheimnis@127.0.0.1:1/callgate", write("node", "../x\n"), tool.Invalid, "is damaged"},
		"a database file of two lines":         {"", write("database", "postgres://a\npostgres://b\n"), tool.Invalid, "one line with the URL"},
		"a database file that is empty":        {"", write("database", " \n"), tool.Invalid, "one line with the URL"},
		"a database file that names no server": {"", write("database", "postgres://ada:geheimnis@127.0.0.1:1/callgate\n"),
			tool.Unavailable, "see that the server runs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := hold(t)
			if tt.prepare != nil {
				tt.prepare(t, state)
			}
			for _, short := range []bool{false, true} {
				n, _, err := node.Open(t.Context(), node.Options{Place: tt.place, State: state, ShortLived: short})
				if err == nil {
					ok(t, n.Close())
				}
				if tool.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v\nwant %s: %s", err, tt.kind, tt.want)
				}
				if err != nil && strings.Contains(err.Error(), "geheim") {
					t.Errorf("the password is shown: %v", err)
				}
			}
		})
	}
}

// A database file that others may read is not used.
func TestSharedDatabaseFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there a file has no mode")
	}
	state := hold(t)
	ok(t, os.WriteFile(state.DatabaseURL(), []byte("postgres://ada:geheimnis@127.0.0.1:1/x\n"), 0o600))
	ok(t, os.Chmod(state.DatabaseURL(), 0o644))
	_, _, err := node.Open(t.Context(), node.Options{State: state})
	if tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v", err)
	}
	if exposed := strings.Join(state.Exposed(), "\n"); !strings.Contains(exposed, "database is open to others") {
		t.Errorf("exposed are %s", exposed)
	}
}
