package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/sandbox/mask"
	"callgate/tool"
)

// mountEntry is something in the view of a run.
type mountEntry struct {
	path  string
	kind  mountKind
	write bool
	exact bool   // no part of the path may have become a link since it was made canonical
	link  string // where a link leads
}

type mountKind uint8

const (
	folder mountKind = iota
	file
	link    // the system's own, as /bin to usr/bin
	private // an empty folder of the run's own, in memory
	hidden  // an empty folder in place of what lies there
	blank   // an empty file in place of what lies there
	instead // a file in place of the link to it
)

// Where the system keeps what everybody may read.
var systemPaths = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap",
	"/run/current-system", "/var/lib/ca-certificates", "/home/linuxbrew/.linuxbrew",
}

// What toolchains keep below a home folder, and Git's settings. None of it
// holds credentials; Cargo's folder does, so only parts of it are here.
var homePaths = []string{
	".asdf", ".bun", ".cargo/bin", ".cargo/env", ".cargo/git", ".cargo/registry", ".config/git", ".deno", ".dotnet",
	".gitconfig", ".local/bin", ".local/lib", ".local/pipx", ".local/share/fnm", ".local/share/mise", ".local/share/pnpm",
	".local/share/uv",
	".npm-global", ".nvm", ".nix-profile", ".pyenv", ".rbenv", ".rustup", ".sdkman/candidates", ".volta", ".yarn/bin",
	"anaconda3", "mambaforge", "miniconda3", "go/bin", "go/pkg/mod", "sdk",
}

// What only root can read in /etc, and so only a run of root's must not.
var rootSecrets = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private",
	"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key",
	"/etc/ssh/ssh_host_dsa_key",
}

// layout is what a run sees, by path, and what of it must not be seen.
type layout struct {
	home   string
	places []mountEntry // parents before their children
	within []mountEntry // shown by a wider one already
	hide   []mountEntry // inside some place
	keep   []mountEntry // read-only inside some place that can be written
}

// layOut determines what a run sees. A path that does not exist is passed over,
// unless the spec names it as the workspace or as writable.
func (s *Spec) layOut() (*layout, error) {
	l := &layout{home: lookup(s.Env, "HOME")}
	if !filepath.IsAbs(l.home) {
		l.home = ""
	}
	for _, path := range systemPaths {
		l.show(path)
	}
	if s.Network { // where the name servers stand, often outside /etc
		if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
			l.show(real)
		}
	}
	for _, path := range s.toolchains(l.home) {
		if !s.isHidden(path) {
			l.show(path)
		}
	}
	for _, path := range s.Readable {
		l.show(path)
	}
	l.show(s.executable())
	if err := s.addWorkspace(l); err != nil {
		return nil, err
	}
	l.sort()
	if err := s.hidePaths(l); err != nil {
		return nil, err
	}
	s.keepReadOnly(l)
	l.pinParents()
	return l, nil
}

// executable returns the program's file, by a path whose folders are not links:
// the view must show it by itself.
func (s *Spec) executable() string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(s.Argv[0]))
	if err != nil {
		return s.Argv[0]
	}
	return filepath.Join(dir, filepath.Base(s.Argv[0]))
}

// show adds a path to read, and where it is a link also what it leads to.
func (l *layout) show(path string) {
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	switch mode := info.Mode(); {
	case mode&os.ModeSymlink != 0:
		target, err := os.Readlink(path)
		real, err2 := filepath.EvalSymlinks(path)
		if err != nil || err2 != nil {
			return
		}
		l.places = append(l.places, mountEntry{path: path, kind: link, link: target})
		l.show(real)
	case mode.IsDir():
		l.places = append(l.places, mountEntry{path: path, kind: folder})
	case mode.IsRegular():
		l.places = append(l.places, mountEntry{path: path, kind: file})
	}
}

// addWorkspace adds the workspace, and what the spec lets the run write.
func (s *Spec) addWorkspace(l *layout) error {
	add := func(path string, write bool) error {
		info, err := os.Stat(path)
		if err != nil {
			return tool.Errorf("sandbox.Run", tool.NotFound, "%s cannot be given to the command: %w", path, err)
		}
		p := mountEntry{path: path, kind: file, write: write, exact: true}
		if info.IsDir() {
			p.kind = folder
		}
		l.places = append(l.places, p)
		return nil
	}
	if s.Workspace != "" {
		if err := add(s.Workspace, !s.ReadOnlyWorkspace); err != nil {
			return err
		}
	}
	if s.Own != "" {
		if err := add(s.Own, true); err != nil {
			return err
		}
	}
	for _, path := range s.Writable {
		if err := add(path, true); err != nil {
			return err
		}
	}
	return nil
}

// sort orders the places by path and drops those that a wider one shows
// already, with the same rights.
func (l *layout) sort() {
	slices.SortStableFunc(l.places, func(a, b mountEntry) int {
		return cmp.Or(strings.Compare(a.path, b.path), -compareBool(a.write, b.write))
	})
	var kept []mountEntry
	for _, p := range l.places {
		over := nearest(kept, p.path)
		if over != nil && (over.path == p.path || over.kind == folder && (over.write || !p.write)) {
			l.within = append(l.within, p)
			continue
		}
		kept = append(kept, p)
	}
	l.places = kept
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// nearest returns the deepest entry that contains a path, or nil.
func nearest(sorted []mountEntry, path string) *mountEntry {
	for i := len(sorted) - 1; i >= 0; i-- {
		if within(path, sorted[i].path) {
			return &sorted[i]
		}
	}
	return nil
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

func (s *Spec) isHidden(path string) bool {
	return slices.ContainsFunc(s.Hidden, func(h string) bool { return within(path, h) })
}

// hidePaths notes what must not be seen and is inside something that is shown.
func (s *Spec) hidePaths(l *layout) error {
	mounts, private := mask.ReadMounts(), PrivatePaths(l.home)
	kernels := slices.Concat(s.Hidden, mounts.Aliases(s.Hidden))
	candidates := slices.Concat(kernels, private, mounts.Aliases(private))
	if os.Geteuid() == 0 {
		candidates = append(candidates, rootSecrets...)
	}
	for i, path := range candidates {
		if i >= len(kernels) && nearest(l.places, path) == nil {
			continue // a link to it would have to lie there too
		}
		info, err := os.Stat(path)
		if err != nil {
			if i < len(kernels) && nearest(l.places, path) != nil {
				return tool.Errorf("sandbox.Run", tool.Unavailable, "nothing runs, because %s cannot be hidden: %w", path, err).
					WithHint("the kernel's own folder was moved or removed; put it back, or stop the kernel and start it again")
			}
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if s.Workspace != "" && within(s.Workspace, path) {
			if i < len(kernels) {
				return tool.Errorf("sandbox.Run", tool.Denied, "the workspace %s lies inside the kernel's own folder", s.Workspace).
					WithHint("start the session in another folder")
			}
			continue // it was chosen as the workspace, knowing what it is
		}
		if over := nearest(l.places, path); over == nil || over.path == path && over.write && i >= len(kernels) {
			continue
		}
		p := mountEntry{path: path, kind: blank}
		if info.IsDir() {
			p.kind = hidden
		}
		l.hide = append(l.hide, p)
	}
	for _, p := range l.within { // what is shown by name is, though all around it is hidden
		if slices.ContainsFunc(l.hide, func(h mountEntry) bool { return h.path != p.path && within(p.path, h.path) }) {
			l.places = append(l.places, p)
		}
	}
	return nil
}

// keepReadOnly adds what stays read-only inside something that can be written.
func (s *Spec) keepReadOnly(l *layout) {
	for _, name := range s.ReadOnly {
		path, err := filepath.EvalSymlinks(name)
		if err != nil {
			continue
		}
		l.keepLink(name, path)
		over := nearest(l.places, path)
		isHidden := slices.ContainsFunc(l.hide, func(h mountEntry) bool { return within(path, h.path) })
		isKept := slices.ContainsFunc(l.keep, func(k mountEntry) bool { return within(path, k.path) })
		if over == nil || !over.write || over.path == path || isHidden || isKept {
			continue
		}
		p := mountEntry{path: path, kind: file, exact: true}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			p.kind = folder
		}
		l.keep = append(l.keep, p)
	}
}

// keepLink keeps a link to a file from being replaced, where the run may write. A
// link that leads to what the run does not see shows nothing of it.
func (l *layout) keepLink(name, target string) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(name))
	info, err2 := os.Stat(target)
	p := mountEntry{path: filepath.Join(dir, filepath.Base(name)), kind: instead, link: target}
	if over := nearest(l.places, p.path); err == nil && err2 == nil && p.path != target && info.Mode().IsRegular() &&
		over != nil && over.write {
		isHidden := slices.ContainsFunc(l.hide, func(h mountEntry) bool { return within(target, h.path) })
		if nearest(l.places, target) == nil || isHidden {
			p.kind = blank
		}
		l.keep = append(l.keep, p)
	}
}

// pinParents mounts each folder above something hidden or kept onto itself, where
// the run may write: what is mounted cannot be renamed or removed, so that nothing
// hidden is moved to a path where the next run would see it.
func (l *layout) pinParents() {
	var pins []mountEntry
	for _, h := range slices.Concat(l.hide, l.keep) {
		over := nearest(l.places, h.path)
		if over == nil || !over.write {
			continue
		}
		for dir := filepath.Dir(h.path); dir != over.path && within(dir, over.path); dir = filepath.Dir(dir) {
			if !slices.ContainsFunc(pins, func(p mountEntry) bool { return p.path == dir }) {
				pins = append(pins, mountEntry{path: dir, kind: folder, write: true, exact: true})
			}
		}
	}
	l.places = slices.Concat(l.places, pins, l.keep)
	slices.SortStableFunc(l.places, func(a, b mountEntry) int { return strings.Compare(a.path, b.path) })
}

// toolchains lists where programs of the user's own lie.
func (s *Spec) toolchains(home string) []string {
	var list []string
	if home != "" {
		for _, name := range homePaths {
			list = append(list, filepath.Join(home, name))
		}
	}
	for _, name := range []string{
		"GOROOT", "JAVA_HOME", "RUSTUP_HOME", "NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX", "GOMODCACHE",
	} {
		list = append(list, s.allowedToolDir(lookup(s.Env, name), home)...)
	}
	for _, dir := range filepath.SplitList(lookup(s.Env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		list = append(list, s.allowedToolDir(filepath.Clean(dir), home)...)
		// A toolchain outside the home folder has its libraries beside bin.
		if parent := filepath.Dir(dir); filepath.Base(dir) == "bin" && (home == "" || !within(dir, home)) {
			list = append(list, s.allowedToolDir(parent, home)...)
		}
	}
	return list
}

// allowedToolDir returns the path if it may be shown for the programs in it: it
// must not contain the home folder, the workspace or anything hidden.
func (s *Spec) allowedToolDir(path, home string) []string {
	if !filepath.IsAbs(path) || filepath.Dir(path) == path {
		return nil
	}
	for _, kept := range append([]string{home, s.Workspace}, s.Hidden...) {
		if kept != "" && within(kept, path) {
			return nil
		}
	}
	return []string{path}
}
