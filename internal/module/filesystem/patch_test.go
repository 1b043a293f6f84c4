package filesystem_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/tool"
)

func patch(lines ...string) args {
	return args{"patch": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"}
}

func TestApplyPatch(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("src/a.go", "package a\n\nfunc A() {\n\thelo()\n}\n")
	g.put("old.txt", "x\n")
	g.put("b.txt", "one\ntwo\n")
	r := g.call("apply_patch", patch(
		"*** Update File: src/a.go", "@@ func A() {", "-\thelo()", "+\thello()",
		"*** Add File: new/deep/n.md", "+# Notes", "+",
		"*** Delete File: old.txt",
		"*** Update File: b.txt", "*** Move to: c/d.txt", " one", "-two", "+2"))
	for name, want := range map[string]string{
		"src/a.go": "package a\n\nfunc A() {\n\thello()\n}\n", "new/deep/n.md": "# Notes\n\n", "c/d.txt": "one\n2\n",
	} {
		if got := g.get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, gone := range []string{"old.txt", "b.txt"} {
		if _, err := os.Lstat(filepath.Join(g.dir, gone)); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
	want := "updated src/a.go (+1 −1 lines)\n@@ line 4 @@\n-\thelo()\n+\thello()\nadded new/deep/n.md (+2 −0 lines)\n" +
		"deleted old.txt (+0 −1 lines)\nmoved b.txt to c/d.txt (+1 −1 lines)\n"
	if got := text(r); got != want || r.Summary != "patched 4 files" {
		t.Errorf("%s\n%s", r.Summary, got)
	}
	g.call("apply_patch", args{"patch": "--- a/c/d.txt\n+++ b/c/d.txt\n@@ -1,2 +1,2 @@\n one\n-2\n+two\n"})
	g.call("apply_patch", patch("*** Update File: c/d.txt", "-one", "+1", "*** Update File: c/d.txt", "-two", "+2"))
	if got := g.get("c/d.txt"); got != "1\n2\n" {
		t.Errorf("%q", got)
	}
	g.noLitter()
}

// TestAPatchIsAllOrNothing: whatever of it does not fit, no file is changed.
func TestAPatchIsAllOrNothing(t *testing.T) {
	t.Parallel()
	good := []string{"*** Update File: a", "-one", "+1", "*** Add File: new", "+x"}
	for _, test := range []struct {
		name  string
		bad   []string
		kind  tool.Kind
		words []string
	}{
		{"a hunk that does not fit", []string{"*** Update File: b", " two", "-four"}, tool.Conflict,
			[]string{`"b": hunk 1 of 1`, `line 3 should be "four" and is "three"`}},
		{"a file that is not there", []string{"*** Update File: c", "-x"}, tool.NotFound, []string{`no "c"`}},
		{"a file that is there", []string{"*** Add File: b", "+x"}, tool.Conflict, []string{"exists already"}},
		{"a move onto a file", []string{"*** Update File: b", "*** Move to: d", "-two"}, tool.Conflict, []string{"cannot be moved"}},
		{"a file outside", []string{"*** Add File: ../outside/x", "+x"}, tool.Denied, []string{"outside"}},
		{"a link outside", []string{"*** Delete File: link/secret"}, tool.Denied, []string{"outside"}},
		{"a file twice", []string{"*** Delete File: a"}, tool.Invalid, []string{"named twice"}},
		{"a binary file", []string{"*** Update File: bin", "-x"}, tool.Invalid, []string{"binary"}},
		{"a folder", []string{"*** Delete File: dir"}, tool.Invalid, []string{"is a directory"}},
		{"a mistake", []string{"*** Update File: b", "two"}, tool.Invalid, []string{"line 8 of the patch", "begins with a space, - or +"}},
	} {
		g := newFixture(t)
		g.put("a", "one\n")
		g.put("b", "two\nthree\n")
		g.put("b", "zero\ntwo\nthree\n")
		g.put("d", "d\n")
		g.put("dir/x", "x\n")
		g.put("bin", "x\x00")
		g.link("../outside", "link")
		g.refused(test.kind, "apply_patch", patch(append(good, test.bad...)...), test.words...)
		if g.get("a") != "one\n" {
			t.Errorf("%s: a part of the patch was made", test.name)
		}
		if _, err := os.Lstat(filepath.Join(g.dir, "new")); err == nil {
			t.Errorf("%s: a file was added", test.name)
		}
		g.outsideUntouched()
	}
}

// TestAPatchIsRolledBack: a file that cannot be written takes the others back with it.
func TestAPatchIsRolledBack(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("a", "one\n")
	g.put("b", "two\n")
	writes := 0
	g.grant.Unfinished = func(string) string { // the third file has no place to be written
		if writes++; writes == 3 {
			return "missing/dir/x.tmp"
		}
		return fmt.Sprintf(".%d.tmp", writes)
	}
	g.refused(tool.NotFound, "apply_patch",
		patch("*** Update File: a", "-one", "+1", "*** Add File: n", "+x", "*** Update File: b", "-two", "+2"))
	if _, err := os.Lstat(filepath.Join(g.dir, "n")); err == nil || g.get("a") != "one\n" || g.get("b") != "two\n" {
		t.Errorf("the files before it stayed changed: %q", g.get("a"))
	}
}

func TestAPatchHeedsWhatWasRead(t *testing.T) {
	t.Parallel()
	g := inConversation(t)
	g.put("a", "one\n")
	g.call("read", args{"path": "a"})
	g.changeOutside("a", "one\ntwo\n")
	change := patch("*** Update File: a", "-one", "+1")
	g.refused(tool.Conflict, "apply_patch", change, "was changed after it was read")
	g.call("read", args{"path": "a"})
	g.call("apply_patch", change)
	g.call("write", args{"path": "a", "content": "all\n"})
}
