package lsp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/internal/module/filesystem"
	"callgate/internal/module/lsp"
	"callgate/tool"
)

type block = fetchtest.Block

// need skips a test where a language server is missing.
func need(t *testing.T, program, how string) {
	t.Helper()
	home, _ := os.UserHomeDir()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if _, err := exec.LookPath(filepath.Join(home, "go", "bin", program)); err == nil {
		return
	}
	t.Skipf("%s is not installed: %s", program, how)
}

func call(t *testing.T, b *fetchtest.Bench, name string, args block) (string, map[string]any) {
	t.Helper()
	r, err := b.Call(name, args)
	data := fetchtest.Data(t, r, err)
	return r.Summary, data
}

// wants checks that a text holds others.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
}

// applyPatch has filesystem.apply_patch take a patch, as a model does.
func applyPatch(t *testing.T, b *fetchtest.Bench, patch any) {
	t.Helper()
	files := fetchtest.Open(t, filesystem.Module(), nil, nil)
	files.Grant, files.Dir = b.Grant, b.Dir
	files.Grant.Settings = nil
	if _, err := files.Call("apply_patch", block{"patch": patch}); err != nil {
		t.Fatalf("%v\n%s", err, patch)
	}
}

const storeGo = `package store

// Open opens the Store of a name, as "é𝄞" is one.
func Open(name string) *Store { return &Store{name} }

type Store struct{ name string }

func (s *Store) Name() string { return "é𝄞" + s.name }
`

const useGo = `package store

func Use() string {
	s := Open("x")
	return s.Name()
}
`

func TestGopls(t *testing.T) {
	t.Parallel()
	need(t, "gopls", "scripts/deps.sh")
	b := fetchtest.Open(t, lsp.Module(), nil, nil)
	b.WriteFile("go.mod", "module example.com/store\n\ngo 1.24\n")
	b.WriteFile("store.go", storeGo)
	b.WriteFile("use.go", useGo+"\nfunc broken() int { return \"text\" }\n")

	text, data := call(t, b, "diagnostics", block{"path": "use.go"})
	wants(t, text, "use.go:8:28: error: cannot use \"text\"", "1 error")
	if data["settled"] != true || data["server"] != "gopls" {
		t.Errorf("%v", data)
	}
	b.WriteFile("use.go", useGo) // as another tool would: the server sees it
	text, _ = call(t, b, "check", block{})
	wants(t, text, "no error in 2 files")
	text, _ = call(t, b, "notify_change", block{"path": "use.go", "content": useGo + "var x int = nothing\n"})
	wants(t, text, "undefined: nothing", "as lsp.notify_change told it")
	text, _ = call(t, b, "notify_change", block{"path": "use.go"})
	wants(t, text, "nothing is wrong in use.go")

	for kind, want := range map[string][]string{
		"definition": {"store.go:4:6: func Open(name string)"}, "references": {"references: 2", "use.go:4:7: s := Open"},
		"hover": {"func Open(name string) *Store", "opens the Store"}, "type_definition": {"knows no type definition"},
		"incoming_calls": {"use.go:3:6 function Use"}, "outgoing_calls": {"outgoing calls: "},
	} {
		args := block{"kind": kind, "path": "use.go", "symbol": "Open"}
		if kind == "outgoing_calls" {
			args, want = block{"kind": kind, "path": "use.go", "symbol": "Use"}, []string{"function Open", "function Name"}
		}
		if kind == "type_definition" {
			args, want = block{"kind": kind, "path": "use.go", "line": 4, "column": 2}, []string{"store.go:6:6"}
		}
		text, _ := call(t, b, "request", args)
		wants(t, text, want...)
	}
	text, _ = call(t, b, "request", block{"kind": "symbols", "path": "store.go"})
	wants(t, text, "store.go:4:6 function Open", "struct Store")
	text, _ = call(t, b, "request", block{"kind": "workspace_symbols", "path": "store.go", "query": "Store"})
	wants(t, text, "store.go:6:6")

	// A rename is a patch, which filesystem takes; the server sees what was written.
	_, data = call(t, b, "request", block{"kind": "rename", "path": "store.go", "line": 8, "symbol": "s.name", "new_name": "title"})
	if got := string(b.ReadFile("store.go")); got != storeGo {
		t.Fatal("the server wrote")
	}
	applyPatch(t, b, data["patch"])
	wants(t, string(b.ReadFile("store.go")), "struct{ title string }", `return "é𝄞" + s.title }`)
	_, data = call(t, b, "request", block{"kind": "rename", "path": "store.go", "symbol": "Open", "new_name": "OpenStore"})
	applyPatch(t, b, data["patch"])
	wants(t, string(b.ReadFile("use.go")), `s := OpenStore("x")`)
	text, _ = call(t, b, "request", block{"kind": "references", "path": "store.go", "symbol": "OpenStore"})
	wants(t, text, "references: 2")
	if _, err := b.Call("request", block{"kind": "rename", "path": "store.go", "symbol": "OpenStore", "new_name": "1x"}); err == nil {
		t.Error("a name that is none")
	}

	// A fix is a patch, too.
	if err := os.Mkdir(filepath.Join(b.Dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.WriteFile("sub/sub.go", "package sub\n")
	b.WriteFile("fix.go", "package store\n\nimport \"example.com/store/sub\"\n\nfunc  Fix( )  {}\n")
	text, _ = call(t, b, "request", block{"kind": "code_actions", "path": "fix.go"})
	wants(t, text, "Organize Imports")
	_, data = call(t, b, "request", block{"kind": "code_actions", "path": "fix.go", "action": "Organize Imports"})
	applyPatch(t, b, data["patch"])
	_, data = call(t, b, "request", block{"kind": "format", "path": "fix.go"})
	applyPatch(t, b, data["patch"])
	if got := string(b.ReadFile("fix.go")); got != "package store\n\nfunc Fix() {}\n" {
		t.Errorf("%q", got)
	}
	_, err := b.Call("request", block{"kind": "code_actions", "path": "fix.go", "action": "Make it better"})
	fetchtest.CheckError(t, err, tool.NotFound, "no action")
}

func TestPylsp(t *testing.T) {
	t.Parallel()
	need(t, "pylsp", "apt-get install python3-pylsp python3-pyflakes")
	b := fetchtest.Open(t, lsp.Module(), block{"servers": block{"pyright": block{"command": []any{"pylsp"}, "files": []any{".py"}}}}, nil)
	b.WriteFile("a.py", "def grüße(name):\n    return 'é' + nmae\n\nprint(grüße('x'))\n")
	text, _ := call(t, b, "diagnostics", block{"path": "a.py", "severity": "error"})
	wants(t, text, "a.py:2:", "undefined name 'nmae'")
	b.WriteFile("a.py", "def grüße(name):\n    return 'é' + name\n\nprint(grüße('x'))\n")
	text, _ = call(t, b, "diagnostics", block{"path": "a.py", "severity": "error"})
	wants(t, text, "nothing is wrong in a.py")
	text, _ = call(t, b, "request", block{"kind": "definition", "path": "a.py", "line": 4, "symbol": "grüße"})
	wants(t, text, "a.py:1:5: def grüße(name):")
	text, _ = call(t, b, "request", block{"kind": "references", "path": "a.py", "symbol": "name"})
	wants(t, text, "references: 2", "a.py:2:18")
}
