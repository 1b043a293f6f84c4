package filesystem_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"callgate/internal/module/filesystem"
	"callgate/internal/module/filesystem/seen"
	"callgate/tool"
)

// inConversation makes a fixture whose calls an agent makes.
func inConversation(t *testing.T) *fixture {
	t.Helper()
	g := newFixtureWith(t, filesystem.Config{Seen: &seen.Files{}})
	g.caller = tool.Principal{User: "u", App: "a", Agent: "main", Session: "t1"}
	return g
}

// changeOutside changes a file as another program does, at a later time.
func (g *fixture) changeOutside(name, content string) {
	g.t.Helper()
	g.put(name, content)
	later := time.Now().Add(time.Minute)
	check(g.t, os.Chtimes(filepath.Join(g.dir, name), later, later))
}

func TestWriteNeedsARead(t *testing.T) {
	t.Parallel()
	g := inConversation(t)
	g.put("a.go", "package a\n")
	over := args{"path": "a.go", "content": "package b\n"}
	g.refused(tool.Conflict, "write", over, "was not read in this conversation", "read it first")
	if g.get("a.go") != "package a\n" {
		t.Fatal("a refused write changed the file")
	}
	g.call("read", args{"path": "a.go", "limit": 1})
	g.call("write", over)
	g.call("write", args{"path": "a.go", "content": "package c\n"}) // what it wrote it knows

	g.changeOutside("a.go", "package user\n")
	g.refused(tool.Conflict, "write", over, "was changed after it was read", "read it again")
	g.refused(tool.Conflict, "edit", args{"path": "a.go", "old": "user", "new": "x"}, "was changed after it was read")
	g.call("read", args{"path": "a.go"})
	g.call("edit", args{"path": "a.go", "old": "user", "new": "x"})
	g.call("edit", args{"path": "./a.go", "old": "x", "new": "y"}) // what it edited it knows
	g.call("write", over)

	other := *g
	other.caller.Session = "t2"
	other.refused(tool.Conflict, "write", over, "not read in this conversation")
}

func TestWhatIsFreeOfReading(t *testing.T) {
	t.Parallel()
	g := inConversation(t)
	g.put("old", "one\n")
	g.put("empty", "")
	g.call("write", args{"path": "new", "content": "a\n"})
	g.call("write", args{"path": "new", "content": "b\n"})
	g.call("write", args{"path": "empty", "content": "b\n"})
	g.call("write", args{"path": "old", "content": "two\n", "mode": "append"})
	g.refused(tool.Conflict, "write", args{"path": "old", "content": "x"}, "not read") // appending is not reading
	g.call("edit", args{"path": "old", "old": "one", "new": "1"})
	g.refused(tool.Conflict, "write", args{"path": "old", "content": "x"}, "not read")
	g.call("read", args{"path": "old"})
	g.call("write", args{"path": "old", "content": "three\n", "mode": "append"})
	g.call("move", args{"from": "old", "to": "moved"})
	g.call("write", args{"path": "moved", "content": "x\n"})
	g.call("delete", args{"path": "moved"})
	g.call("write", args{"path": "moved", "content": "y\n"})

	g.put("script", "a\n")
	for name, caller := range map[string]tool.Principal{
		"the command line": {User: "u", Session: "s1"}, "the kernel": {Agent: "main", Session: "t1", Daemon: true},
	} {
		one := *g
		one.caller = caller
		if _, err := one.try("write", args{"path": "script", "content": name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
