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
	text  string // of a text
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
	text    // a file of the run's own, in memory, that cannot be written
)

// Where the system keeps what everybody may read.
var systemPaths = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap",
	"/run/current-system", "/var/lib/ca-certificates", "/home/linuxbrew/.linuxbrew",
}

// homePaths are what toolchains keep below a home folder, and Git's settings: files, and
// folders of programs and packages alone. What is private of a folder is taken away from
// it (see withoutPrivate); a test holds that nothing private is left at any level.
var homePaths = []string{
	".asdf/bin", ".asdf/installs", ".asdf/lib", ".asdf/plugins", ".asdf/shims",
	".bun/bin", ".bun/install",
	".cargo/bin", ".cargo/env", ".cargo/git", ".cargo/registry",
	".config/git/attributes", ".config/git/config", ".config/git/ignore", ".gitconfig",
	".deno/bin",
	".dotnet/dotnet", ".dotnet/host", ".dotnet/packs", ".dotnet/sdk", ".dotnet/sdk-manifests", ".dotnet/shared",
	".dotnet/templates", ".dotnet/tools",
	".local/bin", ".local/lib", ".local/pipx/shared", ".local/pipx/venvs", ".local/share/pipx/shared",
	".local/share/pipx/venvs", ".local/share/fnm", ".local/share/mise/installs", ".local/share/mise/plugins",
	".local/share/mise/shims", ".local/share/pnpm", ".local/share/uv/python", ".local/share/uv/tools",
	".npm-global/bin", ".npm-global/lib", ".nvm", ".nix-profile",
	".pyenv/bin", ".pyenv/libexec", ".pyenv/plugins", ".pyenv/shims", ".pyenv/version", ".pyenv/versions",
	".rbenv/bin", ".rbenv/libexec", ".rbenv/plugins", ".rbenv/shims", ".rbenv/version", ".rbenv/versions",
	".rustup/settings.toml", ".rustup/toolchains", ".rustup/update-hashes", ".sdkman/candidates", ".volta", ".yarn/bin",
	"anaconda3", "mambaforge", "miniconda3", "miniforge3", "go/bin", "go/pkg/mod", "sdk",
}

// What only root can read in /etc, and so only a run of root's must not.
var rootSecrets = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private",
	"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key",
	"/etc/ssh/ssh_host_dsa_key",
}

// layout is what a run sees, by path, and what of it must not be seen.
type layout struct {
	home                 string
	private, credentials []string // of the home: what is hidden, and the places of the table that say why

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
	l.setPrivate()
	for _, path := range s.systemPaths() {
		l.show(path)
	}
	if s.Network { // where the name servers stand, often outside /etc
		if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
			l.show(real)
		}
	}
	for _, path := range s.toolchains(l.home) {
		if !s.isHidden(path) {
			l.showPublic(path)
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
	l.showGitSettings()
	if err := s.hidePaths(l); err != nil {
		return nil, err
	}
	s.keepReadOnly(l)
	l.pinParents()
	return l, nil
}

// systemPaths are what every run is shown, unless its spec says which of it.
func (s *Spec) systemPaths() []string {
	if s.System != nil {
		return s.System
	}
	return systemPaths
}

// setPrivate notes what is private in the home folder.
func (l *layout) setPrivate() {
	if l.home == "" {
		return
	}
	l.private = PrivatePaths(l.home)
	for _, path := range l.private {
		if path != filepath.Join(l.home, settingsFolder) {
			l.credentials = append(l.credentials, path)
		}
	}
	for _, name := range credentialNames() {
		if strings.HasPrefix(name, settingsFolder+"/") {
			l.credentials = append(l.credentials, filepath.Join(l.home, name))
		}
	}
}

// isPrivate reports whether a path is private, or lies inside what is. Below the folder of
// settings a path is named one by one, so only the credentials of the table count there.
func (l *layout) isPrivate(path string) bool {
	inside := func(private string) bool { return within(path, private) }
	return slices.Contains(l.private, path) || slices.ContainsFunc(l.credentials, inside)
}

// showPublic adds what is not private of a path to read.
func (l *layout) showPublic(path string) {
	if real, err := filepath.EvalSymlinks(path); err != nil || l.isPrivate(real) {
		return
	}
	for _, part := range l.withoutPrivate(path) {
		l.show(part)
	}
}

// withoutPrivate returns a path, or, where something private is inside it, what else is.
func (l *layout) withoutPrivate(path string) []string {
	if l.isPrivate(path) {
		return nil
	}
	isInside := func(private string) bool {
		if !within(private, path) {
			return false
		}
		_, err := os.Lstat(private)
		return err == nil
	}
	if !slices.ContainsFunc(l.private, isInside) && !slices.ContainsFunc(l.credentials, isInside) {
		return []string{path}
	}
	entries, _ := os.ReadDir(path) // what cannot be listed is not shown
	var list []string
	for _, e := range entries {
		list = append(list, l.withoutPrivate(filepath.Join(path, e.Name()))...)
	}
	return list
}

// showGitSettings adds a copy of Git's settings, without the lines that hold credentials,
// where a file of them is private for those.
func (l *layout) showGitSettings() {
	added := false
	for _, name := range gitSettings {
		path := filepath.Join(l.home, name)
		if !slices.Contains(l.private, path) && !slices.Contains(l.credentials, path) || nearest(l.places, path) != nil {
			continue
		}
		if content, ok := readGitSettings(path); ok {
			clean, _ := cleanGitSettings(content)
			l.places, added = append(l.places, mountEntry{path: path, kind: text, text: clean}), true
		}
	}
	if added {
		l.sort()
	}
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
	mounts := mask.ReadMounts()
	for _, path := range slices.Concat(s.Hidden, mounts.Aliases(s.Hidden)) {
		if _, err := os.Stat(path); err != nil && nearest(l.places, path) != nil {
			return tool.Errorf("sandbox.Run", tool.Unavailable, "nothing runs, because %s cannot be hidden: %w", path, err).
				WithHint("the kernel's own folder was moved or removed; put it back, or stop the kernel and start it again")
		}
		real := canonical(path)
		if s.Workspace != "" && within(s.Workspace, real) {
			return tool.Errorf("sandbox.Run", tool.Denied, "the workspace %s lies inside the kernel's own folder", s.Workspace).
				WithHint("start the session in another folder")
		}
		l.hidePath(real)
	}
	private := slices.DeleteFunc(slices.Clone(l.private), func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil
	})
	private = append(private, mounts.Aliases(private)...)
	if os.Geteuid() == 0 {
		private = append(private, rootSecrets...)
	}
	for _, path := range private {
		for _, name := range slices.Compact([]string{path, canonical(path)}) { // a link may lead to what is shown
			over := nearest(l.places, name)
			isNamed := func(p mountEntry) bool { return p.path == name }
			if over == nil || isNamed(*over) || slices.ContainsFunc(l.within, isNamed) {
				continue // it was named, as the workspace or as what the app file opens
			}
			if s.Workspace == "" || !within(s.Workspace, name) { // or the workspace lies in it
				l.hidePath(name)
			}
		}
	}
	all := slices.Clone(l.hide)
	l.hide = slices.DeleteFunc(l.hide, func(h mountEntry) bool { // what lies in a hidden folder is gone with it
		return slices.ContainsFunc(all, func(o mountEntry) bool { return o.path != h.path && within(h.path, o.path) })
	})
	for _, p := range l.within { // what is shown by name is, though all around it is hidden
		if slices.ContainsFunc(l.hide, func(h mountEntry) bool { return h.path != p.path && within(p.path, h.path) }) {
			l.places = append(l.places, p)
		}
	}
	return nil
}

// canonical is a path without links, if it exists.
func canonical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// hidePath notes a path that must not be seen, if it exists and is inside something that
// is shown. A link is not hidden: what it leads to is.
func (l *layout) hidePath(path string) {
	info, err := os.Lstat(path)
	isKnown := slices.ContainsFunc(l.hide, func(h mountEntry) bool { return h.path == path })
	if err != nil || info.Mode()&os.ModeSymlink != 0 || nearest(l.places, path) == nil || isKnown {
		return
	}
	p := mountEntry{path: path, kind: blank}
	if info.IsDir() {
		p.kind = hidden
	}
	l.hide = append(l.hide, p)
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
