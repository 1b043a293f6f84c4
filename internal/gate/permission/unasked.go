package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

// unaskedFolders and unaskedFiles are what programs outside of the gate run by
// themselves, or start programs by: shells, editors, Git, other agents. Who accepts
// edits looks at them later, and these may have run by then.
func unaskedFolders() []string {
	return []string{
		".vscode", ".idea", ".devcontainer", ".husky", ".claude", ".codex", ".cursor", ".gemini", "autostart",
	}
}

func unaskedFiles() []string {
	return []string{
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".xprofile", ".xinitrc",
		".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".envrc",
		"config.fish", ".gitconfig", ".gitmodules", ".mcp.json", ".claude.json", ".vimrc", ".exrc",
		".nvimrc", ".nvim.lua", ".emacs", ".dir-locals.el", ".tmux.conf",
	}
}

// runsUnasked reports whether a path in the workspace is one of these. The case of a
// name does not count, as it may not to the file system.
func runsUnasked(workspace, path string) bool {
	rel, err := filepath.Rel(workspace, filepath.FromSlash(path))
	if err != nil {
		return true
	}
	parts := strings.Split(strings.ToLower(filepath.ToSlash(rel)), "/")
	folders := unaskedFolders()
	return slices.Contains(unaskedFiles(), parts[len(parts)-1]) ||
		slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(folders, part) })
}
