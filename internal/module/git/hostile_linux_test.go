package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/sandbox"
	"callgate/tool"
)

// vector is one way in which a repository can have a program run.
type vector struct {
	name string
	trap func(h *hostile) // sets it
	live []string         // a command of a user's that closes it; none: no command that needs no terminal does
	fail string           // tools that may always fail, and why it is said in the test of its own
}

// config is a vector that is a line of the repository's settings. % stands for
// the canary.
func config(key, value string, live ...string) vector {
	return vector{name: key, live: live, trap: func(h *hostile) {
		h.git("config", key, strings.ReplaceAll(value, "%", h.canary))
	}}
}

// with adds to a vector's trap.
func (v vector) with(name string, more func(h *hostile)) vector {
	trap := v.trap
	v.name += name
	v.trap = func(h *hostile) {
		trap(h)
		more(h)
	}
	return v
}

func attributes(text string) func(h *hostile) {
	return func(h *hostile) {
		h.write("r/.git/info/attributes", text)
		h.write("r/a.txt", "one\n2\nnot staged\n")
	}
}

var hooks = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit",
	"pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive", "post-update",
	"reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change",
}

var vectors = []vector{
	{name: "hooks", live: []string{"commit", "--allow-empty", "-m", "x"}, trap: func(h *hostile) {
		for _, name := range hooks {
			h.plant("r/.git/hooks/" + name)
		}
	}},
	{name: "core.hooksPath", live: []string{"commit", "--allow-empty", "-m", "x"}, trap: func(h *hostile) {
		for _, name := range hooks {
			h.plant("traps/" + name)
		}
		h.git("config", "core.hooksPath", filepath.Join(h.dir, "traps"))
	}},
	config("core.fsmonitor", "%", "status"),
	{name: "settings that need a terminal, or a command that is not offered", trap: func(h *hostile) {
		for _, key := range []string{
			"core.pager", "pager.status", "pager.log", "pager.branch", "sequence.editor", "core.askPass", "interactive.diffFilter", "alias.status", "alias.log",
			"credential.https://127.0.0.1:1.helper", "remote.origin.proxy", "gpg.ssh.defaultKeyCommand", "uploadpack.packObjectsHook", "gc.recentObjectsHook",
			"tar.evil.command", "browser.evil.cmd", "difftool.evil.cmd", "mergetool.evil.cmd", "instaweb.browser", "man.evil.cmd", "help.browser", "sendemail.smtpServer",
		} {
			h.git("config", key, h.canary)
		}
		h.git("config", "gc.auto", "1")
		h.git("config", "core.worktree", "/")
		h.git("config", "--file", ".git/config", "core.bare", "true")
	}},
	config("core.editor", "%", "commit", "--allow-empty"),
	config("core.sshCommand", "%", "fetch", "ssh://127.0.0.1/x"),
	config("core.gitProxy", "%", "fetch", "git://127.0.0.1/x"),
	config("credential.helper", "!%", "credential", "fill"),
	config("alias.st", "!%", "st"),
	config("diff.external", "%", "diff", "HEAD~1"),
	config("diff.evil.command", "%", "diff").with(" by an attribute", attributes("*.txt diff=evil\n")),
	config("diff.evil.textconv", "%", "blame", "a.txt").with(" by an attribute", attributes("*.txt diff=evil\n")),
	config("filter.evil.clean", "%", "add", "a.txt").with(" by an attribute", attributes("a.txt filter=evil\n")).and("filter.evil.required", "true"),
	config("filter.evil.smudge", "%", "checkout", "-f", "side").with(" by an attribute", attributes("a.txt filter=evil\n")),
	config("filter.evil.process", "%", "add", "a.txt").with(" by an attribute", attributes("a.txt filter=evil\n")),
	config("merge.evil.driver", "%", "merge-file", "--help").with(" by an attribute", attributes("*.txt merge=evil\n")).still(),
	config("gpg.program", "%", "commit", "--allow-empty", "-m", "x").and("commit.gpgSign", "true").and("tag.gpgSign", "true").and("log.showSignature", "true").and("push.gpgSign", "true"),
	config("gpg.ssh.program", "%", "commit", "--allow-empty", "-m", "x").and("gpg.format", "ssh").and("commit.gpgSign", "true").and("user.signingKey", "x"),
	config("trailer.evil.command", "%", "commit", "--allow-empty", "-m", "x", "--trailer", "evil=1"),
	config("remote.origin.uploadpack", "%", "fetch").and("remote.origin.url", "../r"),
	config("remote.origin.receivepack", "%", "push", "origin", "main").and("remote.origin.url", "../r"),
	config("remote.origin.vcs", "ext", "-c", "protocol.allow=always", "fetch").and("remote.origin.url", "%"),
	config("remote.origin.url", "ext::%", "-c", "protocol.ext.allow=always", "fetch"),
	config("remote.origin.pushurl", "ext::%", "-c", "protocol.ext.allow=always", "push", "origin", "main"),
	{name: "url.insteadOf", live: []string{"fetch"}, trap: func(h *hostile) {
		h.git("config", "url.ext::"+h.canary+" .insteadOf", "https://127.0.0.1:1/")
		h.git("config", "protocol.ext.allow", "always")
	}},
	config("protocol.ext.allow", "always", "fetch").and("remote.origin.url", "ext::%"),
	config("branch.main.remote", "ext::%", "-c", "protocol.ext.allow=always", "fetch"),
	config("core.alternateRefsCommand", "%", "fetch", "../twin").with(" with alternates", func(h *hostile) {
		h.plain("clone", "-q", "--bare", "r", "twin")
		h.write("r/.git/objects/info/alternates", filepath.Join(h.dir, "twin", "objects")+"\n")
	}),
	{name: "include.path", live: []string{"status"}, trap: func(h *hostile) {
		h.write("evil.inc", "[core]\n\tfsmonitor = "+h.canary+"\n[diff]\n\texternal = "+h.canary+"\n")
		h.git("config", "include.path", "../../evil.inc")
	}},
	{name: "includeIf", live: []string{"status"}, trap: func(h *hostile) {
		h.write("evil.inc", "[core]\n\tfsmonitor = "+h.canary+"\n")
		h.git("config", "includeIf.onbranch:main.path", "../../evil.inc")
	}},
	{name: "config.worktree", live: []string{"status"}, trap: func(h *hostile) {
		h.git("config", "extensions.worktreeConfig", "true")
		h.write("r/.git/config.worktree", "[core]\n\tfsmonitor = "+h.canary+"\n\thooksPath = "+filepath.Dir(h.canary)+"\n")
	}},
	{name: "the settings are a link", live: []string{"status"}, trap: func(h *hostile) {
		h.git("config", "core.fsmonitor", h.canary)
		check(h.t, os.Rename(filepath.Join(h.repo, ".git/config"), filepath.Join(h.dir, "elsewhere")))
		check(h.t, os.Symlink("../../elsewhere", filepath.Join(h.repo, ".git/config")))
	}},
	{name: "hooks is a link", live: []string{"commit", "--allow-empty", "-m", "x"}, trap: func(h *hostile) {
		for _, name := range hooks {
			h.plant("traps/" + name)
		}
		check(h.t, os.RemoveAll(filepath.Join(h.repo, ".git/hooks")))
		check(h.t, os.Symlink("../../traps", filepath.Join(h.repo, ".git/hooks")))
	}},
	{name: "commondir", live: []string{"status"}, trap: func(h *hostile) {
		check(h.t, os.CopyFS(filepath.Join(h.dir, "evil"), os.DirFS(filepath.Join(h.repo, ".git"))))
		h.plain("config", "--file", "evil/config", "core.fsmonitor", h.canary)
		h.write("r/.git/commondir", "../../evil\n")
	}},
	{name: "a promised object", live: []string{"-c", "protocol.ext.allow=always", "cat-file", "-p", "main:gone.txt"}, fail: "add commit stash checkout restore diff", trap: func(h *hostile) {
		h.write("r/gone.txt", "gone\n")
		h.commit("gone")
		id := h.git("rev-parse", "HEAD:gone.txt")
		check(h.t, os.Remove(filepath.Join(h.repo, ".git/objects", id[:2], id[2:])))
		h.git("config", "core.repositoryformatversion", "1")
		h.git("config", "extensions.partialClone", "origin")
		h.git("config", "remote.origin.promisor", "true")
		h.git("config", "remote.origin.url", "ext::"+h.canary)
		check(h.t, os.Remove(filepath.Join(h.repo, "gone.txt")))
	}},
	{name: "the user's own settings", live: []string{"status"}, trap: func(h *hostile) {
		h.write("../home/.gitconfig", "[core]\n\tfsmonitor = "+h.canary+"\n\tpager = "+h.canary+"\n[alias]\n\tstatus = !"+h.canary+"\n[diff]\n\texternal = "+h.canary+"\n[init]\n\ttemplateDir = "+filepath.Dir(h.canary)+"\n")
	}},
	{name: "the environment", live: []string{"diff", "HEAD~1"}, trap: func(h *hostile) {
		t := h.t.(*testing.T)
		for _, name := range []string{"GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PROXY_COMMAND", "PAGER", "EDITOR", "VISUAL", "SSH_ASKPASS"} {
			t.Setenv(name, h.canary)
		}
		t.Setenv("GIT_CONFIG_COUNT", "1")
		t.Setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
		t.Setenv("GIT_CONFIG_VALUE_0", h.canary)
		t.Setenv("GIT_ALLOW_PROTOCOL", "ext")
	}},
}

// and adds a line of settings.
func (v vector) and(key, value string) vector {
	return v.with(", "+key, func(h *hostile) { h.git("config", key, strings.ReplaceAll(value, "%", h.canary)) })
}

// still takes away the proof that the trap closes.
func (v vector) still() vector {
	v.live = nil
	return v
}

// TestHostileRepository: whatever a repository's settings, hooks and attributes
// say, no tool runs anything of it.
func TestHostileRepository(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			h := newHostile(t)
			h.vector = v.name
			v.trap(h)
			if v.live != nil {
				// On a copy: it leaves traces.
				safe := filepath.Join(h.outside, "copy")
				check(t, os.CopyFS(safe, os.DirFS(h.repo)))
				h.live(v.live...)
				check(t, os.RemoveAll(h.repo))
				check(t, os.Rename(safe, h.repo))
			}
			fails := v.fail
			if strings.HasPrefix(v.name, "filter.") {
				fails += " add commit" // all is refused, and so nothing is staged
			}
			h.worked(h.walk("r", steps), fails)
		})
	}
}

// TestHostileSubmodule: the settings of a submodule are those of a repository
// that nobody looked at, and Git would run in it by itself.
func TestHostileSubmodule(t *testing.T) {
	h := newHostile(t)
	h.vector = "submodule"
	h.plain("init", "-q", "-b", "main", "lib")
	h.write("lib/x.txt", "x\n")
	lib := filepath.Join(h.dir, "lib")
	h.plainIn(lib, "add", ".")
	h.plainIn(lib, "commit", "-q", "-m", "x")
	h.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "sub")
	h.git("config", "--file", ".gitmodules", "submodule.sub.ignore", "none")
	h.git("config", "--file", ".gitmodules", "submodule.sub.update", "checkout")
	h.git("config", "--file", ".gitmodules", "submodule.opt.path", "opt")
	h.git("config", "--file", ".gitmodules", "submodule.opt.url", "--upload-pack="+h.canary)
	h.git("config", "--file", ".gitmodules", "submodule.sub.url", "ext::"+h.canary)
	h.git("config", "submodule.recurse", "true")
	h.git("config", "submodule.sub.update", "!"+h.canary)
	h.git("config", "diff.submodule", "diff")
	h.git("config", "status.submoduleSummary", "true")
	h.git("config", "fetch.recurseSubmodules", "true")
	h.commit("submodule")
	for _, key := range []string{"core.fsmonitor", "filter.evil.clean", "diff.external", "core.sshCommand"} {
		h.git("config", "--file", ".git/modules/sub/config", key, h.canary)
	}
	for _, name := range hooks {
		h.plant("r/.git/modules/sub/hooks/" + name)
	}
	h.write("r/.git/modules/sub/info/attributes", "* filter=evil\n")
	h.write("r/sub/x.txt", "changed\n")
	h.live("status")
	h.live("diff")
	done := h.walk("r", steps)
	h.worked(done, "stash")
	dirty(h)
	h.refused(tool.Denied, "stash", args{"repo": "r"}, "submodule")
	h.walk("r/sub", steps)
	h.worked(h.walk("r/sub", []step{{"status", args{}, nil}, {"log", args{}, nil}}), "diff show blame branches add commit stash restore checkout")
	// A commit of the submodule's is a change of the repository's.
	h.write("lib/y", "y")
	h.git("config", "--file", ".git/modules/sub/config", "--unset", "core.fsmonitor")
	h.plainIn(filepath.Join(h.repo, "sub"), "-c", "core.hooksPath=/dev/null", "-c", "filter.evil.clean=", "commit", "-q", "--allow-empty", "-m", "moved")
	h.fired()
	h.says(h.call("status", args{"repo": "r"}), "sub")
	h.says(h.call("add", args{"repo": "r", "paths": []string{"sub"}}), "staged 1 file")
	h.says(h.call("commit", args{"repo": "r", "message": "sub"}), "1 file changed")
	if h.fired() {
		t.Error("the canary ran")
	}
}

// TestHostilePointers: a .git that is a file, or a folder that looks like a
// repository, is no way around the rules.
func TestHostilePointers(t *testing.T) {
	h := newHostile(t)
	h.vector = "pointers"
	check(t, os.CopyFS(filepath.Join(h.dir, "evil.git"), os.DirFS(filepath.Join(h.repo, ".git"))))
	for _, file := range []string{"evil.git/config"} {
		h.plain("config", "--file", file, "core.fsmonitor", h.canary)
		h.plain("config", "--file", file, "core.worktree", h.outside)
		h.plain("config", "--file", file, "diff.external", h.canary)
	}
	h.write("pointed/.git", "gitdir: ../evil.git\n")
	h.write("pointed/a.txt", "x\n")
	h.worked(h.walk("pointed", steps), "stash")
	if left, _ := os.ReadDir(h.outside); len(left) > 0 {
		t.Errorf("written outside: %v", left)
	}
	// A bare repository in a folder of the working tree.
	h.plain("clone", "-q", "--bare", "r", "r/nested")
	h.plain("config", "--file", "r/nested/config", "core.fsmonitor", h.canary)
	for _, name := range hooks {
		h.plant("r/nested/hooks/" + name)
	}
	h.refused(tool.Invalid, "status", args{"repo": "r/nested"}, "lies inside the repository")
	h.worked(h.walk("r", steps))
	h.walk("r/nested", steps)
	// Parts of a repository that lie outside.
	h.write("../outside/secret", "SECRET")
	for _, part := range []string{"objects", "refs", "index", "HEAD", "logs", "info", "packed-refs"} {
		dir := "parts-" + part
		h.plain("clone", "-q", "r", dir)
		check(t, os.RemoveAll(filepath.Join(h.dir, dir, ".git", part)))
		check(t, os.Symlink(filepath.Join(h.outside, part), filepath.Join(h.dir, dir, ".git", part)))
		for _, s := range steps[:16] {
			a := args{"repo": dir}
			for k, v := range s.args {
				a[k] = v
			}
			if r, err := h.try(s.tool, a); err == nil && strings.Contains(text(r)+string(r.Data), "SECRET") {
				t.Errorf("%s: %s told what lies outside", part, s.tool)
			}
		}
	}
	entries, _ := os.ReadDir(h.outside)
	if len(entries) != 1 {
		t.Errorf("written outside: %v", entries)
	}
}

// TestHostileNames: names of files and references are data, whatever they look
// like.
func TestHostileNames(t *testing.T) {
	h := newHostile(t)
	h.vector = "names"
	names := []string{
		"new\nline", "quo\"te", `back\slash`, "bad\xff\xfe", "-rf", "--output=out", ":(exclude)a.txt", ":!a.txt", ":/", "*", "a b", "\x1b[31mred", "$(touch x)", "`touch x`", ";touch x",
		strings.Repeat("n", 255), "--upload-pack=" + strings.ReplaceAll(h.canary, "/", "_"), "été", "HEAD", "main", "@", "~", "{}", "%n%H", "sub/\tdir/\x01",
	}
	for _, name := range names {
		h.write("r/"+name, "x\n")
	}
	check(t, os.Symlink("/etc/passwd", filepath.Join(h.repo, "link")))
	check(t, os.Symlink("../..", filepath.Join(h.repo, "up")))
	r := h.call("add", args{"repo": "r", "all": true})
	h.says(r, "staged 27 files")
	type listing struct{ Paths []string }
	shown := data[listing](h.ground, r).Paths
	h.call("commit", args{"repo": "r", "message": "odd"})
	for _, path := range shown {
		for _, s := range []step{
			{"show", args{"path": path}, nil}, {"blame", args{"path": path}, nil}, {"log", args{"paths": []string{path}}, nil}, {"log", args{"paths": []string{path}, "follow": true}, nil},
			{"diff", args{"from": "HEAD~1", "paths": []string{path}, "stat": true}, nil}, {"checkout", args{"to": "HEAD", "paths": []string{path}}, nil},
		} {
			a := args{"repo": "r"}
			for k, v := range s.args {
				a[k] = v
			}
			r := h.call(s.tool, a)
			if s.tool == "log" && !strings.HasPrefix(r.Summary, "1 commit") || s.tool == "diff" && !strings.HasPrefix(r.Summary, "1 file") {
				t.Errorf("%s of %s: %s", s.tool, path, r.Summary)
			}
			if s.tool == "show" && strings.Contains(text(r), "root:") {
				t.Error("a link was followed out of the repository")
			}
		}
	}
	id := h.git("rev-parse", "HEAD")
	for _, ref := range []string{"-d", "--output=out", "--upload-pack=x", "--exec=" + filepath.Base(h.canary), "-b", "..dots", "HEAD"} {
		h.write("r/.git/refs/heads/"+ref, id+"\n")
		h.write("r/.git/refs/remotes/origin/"+ref, id+"\n")
		for _, s := range []step{
			{"log", args{"rev": ref}, nil}, {"show", args{"rev": ref}, nil}, {"diff", args{"from": ref}, nil}, {"diff", args{"from": "HEAD", "to": ref}, nil}, {"blame", args{"path": "a.txt", "rev": ref}, nil},
			{"checkout", args{"to": ref}, nil}, {"checkout", args{"to": ref, "create": true}, nil}, {"checkout", args{"to": "fresh", "create": true, "start": ref}, nil}, {"restore", args{"paths": []string{"."}, "source": ref}, nil},
			{"branches", args{"create": ref}, nil}, {"branches", args{"create": "b", "start": ref}, nil}, {"branches", args{"delete": ref}, nil}, {"branches", args{"rename": ref, "to": "b"}, nil}, {"branches", args{"rename": "side", "to": ref}, nil},
			{"fetch", args{"remote": ref}, nil}, {"fetch", args{"branch": ref}, nil}, {"pull", args{"branch": ref}, nil}, {"push", args{"branch": ref}, nil}, {"push", args{"tag": ref}, nil}, {"push", args{"remote": ref}, nil},
			{"clone", args{"url": "https://example.com/x", "branch": ref}, nil},
		} {
			if ref == "HEAD" || ref == "..dots" {
				break
			}
			a := args{"repo": "r"}
			for k, v := range s.args {
				a[k] = v
			}
			if s.tool == "clone" {
				delete(a, "repo")
			}
			if _, err := h.try(s.tool, a); err == nil || h.fired() {
				t.Errorf("%s(%v) was not refused", s.tool, s.args)
			}
		}
		h.call("branches", args{"repo": "r", "remote": true})
		h.call("status", args{"repo": "r"})
		h.call("log", args{"repo": "r", "all": true})
	}
	if _, err := os.Stat(filepath.Join(h.repo, "out")); err == nil {
		t.Error("a name became an option")
	}
	h.walk("r", steps)
}

// TestCanaryIsSeenInTheSandbox: the canary is noticed also where it can write
// nothing, or all of the above would show nothing.
func TestCanaryIsSeenInTheSandbox(t *testing.T) {
	h := newHostile(t)
	h.git("config", "core.fsmonitor", h.canary)
	h.fired()
	_, err := sandbox.Run(t.Context(), sandbox.Spec{Argv: []string{"git", "status"}, Dir: h.repo, Env: sandbox.Environ(nil), Workspace: h.dir, ReadOnlyWorkspace: true})
	check(t, err)
	if !h.fired() {
		t.Error("the canary ran, and nobody noticed")
	}
}
