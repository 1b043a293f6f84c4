package repo

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/ownership"
	"callgate/tool"
)

const gitName = ".git"

// inside makes a path canonical and refuses one that leads out of the
// workspace. A relative path begins in the folder from. The path must exist.
func (r *Repository) inside(from, path string) (string, error) {
	full := filepath.FromSlash(path)
	if !filepath.IsAbs(full) {
		full = filepath.Join(from, full)
	}
	canonical, err := filepath.EvalSymlinks(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", tool.Errorf(r.op, tool.NotFound, "there is no folder %q in the workspace", tool.Truncate(path)).
			WithHint("repo is relative to the workspace; omit it for the workspace itself")
	case err != nil:
		return "", tool.Errorf(r.op, tool.Invalid, "the path %q cannot be followed: %w", tool.Truncate(path), err)
	}
	rel, err := filepath.Rel(r.grant.Workspace, canonical)
	if err != nil || !filepath.IsLocal(rel) {
		return "", tool.Errorf(r.op, tool.Denied, "%q leads outside the workspace", tool.Truncate(path)).
			WithHint("all of the repository must lie in %s; start the session in a folder that holds it", r.grant.Workspace)
	}
	return canonical, nil
}

// rel makes a canonical path relative to the workspace.
func (r *Repository) rel(path string) string {
	rel, err := filepath.Rel(r.grant.Workspace, path)
	if err != nil {
		return path // cannot happen: the path lies inside
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
		// It is a link that is absolute, or leads nowhere, or out.
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

// followPointer follows a file that holds the path of a folder.
func (r *Repository) followPointer(name, prefix, from string) (string, error) {
	data, err := r.read(name, 4<<10)
	target, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if err != nil || !ok || target == "" || strings.ContainsAny(target, "\x00\n") {
		name = filepath.ToSlash(name)
		return "", tool.Errorf(r.op, tool.Invalid, "%q is a file, and does not say where the repository is", name).
			WithHint("the repository is damaged; ask the user")
	}
	return r.inside(from, target)
}

// rejectAlternates refuses a repository that borrows objects from a repository
// outside the workspace.
func (r *Repository) rejectAlternates() error {
	data, err := r.read(filepath.Join(r.rel(r.common), "objects", "info", "alternates"), 64<<10)
	if err != nil {
		return nil // it borrows none; or Git will report what is wrong
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if _, err := r.inside(filepath.Join(r.common, "objects"), line); tool.KindOf(err) == tool.Denied {
			line = tool.Truncate(line)
			return tool.Errorf(r.op, tool.Denied, "the repository borrows objects from %s, outside the workspace", line).
				WithHint("ask the user to make it complete, with: git repack -a -d, " +
					"and to delete .git/objects/info/alternates")
		}
	}
	return nil
}

// rejectForeign refuses a repository that belongs to another user, unless the user
// trusts its folder.
func (r *Repository) rejectForeign() error {
	for _, folder := range []string{r.Root, r.dir, r.common} {
		info, err := os.Stat(folder)
		if err != nil {
			return tool.Errorf(r.op, tool.Unavailable, "the owner of %s cannot be found out: %w", folder, err)
		}
		owner := ownership.OwnerOf(info)
		if owner == nil || r.user.trusts(r.Root) {
			continue
		}
		return tool.Errorf(r.op, tool.Denied, "the repository %s belongs to %s", r.Root, owner.Who).
			WithHint("if the user trusts it, they run: git config --global --add safe.directory %s", r.Root)
	}
	return nil
}

// read reads a small regular file of the workspace, and waits for no pipe.
func (r *Repository) read(name string, maxSize int64) ([]byte, error) {
	f, err := r.grant.Root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSize {
		return nil, errors.New("it is not a regular file, or too large")
	}
	return io.ReadAll(io.LimitReader(f, maxSize))
}

// notFoundError says why there is no repository, and where one is.
func (r *Repository) notFoundError() error {
	shown, root := tool.Truncate(r.Shown), r.grant.Root
	for at := r.Shown; at != "."; {
		at = filepath.ToSlash(filepath.Dir(at))
		if exists(root, at, gitName) {
			return tool.Errorf(r.op, tool.Invalid, "%q lies inside the repository %q", shown, at).
				WithHint("give repo: %q, and name files by paths", at)
		}
	}
	for at := r.grant.Workspace; at != filepath.Dir(at); {
		at = filepath.Dir(at)
		if _, err := os.Lstat(filepath.Join(at, gitName)); err == nil {
			return tool.Errorf(r.op, tool.Denied, "the workspace is a folder inside the repository %s, "+
				"whose own folder lies outside the workspace", at).
				WithHint("ask the user to start the session in %s", at)
		}
	}
	e := tool.Errorf(r.op, tool.NotFound, "%q is not the folder of a Git repository", shown)
	if exists(root, r.Shown, "HEAD") && exists(root, r.Shown, "objects") && exists(root, r.Shown, "refs") {
		e.Message = shown + " is a bare repository: it has no files to work on"
		return e.WithHint("clone it into another folder")
	}
	if e.Similar = repositoriesIn(root, r.Shown); len(e.Similar) > 0 {
		return e.WithHint("give repo: there is one in %s", strings.Join(e.Similar, ", "))
	}
	return e.WithHint("name another folder with repo, or make a repository with git init in a shell")
}

func exists(root *os.Root, folder, name string) bool {
	_, err := root.Lstat(filepath.Join(folder, name))
	return err == nil
}

// repositoriesIn lists some repositories that lie directly in a folder.
func repositoriesIn(root *os.Root, folder string) []string {
	const maxEntries, maxFound = 1000, 5
	f, err := root.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxEntries)
	var found []string
	for _, e := range entries {
		name := filepath.Join(folder, e.Name())
		if e.IsDir() && len(found) < maxFound && exists(root, name, gitName) {
			found = append(found, filepath.ToSlash(name))
		}
	}
	return found
}
