package lsp

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/launch"
	"callgate/tool"
)

// server is a language server that may be started.
type server struct {
	name     string
	argv     []string
	files    []string // endings, or whole names, in lower case
	language string   // of all of them; "": by the ending
	settings map[string]any
	first    bool // the app file names it
}

// knownServers are tried where the app file names none; of two for a file the first that is
// installed.
var knownServers = []server{
	{name: "gopls", argv: []string{"gopls"}, files: []string{".go", "go.mod", "go.work"},
		settings: map[string]any{"pullDiagnostics": true}},
	{name: "typescript-language-server", argv: []string{"typescript-language-server", "--stdio"},
		files: []string{".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"}},
	{name: "pyright", argv: []string{"pyright-langserver", "--stdio"}, files: []string{".py", ".pyi"}},
	{name: "pylsp", argv: []string{"pylsp"}, files: []string{".py", ".pyi"}},
	{name: "clangd", argv: []string{"clangd", "--background-index=false"},
		files: []string{".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"}},
}

// languages are the names that the protocol has for languages.
var languages = map[string]string{
	".go": "go", "go.mod": "go.mod", "go.work": "go.work", ".ts": "typescript", ".mts": "typescript", ".cts": "typescript",
	".tsx": "typescriptreact", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
	".py": "python", ".pyi": "python", ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp",
	".hpp": "cpp", ".hxx": "cpp", ".rs": "rust", ".rb": "ruby", ".sh": "shellscript", ".lua": "lua", ".java": "java",
}

// watched are files that are no code, and on which what servers say depends.
var watched = []string{
	"go.mod", "go.sum", "go.work", "package.json", "tsconfig.json", "jsconfig.json", "pyproject.toml", "setup.cfg",
	"pyrightconfig.json", "compile_commands.json", "compile_flags.txt", ".clangd",
}

func (s server) covers(name string) bool {
	base := strings.ToLower(filepath.Base(name))
	return slices.Contains(s.files, base) || slices.Contains(s.files, filepath.Ext(base))
}

// names are the languages by ending, for this server.
func (s server) names() map[string]string {
	if s.language == "" {
		return languages
	}
	all := map[string]string{}
	for _, ending := range s.files {
		all[ending] = s.language
	}
	return all
}

// program finds the program of a server: on the PATH, or where Go installs programs.
func (s server) program(workspace string) (string, error) {
	path, err := launch.LookPath(s.argv[0], workspace)
	if err == nil {
		return filepath.Abs(path)
	}
	if home, _ := os.UserHomeDir(); home != "" && !strings.ContainsRune(s.argv[0], filepath.Separator) {
		if path, err := exec.LookPath(filepath.Join(home, "go", "bin", s.argv[0])); err == nil {
			return path, nil
		}
	}
	return "", err
}

// choose finds the server for a file.
func (s *settings) choose(op, name, workspace string) (server, string, error) {
	var missing []string
	for _, one := range s.known {
		if !one.covers(name) {
			continue
		}
		if program, err := one.program(workspace); err == nil {
			return one, program, nil
		}
		missing = append(missing, one.argv[0])
	}
	if len(missing) > 0 {
		return server{}, "", tool.Errorf(op, tool.Unavailable, "no language server for %q is installed: looked for %s",
			filepath.Base(name), strings.Join(missing, ", ")).
			WithHint("have the user install one, or check the code with its compiler")
	}
	return server{}, "", tool.Errorf(op, tool.Unavailable, "no language server is known for %q; those there are read %s",
		tool.Truncate(filepath.Base(name)), strings.Join(s.endings(), " ")).
		WithHint("the app file can name one: tools.modules.lsp.config.servers")
}

// endings are those of all files that some server reads.
func (s *settings) endings() []string {
	all := map[string]bool{}
	for _, one := range s.known {
		for _, ending := range one.files {
			all[ending] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
