// Package repo runs Git on a repository that nobody vouches for.
//
// # Law
//
//   - Git never reads the repository's own settings. For a command a view of
//     the repository is made, which no command that could change it shares: a folder of links to its objects, references
//     and logs, and beside them settings that were written here, out of a short
//     list of keys whose values are data. Git is told that the view is the
//     repository (GIT_COMMON_DIR). Whatever else the repository's settings say
//     (a program to watch files, to filter, to compare, to merge, to sign, to
//     connect, to edit; an alias, an include, another working tree) does not
//     exist, whether it was there when we looked or came later; and hooks lie
//     where nobody looks. So the list of what is dangerous need not be known.
//   - Git runs in the sandbox. It can read the workspace and write only what
//     its verb is for: nothing, the repository's own folder, or the working
//     tree too. It has no network unless it is given a [Network].
//   - A command that needs no other program of Git's cannot start one: Git is
//     not told where they are. Those that do (Children) are refused in a
//     repository with submodules, for there Git would run itself, with the
//     settings of the submodule.
//   - The working tree, the repository's folder and what it shares with others
//     lie inside the workspace, or the repository is refused.
//   - Nothing a caller says becomes an option: a revision that begins with a
//     dash is refused, and paths stand behind two dashes and are literal.
package repo

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"callgate/internal/module/git/gitconfig"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// Runner is what all repositories of one kernel have in common. The zero value
// works.
type Runner struct {
	Hidden  []string         // what no command may see
	Helpers *sandbox.Helpers // start commands sooner; may be nil

	mu    sync.Mutex
	views string            // the folder of the views; "": none was needed yet
	kept  map[string]string // views for commands that only read, by what they were made of
}

// Close removes what was kept for the commands. No command may be running.
func (g *Runner) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	views := g.views
	g.views, g.kept = "", nil
	if views == "" {
		return nil
	}
	return os.RemoveAll(views)
}

// Repository is a repository that was found to lie in the workspace, as one
// call sees it. Only Open makes one.
type Repository struct {
	Shown string // its folder, relative to the workspace, with slashes
	Root  string // its working tree: absolute, canonical

	op       string
	ground   *Runner
	grant    tool.Grant
	dir      string // its folder of the working tree's own: absolute, canonical
	common   string // its folder of what all its working trees share
	program  string
	settings []gitconfig.Entry // its own, as they stand in its file
	user     user
}

// Open finds the repository whose working tree is the folder at path, which is
// relative to the workspace or absolute inside it.
func (g *Runner) Open(op string, grant tool.Grant, path string) (*Repository, error) {
	if grant.Root == nil || grant.Workspace == "" {
		return nil, tool.Errorf(op, tool.Denied, "this session has no workspace, so there is no repository to reach").
			WithHint("start the session in a folder")
	}
	program, err := Program(op)
	if err != nil {
		return nil, err
	}
	r := &Repository{op: op, ground: g, grant: grant, program: program}
	if r.Root, err = r.inside(grant.Workspace, path); err != nil {
		return nil, err
	}
	r.Shown = r.rel(r.Root)
	info, err := grant.Root.Stat(r.Shown)
	if err != nil || !info.IsDir() {
		return nil, tool.Errorf(op, tool.Invalid, "%q is not a folder", tool.Truncate(path)).WithHint("repo names the folder of a repository; leave it away for the workspace")
	}
	if err := r.locate(); err != nil {
		return nil, err
	}
	if err := r.rejectAlternates(); err != nil {
		return nil, err
	}
	r.user = readUser(r.dir)
	return r, r.readSettings()
}

// rejectAlternates refuses a repository that borrows objects from one outside.
func (r *Repository) rejectAlternates() error {
	data, err := r.read(filepath.Join(r.rel(r.common), "objects", "info", "alternates"), 64<<10)
	if err != nil {
		return nil // it borrows none, or Git will say what is wrong
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if _, err := r.inside(filepath.Join(r.common, "objects"), line); tool.KindOf(err) == tool.Denied {
			return tool.Errorf(r.op, tool.Denied, "the repository borrows objects from %s, outside the workspace", tool.Truncate(line)).
				WithHint("ask the user to make it whole, with: git repack -a -d, and to delete .git/objects/info/alternates")
		}
	}
	return nil
}

// Program finds git.
func Program(op string) (string, error) {
	path, err := exec.LookPath("git")
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", tool.Errorf(op, tool.Unavailable, "git is not installed on this machine, or not in the PATH").
			WithHint("ask the user to install it, for example with: apt-get install git")
	}
	return path, nil
}

// inside gives a path its canonical name and refuses one that leads out of the
// workspace. It is relative to a folder, and must exist.
func (r *Repository) inside(from, path string) (string, error) {
	full := filepath.FromSlash(path)
	if !filepath.IsAbs(full) {
		full = filepath.Join(from, full)
	}
	real, err := filepath.EvalSymlinks(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", tool.Errorf(r.op, tool.NotFound, "there is no folder %q in the workspace", tool.Truncate(path)).
			WithHint("repo is relative to the workspace; leave it away for the workspace itself")
	case err != nil:
		return "", tool.Errorf(r.op, tool.Invalid, "the path %q cannot be followed: %w", tool.Truncate(path), err)
	}
	rel, err := filepath.Rel(r.grant.Workspace, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", tool.Errorf(r.op, tool.Denied, "%q leads outside the workspace", tool.Truncate(path)).
			WithHint("only repositories that lie wholly in %s are reached; start the session in a folder that holds all of it", r.grant.Workspace)
	}
	return real, nil
}

// rel spells a canonical path relative to the workspace.
func (r *Repository) rel(path string) string {
	rel, err := filepath.Rel(r.grant.Workspace, path)
	if err != nil {
		return path // it was found to lie inside
	}
	return filepath.ToSlash(rel)
}

// locate finds the folders of the repository.
func (r *Repository) locate() error {
	info, err := r.grant.Root.Stat(filepath.Join(r.Shown, gitName))
	switch {
	case err != nil:
		if _, err := r.grant.Root.Lstat(filepath.Join(r.Shown, gitName)); err != nil {
			return r.notFoundError()
		}
		// A link that is absolute, or leads nowhere, or out.
		if r.dir, err = r.inside(r.Root, gitName); err != nil {
			return err
		}
	case info.IsDir():
		if r.dir, err = r.inside(r.Root, gitName); err != nil {
			return err
		}
	default:
		if r.dir, err = r.followPointer(filepath.Join(r.Shown, gitName), "gitdir: ", r.Root); err != nil {
			return err
		}
	}
	if _, err := r.grant.Root.Lstat(filepath.Join(r.rel(r.dir), "HEAD")); err != nil {
		return r.notFoundError()
	}
	r.common = r.dir
	if _, err := r.grant.Root.Lstat(filepath.Join(r.rel(r.dir), "commondir")); err == nil {
		r.common, err = r.followPointer(filepath.Join(r.rel(r.dir), "commondir"), "", r.dir)
		return err
	}
	return nil
}

const gitName = ".git"

// followPointer follows a file that holds the path of a folder.
func (r *Repository) followPointer(name, prefix, from string) (string, error) {
	data, err := r.read(name, 4<<10)
	target, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if err != nil || !ok || target == "" || strings.ContainsAny(target, "\x00\n") {
		return "", tool.Errorf(r.op, tool.Invalid, "%q is a file, and does not say where the repository is", filepath.ToSlash(name)).
			WithHint("the repository is damaged; ask the user")
	}
	return r.inside(from, target)
}

// read reads a small regular file of the workspace, without waiting.
func (r *Repository) read(name string, most int64) ([]byte, error) {
	f, err := r.grant.Root.OpenFile(name, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, errors.New("it is not a regular file, or too large")
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// notFoundError says why there is no repository, and where one is.
func (r *Repository) notFoundError() error {
	shown := tool.Truncate(r.Shown)
	for at := r.Shown; at != "."; {
		at = filepath.ToSlash(filepath.Dir(at))
		if _, err := r.grant.Root.Lstat(filepath.Join(at, gitName)); err == nil {
			return tool.Errorf(r.op, tool.Invalid, "%q lies inside the repository %q", shown, at).
				WithHint("give repo: %q, and name files by paths", at)
		}
	}
	for at := r.grant.Workspace; at != filepath.Dir(at); {
		at = filepath.Dir(at)
		if _, err := os.Lstat(filepath.Join(at, gitName)); err == nil {
			return tool.Errorf(r.op, tool.Denied, "the workspace is a folder inside the repository %s, whose own folder lies outside the workspace", at).
				WithHint("ask the user to start the session in %s", at)
		}
	}
	e := tool.Errorf(r.op, tool.NotFound, "%q is not the folder of a Git repository", shown)
	if r.has("HEAD") && r.has("objects") && r.has("refs") {
		e.Message = tool.Truncate(r.Shown) + " is a bare repository: it has no files to work on"
		return e.WithHint("clone it into another folder")
	}
	if e.Similar = r.below(); len(e.Similar) > 0 {
		return e.WithHint("give repo: there is one in %s", strings.Join(e.Similar, ", "))
	}
	return e.WithHint("name another folder with repo, or make a repository with git init in a shell")
}

func (r *Repository) has(name string) bool {
	_, err := r.grant.Root.Lstat(filepath.Join(r.Shown, name))
	return err == nil
}

// below lists some repositories in the folders of a folder.
func (r *Repository) below() []string {
	const maxEntries, maxFound = 1000, 5
	f, err := r.grant.Root.Open(r.Shown)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxEntries)
	var found []string
	for _, e := range entries {
		if e.IsDir() && len(found) < maxFound && r.has(filepath.Join(e.Name(), gitName)) {
			found = append(found, filepath.ToSlash(filepath.Join(r.Shown, e.Name())))
		}
	}
	return found
}

// Branch is the branch that is checked out; "" when HEAD is at a commit.
func (r *Repository) Branch() string {
	data, err := r.read(filepath.Join(r.rel(r.dir), "HEAD"), 4<<10)
	if err != nil {
		return ""
	}
	name, _ := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: refs/heads/")
	if strings.HasPrefix(name, "ref: ") || !strings.HasPrefix(string(data), "ref: ") {
		return ""
	}
	return name
}

// Operation says what the repository is in the middle of, as a merge; "" for
// nothing.
func (r *Repository) Operation() string {
	for _, state := range [][2]string{
		{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"},
	} {
		if _, err := r.grant.Root.Lstat(filepath.Join(r.rel(r.dir), state[0])); err == nil {
			return state[1]
		}
	}
	return ""
}

// Filtered reports whether the files of the working tree's root say that some
// go through a filter, which is a program and is not run here.
func (r *Repository) Filtered() bool {
	data, err := r.read(filepath.Join(r.Shown, ".gitattributes"), 1<<20)
	return err == nil && strings.Contains(string(data), "filter=")
}
