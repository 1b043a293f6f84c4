package binding

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// canonicalIn gives a path its one name for a tool that works in a folder of its
// own. It refuses nothing: what cannot be resolved is the tool's to refuse, and its
// cleaned path is a name all the same. Such tools are MCP servers, which read ~ as
// the user's home and may be given the URL of a file.
func canonicalIn(folder, path string) string {
	if u, err := url.Parse(path); err == nil && u.Scheme == "file" && u.Path != "" {
		path = filepath.FromSlash(u.Path)
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, rest)
		}
	}
	full := path
	if !filepath.IsAbs(path) {
		full = filepath.Join(folder, path)
	}
	full = filepath.Clean(full)
	if len(full) > maxPath || strings.ContainsRune(full, 0) { // nothing has such a path
		return full[:min(len(full), maxPath)]
	}
	if real, err := evalExisting(full); err == nil {
		return real
	}
	return full
}
