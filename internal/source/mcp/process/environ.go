package process

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"callgate/internal/tempdir"
)

// Reserved begins the names of the kernel's own variables, which no child
// inherits.
const Reserved = "CALLGATE_"

// passed are the kernel's variables that every child inherits: the user and
// their home, the language, the proxies, and the folders of package runners.
// None of them holds a token.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", "TMP", "TEMP",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"npm_config_cache", "NPM_CONFIG_CACHE", "npm_config_prefix", "NPM_CONFIG_PREFIX",
	"NVM_DIR", "NVM_BIN", "FNM_DIR", "VOLTA_HOME", "PNPM_HOME", "YARN_CACHE_FOLDER",
	"BUN_INSTALL", "DENO_DIR", "COREPACK_HOME",
	"UV_CACHE_DIR", "UV_TOOL_DIR", "UV_PYTHON_INSTALL_DIR", "UV_PYTHON",
	"PIP_CACHE_DIR", "PIPX_HOME", "PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX",
	"JAVA_HOME", "GOPATH", "GOROOT", "GOMODCACHE", "GOCACHE", "CARGO_HOME", "RUSTUP_HOME", "DOTNET_ROOT",
	// Programs on Windows do not run without these.
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "COMMONPROGRAMFILES",
	"NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
}

// runtimeDir names the folder of the sockets by which programs act for the user, such
// as the session's bus. A server that needs it is given it by name.
const runtimeDir = "XDG_RUNTIME_DIR"

// Environ is the whole environment of a child: of the kernel's variables those
// that every child inherits and those named in allow; and then those in set,
// which win. All others stay in the kernel, so that a token in its environment
// is never passed on.
func Environ(set map[string]string, allow []string) []string {
	var env []string
	for _, pair := range os.Environ() {
		name, _, ok := strings.Cut(pair, "=")
		if !ok || name == "" || strings.HasPrefix(name, Reserved) {
			continue
		}
		if _, given := set[name]; given || !inherited(name) && !slices.Contains(allow, name) {
			continue
		}
		if name == "TMPDIR" { // it may be relative, and the child runs in another folder
			pair = name + "=" + tempdir.System()
		}
		env = append(env, pair)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env
}

func inherited(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	if name == runtimeDir {
		return false
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") || slices.Contains(passed, name)
}
