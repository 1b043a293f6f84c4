package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/launch"
	"callgate/internal/module/git/gittest"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// trap is one way in which a repository can make Git run a program.
type trap struct {
	name string
	set  func(h *hostile, canary string)
	live []string // a command of the user's that runs the canary; nil: every such command needs a terminal
}

// config is a trap that is one line of the repository's settings. % in the
// value stands for the canary.
func config(key, value string, live ...string) trap {
	return trap{name: key, live: live, set: func(h *hostile, canary string) {
		h.git("config", key, strings.ReplaceAll(value, "%", canary))
	}}
}

// with adds to a trap.
func (v trap) with(more func(h *hostile)) trap {
	set := v.set
	v.set = func(h *hostile, canary string) {
		set(h, canary)
		more(h)
	}
	return v
}

// and adds a line of settings.
func (v trap) and(key, value string) trap {
	set := v.set
	v.set = func(h *hostile, canary string) {
		set(h, canary)
		h.git("config", key, strings.ReplaceAll(value, "%", canary))
	}
	return v
}

// attribute gives a file an attribute, and a change that is not staged.
func attribute(file, text string) func(h *hostile) {
	return func(h *hostile) {
		path := filepath.Join(h.repo, ".git/info/attributes")
		old, _ := os.ReadFile(path)
		h.Write("r/.git/info/attributes", string(old)+file+" "+text+"\n")
		for _, name := range []string{"a.txt", "other.txt", "third.txt"} {
			if ok, _ := filepath.Match(file, name); ok {
				h.Write("r/"+name, "one\n2\nnot staged\n")
			}
		}
	}
}

var hooks = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
	"commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update",
	"proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc",
	"post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change",
}

// plantHooks plants a canary as every hook, in a folder of the workspace.
func plantHooks(h *hostile, folder, canary string) {
	for _, name := range hooks {
		h.plant(filepath.Join(folder, name), canary)
	}
}

var commitEmpty = []string{"commit", "--allow-empty", "-m", "x"}

// site is a repository with traps that do not disturb each other: the user's
// own Git runs the canary of each of them.
type site struct {
	name  string
	traps []trap
	fails []string // tools that fail whenever they are called; other tests say why
}

var sites = []site{
	{name: "hooks and settings", traps: []trap{
		{name: "hooks", live: commitEmpty, set: func(h *hostile, canary string) { plantHooks(h, "r/.git/hooks", canary) }},
		config("core.fsmonitor", "%", "status"),
		config("core.sshCommand", "%", "fetch", "ssh://127.0.0.1/x"),
		config("core.gitProxy", "%", "fetch", "git://127.0.0.1/x"),
		config("credential.helper", "!%", "credential", "fill"),
		config("alias.st", "!%", "st"),
		config("diff.external", "%", "diff", "HEAD~1"),
		config("merge.evil.driver", "%").with(attribute("*.txt", "merge=evil")),
		config("remote.origin.uploadpack", "%", "fetch").and("remote.origin.url", "../r"),
		config("remote.origin.receivepack", "%", "push", "origin", "main"),
	}},
	{name: "another folder of hooks", traps: []trap{
		{name: "core.hooksPath", live: commitEmpty, set: func(h *hostile, canary string) {
			plantHooks(h, "traps", canary)
			h.git("config", "core.hooksPath", filepath.Join(h.Dir, "traps"))
		}},
		config("diff.evil.command", "%", "diff").with(attribute("*.txt", "diff=evil")),
		config("diff.evil.textconv", "%", "blame", "a.txt"),
		{name: "include.path", live: []string{"status"}, set: func(h *hostile, canary string) {
			h.Write("evil.inc", "[core]\n\tfsmonitor = "+canary+"\n[diff]\n\texternal = "+canary+"\n")
			h.git("config", "include.path", "../../evil.inc")
		}},
		config("remote.origin.url", "ext::%", "-c", "protocol.ext.allow=always", "fetch"),
		config("remote.origin.pushurl", "ext::%", "-c", "protocol.ext.allow=always", "push", "origin", "main"),
	}},
	{name: "commits", traps: []trap{
		config("core.editor", "%", "commit", "--allow-empty"),
		config("gpg.program", "%", commitEmpty...).and("commit.gpgSign", "true").and("tag.gpgSign", "true").
			and("log.showSignature", "true").and("push.gpgSign", "true"),
		config("trailer.evil.command", "%", append(slices.Clone(commitEmpty), "--trailer", "evil=1")...),
		{name: "url.insteadOf", live: []string{"fetch"}, set: func(h *hostile, canary string) {
			h.git("config", "url.ext::"+canary+" .insteadOf", "https://127.0.0.1:1/")
			h.git("config", "protocol.ext.allow", "always")
		}},
		{name: "includeIf", live: []string{"status"}, set: func(h *hostile, canary string) {
			h.Write("evil.inc", "[core]\n\tfsmonitor = "+canary+"\n")
			h.git("config", "includeIf.onbranch:main.path", "../../evil.inc")
		}},
		config("core.alternateRefsCommand", "%", "fetch", "../twin").with(func(h *hostile) {
			h.Git("clone", "-q", "--bare", "r", "twin")
			h.Write("r/.git/objects/info/alternates", filepath.Join(h.Dir, "twin", "objects")+"\n")
		}),
	}},
	{name: "settings of the working tree", traps: []trap{
		config("gpg.ssh.program", "%", commitEmpty...).and("gpg.format", "ssh").and("commit.gpgSign", "true").
			and("user.signingKey", "x"),
		config("protocol.ext.allow", "always", "fetch").and("remote.origin.url", "ext::%"),
		{name: "config.worktree", live: []string{"status"}, set: func(h *hostile, canary string) {
			h.git("config", "extensions.worktreeConfig", "true")
			h.Write("r/.git/config.worktree", "[core]\n\tfsmonitor = "+canary+"\n")
		}},
	}},
	{name: "links", traps: []trap{
		config("remote.origin.vcs", "ext", "-c", "protocol.allow=always", "fetch").and("remote.origin.url", "%"),
		{name: "hooks is a link", live: commitEmpty, set: func(h *hostile, canary string) {
			plantHooks(h, "traps", canary)
			check(h.T, os.RemoveAll(filepath.Join(h.repo, ".git/hooks")))
			check(h.T, os.Symlink("../../traps", filepath.Join(h.repo, ".git/hooks")))
		}},
		{name: "the settings are a link", live: []string{"status"}, set: func(h *hostile, canary string) {
			h.git("config", "core.fsmonitor", canary)
			check(h.T, os.Rename(filepath.Join(h.repo, ".git/config"), filepath.Join(h.Dir, "elsewhere")))
			check(h.T, os.Symlink("../../elsewhere", filepath.Join(h.repo, ".git/config")))
		}},
	}},
	{name: "commondir", traps: []trap{
		config("branch.main.remote", "ext::%", "-c", "protocol.ext.allow=always", "fetch"),
		{name: "commondir", live: []string{"status"}, set: func(h *hostile, canary string) {
			check(h.T, os.CopyFS(filepath.Join(h.Dir, "evil"), os.DirFS(filepath.Join(h.repo, ".git"))))
			h.Git("config", "--file", "evil/config", "core.fsmonitor", canary)
			h.Write("r/.git/commondir", "../../evil\n")
		}},
	}},
	{name: "filters", fails: []string{"add", "commit"}, traps: []trap{ // add refuses such files, so nothing is staged
		config("filter.clean.clean", "%", "add", "other.txt").and("filter.clean.required", "true").
			with(attribute("other.txt", "filter=clean")),
		config("filter.smudge.smudge", "%", "checkout", "-f", "side").with(attribute("a.txt", "filter=smudge")),
		config("filter.process.process", "%", "add", "third.txt").with(attribute("third.txt", "filter=process")),
	}},
	{name: "settings that need a terminal, or a command that no tool offers", traps: []trap{
		{name: "all", set: needTerminal},
	}},
	{name: "a promised object", fails: []string{"add", "commit", "stash", "checkout", "restore", "diff"}, traps: []trap{
		{name: "remote", set: promiseObject, live: []string{
			"-c", "protocol.ext.allow=always", "cat-file", "-p", "main:gone.txt",
		}},
	}},
}

func needTerminal(h *hostile, canary string) {
	for _, key := range []string{
		"core.pager", "pager.status", "pager.log", "pager.branch", "sequence.editor", "core.askPass",
		"interactive.diffFilter", "alias.status", "alias.log", "credential.https://127.0.0.1:1.helper",
		"remote.origin.proxy", "gpg.ssh.defaultKeyCommand", "uploadpack.packObjectsHook", "gc.recentObjectsHook",
		"tar.evil.command", "browser.evil.cmd", "difftool.evil.cmd", "mergetool.evil.cmd", "instaweb.browser",
		"man.evil.cmd", "help.browser", "sendemail.smtpServer",
	} {
		h.git("config", key, canary)
	}
	h.git("config", "gc.auto", "1")
	h.git("config", "core.worktree", "/")
	h.git("config", "--file", ".git/config", "core.bare", "true")
}

func promiseObject(h *hostile, canary string) {
	h.Write("r/gone.txt", "gone\n")
	h.commit("gone")
	id := h.git("rev-parse", "HEAD:gone.txt")
	check(h.T, os.Remove(filepath.Join(h.repo, ".git/objects", id[:2], id[2:])))
	h.git("config", "core.repositoryformatversion", "1")
	h.git("config", "extensions.partialClone", "origin")
	h.git("config", "remote.origin.promisor", "true")
	h.git("config", "remote.origin.url", "ext::"+canary)
	check(h.T, os.Remove(filepath.Join(h.repo, "gone.txt")))
}

// spring sets the traps of a site, proves that each works, and makes every
// call.
func (s site) spring(h *hostile) {
	h.T.Helper()
	for _, v := range s.traps {
		v.set(h, h.canary(v.name))
	}
	for _, v := range s.traps {
		if v.live != nil {
			h.live(v.name, v.live...)
		}
	}
	h.worked(h.walk("r", steps), s.fails...)
}

// TestHostileRepository: whatever a repository's settings, hooks and attributes
// say, no tool runs any program of the repository.
//
// Traps share a repository where none can hide another: with all of them set,
// the user's own Git still runs the canary of each. So one walk proves for each
// of them what a walk of its own would, and costs no more.
func TestHostileRepository(t *testing.T) {
	t.Parallel()
	for _, s := range sites {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.spring(newHostile(t))
		})
	}
}

// TestHostileUser: the settings of the user's own, and the environment of the
// kernel, name programs that no tool runs either.
func TestHostileUser(t *testing.T) {
	gittest.OwnHome(t)
	site{traps: []trap{
		{name: "settings", live: []string{"status"}, set: func(h *hostile, canary string) {
			writeHome(h.Tools, ".gitconfig", "[core]\n\tfsmonitor = "+canary+"\n\tpager = "+canary+"\n"+
				"[alias]\n\tstatus = !"+canary+"\n[diff]\n\texternal = "+canary+"\n"+
				"[init]\n\ttemplateDir = "+filepath.Dir(canary)+"\n")
		}},
		{name: "settings in the environment", live: commitEmpty, set: func(h *hostile, canary string) {
			plantHooks(h, "traps", canary)
			t.Setenv("GIT_CONFIG_COUNT", "1")
			t.Setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
			t.Setenv("GIT_CONFIG_VALUE_0", filepath.Join(h.Dir, "traps"))
		}},
		{name: "programs in the environment", live: []string{"diff", "HEAD~1"}, set: func(_ *hostile, canary string) {
			for _, name := range []string{
				"GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS",
				"GIT_PROXY_COMMAND", "PAGER", "EDITOR", "VISUAL", "SSH_ASKPASS",
			} {
				t.Setenv(name, canary)
			}
			t.Setenv("GIT_ALLOW_PROTOCOL", "ext")
		}},
	}}.spring(newHostile(t))
}

// TestHostileSubmodule: a submodule is a repository with settings of its own, in
// which Git would run by itself.
func TestHostileSubmodule(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	const name = "submodule"
	canary := h.canary(name)
	h.Git("init", "-q", "-b", "main", "lib")
	h.Write("lib/x.txt", "x\n")
	lib := filepath.Join(h.Dir, "lib")
	h.GitIn(lib, "add", ".")
	h.GitIn(lib, "commit", "-q", "-m", "x")
	h.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "sub")
	for key, value := range map[string]string{
		"submodule.sub.ignore": "none", "submodule.sub.update": "checkout", "submodule.sub.url": "ext::" + canary,
		"submodule.opt.path": "opt", "submodule.opt.url": "--upload-pack=" + canary,
	} {
		h.git("config", "--file", ".gitmodules", key, value)
	}
	for key, value := range map[string]string{
		"submodule.recurse": "true", "submodule.sub.update": "!" + canary, "diff.submodule": "diff",
		"status.submoduleSummary": "true", "fetch.recurseSubmodules": "true",
	} {
		h.git("config", key, value)
	}
	h.commit("submodule")
	for _, key := range []string{"core.fsmonitor", "filter.evil.clean", "diff.external", "core.sshCommand"} {
		h.git("config", "--file", ".git/modules/sub/config", key, canary)
	}
	plantHooks(h, "r/.git/modules/sub/hooks", canary)
	h.Write("r/.git/modules/sub/info/attributes", "* filter=evil\n")
	h.Write("r/sub/x.txt", "changed\n")
	h.liveIn(h.repo, name, "status")
	h.liveIn(h.repo, name, "diff")
	h.worked(h.walk("r", steps), "stash")
	dirty(h)
	h.Refused(tool.Denied, "stash", args{"repo": "r"}, "submodule")
	h.walk("r/sub", steps)
	h.worked(h.walk("r/sub", []step{{"status", args{}, nil}, {"log", args{}, nil}}),
		"diff", "show", "blame", "branches", "add", "commit", "stash", "restore", "checkout")
	// A commit of the submodule's is a change of the repository's.
	h.Write("lib/y", "y")
	h.git("config", "--file", ".git/modules/sub/config", "--unset", "core.fsmonitor")
	h.GitIn(filepath.Join(h.repo, "sub"), "-c", "core.hooksPath=/dev/null", "-c", "filter.evil.clean=",
		"commit", "-q", "--allow-empty", "-m", "moved")
	h.fired()
	h.Says(h.Call("status", args{"repo": "r"}), "sub")
	h.Says(h.Call("add", args{"repo": "r", "paths": []string{"sub"}}), "staged 1 file")
	h.Says(h.Call("commit", args{"repo": "r", "message": "sub"}), "1 file changed")
	if len(h.fired()) > 0 {
		t.Error("the canary ran")
	}
}

// TestHostilePointers: a .git that is a file, or a folder that looks like a
// repository, is no way around the rules.
func TestHostilePointers(t *testing.T) {
	t.Parallel()
	t.Run("a .git file", func(t *testing.T) {
		t.Parallel()
		h := newHostile(t)
		canary := h.canary("pointer")
		check(t, os.CopyFS(filepath.Join(h.Dir, "evil.git"), os.DirFS(filepath.Join(h.repo, ".git"))))
		h.Git("config", "--file", "evil.git/config", "core.fsmonitor", canary)
		h.Git("config", "--file", "evil.git/config", "core.worktree", h.Outside)
		h.Git("config", "--file", "evil.git/config", "diff.external", canary)
		h.Write("pointed/.git", "gitdir: ../evil.git\n")
		h.Write("pointed/a.txt", "x\n")
		h.worked(h.walk("pointed", steps), "stash")
		h.outsideHolds()
	})
	t.Run("a bare repository in a folder of the working tree", func(t *testing.T) {
		t.Parallel()
		h := newHostile(t)
		canary := h.canary("bare")
		h.Git("clone", "-q", "--bare", "r", "r/nested")
		h.Git("config", "--file", "r/nested/config", "core.fsmonitor", canary)
		plantHooks(h, "r/nested/hooks", canary)
		h.Refused(tool.Invalid, "status", args{"repo": "r/nested"}, "lies inside the repository")
		h.worked(h.walk("r", steps))
		h.walk("r/nested", steps)
		h.outsideHolds()
	})
	for _, part := range []string{"objects", "refs", "index", "HEAD", "logs", "info", "packed-refs"} {
		t.Run(part+" lies outside", func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			h.Write("../outside/secret", "SECRET")
			path := filepath.Join(h.repo, ".git", part)
			check(t, os.RemoveAll(path))
			check(t, os.Symlink(filepath.Join(h.Outside, part), path))
			for _, s := range steps[:16] {
				r, err := h.Try(s.tool, s.args.In("r"))
				if err == nil && strings.Contains(gittest.Text(r)+string(r.Data), "SECRET") {
					t.Errorf("%s told what lies outside", s.tool)
				}
			}
			h.outsideHolds("secret")
		})
	}
}

// outsideHolds fails the test unless the folder outside the workspace holds
// just these files.
func (h *hostile) outsideHolds(names ...string) {
	h.T.Helper()
	entries, err := os.ReadDir(h.Outside)
	check(h.T, err)
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	if !slices.Equal(found, names) {
		h.T.Errorf("outside the workspace are %q, want %q", found, names)
	}
}

// TestCanaryIsSeenInTheSandbox: a canary is noticed even where it can write
// nothing; without that, the tests above would prove nothing.
func TestCanaryIsSeenInTheSandbox(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.git("config", "core.fsmonitor", h.canary("fsmonitor"))
	h.fired()
	_, err := sandbox.Run(t.Context(), sandbox.Spec{
		Argv: []string{"git", "status"}, Dir: h.repo, Env: launch.Only("PATH", "HOME"), Workspace: h.Dir, ReadOnlyWorkspace: true,
	})
	check(t, err)
	if !slices.Equal(h.fired(), []string{"fsmonitor"}) {
		t.Error("the canary ran, and was not noticed")
	}
}
