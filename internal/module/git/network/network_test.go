package network_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/module/git/gittest"
	"callgate/tool"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	g, h := newRemote(t)
	g.Says(g.Call("fetch", nil), "1 branch of origin changed", "origin/main: new")
	g.Says(g.Call("fetch", nil), "nothing new from origin")
	g.GitIn(h.served, "branch", "side", "main~1")
	g.Says(g.Call("fetch", args{"branch": "side"}), "1 branch of origin changed", "origin/side: new")
	g.GitIn(h.served, "branch", "-f", "side", "main")
	r := g.Call("fetch", nil)
	type change struct{ Branch, From, To string }
	changes := gittest.Data[struct{ Changes []change }](t, r).Changes
	want := change{"origin/side", g.Git("rev-parse", "main~1"), g.Git("rev-parse", "main")}
	if len(changes) != 1 || changes[0] != want {
		t.Errorf("changes %+v, want %+v", changes, want)
	}
	g.GitIn(h.served, "branch", "-D", "side")
	g.Says(g.Call("fetch", nil), "nothing new")
	g.Says(g.Call("fetch", args{"prune": true}), "origin/side", "gone")
	g.Refused(tool.NotFound, "fetch", args{"remote": "upstream"}, "its remotes are origin")
	g.Refused(tool.NotFound, "fetch", args{"branch": "nowhere"}, "no such branch")
	if branch := g.Git("symbolic-ref", "HEAD"); branch != "refs/heads/main" || g.Git("status", "--porcelain") != "" {
		t.Errorf("a fetch changed the working tree; on %s", branch)
	}
}

func TestPush(t *testing.T) {
	t.Parallel()
	g, h := newRemote(t)
	commit(g, ".", "a.txt", "ours\n")
	g.Says(g.Call("push", args{"set_upstream": true}), "pushed main", "to origin")
	if here, there := g.Git("rev-parse", "HEAD"), g.GitIn(h.served, "rev-parse", "main"); here != there {
		t.Errorf("here %s, there %s", here, there)
	}
	g.Says(g.Call("status", nil), "on main: clean")
	if up := g.Git("rev-parse", "--abbrev-ref", "main@{upstream}"); up != "origin/main" {
		t.Errorf("main follows %s", up)
	}
	g.Git("tag", "v1")
	g.Says(g.Call("push", args{"tag": "v1"}), "pushed v1")
	g.GitIn(h.served, "rev-parse", "--verify", "refs/tags/v1")
	g.Refused(tool.NotFound, "push", args{"branch": "nowhere"}, "nowhere")
	g.Refused(tool.NotFound, "push", args{"remote": "upstream"}, "its remotes are origin")
	g.Configure(nil, map[string]any{"private_hosts": []any{"127.0.0.1"}, "protected_branches": []any{"main"}})
	g.Refused(tool.Denied, "push", nil, "protected")
}

// TestPushKeepsTheirCommits: a push that would lose commits of the remote's is
// refused, unless it is forced where that is allowed.
func TestPushKeepsTheirCommits(t *testing.T) {
	t.Parallel()
	g, h := newRemote(t)
	g.Call("clone", args{"url": h.url})
	commit(g, "x", "a.txt", "theirs\n")
	g.Call("push", args{"repo": "x"})
	theirs := g.GitIn(h.served, "rev-parse", "main")
	commit(g, ".", "dir/b.txt", "ours\n")
	g.Refused(tool.Conflict, "push", nil, "commits that are not here", "git.pull")
	g.Refused(tool.Conflict, "pull", nil, "both have commits", "merge or rebase")
	g.Refused(tool.Denied, "push", args{"force": true}, "allow_force")
	if now := g.GitIn(h.served, "rev-parse", "main"); now != theirs {
		t.Errorf("the remote is at %s, want %s", now, theirs)
	}
	allowLoopback(g, "allow_force")
	g.Says(g.Call("push", args{"force": true}), "pushed main")
	if now := g.GitIn(h.served, "rev-parse", "main"); now != g.Git("rev-parse", "main") {
		t.Errorf("the remote is at %s after the push", now)
	}
}

func TestPull(t *testing.T) {
	t.Parallel()
	g, h := newRemote(t)
	g.Call("clone", args{"url": h.url})
	commit(g, "x", "a.txt", "theirs\n")
	g.Call("push", args{"repo": "x"})
	g.Says(g.Call("pull", nil), "moved main")
	if got := g.Read("a.txt"); got != "theirs\n" {
		t.Errorf("pulled %q", got)
	}
	g.Says(g.Call("pull", nil), "already up to date")
	g.Refused(tool.NotFound, "pull", args{"branch": "nowhere"}, "no such branch")
	g.Git("checkout", "-q", "--detach")
	g.Refused(tool.Invalid, "pull", nil, "no branch is checked out")
}

// TestPullKeepsChanges: changes that are not committed are never overwritten.
func TestPullKeepsChanges(t *testing.T) {
	t.Parallel()
	g, h := newRemote(t)
	g.Call("clone", args{"url": h.url})
	commit(g, "x", "a.txt", "theirs\n")
	g.Call("push", args{"repo": "x"})
	g.Write("a.txt", "mine\n")
	g.Refused(tool.Conflict, "pull", nil, "a.txt")
	if got := g.Read("a.txt"); got != "mine\n" {
		t.Errorf("a.txt is %q", got)
	}
}

func TestClone(t *testing.T) {
	t.Parallel()
	g, h := newRemote(t)
	g.Says(g.Call("clone", args{"url": h.url}), "cloned into x")
	g.Says(g.Call("clone", args{"url": h.url, "path": "deep/copy", "depth": 1, "branch": "main"}), "cloned into deep/copy")
	if n := g.GitIn(filepath.Join(g.Dir, "deep/copy"), "rev-list", "--count", "HEAD"); n != "1" {
		t.Errorf("%s commits with depth 1", n)
	}
	g.Refused(tool.Conflict, "clone", args{"url": h.url}, "exists already")
	missing := strings.TrimSuffix(h.url, "x.git") + "y.git"
	g.Refused(tool.NotFound, "clone", args{"url": missing}, "no such repository")
	g.Refused(tool.NotFound, "clone", args{"url": h.url, "path": "z", "branch": "nowhere"}, "no such branch")
	g.Refused(tool.Denied, "clone", args{"url": h.url, "path": "../out"}, "inside the workspace")
	for _, name := range []string{"y", "z"} {
		if _, err := os.Stat(filepath.Join(g.Dir, name)); err == nil {
			t.Errorf("a clone that failed left %s", name)
		}
	}
}

func TestNetworkIsGuarded(t *testing.T) {
	t.Parallel()
	g, h := newRemote(t)
	g.Configure(nil, map[string]any{"network": true})
	g.Refused(tool.Denied, "fetch", nil, "not public", "tools.modules.git.constraints.private_hosts")
	for _, address := range []string{
		"http://localhost:1/x", "http://169.254.169.254/x", "http://[::1]/x", "http://2130706433/x", "http://0x7f.1/x",
		"file:///etc", "/etc", "git@127.0.0.1:x", "ssh://127.0.0.1/x", "git://127.0.0.1/x", "ext::sh -c true",
	} {
		g.Refused(tool.Denied, "clone", args{"url": address})
	}
	g.Configure(nil, map[string]any{"private_hosts": []any{"127.0.0.1"}, "allowed_hosts": []any{"example.com"}})
	g.Refused(tool.Denied, "fetch", nil, "allowed hosts")
	if n := h.requests.Load(); n != 0 {
		t.Errorf("%d requests came through", n)
	}
	allowLoopback(g)
	g.Call("fetch", nil)
	h.moved = "http://localhost:9"
	g.Refused(tool.Failed, "fetch", nil, "has moved")
}

func TestCredential(t *testing.T) {
	t.Parallel()
	g, h := newRemote(t)
	h.password = "s3cret/token"
	g.Refused(tool.Denied, "fetch", nil, "requires a login", "credential")
	g.Grant.Credential = "wrong"
	g.Refused(tool.Denied, "fetch", nil, "credential")
	g.Grant.Credential = h.password
	g.Says(g.Call("fetch", nil), "origin/main: new")
	g.Says(g.Call("clone", args{"url": h.url}), "cloned")
	for _, word := range []string{"s3cret", "proxy", "Authorization"} {
		if settings := g.Read("x/.git/config"); strings.Contains(settings, word) {
			t.Errorf("the clone keeps what was for its connection only:\n%s", settings)
		}
	}
	g.Git("remote", "add", "far", "http://example.com/x.git")
	g.Refused(tool.Denied, "fetch", args{"remote": "far"}, "unencrypted")
	// A password in the address of a remote is used if the app names none.
	g.Grant.Credential = ""
	g.Git("remote", "set-url", "origin", strings.Replace(h.url, "http://", "http://user:s3cret%2Ftoken@", 1))
	g.Says(g.Call("fetch", nil), "nothing new")
	g.Git("remote", "set-url", "origin", "ssh://user:s3cret@127.0.0.1/x.git")
	if _, err := g.Try("fetch", nil); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v", err)
	}
}

// TestNetworkIsForThePolicy: the app's rules decide who may leave the machine,
// by a grant or by asking a human. A call that they let through is made, unless
// the module's constraint forbids it.
func TestNetworkIsForThePolicy(t *testing.T) {
	t.Parallel()
	g, h := newRemote(t)
	for _, name := range []string{"clone", "fetch", "pull", "push"} {
		if r := g.ByName[name].Runtime; r.Risk != tool.High || r.SideEffect != tool.External || !r.Network {
			t.Errorf("%s: %+v", name, r)
		}
	}
	g.Call("fetch", nil)
	g.Call("push", nil)
	g.Call("pull", nil)
	g.Call("clone", args{"url": h.url})
	sent := h.requests.Load()
	g.Configure(nil, map[string]any{"network": false, "private_hosts": []any{"127.0.0.1"}})
	for _, name := range []string{"clone", "fetch", "pull", "push"} {
		g.Refused(tool.Denied, name, args{"url": h.url}, "constraints.network")
	}
	if n := h.requests.Load() - sent; n != 0 {
		t.Errorf("%d requests came through", n)
	}
}
