package route

import (
	"net/http"
	"path/filepath"

	"callgate/internal/token"
	"callgate/tool"
)

// CheckPlace refuses a request over the network that names another folder than the one that is served, or an app
// file: those are for administrators. An app file says which rules hold, what is wrong with a file shows
// what is in it, and a profile is a part of one app.
func CheckPlace(r *http.Request, workspace, appFile string) error {
	l, ok := LoginOf(r)
	if !ok || l.Role == token.Admin || appFile == "" && isSameFolder(workspace, l.Workspace) {
		return nil
	}
	e := tool.Errorf("httpapi", tool.Denied, "the token %s has the role %s, and may use the folder alone that is served, "+
		"with its own app file", l.Name, l.Role)
	if l.Workspace == "" {
		return e.WithHint("no folder is served: start the kernel in it with callgate up")
	}
	return e.WithHint("name no folder and no app file, or use a token of the role admin")
}

// isSameFolder reports whether two paths name one folder.
func isSameFolder(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	a, err := filepath.EvalSymlinks(a)
	if err != nil {
		return false
	}
	b, err = filepath.EvalSymlinks(b)
	return err == nil && a == b
}
