package rag_test

import (
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/module"
	"callgate/internal/module/moduletest"
	"callgate/internal/module/rag"
	"callgate/internal/pdftext"
	_ "callgate/internal/sandbox/selfstart" // PDFs are read in the sandbox
	"callgate/tool"
)

func TestMain(m *testing.M) {
	if pdftext.RunHelper() {
		return
	}
	os.Exit(m.Run())
}

// fixture is an open module, and a principal with a workspace that calls its tools.
type fixture struct{ moduletest.Caller }

func newFixture(t testing.TB, m module.Module, files map[string]string) *fixture {
	t.Helper()
	f := &fixture{moduletest.Caller{
		T: t, Module: m, Host: module.Host{State: t.TempDir(), Embedder: moduletest.Embedder(t)},
		By: tool.Principal{User: "ada", App: "harbour", Session: "s1"},
	}}
	f.enter(t.TempDir())
	for name, text := range files {
		f.write(name, text)
	}
	f.open()
	return f
}

// enter makes a folder the workspace.
func (f *fixture) enter(dir string) {
	f.T.Helper()
	root, err := os.OpenRoot(dir)
	check(f.T, err)
	f.T.Cleanup(func() { _ = root.Close() })
	real, err := filepath.EvalSymlinks(dir)
	check(f.T, err)
	f.Grant.Root, f.Grant.Workspace = root, real
}

func (f *fixture) write(name, text string) {
	f.T.Helper()
	path := filepath.Join(f.Grant.Workspace, name)
	check(f.T, os.MkdirAll(filepath.Dir(path), 0o755))
	check(f.T, os.WriteFile(path, []byte(text), 0o644))
}

func (f *fixture) remove(name string) { check(f.T, os.Remove(filepath.Join(f.Grant.Workspace, name))) }

// open opens the module, until the test ends.
func (f *fixture) open() {
	f.T.Helper()
	f.Open()
	closing := f.Instance.Close
	f.T.Cleanup(func() { _ = closing() })
}

// citations returns where the answers of a question stand.
func (f *fixture) citations(name, args string) []string {
	f.T.Helper()
	var data struct{ Passages []struct{ Citation string } }
	f.Call(name, args, &data)
	var all []string
	for _, p := range data.Passages {
		all = append(all, p.Citation)
	}
	return all
}

var (
	check    = moduletest.Check
	validate = moduletest.Validate
)

func harbour(t testing.TB) *fixture {
	return newFixture(t, rag.Module(), map[string]string{
		"docs/mooring.md": "# Mooring\n\nBoats moor at the north quay for at most three days.\n\n## Fees\n\n" +
			"The fee is twelve crowns a night.\n",
		"docs/fuel.html":    "<title>Fuel</title>\n<h1>Fuel</h1>\n<p>Diesel is sold at the pump on the east pier.</p>",
		"docs/crew.csv":     "name,role\nAda,harbour master\nBob,cook\n",
		"docs/secret.bin":   "\x00\x01\x02",
		"docs/ignored.md":   "# Ignored\n\nNobody reads this about walruses.\n",
		".gitignore":        "ignored.md\n",
		"src/tide.go":       "package tide\n\n// Height returns how high the water stands.\nfunc Height() int { return 3 }\n",
		"docs/.hidden.md":   "walruses again",
		"docs/storm/log.md": "# Storm log\n\nIn 1987 the lighthouse lost its lamp.\n",
	})
}
