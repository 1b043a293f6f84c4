package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// serve DIR: serves the files of a folder on loopback, and sets SERVER to its address. While the
// folder has a file that is called down, every request fails.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	folder := ts.MkAbs(args[0])
	files := http.FileServer(http.Dir(folder))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := os.Stat(filepath.Join(folder, "down")); err == nil {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		files.ServeHTTP(w, r)
	}))
	ts.Defer(server.Close)
	ts.Setenv("SERVER", server.URL)
}
