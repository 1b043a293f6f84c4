package importer_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"callgate/internal/app"
	"callgate/internal/app/edit"
	"callgate/internal/importer"
	"callgate/tool"
)

var update = flag.Bool("update", false, "rewrite what is found and what is replaced")

var entry = importer.Entry{Command: "callgate", Args: []string{"mcp"}}

// env is a machine with nothing set.
func env(workspace string) importer.Env {
	return importer.Env{
		Home:      "/home/me",
		Config:    "/home/me/.config",
		Workspace: workspace,
		GOOS:      "linux",
		Getenv:    func(string) string { return "" },
	}
}

// show writes what was found, without what is empty.
func show(t testing.TB, dir string, found []importer.FoundServer, problems []importer.Problem) string {
	t.Helper()
	var b strings.Builder
	for _, f := range found {
		var m map[string]any
		data, err := json.Marshal(f.Server)
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil {
			t.Fatal(err)
		}
		prune(m)
		for _, key := range []string{"Timeout", "StartTimeout"} {
			if n, ok := m[key]; ok {
				m[key] = fmt.Sprint(n.(float64)/1e9, "s")
			}
		}
		text := &bytes.Buffer{}
		enc := json.NewEncoder(text)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(m); err != nil {
			t.Fatal(err)
		}
		off := ""
		if f.Disabled {
			off = ", which was off"
		}
		fmt.Fprintf(&b, "%s%s: %s", f.Name, off, text)
		for _, note := range f.Notes {
			fmt.Fprintf(&b, "  * %s\n", note)
		}
	}
	for _, p := range problems {
		harm := ""
		if p.Harmless {
			harm = " (harmless)"
		}
		fmt.Fprintf(&b, "problem: %s%s\n", p, harm)
	}
	return strings.ReplaceAll(b.String(), dir+string(filepath.Separator), "")
}

func prune(m map[string]any) {
	for key, value := range m {
		switch value := value.(type) {
		case map[string]any:
			if prune(value); len(value) == 0 {
				delete(m, key)
			}
		case nil:
			delete(m, key)
		case string, bool, float64:
			if value == "" || value == false || value == 0.0 {
				delete(m, key)
			}
		}
	}
}

// example is one config of a golden file.
type example struct{ name, config, found, replaced string }

func examples(t testing.TB, file string) []*example {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []*example
	for _, f := range archive.Files {
		name, part, _ := strings.Cut(f.Name, " | ")
		if len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, &example{name: name})
		}
		e := all[len(all)-1]
		*map[string]*string{"config": &e.config, "found": &e.found, "replaced": &e.replaced}[part] = string(f.Data)
	}
	return all
}

// save rewrites a golden file.
func save(t *testing.T, file string, all []*example) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive.Files = nil
	for _, e := range all {
		for _, part := range []struct{ name, data string }{{"config", e.config}, {"found", e.found}, {"replaced", e.replaced}} {
			if part.data != "" || part.name == "config" {
				archive.Files = append(archive.Files, txtar.File{Name: e.name + " | " + part.name, Data: []byte(part.data)})
			}
		}
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// source writes a config of the golden file into a folder.
func (e *example) source(t testing.TB, dir, config string) importer.Source {
	t.Helper()
	words := strings.Fields(e.name)
	s := importer.Source{Client: words[0], Path: filepath.Join(dir, filepath.FromSlash(words[len(words)-1])), Scope: importer.User}
	if strings.Contains(e.name, " folder ") {
		s.Scope, s.Folder = importer.Project, "/work/demo"
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Path, []byte(config), 0o640); err != nil {
		t.Fatal(err)
	}
	return s
}

const clientsFile = "testdata/clients.txtar"

func TestClients(t *testing.T) {
	all := examples(t, clientsFile)
	for _, e := range all {
		t.Run(e.name, func(t *testing.T) {
			dir := t.TempDir()
			s := e.source(t, dir, e.config)
			found, problems := importer.Read(s, env("/work/demo"), importer.Options{})
			saw := show(t, dir, found, problems)
			change, err := importer.Replace(s, entry)
			next := string(change.Next)
			if err != nil {
				next = "error: " + strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "") + "\n"
			}
			for _, f := range found {
				holds(t, f.Server)
			}
			if *update {
				e.found, e.replaced = saw, next
				return
			}
			if diff := cmp.Diff(e.found, saw); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(e.replaced, next); diff != "" {
				t.Errorf("replaced (-want +got):\n%s", diff)
			}
		})
	}
	if *update {
		save(t, clientsFile, all)
	}
}

func TestRegistry(t *testing.T) {
	const file = "testdata/registry.txtar"
	all := examples(t, file)
	for _, e := range all {
		t.Run(e.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "server.json")
			if err := os.WriteFile(path, []byte(e.config), 0o600); err != nil {
				t.Fatal(err)
			}
			found, problems := importer.Read(importer.Source{Client: "registry", Path: path}, env(""), importer.Options{})
			guessed, _ := importer.Read(importer.Source{Client: "mcp.json", Path: path}, env(""), importer.Options{})
			if len(guessed) != len(found) {
				t.Errorf("%d found, and %d when it is not said what the file is", len(found), len(guessed))
			}
			for _, f := range found {
				holds(t, f.Server)
			}
			saw := show(t, dir, found, problems)
			if *update {
				e.found = saw
				return
			}
			if diff := cmp.Diff(e.found, saw); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, err := importer.Replace(importer.Source{Client: "registry", Path: path}, entry); tool.KindOf(err) != tool.Invalid {
				t.Errorf("a description of a server was changed: %v", err)
			}
		})
	}
	if *update {
		save(t, file, all)
	}
}

// holds checks that an app file takes a server, and reads it back.
func holds(t testing.TB, s app.Server) {
	t.Helper()
	literal := double(s)
	text, err := edit.AddServer(nil, literal, nil)
	if err != nil {
		t.Fatalf("an app file does not take it: %v\n%#v", err, s)
	}
	a, err := app.Parse(app.Filename, text, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(s, a.Servers[0], cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

// double is a server whose variables are read as they stand.
func double(s app.Server) app.Server {
	change := func(text string) string { return strings.ReplaceAll(text, "{{", "{{{{") }
	s.Command, s.Dir, s.URL = change(s.Command), change(s.Dir), change(s.URL)
	args := []string{}
	for _, arg := range s.Args {
		args = append(args, change(arg))
	}
	s.Args = args
	for _, m := range []*map[string]string{&s.Env, &s.Headers} {
		out := map[string]string{}
		for name, value := range *m {
			out[name] = change(value)
		}
		*m = out
	}
	if s.OAuth != nil {
		o := *s.OAuth
		o.ClientSecret, o.ClientID = change(o.ClientSecret), change(o.ClientID)
		s.OAuth = &o
	}
	return s
}

func BenchmarkRead(b *testing.B) {
	for _, e := range examples(b, clientsFile)[:6] {
		b.Run(strings.ReplaceAll(e.name, "/", "-"), func(b *testing.B) {
			s := e.source(b, b.TempDir(), e.config)
			b.ReportAllocs()
			for b.Loop() {
				if _, problems := importer.Read(s, env(""), importer.Options{}); len(problems) > 0 {
					b.Fatal(problems)
				}
			}
		})
	}
}
