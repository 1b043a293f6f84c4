package statedir_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/statedir"
	"callgate/tool"
)

// The ID of a node is made once, and stays.
func TestNode(t *testing.T) {
	t.Parallel()
	d := at(t, t.TempDir())
	if id, err := d.ReadNode(); id != "" || err != nil {
		t.Errorf("before it is made it is %q, %v", id, err)
	}
	h := hold(t, d)
	first, err := h.Node()
	ok(t, err)
	again, err := h.Node()
	ok(t, err)
	read, err := d.ReadNode()
	ok(t, err)
	if len(first) < 16 || again != first || read != first {
		t.Errorf("it is %q, %q and %q", first, again, read)
	}
	for _, damaged := range []string{"", "short", "../../../etc/passwd", strings.Repeat("a", 65), "with space and more chars"} {
		ok(t, os.WriteFile(filepath.Join(d.String(), "node"), []byte(damaged), 0o600))
		if _, err := h.Node(); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%q: %v", damaged, err)
		}
	}
}

// A directory names a database by a URL, which is never repeated when it is wrong.
func TestDatabaseURL(t *testing.T) {
	t.Parallel()
	d := at(t, t.TempDir())
	if address, err := d.ReadDatabaseURL(); address != "" || err != nil {
		t.Errorf("it is %q, %v", address, err)
	}
	for address, shown := range map[string]string{
		"postgres://ada:geheim@db.example:5432/team": "PostgreSQL, team at db.example:5432",
		"postgresql://db/x?sslmode=verify-full":      "PostgreSQL, x at db",
		"postgres:///x?host=/run/postgresql":         "PostgreSQL, x",
		"mysql://ada:geheim@db/x":                    "",
		"ada:geheim@db":                              "",
		"/var/lib/geheim.db":                         "",
		"postgres://":                                "",
		"postgres://ada:geheim@db/x\npostgres://y":   "",
		"": "",
	} {
		ok(t, d.WriteDatabaseURL(address))
		got, err := d.ReadDatabaseURL()
		switch {
		case shown == "" && (tool.KindOf(err) != tool.Invalid || strings.Contains(err.Error(), "geheim")):
			t.Errorf("%q: %v", address, err)
		case shown != "" && (err != nil || got != address || statedir.DescribeDatabase(address) != shown):
			t.Errorf("%q: %q, %q, %v", address, got, statedir.DescribeDatabase(address), err)
		}
		if info, err := os.Stat(d.DatabaseURL()); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("the file is %v, %v", info, err)
		}
	}
}
