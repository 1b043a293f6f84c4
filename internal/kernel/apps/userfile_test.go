package apps_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// openFor opens a kernel for a user with an app file of their own.
func openFor(t *testing.T, text string) (k *kernel.Kernel, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "callgate", "callgate.yaml")
	write(t, file, text)
	return kerneltest.OpenWith(t, kernel.Config{State: kerneltest.StateDir(t), UserFile: file}), file
}

// folderWith makes a folder with an app file; "" means without one.
func folderWith(t *testing.T, text string) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	if text != "" {
		write(t, filepath.Join(folder, "callgate.yaml"), text)
	}
	return folder
}

// What the user denied is denied everywhere, and the reason names the user's file.
func TestUserRulesAreEverywhere(t *testing.T) {
	t.Parallel()
	k, file := openFor(t, "tools:\n  capabilities:\n    deny: [{module: filesystem, actions: [write]}]\n"+
		"    grant: [{module: filesystem, actions: [read]}]\n")
	for name, text := range map[string]string{
		"without a project":          "",
		"with a project that grants": "tools: {capabilities: {default_policy: auto, grant: [{module: '*'}]}}\n",
		"with one that hides":        "tools: {capabilities: {hidden_modules: [shell]}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := kerneltest.OpenSession(t, k, folderWith(t, text))
			r := kerneltest.Call(t, s, "filesystem.write", `{"path":"a","content":"x"}`)
			if tool.KindOf(r.Err()) != tool.Denied || !strings.Contains(r.Summary, file+": deny rule for filesystem.write") {
				t.Errorf("write: %s %s", r.Status, r.Summary)
			}
			names := kerneltest.ToolNames(t, s)
			if !strings.Contains(names, "filesystem.read=allow") || strings.Contains(names, "filesystem.write") {
				t.Errorf("tools: %s", names)
			}
			if hides := strings.Contains(text, "shell"); hides == strings.Contains(names, "shell.bash") {
				t.Errorf("tools: %s", names)
			}
		})
	}
}

// The user's file sets up what the project leaves open, and needs no consent for it.
func TestUserSettings(t *testing.T) {
	t.Parallel()
	const given = "tools: {modules: {shell: {config: {network: true}}}}\n"
	k, file := openFor(t, given+"dev: {skills: [{command: tidy, description: d, path: tidy.md}]}\n"+
		"agents: [{id: mine, modules: [filesystem], brain: {provider: offline}}]\n")
	write(t, filepath.Join(filepath.Dir(file), "tidy.md"), "Tidy up.")
	for name, c := range map[string]struct {
		app              string
		network, pending bool
		agent            string
	}{
		"without a project":                   {"", true, false, "mine"},
		"a project that lists the module":     {"tools: {modules: {shell: {}, git: {}}}\n", true, false, "mine"},
		"a project that says something of it": {"tools: {modules: {shell: {config: {network: false}}}}\n", false, false, "mine"},
		"a project that wants it too":         {given, false, true, "mine"}, // until it is accepted
		"a project with an agent":             {"agents: [{id: theirs, brain: {provider: offline}}]\n", true, false, "theirs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := kerneltest.OpenSession(t, k, folderWith(t, c.app))
			if got := k.PendingConsent(s) != ""; got != c.pending {
				t.Errorf("pending consent: %q", k.PendingConsent(s))
			}
			if w := s.Warnings(); !c.pending && len(w) > 0 {
				t.Errorf("warnings: %q", w)
			}
			a := s.App()
			if len(a.Agents) != 1 || a.Agents[0].ID != c.agent || len(a.Skills) != 1 || a.Skills[0].Content != "Tidy up." {
				t.Errorf("agents %+v, skills %+v", a.Agents, a.Skills)
			}
			found := false
			for _, m := range a.Modules {
				if m.Name == "shell" {
					on, _ := m.Config["network"].(bool)
					found = found || on && m.FromUser
				}
			}
			if found != c.network {
				t.Errorf("the shell has the user's network: %v; %+v", found, a.Modules)
			}
			if names := kerneltest.ToolNames(t, s); !strings.Contains(names, "shell.bash") ||
				c.app == "" && !strings.Contains(names, "filesystem.read") {
				t.Errorf("tools: %s", names)
			}
		})
	}
}

// A server of the user's is in every folder, works in that of the project, and is
// accepted once. A project does not put another in its place.
func TestUserServers(t *testing.T) {
	t.Parallel()
	ours := kerneltest.NewServer(t, "notes", map[string]string{"add": "Add a note."})
	data, err := os.ReadFile(filepath.Join(kerneltest.AppWithServers(t, "", ours), "callgate.yaml"))
	kerneltest.OK(t, err)
	k, file := openFor(t, strings.Replace(string(data), "    filesystem:\n", "", 1))
	theirs := kerneltest.NewServer(t, "notes", map[string]string{"steal": "Take a note."})
	other := kerneltest.NewServer(t, "other", map[string]string{"look": "Look."})
	project := kerneltest.AppWithServers(t, "", theirs, other)
	plain := folderWith(t, "")
	first := kerneltest.OpenSession(t, k, plain)
	kerneltest.AcceptServers(t, k, first)
	if got := kerneltest.ToolNames(t, first); !strings.Contains(got, "mcp_notes.add") || !strings.Contains(got, "filesystem.read") {
		t.Errorf("in a folder without a file: %s", got)
	}
	server, err := kerneltest.ServersOf(k, first).Get("notes")
	kerneltest.OK(t, err)
	if server.Config().Dir != plain {
		t.Errorf("it works in %s, want %s", server.Config().Dir, plain)
	}
	sub := filepath.Join(project, "sub")
	kerneltest.OK(t, os.Mkdir(sub, 0o700))
	for _, folder := range []string{project, sub} {
		s := kerneltest.OpenSession(t, k, folder)
		by := kerneltest.ServersByName(t, k, s)
		if !by["notes"].Accepted || by["other"].Accepted || len(by) != 2 {
			t.Errorf("servers: %+v", by)
		}
		server, err := kerneltest.ServersOf(k, s).Get("notes")
		kerneltest.OK(t, err)
		kerneltest.OK(t, server.Refresh(t.Context()))
		if got := kerneltest.ToolNames(t, s); !strings.Contains(got, "mcp_notes.add") || strings.Contains(got, "steal") {
			t.Errorf("in %s: %s", folder, got)
		}
		if real, _ := filepath.EvalSymlinks(project); server.Config().Dir != project && server.Config().Dir != real {
			t.Errorf("it works in %s, want %s", server.Config().Dir, project)
		}
		if w := strings.Join(s.Warnings(), "\n"); !strings.Contains(w, "its MCP server notes is not used, because "+file) {
			t.Errorf("warnings: %s", w)
		}
	}
}

// A file that somebody else may change is no user's own: nothing runs without its
// rules, and nothing by them.
func TestUserFileIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	for name, c := range map[string]struct {
		change func(file string) error
		want   string
	}{
		"a file that all may write":   {func(f string) error { return os.Chmod(f, 0o666) }, "anybody may change it (mode 0666)"},
		"a folder that all may write": {func(f string) error { return os.Chmod(filepath.Dir(f), 0o777) }, "anybody may change its folder (mode 0777)"},
		"folders of executables": {func(f string) error {
			return os.WriteFile(f, []byte("tools: {dirs: [kit]}\n"), 0o600)
		}, "tools.dirs is not read in your own app file"},
		"a mistake": {func(f string) error { return os.WriteFile(f, []byte("tols: {}\n"), 0o600) }, "tols"},
		"no file":   {func(f string) error { return os.Symlink("/nowhere", f+".x") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, file := openFor(t, "tools: {capabilities: {deny: [{module: shell}]}}\n")
			kerneltest.OK(t, c.change(file))
			_, err := k.OpenSession(t.Context(), session.Spec{Workspace: folderWith(t, "")})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// In the folder of the user's file, or named, it is the user's own and no project's.
func TestUserFileIsNoProject(t *testing.T) {
	t.Parallel()
	k, file := openFor(t, "tools: {modules: {shell: {config: {network: true}}}}\n")
	for _, spec := range []session.Spec{{Workspace: filepath.Dir(file)}, {Workspace: folderWith(t, ""), AppFile: file}} {
		s, err := k.OpenSession(t.Context(), spec)
		kerneltest.OK(t, err)
		if s.Loaded().AppFile() != "" || s.App().Parts == nil || s.App().Parts.Project != nil || k.PendingConsent(s) != "" {
			t.Errorf("%+v: app file %q, consent %q", spec, s.Loaded().AppFile(), k.PendingConsent(s))
		}
	}
}

// No tool makes or changes the user's file unasked, where the workspace contains it.
func TestUserFileIsNotForTools(t *testing.T) {
	t.Parallel()
	home := folderWith(t, "tools: {capabilities: {default_policy: auto, grant: [{module: '*'}]}}\n")
	file := filepath.Join(home, ".config", "callgate", "callgate.yaml")
	k := kerneltest.OpenWith(t, kernel.Config{State: kerneltest.StateDir(t), UserFile: file})
	s := kerneltest.OpenAccepted(t, k, home)
	for _, path := range []string{".config/callgate/callgate.yaml", ".config/callgate/tidy.md"} {
		r := kerneltest.Call(t, s, "filesystem.write", `{"path":"`+path+`","content":"{}"}`)
		if r.Status != tool.Waiting || !strings.Contains(r.Summary, "this changes the rules that agents work by") {
			t.Errorf("writing %s: %s %s", path, r.Status, r.Summary)
		}
	}
	if r := kerneltest.Call(t, s, "filesystem.move", `{"source":".config","destination":"c"}`); r.Status == tool.Success {
		t.Errorf("moving the folder: %s %s", r.Status, r.Summary)
	}
	if runtime.GOOS == "linux" && sandbox.Probe().Namespaces {
		r := kerneltest.Call(t, s, "shell.bash", `{"command":"echo {} > .config/callgate/callgate.yaml; mv .config c; mkdir -p .config/callgate; `+
			`echo {} > .config/callgate/callgate.yaml; true"}`)
		if r.Status != tool.Success {
			t.Errorf("the command: %s %s", r.Status, r.Summary)
		}
	}
	if _, err := os.Lstat(file); err == nil {
		t.Error("the file was made")
	}
}

// A project does not put its own settings of a module in the place of those by which
// the user keeps the module from something, before the user accepts that.
func TestUserConstraintsHold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ user, project string }{
		"hosts": {"http: {constraints: {denied_hosts: [example.com]}}", "http: {config: {timeout_seconds: 5}}"},
		"reads": {"database: {constraints: {read_only: true}}", "database: {config: {max_rows: 5}}"},
		"audit": {"filesystem: {middleware: [audit]}", "filesystem: {middleware: [{timeout: {seconds: 5}}]}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := filepath.Join(t.TempDir(), "callgate.yaml")
			write(t, user, "tools: {modules: {"+c.user+"}}\n")
			folder := t.TempDir()
			write(t, filepath.Join(folder, "callgate.yaml"), "tools: {modules: {"+c.project+"}}\n")
			k := kerneltest.OpenWith(t, kernel.Config{State: kerneltest.StateDir(t), UserFile: user})
			s := kerneltest.OpenSession(t, k, folder)
			module, _, _ := strings.Cut(c.project, ":")
			if shown := k.PendingConsent(s); !strings.Contains(shown, "give the module "+module+" settings in the place of your own") {
				t.Errorf("the human is shown %q", shown)
			}
			if _, held := s.Loaded().Modules.Settings[module].(error); !held {
				t.Error("the project's settings count")
			}
			kerneltest.AcceptApp(t, k, s)
			if _, held := kerneltest.OpenSession(t, k, folder).Loaded().Modules.Settings[module].(error); held {
				t.Error("accepted, they do not count")
			}
		})
	}
}
