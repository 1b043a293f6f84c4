package kernel_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/node"
	"callgate/internal/kernel/session"
	"callgate/internal/statedir"
	"callgate/internal/storage/moving"
	"callgate/internal/storage/postgres/postgrestest"
	"callgate/internal/user"
	"callgate/tool"
)

// appFolder is a folder with an app file; "": without one.
func appFolder(t *testing.T, name, file string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), name)
	ok(t, os.MkdirAll(folder, 0o700))
	if file != "" {
		write(t, filepath.Join(folder, "callgate.yaml"), file)
	}
	return folder
}

const notesApp = "app: {app_id: notes}\n"

// sessionOf opens a session of a user; "": of the kernel's own.
func sessionOf(t *testing.T, k *kernel.Kernel, name, folder string) *session.Session {
	t.Helper()
	s, err := k.OpenSession(t.Context(), session.Spec{
		Workspace: folder, NoWait: true, Requester: approval.Requester{User: user.InPrincipal(name)},
	})
	ok(t, err)
	t.Cleanup(s.Close)
	return s
}

// recalls reports whether a session remembers a text, by a mode of memory.query.
func recalls(t *testing.T, s *session.Session, args, text string) bool {
	t.Helper()
	r := kerneltest.Call(t, s, "memory.query", args)
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return strings.Contains(string(r.Data), text)
}

const askForDoor = `{"query":"how is the door opened"}`

// What a user's agents remember at one node they know at another: once a human there has accepted that the app is the
// same, by words and by meaning, and nobody else does.
func TestMemoryOfAllNodes(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	a, b := openNode(t, url, node.Timing{}), openNode(t, url, node.Timing{})
	first, second := appFolder(t, "mine", notesApp), appFolder(t, "theirs", notesApp)
	ada := sessionOf(t, a, "ada", first)
	if r := kerneltest.Call(t, ada, "memory.upsert", `{"key":"door","content":"the gate opens with 4711"}`); r.Err() != nil {
		t.Fatal(r.Err())
	}
	if r := kerneltest.Call(t, ada, "memory.remember", `{"content":"the lamp is green"}`); r.Err() != nil {
		t.Fatal(r.Err())
	}
	if recalls(t, sessionOf(t, b, "ada", second), askForDoor, "4711") {
		t.Error("to claim the ID is enough to know what the app remembers at another node")
	}
	s := kerneltest.OpenSession(t, b, second)
	want := "have what the app notes of " + kernel.NodeOf(a).Name() + ":" + first + "/callgate.yaml remembers"
	if shown := b.PendingConsent(s); !strings.Contains(shown, want) {
		t.Errorf("the human is shown %q, want %q", shown, want)
	}
	kerneltest.AcceptApp(t, b, s)
	there := sessionOf(t, b, "ada", second)
	for _, ask := range []string{askForDoor, `{"mode":"hash","query":"door"}`, `{"mode":"range","from":"24h"}`} {
		if !recalls(t, there, ask, "4711") {
			t.Errorf("ada does not know it at the other node by %s", ask)
		}
	}
	if !recalls(t, there, `{"query":"which colour has the lamp"}`, "green") {
		t.Error("ada does not know at the other node what a session remembered")
	}
	for name, s := range map[string]*session.Session{
		"ben":                 sessionOf(t, b, "ben", second),
		"the kernel's user":   kerneltest.OpenSession(t, b, second),
		"ada in another app":  sessionOf(t, b, "ada", appFolder(t, "notes", "")),
		"ada in a third file": sessionOf(t, b, "ada", appFolder(t, "third", notesApp)),
	} {
		if recalls(t, s, askForDoor, "4711") || recalls(t, s, `{"mode":"hash","query":"door"}`, "4711") {
			t.Errorf("%s knows it", name)
		}
	}
	// What is changed at one node is known at the other at once, and what is forgotten is not.
	if r := kerneltest.Call(t, there, "memory.upsert", `{"key":"door","content":"the gate opens with 1234"}`); r.Err() != nil {
		t.Fatal(r.Err())
	}
	if !recalls(t, ada, askForDoor, "1234") || recalls(t, ada, askForDoor, "4711") {
		t.Error("a change at the other node is not known")
	}
	if r := kerneltest.Call(t, ada, "memory.forget", `{"refs":["door"]}`); r.Err() != nil {
		t.Fatal(r.Err())
	}
	if recalls(t, there, askForDoor, "1234") {
		t.Error("what was forgotten is known at the other node")
	}
}

// The memory of a folder is of its machine, also if a folder of another has the same name.
func TestMemoryOfAFolderIsOfItsNode(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	a, b := openNode(t, url, node.Timing{}), openNode(t, url, node.Timing{})
	for i, k := range []*kernel.Kernel{a, b} {
		for _, file := range []string{"", "{}\n"} {
			s := sessionOf(t, k, "ada", appFolder(t, "work", file))
			args := fmt.Sprintf(`{"key":"door","content":"opens with %d"}`, i)
			if r := kerneltest.Call(t, s, "memory.upsert", args); r.Err() != nil {
				t.Fatal(r.Err())
			}
			if recalls(t, s, askForDoor, fmt.Sprintf("opens with %d", 1-i)) {
				t.Errorf("node %d knows what the other's folder remembers", i)
			}
		}
	}
}

// Many who write at two nodes lose nothing, also when the database is away in between.
func TestManyRememberAtTwoNodes(t *testing.T) {
	t.Parallel()
	server := postgrestest.Own()
	t.Cleanup(server.Stop)
	url := server.URL(t)
	a, b := openNode(t, url, node.Timing{}), openNode(t, url, node.Timing{})
	folders := map[*kernel.Kernel]string{a: appFolder(t, "one", notesApp), b: appFolder(t, "two", notesApp)}
	sessionOf(t, a, "ada", folders[a]) // it has the ID
	kerneltest.OpenAccepted(t, b, folders[b])
	const writers, each = 16, 2
	keep := func(round int, kept *sync.Map) {
		var wg sync.WaitGroup
		for i, k := range []*kernel.Kernel{a, b} {
			for w := range writers {
				s := sessionOf(t, k, "ada", folders[k])
				wg.Go(func() {
					for n := range each {
						key := fmt.Sprintf("r%d-k%d-w%d-n%d", round, i, w, n)
						r := kerneltest.Call(t, s, "memory.upsert", fmt.Sprintf(`{"key":%q,"content":"it is %[1]s."}`, key))
						if r.Err() == nil {
							kept.Store(key, true)
						} else if round == 0 {
							t.Errorf("%s: %v", key, r.Err())
						}
					}
				})
			}
		}
		if round == 1 {
			server.Crash(t)
			server.Start(t)
		}
		wg.Wait()
	}
	for round := range 2 {
		var kept sync.Map
		keep(round, &kept)
		for _, k := range []*kernel.Kernel{a, b} {
			var s *session.Session
			until(t, "a session", func() bool {
				opened, err := k.OpenSession(t.Context(), session.Spec{
					Workspace: folders[k], NoWait: true, Requester: approval.Requester{User: user.InPrincipal("ada")},
				})
				s = opened
				return err == nil
			})
			kept.Range(func(key, _ any) bool {
				var r *tool.Result
				until(t, "an answer", func() bool {
					r = kerneltest.Call(t, s, "memory.query", fmt.Sprintf(`{"mode":"hash","query":%q}`, key))
					return r.Err() == nil
				})
				if !strings.Contains(string(r.Data), "it is "+key.(string)+".") {
					t.Errorf("%s was kept and is lost: %s", key, r.Data)
				}
				return true
			})
			s.Close()
		}
	}
}

// What was remembered in SQLite is what the first node of a team begins with, and it is there when a kernel goes back.
func TestMigratedMemory(t *testing.T) {
	t.Parallel()
	state, folder, other := kerneltest.StateDir(t), appFolder(t, "mine", notesApp), appFolder(t, "theirs", notesApp)
	keep := func(k *kernel.Kernel, folder, key, text string) {
		t.Helper()
		args := fmt.Sprintf(`{"key":%q,"content":%q}`, key, text)
		if r := kerneltest.Call(t, sessionOf(t, k, "ada", folder), "memory.upsert", args); r.Err() != nil {
			t.Fatal(r.Err())
		}
	}
	alone := kerneltest.Open(t, state)
	keep(alone, folder, "door", "the gate opens with 4711")
	ok(t, alone.Close())
	kerneltest.PlaceKey(t, state)
	url := kerneltest.Postgres.URL(t)
	late := openNode(t, url, node.Timing{})
	keep(late, appFolder(t, "notes", ""), "lamp", "of a folder")
	migration := moving.Migration{State: statedir.Dir(state), To: url}
	_, err := migration.Run(t.Context())
	ok(t, err)

	first, second := kerneltest.Open(t, state), openNode(t, url, node.Timing{})
	if !recalls(t, sessionOf(t, first, "ada", folder), askForDoor, "4711") {
		t.Error("after the move it is forgotten")
	}
	kerneltest.OpenAccepted(t, second, other)
	if !recalls(t, sessionOf(t, second, "ada", other), askForDoor, "4711") {
		t.Error("the other node does not have it")
	}
	keep(second, other, "lamp", "the lamp is green")
	ok(t, first.Close())
	_, err = migration.Back(t.Context())
	ok(t, err)
	alone = kerneltest.Open(t, state)
	for ask, want := range map[string]string{askForDoor: "4711", `{"query":"the lamp"}`: "green"} {
		if !recalls(t, sessionOf(t, alone, "ada", folder), ask, want) {
			t.Errorf("back in SQLite %s is forgotten", want)
		}
	}
}
