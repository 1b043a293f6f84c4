package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/module/git/gitconfig"
	"callgate/tool"
)

// linked are the parts of a repository that a view shows: what all working
// trees share, less the settings and the hooks.
var linked = []string{"objects", "refs", "packed-refs", "logs", "info", "shallow", "worktrees"}

// kept are the settings of a repository that count, of sections without a
// subsection. Their values are data: none is a program, and none is a path.
var kept = map[string][]string{
	"core": {
		"autocrlf", "checkstat", "eol", "filemode", "ignorecase", "logallrefupdates", "precomposeunicode", "safecrlf",
		"sharedrepository", "sparsecheckout", "sparsecheckoutcone", "symlinks", "trustctime", "whitespace",
	},
	"user":      {"name", "email"},
	"author":    {"name", "email"},
	"committer": {"name", "email"},
}

// known are the extensions of the format under which a view still shows the
// repository as it is. Those of a partial clone and of settings for one working
// tree alone are left out: what is missing is missing, and the settings are
// read here.
var known = []string{"noop", "objectformat", "partialclone", "preciousobjects", "relativeworktrees", "worktreeconfig"}

// readSettings reads the repository's own settings. That follows nothing and
// runs nothing.
func (r *Repository) readSettings() error {
	const most = 1 << 20
	name := filepath.Join(r.rel(r.common), "config")
	all, err := r.parse(name, most)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Section != "extensions" {
			continue
		}
		switch {
		case !slices.Contains(known, e.Name):
			return tool.Errorf(r.op, tool.Unavailable, "the repository is kept in a form that this tool does not know: extensions.%s = %s", tool.Truncate(e.Name), tool.Truncate(e.Value)).
				WithHint("use git in a shell")
		case e.Name == "worktreeconfig" && isTrue(e.Value):
			own, err := r.parse(filepath.Join(r.rel(r.dir), "config.worktree"), most)
			if err != nil {
				return err
			}
			all = append(all, own...)
		}
	}
	r.settings = all
	return nil
}

// parse reads a settings file; one that is not there is empty.
func (r *Repository) parse(name string, most int64) ([]gitconfig.Entry, error) {
	if _, err := r.grant.Root.Lstat(name); os.IsNotExist(err) {
		return nil, nil
	}
	data, err := r.read(name, most)
	var entries []gitconfig.Entry
	if err == nil {
		entries, err = gitconfig.Parse(data)
	}
	if err != nil {
		return nil, tool.Errorf(r.op, tool.Invalid, "the repository's settings in %q cannot be read: %w", filepath.ToSlash(name), err).
			WithHint("mend the file, or ask the user to")
	}
	return entries, nil
}

func isTrue(value string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(value))
}

// Setting is the last value that the repository's own settings give a key,
// section.name or section.sub.name; "" when they do not.
func (r *Repository) Setting(key string) string {
	for _, e := range slices.Backward(r.settings) {
		if e.Key() == key {
			return e.Value
		}
	}
	return ""
}

// Remotes lists the names of the remotes.
func (r *Repository) Remotes() []string {
	var names []string
	for _, e := range r.settings {
		if e.Section == "remote" && e.Name == "url" && IsRemote(e.Sub) && !slices.Contains(names, e.Sub) {
			names = append(names, e.Sub)
		}
	}
	return names
}

// IsRemote reports whether a text can be a remote's name, and nothing else: no
// option, no URL and no path.
func IsRemote(name string) bool {
	if name == "" || name[0] == '-' || name[0] == '.' || strings.Contains(name, "..") || len(name) > 100 {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("._-", c))
	})
}

// isAllowedSetting reports whether a setting of the repository's is shown to Git.
func isAllowedSetting(e gitconfig.Entry) bool {
	const most = 1000
	switch {
	case len(e.Value) > most || !e.Writable():
		return false
	case e.Sub == "" && slices.Contains(kept[e.Section], e.Name):
		return true
	case e.Section == "extensions":
		return e.Name == "objectformat" || e.Name == "preciousobjects"
	case e.Section == "branch" && e.Name == "remote":
		return e.Value == "." || IsRemote(e.Value)
	case e.Section == "branch" && e.Name == "merge":
		return strings.HasPrefix(e.Value, "refs/")
	case e.Section == "remote" && e.Name == "fetch":
		return IsRemote(e.Sub) && strings.HasPrefix(strings.TrimPrefix(e.Value, "+"), "refs/")
	}
	return false
}

// view is the repository as a command is shown it.
type view struct {
	dir  string
	kept bool // for the next command that only reads; else it goes with its own
}

// newView makes a view, or finds one that was made for the same. Commands that
// can write have a view to themselves, for they can write to it.
func (r *Repository) newView(writes bool) (*view, error) {
	settings := gitconfig.Format(r.shown())
	key := strings.Join([]string{r.common, r.dir, string(settings)}, "\x00")
	if dir := r.ground.find(key); dir != "" && !writes {
		return &view{dir, true}, nil
	}
	base, err := r.ground.base()
	if err == nil {
		base, err = os.MkdirTemp(base, "view-")
	}
	if err != nil {
		return nil, &tool.Error{Op: r.op, Kind: tool.Unavailable, Message: "no folder could be made for the command", Err: err, Hint: "see whether there is room in " + os.TempDir()}
	}
	v := &view{dir: base}
	if err := r.fill(base, settings); err != nil {
		v.remove()
		return nil, &tool.Error{Op: r.op, Kind: tool.Unavailable, Message: "the repository could not be prepared for the command", Err: err}
	}
	if writes { // where a link leads nowhere yet, Git makes a file but no folder
		_ = r.grant.Root.Mkdir(filepath.Join(r.rel(r.common), "logs"), 0o777)
	} else {
		v.kept = r.ground.keep(key, base)
	}
	return v, nil
}

// remove removes a view that is not kept.
func (v *view) remove() {
	if !v.kept {
		_ = os.RemoveAll(v.dir)
	}
}

func (r *Repository) fill(dir string, settings []byte) error {
	names := linked
	if r.common != r.dir { // another working tree has the branch there
		names = append(slices.Clone(linked), "HEAD")
	}
	for _, name := range names {
		if err := os.Symlink(filepath.Join(r.common, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "config"), settings, 0o600)
}

// shown are the settings that Git is shown.
func (r *Repository) shown() []gitconfig.Entry {
	version := 0
	var all []gitconfig.Entry
	for _, e := range []gitconfig.Entry{{Section: "user", Name: "name", Value: r.user.name}, {Section: "user", Name: "email", Value: r.user.email}} {
		if e.Value != "" {
			all = append(all, e)
		}
	}
	for _, e := range r.settings {
		if isAllowedSetting(e) {
			all = append(all, e)
			if e.Section == "extensions" {
				version = 1
			}
		}
	}
	if r.user.ignores != "" {
		all = append(all, gitconfig.Entry{Section: "core", Name: "excludesfile", Value: r.user.ignores})
	}
	return append(all,
		gitconfig.Entry{Section: "core", Name: "repositoryformatversion", Value: strconv.Itoa(version)},
		gitconfig.Entry{Section: "core", Name: "bare", Value: "false"})
}

// base is the folder in which views are made.
func (g *Runner) base() (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.views != "" {
		return g.views, nil
	}
	dir, err := os.MkdirTemp("", "callgate-git-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		g.views = dir
	}
	return dir, err
}

// maxKept bounds the views that are kept; a kernel seldom meets more
// repositories.
const maxKept = 64

// find gives a view that is kept, and still there.
func (g *Runner) find(key string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	dir, ok := g.kept[key]
	if !ok {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(dir, "config")); err != nil {
		delete(g.kept, key)
		return ""
	}
	return dir
}

// keep keeps a view, unless there are enough, or one for the same.
func (g *Runner) keep(key, dir string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.kept[key]; ok || len(g.kept) >= maxKept {
		return false
	}
	if g.kept == nil {
		g.kept = map[string]string{}
	}
	g.kept[key] = dir
	return true
}
