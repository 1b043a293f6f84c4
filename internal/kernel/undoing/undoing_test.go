package undoing_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/undoing"
	"callgate/tool"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens a kernel and a session in a folder whose app lets everything run.
func open(t testing.TB, workspace string) (*kernel.Kernel, *session.Session) {
	t.Helper()
	return openWith(t, kernel.Config{State: kerneltest.StateDir(t)}, workspace)
}

const allowAll = `
app: {app_id: test}
tools:
  capabilities: {default_policy: auto, max_risk_level: high}
`

func openWith(t testing.TB, c kernel.Config, workspace string) (*kernel.Kernel, *session.Session) {
	t.Helper()
	if c.UserFile == "" {
		c.UserFile = filepath.Join(t.TempDir(), "callgate.yaml")
		kerneltest.Write(t, c.UserFile, allowAll)
	}
	k := kerneltest.OpenWith(t, c)
	return k, kerneltest.OpenAccepted(t, k, workspace)
}

// call makes a call that must succeed.
func call(t testing.TB, s *session.Session, name, args string) *tool.Result {
	t.Helper()
	r := kerneltest.Call(t, s, name, args)
	if r.Status != tool.Success {
		t.Fatalf("%s %s: %s", name, args, r.Summary)
	}
	return r
}

// tree describes everything in a folder: names, kinds, modes and contents.
func tree(t testing.TB, folder string) string {
	t.Helper()
	var lines []string
	ok(t, filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(folder, path)
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %v", filepath.ToSlash(rel), info.Mode())
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " -> " + target
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if len(data) > 100 {
				data = fmt.Appendf(nil, "%d bytes, %x", len(data), sha256.Sum256(data))
			}
			line += fmt.Sprintf(" %q", data)
		}
		lines = append(lines, line)
		return nil
	}))
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// last undoes the last that changed files.
func last(t testing.TB, k *kernel.Kernel, workspace string, more ...func(*undoing.Request)) undoing.Done {
	t.Helper()
	r := undoing.Request{Target: undoing.Target{Workspace: workspace}}
	for _, change := range more {
		change(&r)
	}
	done, err := k.Undo.Undo(t.Context(), kerneltest.Human(t, k), r)
	ok(t, err)
	return done
}

func redo(r *undoing.Request) { r.Redo = true }

// What each tool does to files is undone, to the byte, and done again.
func TestUndoOfEachTool(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 300_000)
	for name, c := range map[string]struct {
		before func(t *testing.T, folder string)
		tool   string
		args   string
	}{
		"write over a file": {files("a.txt", "old"), "filesystem.write", `{"path":"a.txt","content":"new"}`},
		"write a new file":  {nil, "filesystem.write", `{"path":"a.txt","content":"new"}`},
		"write a new file in new folders": {
			files("x/there", "1"), "filesystem.write", `{"path":"x/y/z/a.txt","content":"new","create_dirs":true}`,
		},
		"write an empty file":           {nil, "filesystem.write", `{"path":"a.txt","content":""}`},
		"empty a file":                  {files("a.txt", "old"), "filesystem.write", `{"path":"a.txt","content":""}`},
		"fill an empty file":            {files("a.txt", ""), "filesystem.write", `{"path":"a.txt","content":"new"}`},
		"write over an executable file": {mode("run.sh", "old", 0o750), "filesystem.write", `{"path":"run.sh","content":"new"}`},
		"write over a binary file":      {files("a.bin", "\x00\xff\x01\r\n"), "filesystem.write", `{"path":"a.bin","content":"text"}`},
		"write over a large file":       {files("a.txt", large), "filesystem.write", `{"path":"a.txt","content":"small"}`},
		"write through a link":          {link("l", "a.txt", files("a.txt", "old")), "filesystem.write", `{"path":"l","content":"new"}`},
		"edit":                          {files("a.txt", "one\ntwo\n"), "filesystem.edit", `{"path":"a.txt","old_string":"two","new_string":"three"}`},
		"edit CRLF":                     {files("a.txt", "one\r\ntwo\r\n"), "filesystem.edit", `{"path":"a.txt","old_string":"two","new_string":"three"}`},
		"a patch of several files": {
			files("a.txt", "one\n", "b.txt", "gone\n", "c.txt", "moved\n"), "filesystem.apply_patch",
			`{"patch":"*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** Delete File: b.txt\n*** Add File: n/d.txt\n+new\n*** Update File: c.txt\n*** Move to: m/c.txt\n@@\n-moved\n+changed\n*** End Patch\n"}`,
		},
		"a notebook": {
			files("n.ipynb", `{"cells":[{"cell_type":"code","id":"a","metadata":{},"outputs":[],"execution_count":null,"source":["1"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}`),
			"filesystem.notebook_edit", `{"path":"n.ipynb","cell_id":"a","source":"2"}`,
		},
		"delete a file":             {mode("run.sh", "old", 0o700), "filesystem.delete", `{"path":"run.sh"}`},
		"delete an empty file":      {files("a.txt", ""), "filesystem.delete", `{"path":"a.txt"}`},
		"delete a link":             {link("l", "a.txt", files("a.txt", "old")), "filesystem.delete", `{"path":"l"}`},
		"delete a link to nothing":  {link("l", "nowhere", nil), "filesystem.delete", `{"path":"l"}`},
		"delete an empty folder":    {folder("d", 0o750), "filesystem.delete", `{"path":"d"}`},
		"delete a folder":           {link("d/l", "../a", mode("d/e/run.sh", "x", 0o711)), "filesystem.delete", `{"path":"d","recursive":true}`},
		"move a file":               {mode("a.txt", "old", 0o640), "filesystem.move", `{"from":"a.txt","to":"n/b.txt"}`},
		"move a file over another":  {files("a.txt", "old", "b.txt", "other"), "filesystem.move", `{"from":"a.txt","to":"b.txt","overwrite":true}`},
		"move a link":               {link("l", "a.txt", files("a.txt", "old")), "filesystem.move", `{"from":"l","to":"m"}`},
		"move a folder":             {files("d/a", "1", "d/e/b", "2", "d/e/c", large), "filesystem.move", `{"from":"d","to":"n/f"}`},
		"a command that says where": {files("a.txt", "old", "d/c", ""), "shell.bash", `{"command":"echo new > a.txt; chmod 755 a.txt; echo 1 > d/b","writes":["a.txt","d"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			workspace := t.TempDir()
			if c.before != nil {
				c.before(t, workspace)
			}
			k, s := open(t, workspace)
			for _, path := range []string{"a.txt", "n.ipynb", "run.sh", "b.txt", "c.txt", "l", "a.bin"} {
				_ = kerneltest.Call(t, s, "filesystem.read", fmt.Sprintf(`{"path":%q}`, path)) // a file must be known to be changed
			}
			before := tree(t, workspace)
			call(t, s, c.tool, c.args)
			after := tree(t, workspace)
			if before == after {
				t.Fatalf("the call changed nothing: %s", after)
			}
			done := last(t, k, workspace)
			if got := tree(t, workspace); got != before || len(done.Failed) > 0 || done.Call == "" {
				t.Fatalf("undone, it is\n%s\nwant\n%s\n%+v", got, before, done.Failed)
			}
			last(t, k, workspace, redo)
			if got := tree(t, workspace); got != after {
				t.Fatalf("done again, it is\n%s\nwant\n%s", got, after)
			}
			last(t, k, workspace)
			if got := tree(t, workspace); got != before {
				t.Fatalf("undone once more, it is\n%s\nwant\n%s", got, before)
			}
			if _, err := k.Undo.Preview(t.Context(), kerneltest.Human(t, k), undoing.Target{Workspace: workspace}); tool.KindOf(err) != tool.NotFound {
				t.Errorf("there is more to undo: %v", err)
			}
		})
	}
}

// files writes files: names and texts in turn.
func files(namesAndTexts ...string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		for i := 0; i < len(namesAndTexts); i += 2 {
			kerneltest.Write(t, filepath.Join(folder, namesAndTexts[i]), namesAndTexts[i+1])
		}
	}
}

func mode(name, text string, m fs.FileMode) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		kerneltest.Write(t, filepath.Join(folder, name), text)
		ok(t, os.Chmod(filepath.Join(folder, name), m))
	}
}

func folder(name string, m fs.FileMode) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		ok(t, os.Mkdir(filepath.Join(folder, name), m))
		ok(t, os.Chmod(filepath.Join(folder, name), m))
	}
}

func link(name, target string, first func(*testing.T, string)) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		if first != nil {
			first(t, folder)
		}
		ok(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
		ok(t, os.Symlink(target, filepath.Join(folder, name)))
	}
}

// An undo is on record like any call: who wanted it, and what it undid.
func TestUndoIsOnRecord(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	k, s := open(t, workspace)
	made := call(t, s, "filesystem.write", `{"path":"a.txt","content":"new"}`)
	done := last(t, k, workspace)
	records, err := k.Journal.Read(t.Context(), journal.Query{Call: done.Call})
	ok(t, err)
	var kinds []string
	for _, r := range records {
		kinds = append(kinds, string(r.Kind))
		if r.Principal.Session != undoing.Session || r.Tool != "undo:restore@1.0.0" {
			t.Errorf("recorded as %s of %s", r.Tool, r.Principal)
		}
	}
	if got := strings.Join(kinds, " "); got != "asked begun ended" {
		t.Errorf("the records are %s", got)
	}
	args := string(records[0].Ask.Args)
	for _, want := range []string{made.Call, "a.txt", `"by":"ada"`} {
		if !strings.Contains(args, want) {
			t.Errorf("the record has no %s: %s", want, args)
		}
	}
	if claims := fmt.Sprint(records[0].Ask.Claims); !strings.Contains(claims, "a.txt X") {
		t.Errorf("it locks %s", claims)
	}
}

// Nobody but a human undoes.
func TestWhoMayUndo(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	k, s := open(t, workspace)
	call(t, s, "filesystem.write", `{"path":"a.txt","content":"new"}`)
	before := tree(t, workspace)
	human := kerneltest.Human(t, k)
	wrong, inside := human, human
	wrong.Key, inside.PID = "guessed", os.Getpid()
	for name, who := range map[string]struct{ key string }{"no key": {""}, "another key": {"guessed"}} {
		c := human
		c.Key = who.key
		if _, err := k.Undo.Undo(t.Context(), c, undoing.Request{Target: undoing.Target{Workspace: workspace}}); tool.KindOf(err) != tool.Denied {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := k.Undo.Preview(t.Context(), c, undoing.Target{Workspace: workspace}); tool.KindOf(err) != tool.Denied {
			t.Errorf("%s, a preview: %v", name, err)
		}
	}
	if _, err := k.Undo.Undo(t.Context(), inside, undoing.Request{Target: undoing.Target{Workspace: workspace}}); tool.KindOf(err) != tool.Denied {
		t.Errorf("from inside the kernel: %v", err)
	}
	if r := kerneltest.Call(t, s, "undo.restore", `{"calls":[],"files":["a.txt"]}`); r.Error == nil || r.Error.Kind != tool.NotFound {
		t.Errorf("a session has the tool: %+v", r)
	}
	if strings.Contains(kerneltest.ToolNames(t, s), "undo.") {
		t.Error("a session sees the tool")
	}
	if got := tree(t, workspace); got != before {
		t.Errorf("it is\n%s", got)
	}
}

// Of a session that was used, the images are its owner's alone.
func TestModesOfTheStore(t *testing.T) {
	t.Parallel()
	workspace, state := t.TempDir(), kerneltest.StateDir(t)
	kerneltest.Write(t, filepath.Join(workspace, "a.txt"), "old")
	_, s := openWith(t, kernel.Config{State: state}, workspace)
	call(t, s, "filesystem.read", `{"path":"a.txt"}`)
	call(t, s, "filesystem.write", `{"path":"a.txt","content":"new"}`)
	n := 0
	ok(t, filepath.WalkDir(filepath.Join(state, "undo"), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		} else {
			n++
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	}))
	if n < 2 {
		t.Errorf("%d files are kept", n)
	}
}
