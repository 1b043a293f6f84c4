package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"callgate/tool"
)

// passed are the variables that every run has: who and where the user is, the
// language, and where toolchains are. None of them is ever a secret.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "COLORTERM", "NO_COLOR", "TZ",
	"GOPATH", "GOROOT", "GOMODCACHE", "GOTOOLCHAIN", "GOFLAGS",
	"JAVA_HOME", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "NVM_BIN", "PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX",
	// Without these nothing runs on Windows.
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
	"PROGRAMDATA", "PROGRAMFILES",
}

// Environ returns the part of this process's environment that a run may have: a
// fixed list, the locale, and the names in allow. Nothing else is passed on, so a
// token in the kernel's environment stays there.
func Environ(allow []string) []string {
	var env []string
	for _, pair := range os.Environ() {
		name, _, ok := strings.Cut(pair, "=")
		if ok && name != "" && (isPassed(name) || slices.Contains(allow, name)) {
			env = append(env, pair)
		}
	}
	return env
}

func isPassed(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return strings.HasPrefix(name, "LC_") || slices.Contains(passed, name)
}

// lookup finds a variable; the last setting counts.
func lookup(env []string, name string) string {
	for _, pair := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// environ is the environment of the run itself.
func (s *Spec) environ(temp, marker string) []string {
	env := make([]string, 0, len(s.Env)+2)
	for _, pair := range s.Env {
		name, _, _ := strings.Cut(pair, "=")
		switch name {
		case "TMPDIR", "TMP", "TEMP", markerName:
		default:
			env = append(env, pair)
		}
	}
	if runtime.GOOS == "windows" {
		env = append(env, "TMP="+temp, "TEMP="+temp)
	}
	if !s.Unconfined { // the home folder cannot be written, and compilers will not do without a cache
		for name, dir := range map[string]string{"XDG_CACHE_HOME": "cache", "npm_config_cache": "npm"} {
			if lookup(s.Env, name) == "" {
				env = append(env, name+"="+filepath.Join(temp, "."+dir))
			}
		}
	}
	return append(env, "TMPDIR="+temp, markerName+"="+marker)
}

// lookPath finds a program by the PATH that it will run with.
func lookPath(name string, env []string, dir string) (string, error) {
	const op = "sandbox.Run"
	if strings.ContainsRune(name, filepath.Separator) || strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if !isProgram(name) {
			return "", tool.Errorf(op, tool.NotFound, "there is no program %q", tool.Truncate(name)).
				WithHint("check the path, and that the file is executable")
		}
		return filepath.Clean(name), nil
	}
	for _, folder := range filepath.SplitList(lookup(env, "PATH")) {
		if !filepath.IsAbs(folder) { // programs are not run from the current folder
			continue
		}
		for _, suffix := range programSuffixes(env) {
			if path := filepath.Join(folder, name+suffix); isProgram(path) {
				return path, nil
			}
		}
	}
	return "", tool.Errorf(op, tool.NotFound, "there is no program %q in the PATH", tool.Truncate(name)).
		WithHint("install it, or name it by its full path")
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0)
}

func programSuffixes(env []string) []string {
	if runtime.GOOS != "windows" {
		return []string{""}
	}
	return append([]string{""}, strings.Split(strings.ToLower(lookup(env, "PATHEXT")), ";")...)
}
