package git_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hostile is a workspace with a repository r that somebody prepared, and a
// program, the canary, that everything in it would have run.
//
// The canary is watched from outside: whoever so much as opens it is noticed,
// also in a sandbox in which it could not write a thing.
type hostile struct {
	*ground
	repo   string
	canary string
	notify int
	vector string
}

func newHostile(t testing.TB) *hostile {
	t.Helper()
	h := &hostile{ground: newGround(t)}
	h.repo, h.canary = filepath.Join(h.dir, "r"), filepath.Join(h.dir, "canary", "run")
	h.write("canary/run", "#!/bin/sh\n: > '"+filepath.Join(h.dir, "canary", "fired")+"'\nexit 1\n")
	check(t, os.Chmod(h.canary, 0o755))
	h.plain("init", "-q", "-b", "main", "r")
	h.write("r/a.txt", "one\ntwo\n")
	h.write("r/other.txt", "other\n")
	h.commit("first")
	h.git("branch", "side")
	h.write("r/a.txt", "one\n2\n")
	h.commit("second")
	h.git("config", "user.name", "Eve")
	h.git("config", "user.email", "eve@example.com")
	h.git("config", "branch.main.remote", "origin")
	h.git("config", "branch.main.merge", "refs/heads/main")
	h.git("config", "remote.origin.url", "https://127.0.0.1:1/x.git")
	h.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
	h.settle(map[string]any{"network_timeout_seconds": 20}, map[string]any{"network": true, "allow_force": true})

	var err error
	h.notify, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	check(t, err)
	t.Cleanup(func() { unix.Close(h.notify) })
	_, err = unix.InotifyAddWatch(h.notify, h.canary, unix.IN_OPEN|unix.IN_ACCESS)
	check(t, err)
	return h
}

func (h *hostile) git(args ...string) string { return h.plainIn(h.repo, args...) }

func (h *hostile) commit(message string) {
	h.git("add", "-A")
	h.git("commit", "-q", "-m", message)
}

// fired tells whether the canary ran since it was last asked.
func (h *hostile) fired() bool {
	h.t.Helper()
	buffer := make([]byte, 64<<10)
	n, _ := unix.Read(h.notify, buffer)
	return n > 0 || os.Remove(filepath.Join(h.dir, "canary", "fired")) == nil
}

// plant plants the canary as an executable file.
func (h *hostile) plant(path string) {
	h.t.Helper()
	full := filepath.Join(h.dir, path)
	check(h.t, os.MkdirAll(filepath.Dir(full), 0o755))
	_ = os.Remove(full)
	check(h.t, os.Symlink(h.canary, full))
}

// live runs git as its user would, whether it succeeds or not, and fails the
// test if the canary did not run: a trap that does not close proves nothing.
func (h *hostile) live(args ...string) {
	h.t.Helper()
	h.fired()
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.WaitDelay = h.repo, time.Second
	cmd.Stdin = strings.NewReader("protocol=https\nhost=example.com\n\n")
	cmd.Env = append(os.Environ(), "HOME="+h.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	out, _ := cmd.CombinedOutput()
	if !h.fired() {
		h.t.Errorf("%s: git %q by itself does not run the canary:\n%s", h.vector, args, out)
	}
}

// step is one call, and what happens before it so that it has something to do.
type step struct {
	tool string
	args args
	prep func(h *hostile)
}

func dirty(h *hostile) {
	for _, name := range []string{"r/a.txt", "r/other.txt"} {
		path := filepath.Join(h.dir, name)
		if old, err := os.ReadFile(path); err == nil {
			_ = os.WriteFile(path, append(old, "more\n"...), 0o644)
		}
	}
}

// steps are calls of every tool, in every way that makes Git do something else.
var steps = []step{
	{"status", args{}, dirty},
	{"status", args{"untracked": "all"}, nil},
	{"diff", args{}, nil},
	{"diff", args{"from": "HEAD~1"}, nil},
	{"diff", args{"from": "side", "to": "main", "stat": true}, nil},
	{"log", args{"all": true}, nil},
	{"log", args{"paths": []string{"a.txt"}, "follow": true}, nil},
	{"show", args{}, nil},
	{"show", args{"rev": "main~1", "path": "a.txt"}, nil},
	{"show", args{"rev": "main", "path": "."}, nil},
	{"blame", args{"path": "a.txt"}, nil},
	{"blame", args{"path": "a.txt", "rev": "main"}, nil},
	{"branches", args{"remote": true}, nil},
	{"branches", args{"create": "made"}, nil},
	{"branches", args{"rename": "made", "to": "renamed"}, nil},
	{"branches", args{"delete": "renamed", "force": true}, nil},
	{"add", args{"paths": []string{"a.txt"}}, nil},
	{"diff", args{"staged": true}, nil},
	{"restore", args{"paths": []string{"a.txt"}, "staged": true}, nil},
	{"restore", args{"paths": []string{"."}}, nil},
	{"restore", args{"paths": []string{"a.txt"}, "source": "side", "staged": true, "worktree": true}, nil},
	{"add", args{"all": true}, dirty},
	{"commit", args{"message": "third"}, nil},
	{"commit", args{"message": "fourth", "all": true}, dirty},
	{"commit", args{"message": "nothing"}, nil},
	{"commit", args{"message": "amended", "amend": true}, nil},
	{"stash", args{"include_untracked": true, "message": "m"}, dirty},
	{"stash", args{"action": "list"}, nil},
	{"stash", args{"action": "show"}, nil},
	{"stash", args{"action": "pop"}, nil},
	{"stash", args{"paths": []string{"a.txt"}}, dirty},
	{"stash", args{"action": "apply"}, nil},
	{"stash", args{"action": "drop"}, nil},
	{"checkout", args{"to": "side", "force": true}, nil},
	{"checkout", args{"to": "main"}, nil},
	{"checkout", args{"to": "new", "create": true, "start": "side"}, nil},
	{"checkout", args{"to": "main", "paths": []string{"a.txt"}, "force": true}, nil},
	{"checkout", args{"to": "main~1", "force": true}, nil},
	{"checkout", args{"to": "main", "force": true}, nil},
	{"fetch", args{}, nil},
	{"fetch", args{"branch": "main", "prune": true}, nil},
	{"pull", args{}, nil},
	{"push", args{"set_upstream": true, "force": true}, nil},
}

// walk makes every call on the repository, and fails for each during which the
// canary ran. What the calls answer does not matter, as long as they are
// answers; done says which tools had at least one success.
func (h *hostile) walk(repo string, steps []step) (done map[string]bool) {
	h.t.Helper()
	done = map[string]bool{}
	h.fired()
	for _, s := range steps {
		if s.prep != nil {
			s.prep(h)
		}
		a := args{"repo": repo}
		for k, v := range s.args {
			a[k] = v
		}
		_, err := h.try(s.tool, a)
		if h.fired() {
			h.t.Errorf("%s: %s(%v) ran the canary (%v)", h.vector, s.tool, s.args, err)
		}
		done[s.tool] = done[s.tool] || err == nil
	}
	for _, target := range []string{"ext::" + h.canary, "file://" + h.repo, h.repo, "--upload-pack=" + h.canary, "ssh://-oProxyCommand=" + h.canary + "/x", "git@x:y", "git://127.0.0.1/x", "fd::7"} {
		if _, err := h.try("clone", args{"url": target}); err == nil || h.fired() {
			h.t.Errorf("%s: clone of %q: %v", h.vector, target, err)
		}
	}
	return done
}

// worked fails the test for tools that never succeeded: calls that only fail
// show nothing about what they would run.
func (h *hostile) worked(done map[string]bool, but ...string) {
	h.t.Helper()
	for _, name := range []string{"status", "diff", "log", "show", "blame", "branches", "add", "commit", "stash", "restore", "checkout"} {
		if !done[name] && !strings.Contains(strings.Join(but, " "), name) {
			h.t.Errorf("%s: %s never succeeded", h.vector, name)
		}
	}
}
