package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"callgate/tool"
)

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
