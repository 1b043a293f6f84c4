// Package launch decides where every process that the kernel starts begins its work,
// and with which environment. No other package starts processes, except package sandbox
// and its launcher below it.
//
// # Law
//
//   - A program that a person accepted (an MCP server, an executable, a guard hook, a
//     language server) has more authority than the folder it works for. So it never
//     starts in a folder that a tool can write: interpreters and package runners load
//     modules, packages and settings from there. It starts in a folder of its own
//     ([Folders]), and is told the workspace by an argument, an MCP root, or the
//     variable CALLGATE_WORKSPACE.
//   - A command of the shell module has the authority of the workspace, so it starts
//     there, and project settings (node_modules, .npmrc, virtual environments) work.
//   - The environment is a list of what is passed on, never what this process happens to
//     have. No variable that makes a program load code is passed on.
//   - For an accepted program the environment also switches off loading from the current
//     folder ([Accepted]), and its PATH has no relative folder and none in the workspace.
//   - Git never reads settings of a repository that merely lies in the current folder,
//     and runs neither a file system monitor nor hooks ([Git]). This holds for commands
//     too.
//   - A helper of the kernel's own (a browser, ripgrep, a notification) starts outside
//     every workspace: see [Helper].
package launch

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/tempdir"
)

// Reserved begins the names of the kernel's own variables, which no process inherits.
const Reserved = "CALLGATE_"

// WorkspaceVariable tells a program the folder that it works for.
const WorkspaceVariable = Reserved + "WORKSPACE"

// basic are the variables that every process has: the user, the language, and where
// toolchains are. None of them is ever a secret.
var basic = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "COLORTERM", "NO_COLOR", "TZ",
	"GOPATH", "GOROOT", "GOMODCACHE", "GOTOOLCHAIN", "GOFLAGS",
	"JAVA_HOME", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "NVM_BIN", "PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX",
	// Without these nothing runs on Windows.
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
	"PROGRAMDATA", "PROGRAMFILES",
}

// ofServers are the variables that MCP servers have beside those: proxies, certificates,
// and the folders of package runners. None of them holds a token.
var ofServers = []string{
	"TMPDIR", "TMP", "TEMP",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"npm_config_cache", "NPM_CONFIG_CACHE", "npm_config_prefix", "NPM_CONFIG_PREFIX",
	"FNM_DIR", "VOLTA_HOME", "PNPM_HOME", "YARN_CACHE_FOLDER", "BUN_INSTALL", "DENO_DIR", "COREPACK_HOME",
	"UV_CACHE_DIR", "UV_TOOL_DIR", "UV_PYTHON_INSTALL_DIR", "UV_PYTHON", "PIP_CACHE_DIR", "PIPX_HOME",
	"GOCACHE", "DOTNET_ROOT",
	"USERNAME", "HOMEDRIVE", "HOMEPATH", "PROGRAMFILES(X86)", "COMMONPROGRAMFILES",
	"NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
}

// runtimeDir names the folder of the sockets by which programs act for the user, such
// as the session's bus. A server that needs it is given it by name.
const runtimeDir = "XDG_RUNTIME_DIR"

// Commands is the environment of a command that runs in its workspace: the basic
// variables, those named in allow, and the settings of Git.
func Commands(allow []string) []string { return Git(inherit(allow, isBasic)) }

// Accepted is the environment of a program that a person accepted and that works for a
// workspace: as Commands, with nothing loaded from the current folder.
func Accepted(allow []string, workspace string) []string {
	return harden(inherit(allow, isBasic), workspace)
}

// Server is the environment of an MCP server: of this process's variables those that
// servers inherit and those named in allow; then those in set, which win; and the folder
// that it works for. A server that starts in that folder, because a person accepted
// so, may load what is there.
func Server(set map[string]string, allow []string, workspace string, inWorkspace bool) []string {
	env := inherit(allow, func(name string) bool {
		return name != runtimeDir && (isBasic(name) || strings.HasPrefix(name, "XDG_") || slices.Contains(ofServers, name))
	})
	env = slices.DeleteFunc(env, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		_, given := set[name]
		return given || name == "COLORTERM" || name == "NO_COLOR"
	})
	for i, pair := range env {
		if strings.HasPrefix(pair, "TMPDIR=") { // it may be relative, and the server runs in another folder
			env[i] = "TMPDIR=" + tempdir.System()
		}
	}
	if inWorkspace {
		env = Git(env)
	} else {
		env = harden(env, workspace)
	}
	if workspace != "" {
		env = Set(env, WorkspaceVariable, workspace)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = Set(env, name, set[name])
	}
	return env
}

// Only returns the variables of this process with these names.
func Only(names ...string) []string { return inherit(names, func(string) bool { return false }) }

// inherit returns the variables of this process that pass, and those named in allow. The
// kernel's own are never among them.
func inherit(allow []string, passes func(string) bool) []string {
	var env []string
	for _, pair := range os.Environ() {
		name, _, ok := strings.Cut(pair, "=")
		if !ok || name == "" || strings.HasPrefix(name, Reserved) {
			continue
		}
		known := name
		if runtime.GOOS == "windows" {
			known = strings.ToUpper(name)
		}
		if passes(known) || slices.Contains(allow, name) {
			env = append(env, pair)
		}
	}
	return env
}

func isBasic(name string) bool { return strings.HasPrefix(name, "LC_") || slices.Contains(basic, name) }

// switches stop runtimes from loading what lies in the current folder. A program is
// also started where nothing lies; these hold where it, or what it starts, moves on.
var switches = [][2]string{
	{"PYTHONSAFEPATH", "1"},               // Python: neither the current folder nor that of the script
	{"PERL_USE_UNSAFE_INC", "0"},          // Perl: no "." in @INC
	{"BUNDLE_IGNORE_CONFIG", "1"},         // Bundler: no .bundle/config
	{"DENO_NO_PACKAGE_JSON", "1"},         // Deno: no package.json
	{"YARN_IGNORE_PATH", "1"},             // Yarn: no yarnPath of .yarnrc
	{"COREPACK_ENABLE_PROJECT_SPEC", "0"}, // Corepack: no packageManager of package.json
	{"COREPACK_ENV_FILE", "0"},            // Corepack: no .corepack.env
}

// harden adds what keeps a program from loading code from a workspace.
func harden(env []string, workspace string) []string {
	env = Git(env)
	for _, s := range switches {
		env = Set(env, s[0], s[1])
	}
	env = Set(env, "UV_NO_CONFIG", "1") // uv: no uv.toml or pyproject.toml of the folder or those above
	if own := userConfig("uv", "uv.toml"); own != "" {
		env = unset(env, "UV_NO_CONFIG")
		env = Set(env, "UV_CONFIG_FILE", own) // the user's own file, and no search
	}
	return Set(env, "PATH", safePath(Lookup(env, "PATH"), workspace))
}

// userConfig returns a file below the user's configuration folder; "" if there is none.
func userConfig(names ...string) string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	path := filepath.Join(append([]string{dir}, names...)...)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// safePath leaves out the relative folders of a PATH, and those in a workspace: a tool
// could put a program there.
func safePath(list, workspace string) string {
	var kept []string
	for _, folder := range filepath.SplitList(list) {
		if filepath.IsAbs(folder) && (workspace == "" || !isIn(folder, workspace)) {
			kept = append(kept, folder)
		}
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// LookPath finds a program by this process's PATH, without the folders that an accepted
// program does not have in its own.
func LookPath(name, workspace string) (string, error) {
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		return exec.LookPath(name)
	}
	for _, folder := range filepath.SplitList(safePath(os.Getenv("PATH"), workspace)) {
		if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil && !In(path, workspace) {
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// In reports whether a path lies in a workspace, by its name or by its real name.
func In(path, workspace string) bool { return workspace != "" && isIn(path, workspace) }

// isIn reports whether a path is a folder or lies in it, by its name or by its real name.
func isIn(path, folder string) bool {
	if within(path, folder) {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if f, err := filepath.EvalSymlinks(folder); err == nil {
		folder = f
	}
	return within(real, folder)
}

func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// gitSettings override every file that Git reads.
var gitSettings = [][2]string{
	{"safe.bareRepository", "explicit"}, {"core.fsmonitor", "false"}, {"core.hooksPath", os.DevNull},
}

// Git adds the settings of Git to an environment, after those that it has already.
func Git(env []string) []string { return GitSettings(env, gitSettings) }

// WithGitHooks takes back, of the settings that Git added last, that no hooks run.
func WithGitHooks(env []string) []string {
	n, _ := strconv.Atoi(Lookup(env, "GIT_CONFIG_COUNT"))
	last := strconv.Itoa(n - 1)
	if n == 0 || Lookup(env, "GIT_CONFIG_KEY_"+last) != "core.hooksPath" {
		return env
	}
	env = unset(unset(env, "GIT_CONFIG_KEY_"+last), "GIT_CONFIG_VALUE_"+last)
	return Set(env, "GIT_CONFIG_COUNT", last)
}

// GitSettings adds settings to an environment that override every file that Git reads.
func GitSettings(env []string, settings [][2]string) []string {
	n, _ := strconv.Atoi(Lookup(env, "GIT_CONFIG_COUNT")) // without one there are none
	for _, s := range settings {
		at := strconv.Itoa(n)
		env = Set(Set(env, "GIT_CONFIG_KEY_"+at, s[0]), "GIT_CONFIG_VALUE_"+at, s[1])
		n++
	}
	return Set(env, "GIT_CONFIG_COUNT", strconv.Itoa(n))
}

// Set sets a variable in place of its earlier values: programs differ in which of two
// they read.
func Set(env []string, name, value string) []string { return append(unset(env, name), name+"="+value) }

func unset(env []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
}

// Lookup returns the value of a variable; "" if there is none.
func Lookup(env []string, name string) string {
	for _, pair := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}
