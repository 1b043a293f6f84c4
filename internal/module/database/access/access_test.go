package access

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/database/engine"
	"callgate/tool"
)

func TestDriver(t *testing.T) {
	for name, want := range map[string]string{
		"sqlite": "sqlite", "SQLite3": "sqlite", "postgres": "postgres", "postgresql": "postgres", "pg": "postgres",
		"mysql": "mysql", "MariaDB": "mysql", "": "", "oracle": "", "sqlite ": "",
	} {
		got, err := Driver(name)
		if got != want || (want == "") != (tool.KindOf(err) == tool.Invalid) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

func TestNormalize(t *testing.T) {
	for name, c := range map[string]struct {
		in, want Target
		errHas   string
	}{
		"fields": {Target{Driver: "pg", Host: "h"}, Target{Driver: "postgres", Host: "h"}, ""},
		"postgres": {
			Target{DSN: "postgres://ada:p%40ss@db.test:6543/shop?sslmode=require"},
			Target{
				Driver: "postgres", Host: "db.test", Port: 6543, User: "ada", Password: "p@ss", Database: "shop", TLS: "require",
			}, "",
		},
		"mysql, little":       {Target{DSN: "mysql://db.test"}, Target{Driver: "mysql", Host: "db.test"}, ""},
		"sqlite":              {Target{DSN: "sqlite:a/data.db"}, Target{Driver: "sqlite", Database: "a/data.db"}, ""},
		"sqlite, two slashes": {Target{DSN: "sqlite://data.db"}, Target{Driver: "sqlite", Database: "data.db"}, ""},
		"an IPv6 address": {
			Target{DSN: "mysql://u@[::1]:33/x"},
			Target{Driver: "mysql", Host: "::1", Port: 33, User: "u", Database: "x"}, "",
		},
		"sqlite with a host":   {Target{Driver: "sqlite", Host: "h", Database: "x.db"}, Target{}, "is a file and has no host"},
		"no driver":            {Target{}, Target{}, "driver is missing"},
		"an unknown driver":    {Target{Driver: "oracle"}, Target{}, "not a driver"},
		"an unknown scheme":    {Target{DSN: "oracle://x"}, Target{}, "known driver"},
		"no scheme":            {Target{DSN: "db.test"}, Target{}, "known driver"},
		"nothing behind it":    {Target{DSN: "postgres:"}, Target{}, "cannot be read"},
		"a port of letters":    {Target{DSN: "postgres://h:x/y"}, Target{}, "cannot be read"},
		"an unknown parameter": {Target{DSN: "mysql://h/y?allowAllFiles=true"}, Target{}, "allowAllFiles"},
		"an unknown tls":       {Target{Driver: "mysql", TLS: "maybe"}, Target{}, "TLS"},
		"an unknown sslmode":   {Target{DSN: "postgres://h/y?sslmode=none"}, Target{}, "TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.in
			err := got.Normalize()
			if c.errHas != "" {
				if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), c.errHas) {
					t.Errorf("%v, want %q", err, c.errHas)
				}
				return
			}
			got.DSN = ""
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

// No error of a DSN contains its password.
func FuzzNormalize(f *testing.F) {
	for _, s := range []string{
		"postgres://u:SECRETPASSWORD@h/d", "mysql://u:SECRETPASSWORD@h:x/d", "pg://SECRETPASSWORD", "x:SECRETPASSWORD",
		"mysql://h/d?SECRETPASSWORD=1", "postgres://u:SECRETPASSWORD@[::1/d",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		target := Target{DSN: dsn}
		err := target.Normalize()
		if err == nil && target.Driver == "" {
			t.Fatalf("%q has no driver and no error", dsn)
		}
		before, after, hasPassword := strings.Cut(dsn, ":SECRETPASSWORD@")
		if hasPassword && err != nil && !strings.Contains(before+after, "SECRETPASSWORD") &&
			strings.Contains(err.Error(), "SECRETPASSWORD") {
			t.Fatalf("%q: %v", dsn, err)
		}
	})
}

func TestScrub(t *testing.T) {
	target := Target{Password: "p@ss word", DSN: "mysql://u:p%40ss@h/d"}
	cause := errors.New("cause p@ss word")
	err := target.scrub(tool.Errorf("", tool.Denied, "p@ss word, p%%40ss%%20word, p%%40ss+word: %w", cause).
		WithHint("not p@ss word"))
	var e *tool.Error
	if !errors.As(err, &e) || e.Err != nil {
		t.Fatalf("%v", err)
	}
	if text := e.Error() + e.Hint; strings.Contains(text, "p@ss") || strings.Contains(text, "p%40ss") {
		t.Error(text)
	}
	if err := target.scrub(errors.New("dial p@ss word")); strings.Contains(err.Error(), "p@ss") {
		t.Errorf("%v", err)
	}
	if err := target.scrub(context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	plain := errors.New("refused")
	if err := (&Target{}).scrub(plain); !errors.Is(err, plain) {
		t.Errorf("%v", err)
	}
}

// A short password is taken out where it stands alone, and words stay whole: each gap in
// them would tell a letter of it.
func TestScrubShort(t *testing.T) {
	for password, want := range map[string]string{
		"p":       "this app does not let ••• in as p@h: app; peppers",
		"app":     "this ••• does not let p in as p@h: •••; peppers",
		"ep":      "this app does not let p in as p@h: app; peppers",
		"peppers": "this app does not let p in as p@h: app; •••",
	} {
		target := Target{Password: password}
		err := target.scrub(tool.Errorf("", tool.Denied, "this app does not let p in as p@h: app; peppers"))
		if got := err.Error(); password == "p" && got != strings.ReplaceAll(want, "p@h", "•••@h") || password != "p" && got != want {
			t.Errorf("%s: %s", password, got)
		}
	}
}

func TestCheckHosts(t *testing.T) {
	for _, hosts := range [][]string{nil, {"db.test", "localhost:5432", "10.1.0.0/16", "/run/postgresql"}} {
		if err := CheckHosts(hosts); err != nil {
			t.Errorf("%v: %v", hosts, err)
		}
	}
	for _, host := range []string{"http://x", "a b", ""} {
		if err := CheckHosts([]string{host}); err == nil {
			t.Errorf("%q was accepted", host)
		}
	}
}

func TestCheckOptions(t *testing.T) {
	for name, c := range map[string]struct {
		target Target
		errHas string
	}{
		"none":                  {Target{Driver: "mysql"}, ""},
		"a time zone":           {Target{Driver: "mysql", Options: map[string]string{"timezone": "Europe/Paris"}}, ""},
		"an offset":             {Target{Driver: "mysql", Options: map[string]string{"timezone": "+02:00"}}, ""},
		"of postgres":           {Target{Driver: "postgres", Options: map[string]string{"search_path": "a", "role": "b"}}, ""},
		"of another driver":     {Target{Driver: "mysql", Options: map[string]string{"role": "b"}}, "not known"},
		"an unknown one":        {Target{Driver: "postgres", Options: map[string]string{"options": "-c x=y"}}, "not known"},
		"SQL in a time zone":    {Target{Driver: "mysql", Options: map[string]string{"timezone": "UTC'; x"}}, "not a time zone"},
		"an empty time zone":    {Target{Driver: "mysql", Options: map[string]string{"timezone": ""}}, "not a time zone"},
		"a time zone too large": {Target{Driver: "mysql", Options: map[string]string{"timezone": strings.Repeat("a", 65)}}, "not a time zone"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.target.checkOptions()
			if (err == nil) != (c.errHas == "") || err != nil && !strings.Contains(err.Error(), c.errHas) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A model reaches the servers that the app file lists; the author of it, any.
func TestDialer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	listed := []string{"127.0.0.1:" + strconv.Itoa(port), "/run/db/../db/s"}
	for name, c := range map[string]struct {
		opener Opener
		target Target
		kind   tool.Kind // "" where it is allowed
	}{
		"a model, nothing listed":   {Opener{}, Target{Driver: "mysql", Host: "127.0.0.1", Port: port}, tool.Denied},
		"a model, listed":           {Opener{Hosts: listed}, Target{Driver: "mysql", Host: "127.0.0.1", Port: port}, ""},
		"a model, another port":     {Opener{Hosts: listed}, Target{Driver: "mysql", Host: "127.0.0.1", Port: 1}, tool.Denied},
		"a model, the default port": {Opener{Hosts: listed}, Target{Driver: "postgres", Host: "127.0.0.1"}, tool.Denied},
		"a model, another host":     {Opener{Hosts: listed}, Target{Driver: "mysql", Host: "127.0.0.2", Port: port}, tool.Denied},
		"a model, two hosts":        {Opener{Hosts: listed}, Target{Driver: "mysql", Host: "127.0.0.1,127.0.0.2", Port: port}, tool.Denied},
		"a model, metadata":         {Opener{Hosts: listed}, Target{Driver: "mysql", Host: "169.254.169.254"}, tool.Denied},
		"the author":                {Opener{Author: true}, Target{Driver: "mysql", Host: "127.0.0.1", Port: port}, ""},
		"a model, a listed socket":  {Opener{Hosts: listed}, Target{Driver: "mysql", Host: "/run/./db/s"}, ""},
		"a model, another socket":   {Opener{Hosts: listed}, Target{Driver: "mysql", Host: "/run/db/t"}, tool.Denied},
		"the author, a socket":      {Opener{Author: true}, Target{Driver: "mysql", Host: "/run/db/t"}, ""},
		"no host":                   {Opener{Author: true}, Target{Driver: "mysql"}, tool.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			dial, err := c.opener.dialer(&c.target)
			if c.kind != "" {
				if tool.KindOf(err) != c.kind || dial != nil {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(c.target.Host, "/") {
				dialTwice(t, dial, c.target)
			}
		})
	}
}

// dialTwice dials a server, and the address behind it, as a driver does to cancel.
func dialTwice(t *testing.T, dial dialFunc, target Target) {
	t.Helper()
	address := net.JoinHostPort(target.Host, strconv.Itoa(target.Port))
	for range 2 {
		conn, err := dial(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		address = conn.RemoteAddr().String()
		conn.Close()
	}
	if conn, err := dial(t.Context(), "tcp", "127.0.0.1:1"); err == nil {
		conn.Close()
		t.Error("another address was dialled")
	}
}

// workspace returns an opener for a new folder.
func workspace(t *testing.T) (*Opener, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return &Opener{Grant: tool.Grant{Workspace: dir, Root: root}}, dir
}

func (o *Opener) open(t *testing.T, path string) (engine.Engine, error) {
	t.Helper()
	e, err := o.Open(t.Context(), Target{Driver: "sqlite", Database: path})
	if err == nil {
		t.Cleanup(func() { e.Close() })
	}
	return e, err
}

func TestFilesOfTheWorkspace(t *testing.T) {
	o, dir := workspace(t)
	outside := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(outside, "out.db"), nil, 0o600))
	must(os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	must(os.Mkdir(filepath.Join(dir, "state"), 0o755))
	o.Hidden = []string{filepath.Join(dir, "state")}
	for name, to := range map[string]string{
		"link.db": filepath.Join(outside, "out.db"), "dangling.db": filepath.Join(outside, "new.db"), "inner.db": "sub/inner.db",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skipf("this system has no links: %v", err)
		}
	}
	for path, kind := range map[string]tool.Kind{
		"data.db": "", "./sub/data.db": "", filepath.Join(dir, "abs.db"): "", "a?b%20c#d.db": "", ":memory:": "",
		"../x.db": tool.Denied, "link.db": tool.Denied, "dangling.db": tool.Denied, "state/journal.db": tool.Denied,
		filepath.Join(outside, "out.db"): tool.Denied, "FILE:data.db": tool.Denied, "a\x00b": tool.Denied,
		"": tool.Invalid, "sub": tool.Invalid, "none/x.db": tool.NotFound,
	} {
		e, err := o.open(t, path)
		if kind == "" && (err != nil || e == nil) || kind != "" && (tool.KindOf(err) != kind || e != nil) {
			t.Errorf("%q: %v, %v; want %q", path, e, err, kind)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside the workspace are %v, %v", entries, err)
	}
}

func TestReadOnlyCreatesNoFile(t *testing.T) {
	o, dir := workspace(t)
	o.ReadOnly = true
	if _, err := o.open(t, "data.db"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if _, err := (&Opener{}).open(t, "data.db"); tool.KindOf(err) != tool.Denied {
		t.Errorf("without a workspace: %v", err)
	}
}

// A server that cannot be reached is an error without the password, for the
// password of the call and for that of the grant.
func TestOpenServerFails(t *testing.T) {
	const secret = "s3cret-pässword"
	for _, driver := range []string{"mysql", "postgres"} {
		for _, target := range []Target{
			{Driver: driver, Host: "127.0.0.1", Port: 1, User: "ada", Password: secret},
			{Driver: driver, Host: "127.0.0.1", Port: 1, User: "ada"},
		} {
			o := Opener{Author: true, Grant: tool.Grant{Credential: secret}}
			e, err := o.Open(t.Context(), target)
			if e != nil || tool.KindOf(err) != tool.Unavailable || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v, %v", driver, e, err)
			}
		}
	}
}
