package isolation_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/launch"
	"callgate/internal/sandbox"
	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/isolation"
	"callgate/internal/source/mcp/process"
)

// house is a home with private folders, a kernel's state, and a project.
type house struct{ home, state, work, cache string }

func newHouse(t testing.TB) house {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := house{
		home: root, state: filepath.Join(root, ".local", "state", "callgate"), work: filepath.Join(root, "work"),
		cache: filepath.Join(root, ".cache"),
	}
	for name, text := range map[string]string{
		".ssh/id": "key", ".aws/credentials": "cloud", ".npmrc": "token", ".local/state/callgate/human.key": "human",
		".config/app/settings": "mine", "notes/a": "note", "work/a": "work", ".local/share/keyrings/login": "ring",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// says runs a script with an isolation, in a folder, and returns what it said.
func (h house) says(t *testing.T, c config.Isolation, dir, script string) string {
	t.Helper()
	machine := isolation.Machine{Hidden: []string{h.state}, Cache: h.cache}
	walls, err := machine.Walls(c, "/bin/sh", isolation.Place{Dir: dir, Inside: true})
	if err != nil {
		t.Fatal(err)
	}
	env := launch.Server(walls.Environ(map[string]string{"HOME": h.home}), nil, "", true)
	var said bytes.Buffer
	p, err := process.Start(process.Command{
		Path: "/bin/sh", Args: []string{"-c", "exec >&2; cd ~ 2>/dev/null || :; " + script}, Dir: dir, Env: env, Log: &said,
		Spec: walls.Spec(), Grace: time.Second,
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

func namespaces(t *testing.T) {
	t.Helper()
	if !sandbox.Probe().Namespaces {
		t.Skip("there are no user namespaces here")
	}
}

// What each mode shows, and hides.
func TestWalls(t *testing.T) {
	t.Parallel()
	namespaces(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	dial := fmt.Sprintf("bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d && echo reached'", l.Addr().(*net.TCPAddr).Port)
	contained, sandboxed := config.Isolation{Mode: config.Contained}, config.Isolation{Mode: config.Sandboxed}
	none := config.Isolation{Mode: config.None}
	opened := config.Isolation{Mode: config.Contained, Readable: []string{"HOME/.aws"}}
	stateOpened := config.Isolation{Mode: config.Contained, Readable: []string{"HOME/.local/state/callgate", "HOME"}}
	reader := config.Isolation{Mode: config.Sandboxed, Readable: []string{"HOME/notes"}, Network: true}
	const spill = "cat .ssh/id .aws/credentials .npmrc .local/state/callgate/human.key .local/share/keyrings/login 2>/dev/null"
	for name, c := range map[string]struct {
		isolation config.Isolation
		script    string
		want, not string
	}{
		"none sees all":                      {none, spill, "human", ""},
		"contained sees files":               {contained, "cat notes/a work/a && echo more >> notes/a && cat notes/a", "notemore", ""},
		"contained sees nothing private":     {contained, spill + "; echo end", "end", "key"},
		"contained sees no token":            {contained, spill + "; echo end", "end", "token"},
		"contained sees no state":            {contained, spill + "; ls -A .local/state/callgate; echo end", "end", "human"},
		"contained reads an empty file":      {contained, "cat .npmrc && echo fine", "fine", "token"},
		"contained cannot fill a hole":       {contained, "echo x > .ssh/id", "Read-only file system", ""},
		"contained cannot move what hides":   {contained, "mv .local x; mv .local/state y; mv .ssh z; " + "cat x/state/callgate/* z/*", "busy", "human"},
		"contained cannot uncover":           {contained, "umount .ssh; umount -l .local/state/callgate; " + spill, "", "key"},
		"contained cannot uncover in turn":   {contained, "unshare -rm sh -c 'umount .ssh; umount -l .local/state/callgate; " + spill + "'", "", "key"},
		"contained finds no way by /proc":    {contained, "cat /proc/1/root$HOME/.ssh/id /proc/*/root$HOME/.ssh/id; echo end", "end", "key"},
		"contained has the network":          {contained, dial, "reached", ""},
		"contained and opened":               {opened, "cat .aws/credentials; cat .ssh/id", "cloud", "key"},
		"contained never shows the state":    {stateOpened, spill + "; echo end", "end", "human"},
		"sandboxed sees its folder":          {sandboxed, "cat work/a && echo more >> work/a && cat work/a", "workmore", ""},
		"sandboxed sees nothing else":        {sandboxed, spill + " notes/a; ls; echo end", "end", "note"},
		"sandboxed has no network":           {sandboxed, dial + "; echo end", "end", "reached"},
		"sandboxed has a cache of its own":   {sandboxed, "mkdir -p $npm_config_cache && echo kept > $npm_config_cache/x && cat $XDG_CACHE_HOME/npm/x", "kept", ""},
		"sandboxed with a place":             {reader, "cat notes/a; echo x > notes/b; cat notes/b; " + dial, "Read-only", "Permission"},
		"sandboxed with the network":         {reader, dial, "reached", ""},
		"sandboxed cannot reach the kernel":  {sandboxed, "ls .local/state/callgate; echo end", "No such file", "human.key"},
		"contained has only its environment": {contained, "env | grep -c CALLGATE_", "0", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			for i, path := range c.isolation.Readable {
				if i == 0 {
					c.isolation.Readable = append([]string{}, c.isolation.Readable...)
				}
				c.isolation.Readable[i] = strings.Replace(path, "HOME", h.home, 1)
			}
			got := h.says(t, c.isolation, h.work, c.script)
			if !strings.Contains(strings.ReplaceAll(got, "\n", ""), c.want) || c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("it says %q; want %q, and not %q", got, c.want, c.not)
			}
		})
	}
}

// A server may work inside a private folder: it sees that one, and nothing beside it.
func TestWorkInAPrivateFolder(t *testing.T) {
	t.Parallel()
	namespaces(t)
	h := newHouse(t)
	if err := os.WriteFile(filepath.Join(h.home, ".config", "other"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(h.home, ".config", "app")
	got := h.says(t, config.Isolation{Mode: config.Contained}, dir, "cat .config/app/settings; ls .config; cat .config/other")
	if !strings.Contains(got, "mine") || strings.Contains(got, "secret") {
		t.Errorf("it says %q", got)
	}
}

// A kernel's folder that was moved keeps servers from starting, and none works in it.
func TestStateIsPinned(t *testing.T) {
	t.Parallel()
	namespaces(t)
	h := newHouse(t)
	start := func(dir string) error {
		walls, err := isolation.Machine{Hidden: []string{h.state}}.Walls(config.Isolation{}, "/bin/sh", isolation.Place{Dir: dir, Inside: true})
		if err != nil {
			t.Fatal(err)
		}
		p, err := process.Start(process.Command{Path: "/bin/sh", Args: []string{"-c", "echo ran"}, Dir: dir, Spec: walls.Spec()})
		if err != nil {
			t.Fatal(err)
		}
		p.Stop(time.Second)
		return p.Err()
	}
	if err := start(h.state); err == nil || !strings.Contains(err.Error(), "lies inside the kernel's own") {
		t.Errorf("in the state directory: %v", err)
	}
	if err := os.Rename(h.state, h.state+"2"); err != nil {
		t.Fatal(err)
	}
	if err := start(h.work); err == nil || !strings.Contains(err.Error(), "cannot be hidden") {
		t.Errorf("with a state directory that was moved: %v", err)
	}
}

// A server starts in a folder of its own inside the kernel's, which it may write, and sees
// nothing else of the kernel's; with Inside it starts in the folder that it works for.
func TestStart(t *testing.T) {
	t.Parallel()
	namespaces(t)
	for _, mode := range []string{config.Contained, config.Sandboxed, config.None} {
		for _, inside := range []bool{false, true} {
			h := newHouse(t)
			machine := isolation.Machine{
				Hidden: []string{h.state}, Cache: h.cache, Folders: launch.Folders(filepath.Join(h.state, "start")),
			}
			at := isolation.Place{Dir: h.work, Inside: inside, Key: "k"}
			walls, err := machine.Walls(config.Isolation{Mode: mode}, "/bin/sh", at)
			if err != nil {
				t.Fatal(err)
			}
			const script = `exec >&2; pwd; echo x > written && ls; cat ../../human.key`
			var said bytes.Buffer
			p, err := process.Start(process.Command{
				Path: "/bin/sh", Args: []string{"-c", script}, Dir: walls.Start(), Spec: walls.Spec(), Log: &said, Grace: time.Second,
				Env: launch.Server(map[string]string{"HOME": h.home}, nil, h.work, inside),
			})
			if err != nil {
				t.Fatal(err)
			}
			p.Stop(20 * time.Second)
			text, want := said.String(), "package.json\nwritten\n"
			if inside {
				want = "a\nwritten\n"
			}
			if p.Err() != nil || !strings.HasPrefix(text, walls.Start()+"\n"+want) || (walls.Start() == h.work) != inside ||
				!inside && strings.HasSuffix(text, "human") != (mode == config.None) {
				t.Errorf("%s, inside %v: %v, it said %q", mode, inside, p.Err(), text)
			}
		}
	}
}
