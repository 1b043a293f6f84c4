package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Resolve returns a command line for a program that does not start in the folder its
// paths are meant from: relative paths are made absolute. It looks at words and never at
// the disk, so that no file which comes to be changes what an accepted line means.
//
// A word is a path if it is "." or "..", if it begins with "./" or "../", and if it ends
// as a script does (server.py, dist/index.js); the last unless it is a plain name that a
// package runner would take for a package. Of --name=value the value counts. The
// first word, the program, is a path if it has a slash.
func Resolve(words []string, folder string) []string {
	all := slices.Clone(words)
	if len(all) == 0 {
		return all
	}
	if strings.Contains(all[0], "/") {
		all[0] = joined(folder, all[0])
	}
	packages := slices.Contains(packageRunners, base(all[0]))
	for i := 1; i < len(all); i++ {
		name, value := "", all[i]
		if strings.HasPrefix(value, "-") {
			var ok bool
			if name, value, ok = strings.Cut(value, "="); !ok {
				continue
			}
			name += "="
		}
		if isRelative(value) || isScript(value) && !(packages && !strings.Contains(value, "/")) && !isRemote(value) {
			all[i] = name + joined(folder, value)
		}
	}
	return all
}

// Unclear returns the words of a resolved command line that name something in a folder,
// and that Resolve left as they are: a program that starts elsewhere does not find it.
func Unclear(words []string, folder string) []string {
	var list []string
	for i, word := range words {
		if i == 0 || i == 1 && slices.Contains(packageRunners, base(words[0])) || strings.HasPrefix(word, "-") ||
			strings.HasPrefix(words[i-1], "-") && !strings.Contains(word, ".") || filepath.IsAbs(word) || !filepath.IsLocal(word) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(folder, word)); err == nil {
			list = append(list, word)
		}
	}
	return list
}

func isRelative(word string) bool {
	return word == "." || word == ".." || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")
}

// isRemote reports a word that names something elsewhere, or a variable.
func isRemote(word string) bool {
	return strings.Contains(word, "://") || strings.HasPrefix(word, "@") || strings.HasPrefix(word, "{{") ||
		strings.HasPrefix(word, "~") || strings.ContainsAny(word, " \t\n;|&$`'\"()<>")
}

// joined is a path from a folder; a folder that is still a variable stays one.
func joined(folder, path string) string {
	if filepath.IsAbs(path) || strings.HasPrefix(path, "{{") {
		return path
	}
	if strings.HasPrefix(folder, "{{") {
		if path = filepath.ToSlash(filepath.Clean(path)); path == "." {
			return folder
		}
		return folder + "/" + path
	}
	return filepath.Join(folder, path)
}

// scriptEndings are those of files that an interpreter runs.
var scriptEndings = []string{
	".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".rb", ".pl", ".php", ".lua",
	".jar", ".ps1",
}

// isScript reports whether a file is called as those are that an interpreter runs.
func isScript(path string) bool {
	ending := filepath.Ext(path)
	return slices.Contains(scriptEndings, ending) && ending != filepath.Base(path)
}

// packageRunners are programs whose first plain argument is the name of a package.
var packageRunners = []string{"npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "pipx", "docker", "podman"}

// interpreters are programs whose first plain argument is a script or a package.
var interpreters = []string{
	"bash", "sh", "zsh", "dash", "python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "lua", "tsx", "ts-node",
	"uv", "java", "pypy", "pypy3",
}

// base is the name of a program without its folder and ending.
func base(program string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(filepath.ToSlash(program)), ".exe"), ".cmd")
}

// verbs stand between a program and what it runs.
var verbs = []string{"run", "exec", "dlx", "x", "tool"}

// takesFolder are flags whose word is a folder that something is run from.
var takesFolder = []string{"--from", "--package", "-p", "--project", "--directory", "--prefix", "-C", "--cwd"}
