package git_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/module/git/gittest"
)

// hostile is a workspace with a repository r in which an attacker set traps.
// Each trap has a program of its own, its canary, which Git would run.
//
// A canary is watched from outside the sandbox: to open it is enough to be
// noticed, so a canary is seen even where it could not write a byte.
type hostile struct {
	*gittest.Tools
	repo     string
	notify   int
	canaries map[string]string // the path of each canary, by the trap's name
	watches  map[int32]string  // the trap's name, by the watch on its canary
}

// hostileTemplate is the repository in which traps are set.
var hostileTemplate = sync.OnceValues(func() (string, error) {
	git := func(args ...string) gittest.Step { return gittest.Step{Git: args} }
	return gittest.Template(
		git("init", "-q", "-b", "main"),
		gittest.Step{File: "a.txt", Text: "one\ntwo\n"},
		gittest.Step{File: "other.txt", Text: "other\n"},
		gittest.Step{File: "third.txt", Text: "third\n"},
		git("add", "-A"),
		git("commit", "-q", "-m", "first"),
		git("branch", "side"),
		gittest.Step{File: "a.txt", Text: "one\n2\n"},
		git("commit", "-q", "-a", "-m", "second"),
		git("config", "user.name", "Eve"),
		git("config", "user.email", "eve@example.com"),
		git("config", "branch.main.remote", "origin"),
		git("config", "branch.main.merge", "refs/heads/main"),
		git("config", "remote.origin.url", "https://127.0.0.1:1/x.git"),
		git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
	)
})

func newHostile(t testing.TB) *hostile {
	t.Helper()
	template, err := hostileTemplate()
	check(t, err)
	h := newHostileTools(t)
	check(t, os.CopyFS(h.repo, os.DirFS(template)))
	return h
}

// newHostileTools is newHostile without the repository.
func newHostileTools(t testing.TB) *hostile {
	t.Helper()
	h := &hostile{Tools: newTools(t), canaries: map[string]string{}, watches: map[int32]string{}}
	h.repo = filepath.Join(h.Dir, "r")
	h.Configure(map[string]any{"network_timeout_seconds": 20}, map[string]any{"network": true, "allow_force": true})
	var err error
	h.notify, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	check(t, err)
	t.Cleanup(func() { unix.Close(h.notify) })
	return h
}

func (h *hostile) git(args ...string) string {
	h.T.Helper()
	return h.GitIn(h.repo, args...)
}

func (h *hostile) commit(message string) {
	h.T.Helper()
	h.git("add", "-A")
	h.git("commit", "-q", "-m", message)
}

// canary makes the canary of a trap and returns its path.
func (h *hostile) canary(trap string) string {
	h.T.Helper()
	if path, ok := h.canaries[trap]; ok {
		return path
	}
	name := fmt.Sprintf("canary/run%d", len(h.canaries))
	path := filepath.Join(h.Dir, name)
	h.Write(name, "#!/bin/sh\n: > '"+path+".ran'\nexit 1\n")
	check(h.T, os.Chmod(path, 0o755))
	watch, err := unix.InotifyAddWatch(h.notify, path, unix.IN_OPEN|unix.IN_ACCESS)
	check(h.T, err)
	h.canaries[trap], h.watches[int32(watch)] = path, trap
	return path
}

// fired returns the traps whose canaries ran since it was last called.
func (h *hostile) fired() []string {
	h.T.Helper()
	found := map[string]bool{}
	for trap, path := range h.canaries {
		if os.Remove(path+".ran") == nil {
			found[trap] = true
		}
	}
	buffer := make([]byte, 64<<10)
	n, _ := unix.Read(h.notify, buffer)
	for events := buffer[:max(0, n)]; len(events) >= unix.SizeofInotifyEvent; {
		watch := int32(binary.NativeEndian.Uint32(events))
		found[h.watches[watch]] = true
		events = events[unix.SizeofInotifyEvent+binary.NativeEndian.Uint32(events[12:]):] // a name follows
	}
	return slices.Sorted(maps.Keys(found))
}

// plant puts a link to a canary where Git looks for a program.
func (h *hostile) plant(path, canary string) {
	h.T.Helper()
	full := filepath.Join(h.Dir, path)
	check(h.T, os.MkdirAll(filepath.Dir(full), 0o755))
	_ = os.Remove(full)
	check(h.T, os.Symlink(canary, full))
}

// live proves that a trap works: it runs Git on a copy of the repository, as
// its user would, and fails the test if the trap's canary did not run. Whether
// the command succeeds does not matter.
func (h *hostile) live(trap string, args ...string) {
	h.T.Helper()
	dir := filepath.Join(h.Dir, "live") // beside r: relative paths in the settings still fit
	check(h.T, os.CopyFS(dir, os.DirFS(h.repo)))
	defer func() { check(h.T, os.RemoveAll(dir)) }()
	h.liveIn(dir, trap, args...)
}

func (h *hostile) liveIn(dir, trap string, args ...string) {
	h.T.Helper()
	h.fired()
	ctx, cancel := context.WithTimeout(h.T.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Stdin = strings.NewReader("protocol=https\nhost=example.com\n\n")
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	out, _ := cmd.CombinedOutput()
	if ran := h.fired(); !slices.Contains(ran, trap) {
		h.T.Errorf("git %q by itself does not run the canary of %q, but of %q:\n%s", args, trap, ran, out)
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
		path := filepath.Join(h.Dir, name)
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

// walk makes every call on a repository, and fails the test for each during
// which a canary ran. Calls may succeed or fail; done says which tools had at
// least one success.
func (h *hostile) walk(repo string, steps []step) (done map[string]bool) {
	h.T.Helper()
	done = map[string]bool{}
	canary := h.canary("clone")
	h.fired()
	for _, s := range steps {
		if s.prep != nil {
			s.prep(h)
		}
		_, err := h.Try(s.tool, s.args.In(repo))
		if ran := h.fired(); len(ran) > 0 {
			h.T.Errorf("%s(%v) ran the canaries of %q (%v)", s.tool, s.args, ran, err)
		}
		done[s.tool] = done[s.tool] || err == nil
	}
	for _, target := range []string{
		"ext::" + canary, "file://" + h.repo, h.repo, "--upload-pack=" + canary, "ssh://-oProxyCommand=" + canary + "/x",
		"git@x:y", "git://127.0.0.1/x", "fd::7",
	} {
		if _, err := h.Try("clone", args{"url": target}); err == nil || len(h.fired()) > 0 {
			h.T.Errorf("clone of %q: %v", target, err)
		}
	}
	return done
}

// worked fails the test for tools that never succeeded: a call that only fails
// proves nothing about what a call runs. Tools named in except may fail.
func (h *hostile) worked(done map[string]bool, except ...string) {
	h.T.Helper()
	for _, name := range []string{
		"status", "diff", "log", "show", "blame", "branches", "add", "commit", "stash", "restore", "checkout",
	} {
		if !done[name] && !slices.Contains(except, name) {
			h.T.Errorf("%s never succeeded", name)
		}
	}
}
