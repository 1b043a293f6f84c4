package isolation_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/launch"
	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/isolation"
	"callgate/internal/source/mcp/process"
)

// rules are the files of a house that no server may write.
func rules() map[string]string {
	return map[string]string{
		"work/callgate.yaml": "rules", "work/agents/a.md": "agent", "work/.git/config": "[core]", "work/.git/hooks/x": "hook",
		".bashrc": "startup", ".gitconfig": "[user]",
	}
}

// expectRules checks that the rules are as they were, and none was added.
func expectRules(t *testing.T, h house, said string) {
	t.Helper()
	for name, text := range rules() {
		if got, err := os.ReadFile(filepath.Join(h.home, name)); err != nil || string(got) != text {
			t.Errorf("%s is now %q, %v; it said %q", name, got, err, said)
		}
	}
	for _, name := range []string{"elsewhere/callgate/callgate.yaml", "work/agents/b.md", "work/.git/hooks/pre-commit"} {
		if _, err := os.Lstat(filepath.Join(h.home, name)); err == nil {
			t.Errorf("%s was made; it said %q", name, said)
		}
	}
}

// ruled is a house whose project has rules and a repository.
func ruled(t *testing.T) (h house, m isolation.Machine) {
	t.Helper()
	h = newHouse(t)
	files := rules()
	files["work/src/a"] = "source"
	for name, text := range files {
		path := filepath.Join(h.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h, isolation.Machine{
		Hidden: []string{h.state}, Cache: h.cache, Home: h.home, Rules: filepath.Join(h.home, "elsewhere", "callgate"),
	}
}

// said runs a script in the project's src folder, or another one, inside a server's walls.
func said(t *testing.T, h house, m isolation.Machine, c config.Isolation, dir, script string) string {
	t.Helper()
	c.Rules = []string{filepath.Join(h.work, "callgate.yaml"), filepath.Join(h.work, "agents")}
	walls, err := m.Walls(c, "/bin/sh", isolation.Place{Dir: dir, Inside: true})
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	p, err := process.Start(process.Command{
		Path: "/bin/sh", Args: []string{"-c", "exec >&2; " + script}, Dir: dir, Log: &said, Spec: walls.Spec(),
		Env:   launch.Server(walls.Environ(map[string]string{"HOME": h.home, "WORK": h.work}), nil, "", true),
		Grace: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Stop(20 * time.Second)
	if p.Err() != nil {
		t.Fatal(p.Err())
	}
	return said.String()
}

// No server writes the rules: not those of its app, nor the user's, nor what Git or a
// shell runs later; also not by moving the folders above, and not where no file was.
func TestServersCannotWriteRules(t *testing.T) {
	t.Parallel()
	namespaces(t)
	attacks := map[string]string{
		"the app file":          "echo x >> $WORK/callgate.yaml",
		"another app file":      "echo x > $WORK/y && mv -f $WORK/y $WORK/callgate.yaml",
		"an agent":              "echo x > $WORK/agents/a.md",
		"a new agent":           "echo x > $WORK/agents/b.md",
		"Git's settings":        "echo x >> $WORK/.git/config",
		"a hook":                "echo x > $WORK/.git/hooks/pre-commit",
		"the folder of Git":     "mv $WORK/.git $WORK/g",
		"the project":           "mv $WORK $WORK.2",
		"the user's rules":      "mkdir -p ~/elsewhere/callgate && echo x > ~/elsewhere/callgate/callgate.yaml",
		"the user's folder":     "mv ~/elsewhere ~/e2; mkdir -p ~/elsewhere/callgate; echo x > ~/elsewhere/callgate/callgate.yaml",
		"what a shell runs":     "echo x >> ~/.bashrc",
		"the user's Git":        "echo x >> ~/.gitconfig",
		"what a shell runs, mv": "echo x > ~/y && mv -f ~/y ~/.bashrc",
	}
	for _, mode := range []string{config.Contained, config.Sandboxed} {
		for name, script := range attacks {
			t.Run(mode+" "+name, func(t *testing.T) {
				t.Parallel()
				h, m := ruled(t)
				got := said(t, h, m, config.Isolation{Mode: mode}, h.work, script)
				expectRules(t, h, got)
			})
		}
	}
	h, m := ruled(t)
	below := said(t, h, m, config.Isolation{}, filepath.Join(h.work, "src"), "echo x >> $WORK/callgate.yaml")
	expectRules(t, h, below)
	const rest = "echo x >> $WORK/src/a && cat $WORK/callgate.yaml ~/.bashrc && echo x > $WORK/.git/index && echo done"
	if got := said(t, h, m, config.Isolation{}, h.work, rest); got != "rulesstartupdone\n" {
		t.Errorf("the rest is not as before: %q", got)
	}
	open := config.Isolation{Writable: []string{filepath.Join(h.work, ".git", "config")}}
	if got := said(t, h, m, open, h.work, "echo x >> $WORK/.git/config && echo done"); !strings.Contains(got, "done") {
		t.Errorf("what is named as writable: %q", got)
	}
	none := config.Isolation{Mode: config.None}
	if got := said(t, h, m, none, h.work, "echo x >> $WORK/callgate.yaml && echo done"); got != "done\n" {
		t.Errorf("without isolation: %q", got)
	}
}

// A link to a file with rules is not replaced either: homes are often full of them.
func TestServersCannotReplaceLinksToRules(t *testing.T) {
	t.Parallel()
	namespaces(t)
	h, m := ruled(t)
	dots, bashrc := filepath.Join(h.home, "dots"), filepath.Join(h.home, ".bashrc")
	if err := os.Mkdir(dots, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(bashrc, filepath.Join(dots, "bashrc")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("dots/bashrc", bashrc); err != nil {
		t.Fatal(err)
	}
	const script = "echo x > ~/y; mv -f ~/y ~/.bashrc; rm -f ~/.bashrc; echo x > ~/.bashrc; mv ~/dots ~/d2; cat ~/.bashrc"
	got := said(t, h, m, config.Isolation{}, h.work, script)
	expectRules(t, h, got)
	if to, err := os.Readlink(bashrc); err != nil || to != "dots/bashrc" || !strings.HasSuffix(got, "startup") {
		t.Errorf("the link leads to %q, %v; it said %q", to, err, got)
	}
}

// The error of a server that a read-only file stopped names the line that opens it.
func TestExplainReadOnly(t *testing.T) {
	t.Parallel()
	namespaces(t)
	h, m := ruled(t)
	walls, err := m.Walls(config.Isolation{Mode: config.Contained}, "/bin/sh", isolation.Place{Dir: h.work, Inside: true})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(h.work, ".git", "config")
	wall, ok := walls.Explain("error: could not lock config file "+file+": Read-only file system", true, false)
	if !ok || wall.Open != "writable: ["+file+"]" {
		t.Errorf("%+v, %v", wall, ok)
	}
}

// Another mount of the home, or of a part of the state, is hidden too.
func TestHiddenByEveryMount(t *testing.T) {
	t.Parallel()
	namespaces(t)
	h, m := ruled(t)
	twin, part := t.TempDir(), t.TempDir()
	for source, target := range map[string]string{h.home: twin, h.state: part} {
		if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
			t.Skip("nothing can be mounted here: ", err)
		}
		t.Cleanup(func() { _ = unix.Unmount(target, unix.MNT_DETACH) })
	}
	paths := []string{
		filepath.Join(twin, ".local/state/callgate/human.key"), filepath.Join(part, "human.key"),
	}
	show := "cat " + strings.Join(paths, " ") + " 2>/dev/null; "
	got := said(t, h, m, config.Isolation{}, h.work, show+"echo x >> "+filepath.Join(twin, "work/callgate.yaml"))
	if strings.Contains(got, "human") {
		t.Errorf("contained: %q", got)
	}
	expectRules(t, h, got)
	reads := config.Isolation{Mode: config.Sandboxed, Readable: []string{twin, part}}
	if got := said(t, h, m, reads, h.work, show); strings.Contains(got, "human") {
		t.Errorf("sandboxed: %q", got)
	}
}

// The sockets of programs that act for the user are out of a contained server's reach.
func TestSocketsOfTheUser(t *testing.T) {
	namespaces(t)
	h, m := ruled(t)
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(dir, "run"))
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(dir, "agent"))
	if err := os.Mkdir(filepath.Join(dir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run/bus", "agent"} {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	script := "for s in run/bus agent; do [ -S " + dir + "/$s ] && echo sees $s; done; echo at ${XDG_RUNTIME_DIR:-nowhere}"
	if got := said(t, h, m, config.Isolation{}, h.work, script); got != "at nowhere\n" {
		t.Errorf("contained: %q", got)
	}
	open := config.Isolation{Writable: []string{filepath.Join(dir, "run", "bus")}}
	if got := said(t, h, m, open, h.work, script); got != "sees run/bus\nat nowhere\n" {
		t.Errorf("opened: %q", got)
	}
	if env := launch.Server(nil, []string{"XDG_RUNTIME_DIR"}, "", true); !slices.Contains(env, "XDG_RUNTIME_DIR="+dir+"/run") {
		t.Error("named in env_allow, the variable is passed")
	}
}
