package isolation

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/internal/sandbox"
	"callgate/internal/source/mcp/config"
)

// Wall is what probably stopped a server.
type Wall struct {
	What string // "it has no network"
	Open string // the line of the app file that would open it
}

// signs are words by which programs say that they could not do something.
var (
	networkSigns = lazyregexp.New(`(?i)ENETUNREACH|EAI_AGAIN|ENOTFOUND|EAI_NONAME|ENETDOWN|EHOSTUNREACH|` +
		`network is unreachable|temporary failure in name resolution|could not resolve host|no such host|` +
		`name or service not known|failed to lookup address|dns error|connection refused|ECONNREFUSED|fetch failed`)
	fileSigns = lazyregexp.New(`(?i)EACCES|EPERM|ENOENT|EROFS|permission denied|operation not permitted|` +
		`no such file or directory|read-only file system|EBUSY|resource busy|cannot find (?:module|package)|ModuleNotFoundError|not found`)
	writeSigns    = lazyregexp.New(`(?i)EROFS|read-only file system|EBUSY|resource busy|EACCES|permission denied|mkdir|write`)
	pathForm      = lazyregexp.New(`(?:^|[\s'"` + "`" + `(=:\[])((?:/|~/)[^\s'"` + "`" + `()\]:,;]+)`)
	missingModule = lazyregexp.New(`No module named '?([A-Za-z0-9_]+)`)
	// kernelSigns are what a sandbox that filters system calls does to a program.
	kernelSigns = lazyregexp.New(`(?i)bad system call|SIGSYS|function not implemented|ENOSYS`)
)

// Explain finds out of what a server wrote, before it ended or was given up as too
// slow, which wall stopped it. It returns false when nothing points at a wall. A
// sandboxed server that ended at once may always have missed something, and one that
// fetches packages waits for the network in silence.
func (w *Walls) Explain(said string, ended, slow bool) (Wall, bool) {
	if w == nil || w.spec == nil || w.spec.Mode == sandbox.Tracked {
		return Wall{}, false
	}
	for _, m := range missingModule.FindAllStringSubmatch(said, -1) {
		if w.start != w.works && w.hasModule(m[1]) {
			return Wall{"the module " + m[1] + " of " + w.works + " is not loaded, because servers start in a folder of their own",
				"cwd: workspace and isolation: sandboxed"}, true
		}
	}
	sandboxed := w.config.Mode == config.Sandboxed
	waits := slow && Fetches(w.runs)
	if sandboxed && !w.config.Network && (waits || networkSigns.MatchString(said)) {
		return Wall{"it has no network, because it is sandboxed", "network: true"}, true
	}
	for line := range strings.Lines(said) {
		if !fileSigns.MatchString(line) {
			continue
		}
		for _, m := range pathForm.FindAllStringSubmatch(line, -1) {
			if wall, ok := w.path(m[1], writeSigns.MatchString(line)); ok {
				return wall, true
			}
		}
	}
	if sandboxed && kernelSigns.MatchString(said) {
		return Wall{"a system call was refused, because it is sandboxed", wider()}, true
	}
	if sandboxed && ended {
		return Wall{"it is sandboxed: it sees its folder and the system's programs, and nothing else", wider()}, true
	}
	return Wall{}, false
}

// hasModule reports whether the folder that the server works for holds a module of Python's.
func (w *Walls) hasModule(name string) bool {
	for _, path := range []string{name, name + ".py"} {
		if _, err := os.Stat(filepath.Join(w.works, path)); err == nil {
			return true
		}
	}
	return false
}

// wider is the line that opens more than a place: the next mode that this machine can do.
func wider() string {
	if sandbox.Probe().Namespaces {
		return "isolation: contained"
	}
	return "isolation: none"
}

// Fetches reports whether a program fetches the server that it runs.
func Fetches(program string) bool { return slices.Contains(runners, filepath.Base(program)) }

// runners are programs that fetch the server before they run it.
var runners = []string{
	"npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "deno", "uvx", "uv", "pipx", "pip", "go", "cargo", "docker", "podman",
}

// path reports whether a path is behind a wall, and what would open it.
func (w *Walls) path(path string, write bool) (Wall, bool) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(home(), rest)
	}
	path = filepath.Clean(path)
	for _, h := range w.hidden {
		if within(path, h) {
			return Wall{path + " is the kernel's own, and hidden from every server", "isolation: none"}, true
		}
	}
	for _, p := range sandbox.PrivatePaths(home()) {
		if within(path, p) && !w.opened(path) {
			return Wall{p + " is private, and hidden from it", "readable: [" + p + "]"}, true
		}
	}
	for _, kept := range w.spec.ReadOnly {
		if _, err := os.Stat(kept); write && err == nil && within(path, kept) {
			return Wall{kept + " decides what agents or your shell do, and is read-only for servers",
				"writable: [" + kept + "]"}, true
		}
	}
	if w.config.Mode != config.Sandboxed || w.opened(path) || within(path, w.spec.Workspace) ||
		w.cache != "" && within(path, w.cache) {
		return Wall{}, false
	}
	if write {
		return Wall{path + " cannot be written, because it is sandboxed", "writable: [" + filepath.Dir(path) + "]"}, true
	}
	if _, err := os.Lstat(path); err != nil || isSystem(path) {
		return Wall{}, false
	}
	if i := strings.Index(path, "/node_modules/"); i > 0 {
		path = path[:i] + "/node_modules"
	}
	return Wall{path + " is out of its sight, because it is sandboxed", "readable: [" + path + "]"}, true
}

// isSystem reports whether a path is one that every sandboxed server sees.
func isSystem(path string) bool {
	for _, system := range []string{"/usr", "/bin", "/lib", "/lib64", "/etc", "/opt", "/proc", "/dev"} {
		if within(path, system) {
			return true
		}
	}
	return false
}

// opened reports whether the app file opens a path.
func (w *Walls) opened(path string) bool {
	for _, open := range append(w.spec.Readable[:len(w.spec.Readable):len(w.spec.Readable)], w.spec.Writable...) {
		if within(path, open) {
			return true
		}
	}
	return false
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// home is the folder of the user; "" without one.
func home() string {
	dir, _ := os.UserHomeDir()
	return dir
}
