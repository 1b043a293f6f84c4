package repo

import (
	"path/filepath"
	"strings"

	"callgate/internal/module/git/porcelain"
	"callgate/tool"
)

// Revision checks a revision that a caller gives: it must not be an option, nor
// several words of one.
func Revision(op, text string) (string, error) {
	const most = 1000
	switch {
	case strings.HasPrefix(text, "-"):
		return "", tool.Errorf(op, tool.Invalid, "the revision %q begins with a dash", tool.Truncate(text)).
			WithHint("name a branch, a tag or a commit; a branch of such a name is refs/heads/%s", tool.Truncate(text))
	case text == "" || len(text) > most || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "", tool.Errorf(op, tool.Invalid, "%q is not a revision", tool.Truncate(text)).
			WithHint("name a branch, a tag or a commit, as main, v1.2, HEAD~3 or 1a2b3c4")
	}
	return text, nil
}

// BranchName checks the name of a branch.
func BranchName(op, text string) (string, error) {
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "refs/") || text == "HEAD" || text == "" || len(text) > 200 ||
		strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(`~^:?*[\`, c) }) ||
		strings.Contains(text, "..") || strings.Contains(text, "@{") {
		return "", tool.Errorf(op, tool.Invalid, "%q is not a name for a branch", tool.Truncate(text)).
			WithHint(`a branch name has no spaces, no .. and none of ~^:?*[\ and does not begin with a dash or with refs/`)
	}
	return text, nil
}

// Name finds the path of a file as a caller wrote it, relative to the
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

// Paths are the arguments for paths, two dashes before them: no pattern is one.
// Commands run in the repository's root.
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
