package migrate_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"callgate/internal/cli"
	"callgate/internal/cli/command"
	"callgate/internal/statedir"
	"callgate/internal/storage/postgres/postgrestest"
)

var server postgrestest.Server

func TestMain(m *testing.M) {
	_ = os.Setenv("CALLGATE_KEYRING", "off")
	os.Exit(server.Main(m))
}

// person runs command lines in a state directory.
type person struct {
	t     *testing.T
	state string
	env   map[string]string
}

func (p person) run(stdin string, args ...string) (code int, stdout, stderr string) {
	p.t.Helper()
	var out, status bytes.Buffer
	code = cli.Run(p.t.Context(), command.Host{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &status, Dir: p.t.TempDir(),
		Getenv: func(name string) string { return p.env[name] },
	}, append([]string{"--state", p.state}, args...))
	if strings.Contains(out.String()+status.String(), postgrestest.Password) {
		p.t.Errorf("%v tells the password:\n%s%s", args, out.String(), status.String())
	}
	return code, out.String(), status.String()
}

func (p person) must(stdin string, args ...string) (stdout, stderr string) {
	p.t.Helper()
	code, stdout, stderr := p.run(stdin, args...)
	if code != 0 {
		p.t.Fatalf("%v: exit code %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout, stderr
}

// TestMigrate moves what a kernel has kept there and back, with the command line alone.
func TestMigrate(t *testing.T) {
	t.Parallel()
	p := person{t, t.TempDir(), map[string]string{}}
	url := server.URL(t)
	if code, _, stderr := p.run("", "migrate"); code == 0 || !strings.Contains(stderr, "CALLGATE_DATABASE") {
		t.Errorf("no database is named: %d, %s", code, stderr)
	}
	p.must("", "tools", "call", "filesystem.list", "--path", ".")
	before, _ := p.must("", "log", "verify")
	stdout, stderr := p.must(url+"\n", "migrate", "--to", "-", "--dry-run")
	if !strings.Contains(stdout, "records") || strings.Contains(stdout, "DIGEST") ||
		!strings.Contains(stderr, "nothing was changed") {
		t.Errorf("dry run:\n%s%s", stdout, stderr)
	}
	stdout, stderr = p.must(url+"\n", "migrate", "--to", "-")
	if !strings.Contains(stdout, "DIGEST") || !strings.Contains(stderr, "callgate.db.moved") {
		t.Errorf("migrate:\n%s%s", stdout, stderr)
	}
	if after, _ := p.must("", "log", "verify"); !strings.Contains(after, "intact") {
		t.Errorf("the journal after the move:\n%s\nbefore:\n%s", after, before)
	}
	if listed, _ := p.must("", "log", "tail"); !strings.Contains(listed, "filesystem") {
		t.Errorf("the journal has lost a call:\n%s", listed)
	}
	p.must("", "tools", "call", "filesystem.list", "--path", ".")
	p.env["CALLGATE_DATABASE"] = url
	if code, _, stderr := p.run("", "migrate"); code == 0 || !strings.Contains(stderr, "already") {
		t.Errorf("once more: %d, %s", code, stderr)
	}
	clear(p.env)
	stdout, _ = p.must("", "migrate", "--back", "--json")
	var result struct {
		Stores []struct{ Rows int }
		Moved  bool
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || !result.Moved || len(result.Stores) == 0 {
		t.Errorf("back: %v\n%s", err, stdout)
	}
	p.must("", "log", "verify")
}

// TestDatabaseIsNamedByHand: a file that names a database, beside a callgate.db that was never copied there, does not
// stand for a move. Nothing is used until everything was really moved.
func TestDatabaseIsNamedByHand(t *testing.T) {
	t.Parallel()
	p := person{t, t.TempDir(), map[string]string{}}
	url := server.URL(t)
	p.must("", "tools", "call", "filesystem.list", "--path", ".")
	if err := statedir.Dir(p.state).WriteDatabaseURL(url); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := p.run("", "log", "tail"); code == 0 || !strings.Contains(stderr, "callgate migrate") {
		t.Fatalf("the database is used: %d, %s", code, stderr)
	}
	p.env["CALLGATE_DATABASE"] = url
	stdout, _ := p.must("", "migrate")
	if !strings.Contains(stdout, "DIGEST") {
		t.Errorf("nothing was copied:\n%s", stdout)
	}
	clear(p.env)
	if listed, _ := p.must("", "log", "tail"); !strings.Contains(listed, "filesystem") {
		t.Errorf("the journal has lost a call:\n%s", listed)
	}
}
