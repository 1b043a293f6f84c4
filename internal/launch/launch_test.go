package launch_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/launch"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestNothingElseIsPassedOn(t *testing.T) {
	for name, value := range map[string]string{
		"PATH": "/bin", "LC_TIME": "fr_FR", "CALLGATE_STATE": "s", "AWS_SECRET_ACCESS_KEY": "s", "GITHUB_TOKEN": "s",
		"LD_PRELOAD": "s", "SSH_AUTH_SOCK": "s", "MY_SETTING": "mine", "PATHOLOGY": "s", "NODE_OPTIONS": "s", "PYTHONPATH": "s",
		"PYTHONSTARTUP": "s", "RUBYOPT": "s", "PERL5OPT": "s", "BASH_ENV": "s", "ENV": "s", "GIT_SSH_COMMAND": "s",
		"npm_config_node_options": "s", "XDG_RUNTIME_DIR": "s",
	} {
		t.Setenv(name, value)
	}
	allow := []string{"MY_SETTING", "NOT_SET", "CALLGATE_STATE"}
	for name, env := range map[string][]string{
		"a command": launch.Commands(allow), "an accepted program": launch.Accepted(allow, "/w"),
		"a server": launch.Server(nil, allow, "/w", false), "a server in the workspace": launch.Server(nil, allow, "/w", true),
	} {
		for _, pair := range []string{"PATH=/bin", "LC_TIME=fr_FR", "MY_SETTING=mine"} {
			if !slices.Contains(env, pair) {
				t.Errorf("%s: %s is not passed on: %q", name, pair, env)
			}
		}
		for _, pair := range env {
			if strings.HasSuffix(pair, "=s") || strings.HasPrefix(pair, "NOT_SET") {
				t.Errorf("%s: %s is passed on", name, pair)
			}
		}
	}
}

func TestServer(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/c")
	t.Setenv("TZ", "UTC")
	t.Setenv("TMPDIR", "tmp")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	env := launch.Server(map[string]string{"TZ": "CET", "B": "2", "PYTHONSAFEPATH": ""}, nil, "/w", false)
	for name, value := range map[string]string{
		"XDG_CACHE_HOME": "/c", "TMPDIR": filepath.Join(here, "tmp"), "TZ": "CET", "B": "2", "CALLGATE_WORKSPACE": "/w",
		"PYTHONSAFEPATH": "",
	} {
		if got := launch.Lookup(env, name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	names := map[string]bool{}
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if names[name] {
			t.Errorf("%s is there twice", name)
		}
		names[name] = true
	}
}

func TestSwitches(t *testing.T) {
	work := t.TempDir()
	t.Setenv("PATH", strings.Join([]string{"/usr/bin", work, filepath.Join(work, "node_modules", ".bin"), ".", "bin", "/bin"}, ":"))
	for name, c := range map[string]struct {
		env  []string
		path string
		safe string
	}{
		"an accepted program":       {launch.Accepted(nil, work), "/usr/bin:/bin", "1"},
		"a server":                  {launch.Server(nil, nil, work, false), "/usr/bin:/bin", "1"},
		"a server in the workspace": {launch.Server(nil, nil, work, true), os.Getenv("PATH"), ""},
		"a command":                 {launch.Commands(nil), os.Getenv("PATH"), ""},
	} {
		if got := launch.Lookup(c.env, "PATH"); got != c.path {
			t.Errorf("%s: the PATH is %s", name, got)
		}
		if got := launch.Lookup(c.env, "PYTHONSAFEPATH"); got != c.safe {
			t.Errorf("%s: PYTHONSAFEPATH is %q", name, got)
		}
		if launch.Lookup(c.env, "GIT_CONFIG_COUNT") != "3" || launch.Lookup(c.env, "GIT_CONFIG_KEY_0") != "safe.bareRepository" {
			t.Errorf("%s: Git is told %q", name, c.env)
		}
	}
	env := launch.WithGitHooks(launch.Git([]string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c"}))
	want := []string{
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_KEY_1=safe.bareRepository", "GIT_CONFIG_KEY_2=core.fsmonitor",
		"GIT_CONFIG_VALUE_0=c", "GIT_CONFIG_VALUE_1=explicit", "GIT_CONFIG_VALUE_2=false",
	}
	if slices.Sort(env); !slices.Equal(env, want) {
		t.Errorf("with hooks: %q", env)
	}
}

func TestResolve(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"npx -y @modelcontextprotocol/server-filesystem .", "npx -y @modelcontextprotocol/server-filesystem /w"},
		{"npx -y server ./docs ../other", "npx -y server /w/docs /other"},
		{"npx -y server --root=./docs --level=3", "npx -y server --root=/w/docs --level=3"},
		{"npx chart.js src/main.ts", "npx chart.js /w/src/main.ts"},
		{"python3 server.py --port 8080", "python3 /w/server.py --port 8080"},
		{"python3 -m mynotes", "python3 -m mynotes"},
		{"node dist/index.js /data", "node /w/dist/index.js /data"},
		{"./bin/server api.example.com", "/w/bin/server api.example.com"},
		{"bin/server 1.2.3", "/w/bin/server 1.2.3"},
		{"uv --directory . run server.py", "uv --directory /w run /w/server.py"},
		{"deno run https://example.com/a.ts", "deno run https://example.com/a.ts"},
		{"sh -c 'x.sh'", "sh -c 'x.sh'"},
		{"python3 {{workdir}}/server.py", "python3 {{workdir}}/server.py"},
		{"git-server --repository data", "git-server --repository data"},
	} {
		if got := strings.Join(launch.Resolve(strings.Fields(c.line), "/w"), " "); got != c.want {
			t.Errorf("%s is %s, want %s", c.line, got, c.want)
		}
	}
	got := launch.Resolve([]string{"python3", "server.py", ".", "../x"}, "{{workdir}}")
	if want := []string{"python3", "{{workdir}}/server.py", "{{workdir}}", "{{workdir}}/../x"}; !slices.Equal(got, want) {
		t.Errorf("in a folder that is not known yet: %q", got)
	}
}

func TestCode(t *testing.T) {
	w := t.TempDir()
	for _, name := range []string{"server.py", "dist/index.js", "pkg/package.json", "docs/a.md", "package.json"} {
		write(t, filepath.Join(w, name), "x")
	}
	write(t, filepath.Join(w, "bin", "serve"), "#!/bin/sh\n")
	for _, c := range []struct {
		line, want string
		whole      bool
	}{
		{"python3 server.py", "server.py", false},
		{"node dist/index.js", "dist/index.js dist", false},
		{"node ./dist", "dist", false},
		{"npx ./pkg", "pkg", false},
		{"npx -y server ./docs", "", false},
		{"npx -y server .", "", false},
		{"npx .", "", true},
		{"uvx --from . tool", "", true},
		{"uv --directory . run server.py", "server.py", true},
		{"./bin/serve", "bin/serve bin", false},
		{"python3 later.py", "later.py", false},
		{"notes-server --dir ./docs", "", false},
		{"python3 /elsewhere/server.py", "", false},
	} {
		words := launch.Resolve(strings.Fields(c.line), w)
		paths, whole := launch.Code(words, w)
		for i, path := range paths {
			paths[i], _ = filepath.Rel(w, path)
		}
		if got := strings.Join(paths, " "); got != c.want || whole != c.whole {
			t.Errorf("%s runs %q, %v; want %q, %v", c.line, got, whole, c.want, c.whole)
		}
	}
}

func TestDigest(t *testing.T) {
	w := t.TempDir()
	write(t, filepath.Join(w, "pkg", "a.py"), "a")
	was := launch.Digest(filepath.Join(w, "pkg"))
	if launch.Digest(filepath.Join(w, "none")) != "" || was == "" || launch.Digest(filepath.Join(w, "pkg")) != was {
		t.Fatalf("the digest is %q", was)
	}
	for name, change := range map[string]func(){
		"a new module":       func() { write(t, filepath.Join(w, "pkg", "json.py"), "evil") },
		"compiled code":      func() { write(t, filepath.Join(w, "pkg", "__pycache__", "a.pyc"), "evil") },
		"another content":    func() { write(t, filepath.Join(w, "pkg", "a.py"), "b") },
		"a link that is new": func() { os.Symlink("/etc/passwd", filepath.Join(w, "pkg", "link")) },
	} {
		before := launch.Digest(filepath.Join(w, "pkg"))
		if change(); launch.Digest(filepath.Join(w, "pkg")) == before {
			t.Errorf("%s changes nothing", name)
		}
	}
}

func TestFolders(t *testing.T) {
	f := launch.Folders(filepath.Join(t.TempDir(), "start"))
	one, err := f.Of("server", "a")
	two, err2 := f.Of("server", "b")
	again, _ := f.Of("server", "a")
	if err != nil || err2 != nil || one == two || one != again {
		t.Errorf("%s, %s, %s: %v, %v", one, two, again, err, err2)
	}
	work := t.TempDir()
	script := filepath.Join(work, "hooks", "guard.sh")
	write(t, script, "exit 0")
	file := launch.File{Path: script, Digest: launch.Digest(script)}
	fill := func(dir string) error { return file.Copy(filepath.Join(dir, "hooks", "guard.sh")) }
	dir, err := f.Filled("hook", "k", fill)
	if err != nil {
		t.Fatal(err)
	}
	write(t, script, "exit 1")
	if data, err := os.ReadFile(filepath.Join(dir, "hooks", "guard.sh")); string(data) != "exit 0" {
		t.Errorf("the copy is %q, %v", data, err)
	}
	if _, err := f.Filled("hook", "k2", fill); err == nil {
		t.Error("a script that has changed is copied")
	}
	if none, err := launch.Folders("").Of("server", "a"); none != "" || err != nil {
		t.Errorf("no folders: %q, %v", none, err)
	}
}
