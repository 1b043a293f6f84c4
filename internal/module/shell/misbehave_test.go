package shell_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"callgate/internal/module/shell"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// call makes a call of the module with a configuration.
func call(t *testing.T, c shell.Config, workspace string, args map[string]any) (*tool.Result, error) {
	t.Helper()
	if runtime.GOOS != "linux" || sandbox.Probe().Level != sandbox.Full {
		t.Skip("this machine cannot confine a command as these tests need it")
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	grant := tool.Grant{Workspace: workspace, Root: root}
	return shell.Tools(c)[0].Handler.Execute(t.Context(), tool.Call{ID: "c1", Args: data}, grant)
}

// seconds is a time that only the commands of one case of this process sleep.
func seconds(n int) string { return strconv.Itoa(80_000_000 + 10*os.Getpid() + n) }

// sleeping lists the processes that still sleep for a time.
func sleeping(t *testing.T, seconds string) []string {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range names {
		if line, _ := os.ReadFile(name); strings.Contains(string(line), seconds) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func TestMisbehaviour(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		name, command string
		kind          tool.Kind
		summary, text string
	}{
		{"prints for ever", "echo start; while :; do echo again and again >&2; done", tool.Timeout,
			"did not end within 1s", "start\n"},
		{"ignores a signal", `trap "" TERM; echo start; sleep $B; sleep $B`, tool.Timeout, "did not end within 1s",
			"start\n"},
		{"leaves a server", "setsid sleep $B & (sleep $B &) ; nohup sleep $B & echo started", "", "exit code 0", "started\n"},
		{"asks a question", "read -p 'sure? ' answer && echo $answer", tool.Failed, "exit code 1", ""},
		{"wants the network", "getent hosts example.com || { echo 'Could not resolve host: example.com' >&2; exit 6; }",
			tool.Failed, "no network here", "resolve"},
		{"writes elsewhere", "echo x > /etc/callgate-test", tool.Failed,
			"only the workspace and /tmp can be written", "ead-only"},
		{"is killed", "kill -9 $$", tool.InDoubt, "SIGKILL", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			command := strings.ReplaceAll(c.command, "$B", seconds(i))
			r, err := call(t, shell.Config{}, workspace(t), map[string]any{"command": command, "timeout": 1})
			if err != nil {
				t.Fatal(err)
			}
			if tool.KindOf(r.Err()) != c.kind || !strings.Contains(r.Summary, c.summary) || !strings.Contains(text(r), c.text) {
				t.Errorf("%s: %q\n%.200s", r.Status, r.Summary, text(r))
			}
			if r.Error != nil && r.Error.Message == "" {
				t.Error("a failure without a message")
			}
			if alive := sleeping(t, seconds(i)); len(alive) > 0 {
				t.Errorf("left behind: %q", alive)
			}
		})
	}
}

// TestDeclaredWrites: a command can write only what its call declares, and what was
// created only so that it could be written is removed.
func TestDeclaredWrites(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	outside := workspace(t)
	for name, target := range map[string]string{"out": outside, "in": "real"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, command string
		writes        []string
		kind          tool.Kind
		exist, absent string // afterwards
	}{
		{"a new file", "echo x > new/deep.txt", []string{"new/deep.txt"}, "", "new/deep.txt", ""},
		{"a new folder", "echo x > made/a && mv made/a made/b", []string{"made/"}, "", "made/b", "made/a"},
		{"a file through a link", "echo x > in/f", []string{"in/f"}, "", "real/f", ""},
		{"nothing after all", "true", []string{"unused/file.txt", "empty/"}, "", "", "unused"},
		{"not the empty folder either", "true", []string{"empty/"}, "", "", "empty"},
		{"another file", "echo x > other", []string{"new/deep.txt"}, tool.Failed, "", "other"},
		{"a file beside it", "echo x > new/beside", []string{"new/deep.txt"}, tool.Failed, "", "new/beside"},
		{"outside", "true", []string{"../x"}, tool.Denied, "", ""},
		{"outside, through a link", "true", []string{"out/x"}, tool.Denied, "", ""},
		{"outside, by its full name", "true", []string{outside}, tool.Denied, "", ""},
	} {
		r, err := call(t, shell.Config{}, dir, map[string]any{"command": c.command, "writes": c.writes})
		if err == nil {
			err = r.Err()
		}
		if tool.KindOf(err) != c.kind {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.exist != "" && !exists(dir, c.exist) {
			t.Errorf("%s: there is no %s", c.name, c.exist)
		}
		if c.absent != "" && exists(dir, c.absent) {
			t.Errorf("%s: there is a %s", c.name, c.absent)
		}
	}
	both := map[string]any{"command": "true", "writes": []string{"f"}, "reads_only": true}
	if _, err := call(t, shell.Config{}, dir, both); tool.KindOf(err) != tool.Invalid {
		t.Errorf("both declarations: %v", err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("outside there is %v", entries)
	}
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// TestKernelStateIsHidden: a command can read neither the kernel's key nor anything
// else of its state, wherever that lies.
func TestKernelStateIsHidden(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	state := filepath.Join(dir, "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "human.key"), []byte("key-of-the-human"), 0o600); err != nil {
		t.Fatal(err)
	}
	const steal = "ls -A state; cat state/human.key; cp -r state stolen; grep -r key-of . ; tar c state | cat"
	r, err := call(t, shell.Config{Hidden: []string{state}}, dir, map[string]any{"command": steal})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(r)
	if strings.Contains(string(data), "key-of-the-human") || strings.Contains(text(r), "human.key\n") {
		t.Errorf("it saw %s", text(r))
	}
}

// TestKernelStateCannotBeMovedIntoSight: no command moves a folder above the
// kernel's state, and nothing runs while the state is not where it must be hidden.
func TestKernelStateCannotBeMovedIntoSight(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	state := filepath.Join(dir, ".local", "state", "callgate")
	for _, folder := range []string{state, filepath.Join(dir, ".local", "bin")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(state, "human.key"), []byte("key-of-the-human"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := shell.Config{Hidden: []string{state}}
	const move = "mv .local x; mv .local/state y; mv .local/state/callgate z; rm -rf .local/state; echo hi > .local/bin/new; true"
	if _, err := call(t, config, dir, map[string]any{"command": move}); err != nil {
		t.Fatal(err)
	}
	if !exists(dir, ".local/state/callgate/human.key") || !exists(dir, ".local/bin/new") {
		t.Error("the state was moved, or a folder beside it cannot be written")
	}
	r, err := call(t, config, dir, map[string]any{"command": "cat */human.key */*/human.key */*/*/human.key .*/*/*/human.key"})
	if err != nil || strings.Contains(text(r), "key-of-the-human") {
		t.Errorf("it saw %s, %v", text(r), err)
	}
	if err := os.Rename(filepath.Join(dir, ".local"), filepath.Join(dir, "x")); err != nil {
		t.Fatal(err)
	}
	if r, err := call(t, config, dir, map[string]any{"command": "cat x/state/callgate/human.key"}); err == nil {
		t.Errorf("it ran, and saw %s", text(r))
	} else if !strings.Contains(err.Error(), "cannot be hidden") {
		t.Error(err)
	}
}

func TestConfigOfTheApp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config map[string]any
		kind   tool.Kind
	}{
		"nothing":            {nil, ""},
		"all of it":          {map[string]any{"network": true, "readable": []any{"/srv/data"}, "env": []any{"CI"}}, ""},
		"not a truth value":  {map[string]any{"network": "yes"}, tool.Invalid},
		"not a list":         {map[string]any{"env": "CI"}, tool.Invalid},
		"a list of numbers":  {map[string]any{"env": []any{1}}, tool.Invalid},
		"a path that is not": {map[string]any{"readable": []any{"data"}}, tool.Invalid},
	} {
		m := shell.Module()
		if _, err := m.Read(c.config, nil); tool.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
}
