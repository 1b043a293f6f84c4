package seen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/module/filesystem/seen"
	"callgate/tool"
)

func info(t *testing.T, path, content string) os.FileInfo {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	i, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	var f seen.Files
	v := f.View(tool.Principal{Agent: "a", Session: "t1"})
	i := info(t, filepath.Join(t.TempDir(), "f"), "x")
	v.Note("/first", i)
	for n := range 10_000 {
		v.Note(fmt.Sprintf("/%d", n), i)
	}
	if v.State("/first", i) != seen.Unknown || v.State("/9999", i) != seen.Current || v.State("/0", i) != seen.Current {
		t.Error("the file seen first is not the one that was forgotten")
	}
	f.Forget("t1")
	if v.State("/9999", i) != seen.Unknown {
		t.Error("a deleted conversation is remembered")
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	var f seen.Files
	path := filepath.Join(t.TempDir(), "f")
	v := f.View(tool.Principal{Agent: "a", Session: "t1"})
	v.Note(path, info(t, path, "x"))
	if got := v.State(path, info(t, path, "longer")); got != seen.Changed {
		t.Errorf("changed: %v", got)
	}
	if got := f.View(tool.Principal{Agent: "a", Session: "t2"}).State(path, info(t, path, "x")); got != seen.Unknown {
		t.Errorf("of another conversation: %v", got)
	}
	if got := f.View(tool.Principal{Session: "s"}).State(path, info(t, path, "x")); got != seen.Current {
		t.Errorf("without an agent: %v", got)
	}
}
