package git_test

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/tool"
)

// host is a server of repositories, on the loopback.
type host struct {
	url      string
	dir      string
	password string // asked for unless empty
	moved    string // where everything is said to have moved
	requests atomic.Int64
}

func newHost(g *ground) *host {
	g.t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	check(g.t, err)
	program := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(program); err != nil {
		g.t.Skip("git-http-backend is not installed: apt-get install git")
	}
	h := &host{dir: filepath.Join(g.outside, "served")}
	check(g.t, os.Mkdir(h.dir, 0o755))
	backend := &cgi.Handler{Path: program, Env: []string{"GIT_PROJECT_ROOT=" + h.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + g.home}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.requests.Add(1)
		_, password, _ := r.BasicAuth()
		switch {
		case h.moved != "":
			http.Redirect(w, r, h.moved+r.URL.Path, http.StatusMovedPermanently)
		case h.password != "" && password != h.password:
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			backend.ServeHTTP(w, r)
		}
	}))
	g.t.Cleanup(server.Close)
	h.url = server.URL
	g.plainIn(h.dir, "clone", "-q", "--bare", g.dir, "x.git")
	g.plainIn(filepath.Join(h.dir, "x.git"), "config", "http.receivepack", "true")
	return h
}

// granted lets the calls use the network, as far as the loopback.
func (g *ground) granted(more ...string) {
	constraints := map[string]any{"network": true, "private_hosts": []any{"127.0.0.1"}}
	for _, key := range more {
		constraints[key] = true
	}
	g.settle(map[string]any{"network_timeout_seconds": 30}, constraints)
}

func TestNetwork(t *testing.T) {
	g := newGround(t).repository()
	h := newHost(g)
	g.granted()
	g.plain("remote", "add", "origin", h.url+"/x.git")
	g.says(g.call("fetch", nil), "1 branch of origin changed", "origin/main: new")
	g.says(g.call("fetch", nil), "nothing new from origin")
	g.write("a.txt", "ours\n")
	g.call("commit", args{"message": "ours", "all": true})
	g.says(g.call("push", args{"set_upstream": true}), "pushed main", "to origin")
	served := filepath.Join(h.dir, "x.git")
	if here, there := g.plain("rev-parse", "HEAD"), g.plainIn(served, "rev-parse", "main"); here != there {
		t.Errorf("here %s, there %s", here, there)
	}
	g.says(g.call("status", nil), "on main: clean")

	// Somebody else clones, and pushes.
	g.says(g.call("clone", args{"url": h.url + "/x.git"}), "cloned into x")
	g.says(g.call("clone", args{"url": h.url + "/x.git", "path": "deep/copy", "depth": 1, "branch": "main"}), "cloned into deep/copy")
	g.refused(tool.Conflict, "clone", args{"url": h.url + "/x.git"}, "exists already")
	g.refused(tool.NotFound, "clone", args{"url": h.url + "/y.git"}, "no such repository")
	g.refused(tool.NotFound, "clone", args{"url": h.url + "/x.git", "path": "z", "branch": "nowhere"}, "no such branch")
	g.refused(tool.Denied, "clone", args{"url": h.url + "/x.git", "path": "../out"}, "inside the workspace")
	for _, name := range []string{"y", "z"} {
		if _, err := os.Stat(filepath.Join(g.dir, name)); err == nil {
			t.Errorf("a clone that failed left %s", name)
		}
	}
	g.write("x/a.txt", "theirs\n")
	g.call("commit", args{"repo": "x", "message": "theirs", "all": true})
	g.call("push", args{"repo": "x"})
	g.says(g.call("pull", nil), "moved main")
	if got := g.read("a.txt"); got != "theirs\n" {
		t.Errorf("pulled %q", got)
	}
	g.says(g.call("pull", nil), "already up to date")

	// Both have commits of their own.
	g.write("x/a.txt", "theirs again\n")
	g.call("commit", args{"repo": "x", "message": "theirs", "all": true})
	g.call("push", args{"repo": "x"})
	g.write("dir/b.txt", "ours again\n")
	g.call("commit", args{"message": "ours", "all": true})
	g.refused(tool.Conflict, "push", nil, "commits that are not here", "git.pull")
	g.refused(tool.Conflict, "pull", nil, "both have commits", "merge or rebase")
	g.refused(tool.Denied, "push", args{"force": true}, "allow_force")
	g.granted("allow_force")
	g.says(g.call("push", args{"force": true}), "pushed main")
	g.plain("tag", "v1")
	g.says(g.call("push", args{"tag": "v1"}), "pushed v1")
	g.refused(tool.NotFound, "push", args{"branch": "nowhere"}, "nowhere")
	g.refused(tool.NotFound, "fetch", args{"remote": "upstream"}, "its remotes are origin")
	g.refused(tool.NotFound, "fetch", args{"branch": "nowhere"}, "no such branch")
	g.settle(nil, map[string]any{"network": true, "private_hosts": []any{"127.0.0.1"}, "protected_branches": []any{"main"}})
	g.refused(tool.Denied, "push", nil, "protected")
}

func TestNetworkIsGuarded(t *testing.T) {
	g := newGround(t).repository()
	h := newHost(g)
	g.plain("remote", "add", "origin", h.url+"/x.git")
	g.settle(nil, map[string]any{"network": true})
	g.refused(tool.Denied, "fetch", nil, "not public", "tools.modules.git.constraints.private_hosts")
	for _, address := range []string{"http://localhost:1/x", "http://169.254.169.254/x", "http://[::1]/x", "http://2130706433/x", "http://0x7f.1/x", "file:///etc", "/etc", "git@127.0.0.1:x", "ssh://127.0.0.1/x", "git://127.0.0.1/x", "ext::sh -c true"} {
		g.refused(tool.Denied, "clone", args{"url": address})
	}
	g.settle(nil, map[string]any{"network": true, "private_hosts": []any{"127.0.0.1"}, "allowed_hosts": []any{"example.com"}})
	g.refused(tool.Denied, "fetch", nil, "allowed hosts")
	if n := h.requests.Load(); n != 0 {
		t.Errorf("%d requests came through", n)
	}
	g.granted()
	g.call("fetch", nil)
	h.moved = "http://localhost:9"
	g.refused(tool.Failed, "fetch", nil, "has moved")
}

func TestCredential(t *testing.T) {
	g := newGround(t).repository()
	h := newHost(g)
	h.password = "s3cret/token"
	g.granted()
	g.plain("remote", "add", "origin", h.url+"/x.git")
	g.refused(tool.Denied, "fetch", nil, "asks who is there", "credential")
	g.grant.Credential = "wrong"
	g.refused(tool.Denied, "fetch", nil, "credential")
	g.grant.Credential = h.password
	g.says(g.call("fetch", nil), "origin/main: new")
	g.says(g.call("clone", args{"url": h.url + "/x.git"}), "cloned")
	if settings := g.read("x/.git/config"); strings.Contains(settings, "s3cret") || strings.Contains(settings, "proxy") || strings.Contains(settings, "Authorization") {
		t.Errorf("the clone keeps what was for the way only:\n%s", settings)
	}
	g.plain("remote", "add", "far", "http://example.com/x.git")
	g.refused(tool.Denied, "fetch", args{"remote": "far"}, "unencrypted")
	// What stands in the address of a remote counts where the app names nothing.
	g.grant.Credential = ""
	g.plain("remote", "set-url", "origin", strings.Replace(h.url, "http://", "http://user:s3cret%2Ftoken@", 1)+"/x.git")
	g.says(g.call("fetch", nil), "nothing new")
	g.plain("remote", "set-url", "origin", "ssh://user:s3cret@127.0.0.1/x.git")
	if _, err := g.try("fetch", nil); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v", err)
	}
}
