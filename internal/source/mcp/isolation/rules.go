package isolation

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"callgate/internal/gate/rulefiles"
	"callgate/internal/source/mcp/config"
)

// startupNames are files of a home that the user's next shell, desktop session, Git
// command or terminal runs: who writes one is no longer contained.
var startupNames = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
	".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc",
	".pam_environment", ".gitconfig", ".tmux.conf", ".screenrc",
}

// readOnly lists what a server that works in a folder must not write: the files with
// the rules of its app, the user's own rules, what Git runs in its folder and those
// above, and what the user's next shell runs. What the app file names as writable, and
// a human accepted so, is not among them.
func (m Machine) readOnly(c config.Isolation, dir string) []string {
	files := append([]string{}, c.Rules...)
	if m.Rules != "" {
		// A folder that is not there cannot be kept, and a server would put rules into it.
		_ = os.MkdirAll(m.Rules, 0o700) // where we may not make it, neither may the server
		files = append(files, m.Rules)
	}
	if h := cmp.Or(m.Home, home()); h != "" {
		for _, name := range startupNames {
			files = append(files, filepath.Join(h, name))
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		dir = string(filepath.Separator)
	}
	writable := existing(c.Writable)
	kept := rulefiles.Set{Workspace: dir, Files: files}.ReadOnly(writable)
	for up := dir; up != filepath.Dir(up); {
		if info, err := os.Lstat(filepath.Join(up, ".git")); err == nil && !info.IsDir() {
			kept = append(kept, filepath.Join(up, ".git")) // it says where Git's folder is
		}
		up = filepath.Dir(up)
		kept = append(kept, rulefiles.Set{Workspace: up}.ReadOnly(writable)...)
	}
	kept = slices.DeleteFunc(kept, func(path string) bool { return !filepath.IsAbs(path) })
	for i, path := range kept {
		kept[i] = filepath.Clean(path)
	}
	return kept
}
