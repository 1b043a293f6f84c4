package apps_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
)

// What agents remember is not for another folder whose file claims the same ID, or
// whose name is the same, before a human accepts that.
func TestMemoryIsNotForWhoClaimsTheID(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := func(path, app string) string {
		path = filepath.Join(t.TempDir(), path)
		kerneltest.OK(t, os.MkdirAll(path, 0o700))
		if app != "" {
			write(t, filepath.Join(path, "callgate.yaml"), app)
		}
		return path
	}
	const app = "app: {app_id: notes}\n"
	own := folder("mine", app)
	s := kerneltest.OpenSession(t, k, own)
	if r := kerneltest.Call(t, s, "memory.upsert", `{"key":"door","content":"the door opens with 4711"}`); r.Err() != nil {
		t.Fatal(r.Err())
	}
	knows := func(in string) bool {
		s := kerneltest.OpenSession(t, k, in)
		defer s.Close()
		r := kerneltest.Call(t, s, "memory.query", `{"query":"door"}`)
		return strings.Contains(r.Summary+string(r.Data), "4711")
	}
	if !knows(own) {
		t.Fatal("it is forgotten")
	}
	clone := folder("cloned", app)
	for name, in := range map[string]string{
		"an ID": clone, "a name": folder("notes", ""), "the name of a folder with a file": folder("notes", "{}\n"),
	} {
		if knows(in) {
			t.Errorf("%s is enough to know what another app remembers", name)
		}
	}
	s = kerneltest.OpenSession(t, k, clone)
	if shown := k.PendingConsent(s); !strings.Contains(shown, "have what the app notes of "+own+"/callgate.yaml remembers") {
		t.Errorf("the human is shown %q", shown)
	}
	kerneltest.AcceptApp(t, k, s)
	if !knows(clone) || !knows(own) {
		t.Error("accepted, it is not shared")
	}
}
