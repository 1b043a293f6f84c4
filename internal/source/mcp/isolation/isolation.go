// Package isolation decides what a local MCP server is kept from, and says which
// wall stopped one.
//
// # Law
//
//   - sandboxed: the server sees its folder, to write; the system, to read; a
//     package cache that only servers of the same folder share; what its readable
//     and writable name; and nothing else. It has the network only with network:
//     true. It is what callgate mcp add writes, and what a server gets that a project's
//     file names without a word on isolation.
//   - contained: the server keeps the disk and the network, but the kernel's state
//     and the places of the home that are known to hold credentials are out of its sight,
//     and so are the sockets of programs that act for the user. It is what a server gets
//     that the user's own file names without a word on isolation.
//   - A server starts in a folder of its own, in the kernel's state directory, which no
//     tool sees: what lies in the folder that it works for is not loaded by itself. With
//     cwd: workspace it starts in that folder, and is sandboxed.
//   - In both of these, the files that hold rules of agents, and those that run when
//     the user opens a shell, can be read and not written.
//   - none: the server runs as any program of the user's.
//   - In each of them everything that the server starts is known as a descendant of
//     the kernel, and ends with the server (Linux).
//   - A mode that this machine cannot do is refused, unless the app's sandbox: relaxed
//     was accepted: contained needs user namespaces, sandboxed these or Landlock with
//     seccomp. What the words of consent say is what this machine does, and a consent
//     does not count on a machine that does less: [Words] has that, too.
package isolation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/launch"
	"callgate/internal/sandbox"
	"callgate/internal/source/mcp/config"
	"callgate/tool"
)

// Machine is what servers are isolated from, and where they may keep something.
type Machine struct {
	Hidden []string // the kernel's own folders
	Cache  string   // a folder for the package caches of sandboxed servers; empty: they keep nothing
	Home   string   // of the user; default: as the system says
	Rules  string   // the folder of the user's own app file, which no server writes; empty: there is none

	Folders launch.Folders // where servers start
}

// Walls are those of one server. Make them with [Machine.Walls].
type Walls struct {
	config config.Isolation
	start  string // the folder that it starts in
	works  string // the folder that it works for
	cache  string
	hidden []string
	runs   string // the program
	spec   *sandbox.Spec
}

// Place is where a server starts, and what it works for.
type Place struct {
	Dir    string // the folder that it works for
	Inside bool   // it starts there
	Key    string // tells it apart from other servers
}

// Walls makes the walls of a server that runs a program.
func (m Machine) Walls(c config.Isolation, program string, at Place) (*Walls, error) {
	w := &Walls{config: c, hidden: m.Hidden, runs: program, start: at.Dir, works: at.Dir}
	machine := sandbox.Probe()
	if why := refused(c, machine); why != "" {
		return nil, tool.Errorf("mcp.start", tool.Unavailable, "it is not started: %s", why).
			WithHint("callgate doctor says what is missing; runtime.sandbox: relaxed in the app file accepts servers without it, " +
				"and isolation: none gives this one everything that you can reach")
	}
	own := ""
	if !at.Inside {
		var err error
		if own, err = m.Folders.Of("server", at.Key); err != nil {
			return nil, err
		}
		if w.start = own; own == "" {
			w.start = launch.Root()
		}
	}
	dir := at.Dir
	if !sandbox.Supervises() {
		return w, nil
	}
	s := &sandbox.Spec{Hidden: m.Hidden, Own: own, Readable: existing(c.Readable), Writable: existing(c.Writable)}
	switch c.Mode {
	case config.None:
		s.Mode = sandbox.Tracked
	case config.Sandboxed:
		s.Readable = append(s.Readable, packages(program)...)
		if err := w.confine(s, m.Cache, dir); err != nil {
			return nil, err
		}
	default:
		s.Mode, s.Relaxed = sandbox.Contained, c.Relaxed
	}
	if s.Mode != sandbox.Tracked {
		s.ReadOnly = m.readOnly(c, dir)
	}
	w.spec = s
	return w, nil
}

// confine fills in the spec of a sandboxed server.
func (w *Walls) confine(s *sandbox.Spec, caches, dir string) error {
	s.Mode, s.Network, s.Relaxed = sandbox.Confined, w.config.Network, w.config.Relaxed
	s.Limits = sandbox.Limits{Memory: -1, Processes: -1} // it runs for days, and checking costs
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return tool.Errorf("mcp.start", tool.NotFound, "its folder %s cannot be opened: %w", dir, err)
	}
	s.Workspace = real
	if caches == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(real))
	w.cache = filepath.Join(caches, hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(w.cache, 0o700); err != nil {
		return tool.Errorf("mcp.start", tool.Unavailable, "its package cache cannot be made: %w", err)
	}
	if w.cache, err = filepath.EvalSymlinks(w.cache); err != nil {
		return tool.Errorf("mcp.start", tool.Unavailable, "its package cache cannot be opened: %w", err)
	}
	s.Writable = append(s.Writable, w.cache)
	return nil
}

// packages is the folder of installed packages that a program belongs to, without
// which it could not start: the node_modules or the virtual environment around it.
func packages(program string) []string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil || !filepath.IsAbs(program) {
		return nil
	}
	const modules = "/node_modules/"
	var list []string
	for _, path := range []string{program, real} {
		if i := strings.Index(path, modules); i > 0 {
			list = append(list, path[:i+len(modules)-1])
		}
	}
	if root := filepath.Dir(filepath.Dir(program)); filepath.Base(filepath.Dir(program)) == "bin" {
		if _, err := os.Stat(filepath.Join(root, "pyvenv.cfg")); err == nil {
			list = append(list, root)
		}
	}
	return existing(list)
}

// existing leaves out what is not there, and gives the rest its own name: a folder
// that was deleted must not keep a server from starting.
func existing(paths []string) []string {
	var list []string
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			list = append(list, real)
		}
	}
	return list
}

// Start is the folder that the server starts in.
func (w *Walls) Start() string { return w.start }

// Spec is how the process is run; nil where only a process group can be had.
func (w *Walls) Spec() *sandbox.Spec { return w.spec }

// Environ adds the variables that lead package runners to the server's own cache,
// where it has one. What the app file sets stays.
func (w *Walls) Environ(set map[string]string) map[string]string {
	if w.cache == "" {
		return set
	}
	all := map[string]string{"XDG_CACHE_HOME": w.cache}
	for name, folder := range caches {
		all[name] = filepath.Join(w.cache, folder)
	}
	for name, value := range set {
		all[name] = value
	}
	return all
}

// caches are the variables by which package runners find what they keep. The
// interpreters that uv installed stay where they are: they can be read.
var caches = map[string]string{
	"npm_config_cache": "npm", "NPM_CONFIG_CACHE": "npm", "YARN_CACHE_FOLDER": "yarn", "COREPACK_HOME": "corepack",
	"BUN_INSTALL_CACHE_DIR": "bun", "DENO_DIR": "deno",
	"UV_CACHE_DIR": "uv", "UV_TOOL_DIR": "uv-tools", "PIP_CACHE_DIR": "pip", "PIPX_HOME": "pipx",
	"GOCACHE": "go-build",
}

// What a machine does of the isolation that a server is to have.
const (
	wholly   = ""               // all of it
	filtered = sandbox.Filtered // files and the network, without namespaces
	nothing  = "nothing"        // the server can reach everything that its user can
)

// delivered says what a machine does of an isolation.
func delivered(c config.Isolation, machine sandbox.Report) string {
	switch mode := cmp.Or(c.Mode, config.Contained); {
	case mode == config.None || machine.Namespaces:
		return wholly
	case mode == config.Sandboxed && machine.Level != sandbox.Process:
		return filtered
	default:
		return nothing
	}
}

// Cannot reports whether a machine can do nothing of an isolation.
func Cannot(c config.Isolation, machine sandbox.Report) bool { return delivered(c, machine) == nothing }

// refused says why a server with an isolation is not started on a machine; "" for one
// that is.
func refused(c config.Isolation, machine sandbox.Report) string {
	if c.Relaxed || delivered(c, machine) != nothing {
		return ""
	}
	return "it is to be " + cmp.Or(c.Mode, config.Contained) + ", which this machine cannot do (" + lacks(machine) + ")"
}

// lacks names what a machine does not have for an isolation.
func lacks(machine sandbox.Report) string {
	switch {
	case machine.OS != "linux":
		return "servers can only be isolated on Linux"
	case machine.Level == sandbox.Process:
		return "it has neither user namespaces nor Landlock with seccomp"
	default:
		return "it has no user namespaces"
	}
}

const everything = "it can reach everything that you can, also your keys and what Callgate keeps"

// Describe says in a sentence what a server with this isolation can reach on a machine.
func Describe(c config.Isolation, machine sandbox.Report) string {
	mode := cmp.Or(c.Mode, config.Contained)
	if why := refused(c, machine); why != "" {
		return mode + ", which this machine cannot do (" + lacks(machine) + "): it is not started"
	}
	if delivered(c, machine) == nothing {
		return mode + " in the app file, but not on this machine (" + lacks(machine) + "), and runtime.sandbox: relaxed " +
			"accepts that: " + everything
	}
	opened := ""
	if places := slices.Concat(c.Readable, c.Writable); len(places) > 0 {
		opened = strings.Join(places, ", ")
	}
	switch mode {
	case config.None:
		return "none: " + everything
	case config.Sandboxed:
		network := "no network"
		if c.Network {
			network = "the network"
		}
		if opened != "" {
			opened = ", and " + opened
		}
		text := "sandboxed: it sees its folder, the system's programs" + opened + ", and has " + network
		if delivered(c, machine) == filtered {
			text += "; without user namespaces, as here, it also sees the machine's other processes, and can write files with " +
				"rules in its folder"
		}
		return text
	default:
		if opened != "" {
			opened = " (but it can read " + opened + ")"
		}
		return "contained: it can read your home folder and the rest of the disk, and write what you can write, except the " +
			"places that are known to hold keys, tokens and histories (.ssh, .aws, .config, .npmrc, browsers' profiles and " +
			"some more)" + opened + " and what Callgate keeps, and has the network"
	}
}

// Words are the isolation as words of a command line that a human accepts. Where a machine
// does less than the isolation says, that is one of them: what was accepted for more is
// not accepted there.
func Words(c config.Isolation, machine sandbox.Report) []string {
	words := []string{"isolation=" + cmp.Or(c.Mode, config.Contained)}
	if less := delivered(c, machine); less != wholly {
		words = append(words, "walls="+less)
	}
	if c.Network {
		words = append(words, "network=true")
	}
	for _, path := range c.Readable {
		words = append(words, "readable="+path)
	}
	for _, path := range c.Writable {
		words = append(words, "writable="+path)
	}
	if c.Relaxed {
		words = append(words, "sandbox=relaxed")
	}
	return words
}

// Missing says that a machine cannot do an isolation; "" when it can.
func Missing(c config.Isolation, machine sandbox.Report) string {
	if why := refused(c, machine); why != "" {
		return "it is not started: " + why
	}
	if delivered(c, machine) == nothing {
		return "nothing is hidden from it: " + lacks(machine) + ", and runtime.sandbox: relaxed accepts that"
	}
	return ""
}
