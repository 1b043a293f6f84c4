package memory_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"callgate/internal/module"
	"callgate/internal/module/memory"
	"callgate/internal/module/moduletest"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

// fixture is an open module with documents, and a principal that calls its tools.
type fixture struct {
	moduletest.Caller
	folder string // of the database
}

// setup is what a kernel may give the module; the zero value gives nothing.
type setup struct {
	Embedder   module.Embedder
	Summarizer memory.Summarizer
}

func newFixture(t testing.TB, s setup) *fixture {
	t.Helper()
	folder := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(folder, "state.db"))
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	f := &fixture{moduletest.Caller{
		T: t, Module: memory.Module(memory.Config{Summarizer: s.Summarizer}),
		Host: module.Host{State: t.TempDir(), Documents: db.Stores().Documents, Embedder: s.Embedder},
		By:   tool.Principal{User: "ada", App: "engine", Session: "s1"},
	}, folder}
	f.Open()
	return f
}

// restart closes the module and opens it again, as a new kernel would.
func (f *fixture) restart() {
	f.T.Helper()
	check(f.T, f.Instance.Close())
	f.Open()
}

// configure gives the calls the settings of an app file.
func (f *fixture) configure(config map[string]any) {
	f.T.Helper()
	var err error
	f.Grant.Settings, err = f.Module.Read(config, nil)
	check(f.T, err)
}

// as returns a fixture for another principal of the same module.
func (f *fixture) as(user, app, session string) *fixture {
	other := *f
	other.By = tool.Principal{User: user, App: app, Session: session}
	return &other
}

// fails calls a tool that must fail with an error of a kind, a text in it, and a hint.
func (f *fixture) fails(name, args string, kind tool.Kind, text string) {
	f.T.Helper()
	if e := f.Fails(name, args, kind, text); e.Hint == "" {
		f.T.Errorf("%s(%s): %v has no hint", name, args, e)
	}
}

func (f *fixture) section() string { return f.Instance.PromptSection(f.By) }

// texts returns the results of a query, each as REF: TEXT.
func (f *fixture) texts(args string) []string {
	f.T.Helper()
	var data struct{ Results []struct{ Ref, Text string } }
	f.Call("query", args, &data)
	var all []string
	for _, r := range data.Results {
		all = append(all, r.Ref+": "+r.Text)
	}
	return all
}

var (
	check    = moduletest.Check
	validate = moduletest.Validate
)

func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}
