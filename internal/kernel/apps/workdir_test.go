package apps_test

import (
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/kernel/kerneltest"
)

// An app that works in no folder has an empty one of its own, also where the home
// cannot be written, as in many containers.
func TestWorkdirNone(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	open := func(name string) string {
		folder := filepath.Join(t.TempDir(), name)
		write(t, filepath.Join(folder, "callgate.yaml"), "runtime: {workdir_mode: none}\nagents:\n- {id: main}\n")
		c, err := k.Conversations.Open(t.Context(), conversation.Spec{Workspace: folder})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.Session().Workspace()
	}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(temp, "cache"))
	first, second := open("one"), open("two")
	if first == second {
		t.Errorf("two apps share %s", first)
	}
	file := filepath.Join(temp, "file")
	ok(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(file, "cache"))
	if got := open("three"); filepath.Dir(filepath.Dir(filepath.Dir(got))) != temp {
		t.Errorf("without a cache: %s", got)
	}
}
