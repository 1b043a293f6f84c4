// Package repo runs Git on repositories that are not trusted.
//
// # Law
//
//   - Git never reads the repository's own settings. Each command works on a
//     view of the repository: a folder of links to its objects, references and
//     logs, and beside them settings that this package wrote, from a short list
//     of keys whose values are data. Git takes the view for the repository
//     (GIT_COMMON_DIR). Whatever else the repository's settings say (a program
//     to watch files, to filter, to compare, to merge, to sign, to connect, to
//     edit; an alias, an include, another working tree) does not exist for Git,
//     even if it is added after the view was made. Hooks are looked for where
//     there are none. So nobody has to know which settings are dangerous.
//   - A command that can write has a view of its own; commands that only read
//     share one.
//   - Git runs in the sandbox. It can read the workspace and write only what
//     its verb is for: nothing, the repository's own folder, or the working
//     tree too. It has no network unless it is given a [Network].
//   - A command that needs no other program of Git's cannot start one, because
//     Git does not know where they are. A command that does need one (Children)
//     is refused in a repository with submodules, where Git would run itself
//     with the settings of the submodule.
//   - The working tree, the repository's folder and the folder that it shares
//     with other working trees lie inside the workspace, or the repository is
//     refused.
//   - A repository of another user is refused, as Git refuses it, unless the
//     user's own settings call it safe.
//   - No text of a caller becomes an option: a revision that begins with a dash
//     is refused, and paths stand behind two dashes and are literal.
package repo

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"callgate/internal/launch"
	"callgate/internal/module/git/gitconfig"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// Runner opens repositories for the calls of one kernel, and keeps the views
// that commands share. The zero value works.
type Runner struct {
	Hidden  []string         // paths that no command may see
	Helpers *sandbox.Helpers // start commands sooner; may be nil

	mu    sync.Mutex
	base  string            // the folder of the views; "": it is not made yet
	views map[string]string // folders of the views that are shared, by what they were made of
}

// Close removes the views. No command may be running.
func (g *Runner) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	base := g.base
	g.base, g.views = "", nil
	if base == "" {
		return nil
	}
	return os.RemoveAll(base)
}

// Repository is a repository inside the workspace, for one call. Only Open
// makes one.
type Repository struct {
	Shown string // its folder, relative to the workspace, with slashes
	Root  string // its working tree: absolute, canonical

	op       string
	runner   *Runner
	grant    tool.Grant
	dir      string // the repository's folder of this working tree: absolute, canonical
	common   string // the repository's folder that all its working trees share
	program  string
	settings []gitconfig.Entry // the repository's own
	user     user
}

// Open finds the repository whose working tree is the folder at path, which is
// relative to the workspace or absolute inside it.
func (g *Runner) Open(op string, grant tool.Grant, path string) (*Repository, error) {
	if grant.Root == nil || grant.Workspace == "" {
		return nil, tool.Errorf(op, tool.Denied, "this session has no workspace, so there is no repository to reach").
			WithHint("start the session in a folder")
	}
	program, err := Program(op, grant.Workspace)
	if err != nil {
		return nil, err
	}
	r := &Repository{op: op, runner: g, grant: grant, program: program}
	if r.Root, err = r.inside(grant.Workspace, path); err != nil {
		return nil, err
	}
	r.Shown = r.rel(r.Root)
	info, err := grant.Root.Stat(r.Shown)
	if err != nil || !info.IsDir() {
		return nil, tool.Errorf(op, tool.Invalid, "%q is not a folder", tool.Truncate(path)).
			WithHint("repo names the folder of a repository; omit it for the workspace")
	}
	if err := r.locate(); err != nil {
		return nil, err
	}
	if err := r.rejectAlternates(); err != nil {
		return nil, err
	}
	r.user = readUser(r.dir)
	if err := r.rejectForeign(); err != nil {
		return nil, err
	}
	return r, r.readSettings()
}

// Program finds git, outside of a workspace.
func Program(op, workspace string) (string, error) {
	path, err := launch.LookPath("git", workspace)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", tool.Errorf(op, tool.Unavailable, "git is not installed on this machine, or not in the PATH").
			WithHint("ask the user to install it, for example with: apt-get install git")
	}
	return path, nil
}

// Branch returns the branch that is checked out; "" if HEAD is at a commit.
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

// Operation returns the operation that the repository is in the middle of, for
// example merge; "" if there is none.
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

// Filtered reports whether the attributes in the root of the working tree send
// some files through a filter, which is a program and is not run here.
func (r *Repository) Filtered() bool {
	data, err := r.read(filepath.Join(r.Shown, ".gitattributes"), 1<<20)
	return err == nil && strings.Contains(string(data), "filter=")
}
