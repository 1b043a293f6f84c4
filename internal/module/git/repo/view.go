package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/module/git/gitconfig"
	"callgate/internal/tempdir"
	"callgate/tool"
)

// linked are the parts of a repository that a view links to: everything that
// working trees share, except the settings and the hooks.
var linked = []string{"objects", "refs", "packed-refs", "logs", "info", "shallow", "worktrees"}

// view is the repository as a command sees it.
type view struct {
	dir    string
	shared bool // by commands that only read; other views are removed after their command
}

// newView makes a view, or finds a shared one that was made of the same parts.
// A command that can write gets a view of its own, because it can write to it.
func (r *Repository) newView(writes bool) (*view, error) {
	settings := gitconfig.Format(r.viewSettings())
	key := strings.Join([]string{r.common, r.dir, string(settings)}, "\x00")
	if dir := r.runner.sharedView(key); dir != "" && !writes {
		return &view{dir, true}, nil
	}
	dir, err := r.runner.baseDir()
	if err == nil {
		dir, err = os.MkdirTemp(dir, "view-")
	}
	if err != nil {
		return nil, &tool.Error{
			Op: r.op, Kind: tool.Unavailable, Message: "no folder could be made for the command", Err: err,
			Hint: "check whether there is space in " + os.TempDir(),
		}
	}
	v := &view{dir: dir}
	if err := r.fill(dir, settings); err != nil {
		v.remove()
		return nil, &tool.Error{
			Op: r.op, Kind: tool.Unavailable, Message: "the repository could not be prepared for the command", Err: err,
		}
	}
	if writes { // Git makes a file through a dangling link, but no folder
		_ = r.grant.Root.Mkdir(filepath.Join(r.rel(r.common), "logs"), 0o777)
	} else {
		v.shared = r.runner.shareView(key, dir)
	}
	return v, nil
}

// remove removes a view that is not shared.
func (v *view) remove() {
	if !v.shared {
		_ = os.RemoveAll(v.dir)
	}
}

func (r *Repository) fill(dir string, settings []byte) error {
	names := linked
	if r.common != r.dir { // HEAD in the shared folder is that of another working tree
		names = append(slices.Clone(linked), "HEAD")
	}
	for _, name := range names {
		if err := os.Symlink(filepath.Join(r.common, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "config"), settings, 0o600)
}

// baseDir returns the folder in which views are made.
func (g *Runner) baseDir() (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.base != "" {
		return g.base, nil
	}
	dir, err := tempdir.Make("git")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		g.base = dir
	}
	return dir, err
}

// maxShared limits the shared views. A kernel seldom sees more repositories.
const maxShared = 64

// sharedView returns the folder of a shared view; "" if there is none, or
// somebody removed it.
func (g *Runner) sharedView(key string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	dir, ok := g.views[key]
	if !ok {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(dir, "config")); err != nil {
		delete(g.views, key)
		return ""
	}
	return dir
}

// shareView shares a view, unless the same one is shared already or there are
// too many.
func (g *Runner) shareView(key, dir string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.views[key]; ok || len(g.views) >= maxShared {
		return false
	}
	if g.views == nil {
		g.views = map[string]string{}
	}
	g.views[key] = dir
	return true
}
