package cli_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/cli"
	"callgate/internal/cli/command"
)

// importHome is a machine of one user, with a folder for each project.
type importHome struct {
	t             *testing.T
	home, project string
	env           map[string]string
}

func newImportHome(t *testing.T, files map[string]string) *importHome {
	t.Helper()
	top := t.TempDir()
	h := &importHome{t: t, home: filepath.Join(top, "home"), project: filepath.Join(top, "project")}
	h.env = map[string]string{"HOME": h.home, "CALLGATE_STATE": filepath.Join(top, "state"), "CALLGATE_KEYRING": "off"}
	for _, folder := range []string{h.home, h.project} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// run runs the program in a folder.
func (h *importHome) run(folder string, args ...string) (code int, out string) {
	h.t.Helper()
	var both bytes.Buffer
	code = cli.Run(h.t.Context(), command.Host{
		Stdin: strings.NewReader(""), Stdout: &both, Stderr: &both, Dir: folder,
		Getenv: func(name string) string { return h.env[name] },
	}, args)
	return code, both.String()
}

func (h *importHome) must(folder string, args ...string) string {
	h.t.Helper()
	code, out := h.run(folder, args...)
	if code != 0 {
		h.t.Fatalf("callgate %v: exit code %d: %s", args, code, out)
	}
	return out
}

// state is every file and folder with its mode, and the files' bytes.
func (h *importHome) state() map[string]string {
	h.t.Helper()
	all := map[string]string{}
	for _, top := range []string{h.home, h.project} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			all[path] = info.Mode().String()
			if d.Type().IsRegular() {
				data, err := os.ReadFile(path)
				all[path] += "\n" + string(data)
				return err
			}
			return nil
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
	return all
}

func (h *importHome) read(path string) string {
	h.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

// importClients are five clients, each with a server of the user and one of the
// project, and secrets in plain text.
var importClients = map[string]map[string]string{
	"claude-code": {
		"home/.claude.json":   "{\n  \"theme\": \"dark\", // mine\n  \"mcpServers\": {\"everywhere\": {\"command\": \"a\", \"env\": {\"API_KEY\": \"sk-user-1234567890\"}}}\n}\n",
		"project/.mcp.json":   `{"mcpServers": {"here": {"command": "b", "env": {"TOKEN": "ghp_abcdefghijklmnop1234"}}}}`,
		"project/callgate.md": "no app file yet\n",
	},
	"codex": {
		"home/.codex/config.toml":    "model = \"m\"\n\n[mcp_servers.everywhere]\ncommand = \"a\"\nenv = { API_KEY = \"sk-user-1234567890\" }\n",
		"project/.codex/config.toml": "[mcp_servers.here]\ncommand = \"b\"\nenv = { TOKEN = \"ghp_abcdefghijklmnop1234\" }\n",
		"project/callgate.yaml":      "# mine\napp: {name: shop}\n",
	},
	"cursor": {
		"home/.cursor/mcp.json":    `{"mcpServers": {"everywhere": {"command": "a", "env": {"API_KEY": "sk-user-1234567890"}}}}`,
		"project/.cursor/mcp.json": `{"mcpServers": {"here": {"url": "https://127.0.0.1/mcp", "headers": {"Authorization": "Bearer ghp_abcdefghijklmnop1234"}}}}`,
	},
	"vscode": {
		"home/.config/Code/User/mcp.json": `{"servers": {"everywhere": {"type": "stdio", "command": "a", "env": {"API_KEY": "sk-user-1234567890"}}}}`,
		"project/.vscode/mcp.json":        "{\"servers\": {\"here\": {\"command\": \"b\", \"args\": [\"--token\", \"ghp_abcdefghijklmnop1234\"]}}}\r\n",
	},
	"opencode": {
		"home/.config/opencode/opencode.json":     `{"theme": "x", "mcp": {"everywhere": {"type": "local", "command": ["a"], "environment": {"API_KEY": "sk-user-1234567890"}}}}`,
		"project/opencode.json":                   `{"mcp": {"here": {"type": "local", "command": ["b"], "environment": {"TOKEN": "ghp_abcdefghijklmnop1234"}}}}`,
		"home/.config/callgate/callgate.yaml":     "# the user's own\ntools: {builtin: none}\n",
		"home/.config/callgate/unrelated/file.md": "stays\n",
	},
}

// TestImportAndUndo takes the servers of five clients over, those of the user into
// the user's app file and those of the project into the project's, moves their
// secrets, and gives everything back to the byte.
func TestImportAndUndo(t *testing.T) {
	t.Parallel()
	for client, files := range importClients {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			h := newImportHome(t, files)
			before := h.state()

			// Nothing is written while nobody has said what becomes of the secrets.
			if code, out := h.run(h.project, "import", "--apply"); code == 0 || !strings.Contains(out, "--secrets move") {
				t.Fatalf("%d %s", code, out)
			}
			if diff := cmp.Diff(before, h.state()); diff != "" {
				t.Fatalf("(-before +now):\n%s", diff)
			}

			out := h.must(h.project, "import", "--apply", "--secrets", "move")
			user := h.read(filepath.Join(h.home, ".config", "callgate", "callgate.yaml"))
			project := h.read(filepath.Join(h.project, "callgate.yaml"))
			if !strings.Contains(user, "everywhere:") || strings.Contains(user, "here:\n            command: b") {
				t.Errorf("the user's file:\n%s", user)
			}
			if !strings.Contains(project, "here:") || strings.Contains(project, "everywhere:") {
				t.Errorf("the project's file:\n%s", project)
			}
			secrets := h.must(h.project, "secrets", "list")
			now := h.state()
			for _, value := range []string{"sk-user-1234567890", "ghp_abcdefghijklmnop1234"} {
				if strings.Contains(out+secrets, value) {
					t.Errorf("%s was printed:\n%s%s", value, out, secrets)
				}
				for path, text := range now {
					if strings.Contains(text, value) {
						t.Errorf("%s still stands in %s", value, path)
					}
				}
			}
			for _, name := range []string{"everywhere_", "here_"} {
				if !strings.Contains(secrets, name) || !strings.Contains(user+project, "{{secret."+name) {
					t.Errorf("no secret %s…:\n%s%s%s", name, secrets, user, project)
				}
			}
			for path := range files {
				text := now[filepath.Join(filepath.Dir(h.home), filepath.FromSlash(path))]
				if !strings.Contains(path, "callgate") && (!strings.Contains(text, `"mcp"`) ||
					!strings.Contains(text, h.env["CALLGATE_STATE"])) {
					t.Errorf("%s does not start Callgate with this state:\n%s", path, text)
				}
				inFolder := strings.Contains(text, "${workspaceFolder}")
				if want := client == "cursor" || client == "vscode"; !strings.Contains(path, "callgate") && inFolder != want {
					t.Errorf("%s has the folder: %v\n%s", path, inFolder, text)
				}
			}

			undone := h.must(h.project, "import", "--undo")
			if !strings.Contains(undone, "the secret everywhere_") {
				t.Errorf("%s", undone)
			}
			if diff := cmp.Diff(before, h.state()); diff != "" {
				t.Errorf("after undo (-before +now):\n%s", diff)
			}
			if left := h.must(h.project, "secrets", "list"); strings.Contains(left, "everywhere_") || strings.Contains(left, "here_") {
				t.Errorf("secrets are left:\n%s", left)
			}
		})
	}
}

// TestImportUndoOfWhatChanged refuses to take back what somebody changed since, and
// says how to go on.
func TestImportUndoOfWhatChanged(t *testing.T) {
	t.Parallel()
	h := newImportHome(t, importClients["claude-code"])
	before := h.state()
	h.must(h.project, "import", "--apply", "--secrets", "move")
	userFile := filepath.Join(h.home, ".config", "callgate", "callgate.yaml")
	if err := os.WriteFile(userFile, []byte(h.read(userFile)+"# mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := h.run(h.project, "import", "--undo")
	if code != command.CodeOf("conflict") || !strings.Contains(out, userFile+" was changed") ||
		!strings.Contains(out, "import --undo --force") {
		t.Fatalf("%d %s", code, out)
	}
	if !strings.Contains(h.read(userFile), "# mine") {
		t.Error("the file that was changed is gone")
	}
	h.must(h.project, "import", "--undo", "--force")
	after := h.state()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("(-before +now):\n%s", diff)
	}
}

// TestImportSameServerTwice puts a server that the user has everywhere, and that the
// project names too, into the user's file only: there it is in force anyway.
func TestImportSameServerTwice(t *testing.T) {
	t.Parallel()
	h := newImportHome(t, map[string]string{
		"home/.cursor/mcp.json":    `{"mcpServers": {"files": {"command": "a"}}}`,
		"project/.cursor/mcp.json": `{"mcpServers": {"files": {"command": "a"}}}`,
	})
	h.must(h.project, "import", "--apply")
	if user := h.read(filepath.Join(h.home, ".config", "callgate", "callgate.yaml")); !strings.Contains(user, "files:") {
		t.Errorf("%s", user)
	}
	if _, err := os.Stat(filepath.Join(h.project, "callgate.yaml")); err == nil {
		t.Error("the project has it too")
	}
	for _, path := range []string{"home/.cursor/mcp.json", "project/.cursor/mcp.json"} {
		if text := h.read(filepath.Join(filepath.Dir(h.home), path)); !strings.Contains(text, `"callgate"`) {
			t.Errorf("%s still has it: %s", path, text)
		}
	}
}
