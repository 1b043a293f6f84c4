package network_test

import (
	"context"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/module/git"
	"callgate/internal/module/git/gittest"
	"callgate/tool"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }

type args = gittest.Args

// host is a server of repositories on the loopback. It serves x.git.
type host struct {
	url      string
	served   string // the folder of x.git
	password string // "": none is asked for
	moved    string // where every request is redirected to; "": nowhere
	requests atomic.Int64
}

// newRemote makes a workspace that is a repository with two commits, and a host
// that serves a copy of it; the repository knows the host as origin.
func newRemote(t *testing.T) (*gittest.Tools, *host) {
	t.Helper()
	g := gittest.New(t).WithRepository().Open(git.Module(), execute)
	out, err := exec.Command("git", "--exec-path").Output()
	gittest.Check(t, err)
	program := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(program); err != nil {
		t.Skip("git-http-backend is not installed: apt-get install git")
	}
	folder := filepath.Join(g.Outside, "served")
	gittest.Check(t, os.Mkdir(folder, 0o755))
	h := &host{served: filepath.Join(folder, "x.git")}
	backend := &cgi.Handler{Path: program, Env: []string{
		"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + g.Home,
	}}
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
	t.Cleanup(server.Close)
	h.url = server.URL + "/x.git"
	g.GitIn(folder, "clone", "-q", "--bare", g.Dir, "x.git")
	g.GitIn(h.served, "config", "http.receivepack", "true")
	g.Git("remote", "add", "origin", h.url)
	allowLoopback(g)
	return g, h
}

// allowLoopback lets the calls reach the host, and sets more constraints to
// true.
func allowLoopback(g *gittest.Tools, more ...string) {
	constraints := map[string]any{"private_hosts": []any{"127.0.0.1"}}
	for _, key := range more {
		constraints[key] = true
	}
	g.Configure(map[string]any{"network_timeout_seconds": 30}, constraints)
}

// commit commits a change of a file in a repository of the workspace.
func commit(g *gittest.Tools, repo, file, text string) {
	g.T.Helper()
	g.Write(filepath.Join(repo, file), text)
	g.GitIn(filepath.Join(g.Dir, repo), "commit", "-q", "-a", "-m", text)
}

// execute runs a tool without a gate.
func execute(ctx context.Context, one *tool.Tool, call tool.Call, grant tool.Grant) (*tool.Result, error) {
	return one.Handler.Execute(ctx, call, grant)
}
