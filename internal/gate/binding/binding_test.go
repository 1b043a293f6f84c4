package binding_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/binding"
	"callgate/tool"
)

// One file has one name, also where a part of its path does not exist yet.
func TestPathHasOneName(t *testing.T) {
	t.Parallel()
	ground, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	workspace := filepath.Join(ground, "work")
	for _, dir := range []string{workspace + "/real/deep", ground + "/outside/deep"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"link": "real", "chain": "link", "new": "real/deep/new.txt", "up": "real/deep/../other.txt", "loop": "loop",
		"real/deep/back": "../../link/back.txt", "out": "../outside/deep", "far": filepath.Join(ground, "outside"),
	} {
		if err := os.Symlink(target, filepath.Join(workspace, link)); err != nil {
			t.Fatal(err)
		}
	}
	// In a folder that is reached through a link, ".." is the parent of the link's target.
	if err := os.Symlink("../secret", filepath.Join(ground, "outside/deep/dangling")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(workspace, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"a": "a", "./a/../b": "b", "real/x/y/z": "real/x/y/z", "link/x/y": "real/x/y", "chain/x": "real/x",
		"new": "real/deep/new.txt", "up": "real/other.txt", "real/deep/back": "real/back.txt", "new/x": "real/deep/new.txt/x",
		filepath.Join(workspace, "link"): "real", ".": ".",
	} {
		got, err := binding.Canonical(workspace, path)
		if err != nil || got != filepath.Join(workspace, want) {
			t.Errorf("%s is %s, %v; want %s", path, got, err, want)
		}
	}
	for path, kind := range map[string]tool.Kind{
		"out": tool.Denied, "out/x": tool.Denied, "out/dangling": tool.Denied, "far/x": tool.Denied, "../x": tool.Denied,
		"loop": tool.Invalid, "loop/x": tool.Invalid, "file/x": tool.Invalid, "a\x00b": tool.Invalid,
		strings.Repeat("a/", 1<<20): tool.Invalid,
	} {
		began := time.Now()
		if got, err := binding.Canonical(workspace, path); tool.KindOf(err) != kind {
			t.Errorf("%.40q is %.40q, %v; want %s", path, got, err, kind)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%.40q took %v", path, took)
		}
	}
}

// The file of a SQLite database is a claim, however the call names it.
func TestSQLiteFile(t *testing.T) {
	t.Parallel()
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	effects := []tool.Effect{
		{Resource: "file:{database|sqlite}", Mode: tool.S, Unless: []string{"host", "dsn"}},
		{Resource: "file:{dsn|sqlite}", Mode: tool.S},
	}
	for args, want := range map[string]string{
		`{"driver": "sqlite", "database": "a/../x.db"}`:                    "x.db",
		`{"driver": "sqlite", "database": "x.db", "host": ""}`:             "x.db",
		`{"driver": "sqlite3", "database": ":memory:"}`:                    "",
		`{"dsn": "sqlite:x.db"}`:                                           "x.db",
		`{"dsn": "sqlite:./x.db"}`:                                         "x.db",
		`{"dsn": "SQLite3:x.db"}`:                                          "x.db",
		`{"dsn": "sqlite://x.db", "database": "y.db"}`:                     "x.db",
		`{"dsn": "sqlite::memory:"}`:                                       "",
		`{"dsn": "postgres://u@h/x.db"}`:                                   "",
		`{"dsn": "mysql://u@h/x", "database": "y"}`:                        "",
		`{"driver": "postgres", "host": "db", "database": "shop"}`:         "",
		`{"driver": "mysql", "host": "/run/mysqld.sock", "database": "s"}`: "",
	} {
		claims, err := binding.Claims(workspace, effects, []byte(args))
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		got := ""
		if len(claims) > 0 {
			got = claims[0].Resource
		}
		if want != "" {
			want = binding.FileResource(filepath.Join(workspace, want))
		}
		if got != want || len(claims) > 1 {
			t.Errorf("%s: %v, want %q", args, claims, want)
		}
	}
}
