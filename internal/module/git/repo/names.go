package repo

import (
	"path/filepath"
	"strings"

	"callgate/internal/module/git/porcelain"
	"callgate/tool"
)

// Revision checks a revision that a caller gives: Git must not take it for an
// option, nor for more than one line.
func Revision(op, text string) (string, error) {
	const maxLength = 1000
	switch {
	case strings.HasPrefix(text, "-"):
		return "", tool.Errorf(op, tool.Invalid, "the revision %q begins with a dash", tool.Truncate(text)).
			WithHint("name a branch, a tag or a commit; a branch of such a name is refs/heads/%s", tool.Truncate(text))
	case text == "" || len(text) > maxLength || strings.ContainsFunc(text, isControl):
		return "", tool.Errorf(op, tool.Invalid, "%q is not a revision", tool.Truncate(text)).
			WithHint("name a branch, a tag or a commit, as main, v1.2, HEAD~3 or 1a2b3c4")
	}
	return text, nil
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

// BranchName checks the name of a branch.
func BranchName(op, text string) (string, error) {
	const maxLength = 200
	forbidden := func(c rune) bool { return c == ' ' || isControl(c) || strings.ContainsRune(`~^:?*[\`, c) }
	switch {
	case text == "", len(text) > maxLength, text == "HEAD",
		strings.HasPrefix(text, "-"), strings.HasPrefix(text, "refs/"),
		strings.Contains(text, ".."), strings.Contains(text, "@{"), strings.ContainsFunc(text, forbidden):
		return "", tool.Errorf(op, tool.Invalid, "%q is not a name for a branch", tool.Truncate(text)).
			WithHint(`a branch name has no spaces, no .. and none of ~^:?*[\ and does not begin with a dash or with refs/`)
	}
	return text, nil
}

// IsRemote reports whether a text can be the name of a remote and nothing else:
// no option, no URL and no path.
func IsRemote(name string) bool {
	const maxLength = 100
	if name == "" || name[0] == '-' || name[0] == '.' || strings.Contains(name, "..") || len(name) > maxLength {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("._-", c))
	})
}

// Name returns the path of a file, as a caller wrote it, relative to the
// repository's root.
func (r *Repository) Name(path string) (porcelain.Name, error) {
	name, err := porcelain.ParseName(path)
	if err != nil {
		return "", tool.Errorf(r.op, tool.Invalid, "%v", err).WithHint("write it as git.status shows it")
	}
	text := filepath.FromSlash(string(name))
	if strings.ContainsRune(text, 0) || text == "" {
		return "", tool.Errorf(r.op, tool.Invalid, "%q is not a path", tool.Truncate(path))
	}
	if filepath.IsAbs(text) {
		rel, err := filepath.Rel(r.Root, text)
		if err != nil {
			rel = ".."
		}
		text = rel
	}
	text = filepath.Clean(text)
	if !filepath.IsLocal(text) {
		return "", tool.Errorf(r.op, tool.Denied, "%q lies outside the repository %s", tool.Truncate(path), r.Shown).
			WithHint("paths are relative to the repository")
	}
	return porcelain.Name(filepath.ToSlash(text)), nil
}

// Paths returns the arguments that name paths to a command: two dashes, then
// the paths, which Git takes literally. Commands run in the repository's root.
func (r *Repository) Paths(paths []string) ([]string, error) {
	args := []string{"--"}
	for _, path := range paths {
		name, err := r.Name(path)
		if err != nil {
			return nil, err
		}
		args = append(args, ":(literal)"+string(name))
	}
	return args, nil
}
