package importer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/importer"
)

// plant writes small files below a folder.
func plant(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, name := range files {
		name, text, ok := strings.Cut(name, "=")
		if !ok {
			text = "{}"
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	plant(
		t,
		dir,
		"work/.mcp.json",
		"work/.cursor/mcp.json",
		"work/.vscode/mcp.json",
		"work/.codex/config.toml=",
		"work/opencode.json",
		"work/opencode.jsonc",
		"work/.gemini/settings.json",
		"work/.qwen/settings.json",
		"work/crush.json",
		"work/.crush.json",
		"work/mcp.json",
		"work/callgate.yaml",
		"home/.cursor/mcp.json",
		"home/.codex/config.toml=",
		"home/.gemini/settings.json",
		"home/.qwen/settings.json",
		"home/.copilot/mcp-config.json",
		"home/.codeium/windsurf/mcp_config.json",
		"home/.config/opencode/opencode.json",
		"home/.config/crush/crush.json",
		"home/.config/Code/User/mcp.json",
		"home/.config/Claude/claude_desktop_config.json",
		"home/Library/Application Support/Code/User/mcp.json",
		"home/Library/Application Support/Claude/claude_desktop_config.json",
		"home/AppData/Roaming/Code/User/mcp.json",
		"home/AppData/Roaming/Claude/claude_desktop_config.json",
		"home/AppData/Local/crush/crush.json",
		"moved/config.toml=",
		"moved/mcp-config.json",
		"moved/.claude.json",
		`home/.claude.json={"mcpServers": {}, "projects": {"`+filepath.ToSlash(work)+`/": {"mcpServers": {"a": {"command": "x"}}}}}`,
	)
	if err := os.Mkdir(filepath.Join(work, ".opencode"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(work, ".opencode", "opencode.json"), 0o755); err != nil { // no file
		t.Fatal(err)
	}
	project := []string{
		"project claude-code work/.mcp.json", "project cursor work/.cursor/mcp.json", "project vscode work/.vscode/mcp.json", "project codex work/.codex/config.toml",
		"project opencode work/opencode.json", "project opencode work/opencode.jsonc", "project gemini-cli work/.gemini/settings.json", "project qwen-code work/.qwen/settings.json",
		"project crush work/.crush.json", "project crush work/crush.json", "project mcp.json work/mcp.json", "project claude-code home/.claude.json of work",
	}
	user := func(support string, more ...string) []string {
		list := []string{
			"user claude-code home/.claude.json", "user claude-desktop " + support + "/Claude/claude_desktop_config.json", "user cursor home/.cursor/mcp.json",
			"user vscode " + support + "/Code/User/mcp.json", "user codex home/.codex/config.toml", "user opencode home/.config/opencode/opencode.json",
			"user gemini-cli home/.gemini/settings.json", "user qwen-code home/.qwen/settings.json", "user crush home/.config/crush/crush.json",
		}
		return append(append(list, more...), "user copilot home/.copilot/mcp-config.json", "user windsurf home/.codeium/windsurf/mcp_config.json")
	}
	home := filepath.Join(dir, "home")
	unset := func(string) string { return "" }
	moved := func(name string) string {
		return map[string]string{"CODEX_HOME": filepath.Join(dir, "moved"), "COPILOT_HOME": filepath.Join(dir, "moved"), "CLAUDE_CONFIG_DIR": filepath.Join(dir, "moved"),
			"OPENCODE_CONFIG": filepath.Join(work, "opencode.json")}[name]
	}
	for _, c := range []struct {
		name string
		env  importer.Env
		want []string
	}{
		{"linux", importer.Env{Home: home, Workspace: work, GOOS: "linux", Getenv: unset}, append(project, user("home/.config")...)},
		{"macOS", importer.Env{Home: home, Workspace: work, GOOS: "darwin", Getenv: unset}, append(project, user("home/Library/Application Support")...)},
		{"Windows", importer.Env{Home: home, Workspace: work, GOOS: "windows", Getenv: unset}, append(project, user("home/AppData/Roaming", "user crush home/AppData/Local/crush/crush.json")...)},
		{"no project", importer.Env{Home: home, GOOS: "linux", Getenv: unset}, user("home/.config")},
		{"the home folder as project", importer.Env{Home: home, Workspace: home, GOOS: "linux", Getenv: unset}, user("home/.config")},
		{"nobody", importer.Env{Home: filepath.Join(dir, "nobody"), GOOS: "linux", Getenv: unset}, nil},
		{"moved", importer.Env{Home: filepath.Join(dir, "nobody"), GOOS: "linux", Getenv: moved},
			[]string{"user claude-code moved/.claude.json", "user codex moved/config.toml", "user opencode work/opencode.json", "user copilot moved/mcp-config.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, s := range importer.Find(c.env) {
				line := s.Scope + " " + s.Client + " " + s.Path
				if s.Folder != "" {
					line += " of " + s.Folder
				}
				got = append(got, filepath.ToSlash(strings.ReplaceAll(line, dir+string(filepath.Separator), "")))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	found, problems := importer.Read(
		importer.Find(importer.Env{Home: home, Workspace: work, GOOS: "linux", Getenv: unset})[11],
		env(work),
		importer.Options{},
	)
	if len(found) != 1 || len(problems) > 0 || found[0].Server.Command != "x" {
		t.Errorf("the servers of the folder are %v, %v", found, problems)
	}
}

func TestSnippets(t *testing.T) {
	const file = "testdata/snippets.golden"
	var b strings.Builder
	for _, name := range append(importer.Clients(), "something else") {
		b.WriteString(
			"== " + name + " ==\n" + importer.Snippet(
				name,
				importer.Entry{Command: `C:\bin\callgate.exe`, Args: []string{"mcp", "--app", "a b"}},
			) + "\n",
		)
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSourceOf(t *testing.T) {
	for path, want := range map[string]string{
		"/a/server.json": "registry", "/a/.cursor/mcp.json": "cursor", "/a/.vscode/mcp.json": "vscode", "/a/config.toml": "codex",
		"/a/opencode.jsonc": "opencode", "/a/.gemini/settings.json": "gemini-cli", "/a/.qwen/settings.json": "qwen-code",
		"/a/.claude.json": "claude-code", "/a/claude_desktop_config.json": "claude-desktop", "/a/mine.json": "mcp.json", "/a/mcp.json": "mcp.json",
	} {
		if got := importer.SourceOf(path, env("")); got.Client != want || got.Path != path {
			t.Errorf("%s is of %s, want %s", path, got.Client, want)
		}
	}
}
