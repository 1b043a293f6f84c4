package importer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/importer"
	"callgate/internal/importer/backup"
	"callgate/tool"
)

// seeds adds every config of the golden files.
func seeds(f *testing.F) {
	for _, file := range []string{clientsFile, "testdata/registry.txtar"} {
		for i, e := range examples(f, file) {
			f.Add([]byte(e.config), byte(i))
		}
	}
	names := importer.Clients()
	for i, name := range names {
		for _, e := range examples(f, clientsFile) {
			if strings.HasPrefix(e.name, name+" ") {
				f.Add([]byte(e.config), byte(i))
			}
		}
	}
}

// FuzzRead reads any text as any client's: what is found is what an app file
// takes, with names of their own.
func FuzzRead(f *testing.F) {
	seeds(f)
	clients := append(importer.Clients(), "registry")
	f.Fuzz(func(t *testing.T, text []byte, client byte) {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		s := importer.Source{Client: clients[int(client)%len(clients)], Path: path}
		if client > 200 {
			s.Folder = "/work/demo"
		}
		found, problems := importer.Read(s, env("/work/demo"), importer.Options{KeepSecrets: client%2 == 0, SecretVars: client%3 == 0})
		names := map[string]bool{}
		for _, one := range found {
			holds(t, one.Server)
			if names[one.Server.Name] {
				t.Fatalf("two servers are called %s", one.Server.Name)
			}
			names[one.Server.Name] = true
		}
		for _, p := range problems {
			if p.Path != path || p.Text == "" || p.Line < 0 || p.Line > strings.Count(string(text), "\n")+1 {
				t.Fatalf("the problem is %#v", p)
			}
		}
	})
}

// FuzzReplace replaces the servers of any text: it is an error, or the file
// names Callgate alone, reads as it did before in all else, and can be undone.
func FuzzReplace(f *testing.F) {
	seeds(f)
	clients := importer.Clients()
	f.Fuzz(func(t *testing.T, text []byte, client byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "config")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		s := importer.Source{Client: clients[int(client)%len(clients)], Path: path}
		if client > 200 {
			s.Folder = "/work/demo"
		}
		change, err := importer.Replace(s, entry)
		if err != nil {
			if tool.KindOf(err) != tool.Invalid {
				t.Fatalf("a defect: %v\n%s", err, text)
			}
			return
		}
		b, err := backup.Apply(change, filepath.Join(dir, "backups"))
		if err != nil {
			t.Fatal(err)
		}
		found, problems := importer.Read(s, env(""), importer.Options{})
		if len(found) > 0 || len(problems) != 1 || !problems[0].Harmless || !strings.Contains(problems[0].Text, "Callgate itself") {
			t.Fatalf("%v, %v\n%s\nof\n%s", found, problems, change.Next, text)
		}
		again, err := importer.Replace(s, entry)
		if err != nil || !again.None() {
			t.Fatalf("a second time: %v\n%s\n%s", err, change.Next, again.Next)
		}
		if err := backup.Undo(b, false); err != nil {
			t.Fatal(err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != string(text) {
			t.Fatalf("not as it was: %v", err)
		}
	})
}
