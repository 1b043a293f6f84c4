package callgate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The house rules of docs/ARCHITECTURE.md, held against the source itself. It
// is parsed here rather than asked of the go command, so that a cached test
// result never hides a change.

// floors lists the rooms of each floor, lowest first. A folder that is not
// listed is part of the room above it. A room may import rooms of lower floors.
var floors = [][]string{
	{"tool", "internal/nearest"},
	{"llm", "internal/secret", "internal/statedir"},
	{"internal/search/embed", "internal/search/lexical", "internal/search/endpoint", "internal/search/vectorcache", "internal/search/eval"},
	{"internal/search", "internal/agent/surface", "internal/agent/session", "internal/agent/prompt", "internal/agent/recover", "internal/agent/compact", "internal/agent/filter", "internal/netguard", "internal/markdown", "internal/registry", "internal/journal", "internal/artifact", "internal/sandbox",
		"internal/arbiter/schema", "internal/arbiter/policy", "internal/arbiter/approval", "internal/arbiter/lock"},
	{"internal/module", "internal/module/place"},
	{"internal/search/bench", "internal/agent", "internal/provider", "internal/control", "internal/source/mcp", "internal/arbiter", "internal/app", "internal/module/filesystem", "internal/module/shell",
		"internal/module/http", "internal/module/web", "internal/module/browser", "internal/module/database", "internal/module/git", "internal/module/memory", "internal/source/executable"},
	{"internal/storage/sqlite", "internal/storage/storagetest", "internal/protocol", "internal/importer"},
	{"internal/client"},
	{"."},
	{"internal/daemon", "internal/tui"},
	{"internal/cli"},
	{"cmd/callgate", "scripts/scriptedllm"},
}

// nevers lists imports that only some rooms may have, or that some may not.
var nevers = []struct {
	imports string   // the import, or everything below it
	only    []string // the rooms that may have it
	why     string
}{
	{"database/sql", []string{"internal/storage/sqlite", "internal/module/database"}, "the kernel's SQL stays in storage"},
	{"modernc.org/sqlite", []string{"internal/storage/sqlite", "internal/module/database"}, "the kernel's SQL stays in storage"},
	{"github.com/jackc/pgx/v5", []string{"internal/module/database"}, "the kernel's SQL stays in storage"},
	{"github.com/go-sql-driver/mysql", []string{"internal/module/database"}, "the kernel's SQL stays in storage"},
	{"github.com/openai/openai-go/v3", nil, "one POST and an event stream need no SDK"},
	{"github.com/anthropics/anthropic-sdk-go", nil, "one POST and an event stream need no SDK"},
	{"charm.land", []string{"internal/tui"}, "one room draws the terminal"},
	{"github.com/chromedp/chromedp", []string{"internal/module/browser"}, "one module drives the browser"},
	{"github.com/spf13/cobra", []string{"internal/cli"}, "only the command line parses commands"},
	{"net/http", []string{"internal/protocol", "internal/client", "internal/daemon", "internal/search/endpoint", "internal/source/mcp",
		"internal/netguard", "internal/module/http", "internal/module/web", "internal/module/browser", "internal/provider", "scripts/scriptedllm"}, "HTTP is the business of the faces, and of what is reached over it"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"internal/source/mcp", "internal/daemon"}, "MCP is spoken where servers are reached, and where clients are"},
	{"callgate/internal/arbiter", []string{"."}, "the door is reached through the façade"},
	{"callgate", []string{"internal/daemon"}, "front ends reach the kernel through internal/client"},
}

type source struct {
	folder  string // slash-separated
	name    string // the file
	test    bool
	file    *ast.File
	imports []string
}

// sources are all Go files of the house, read once.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := readSources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d source files found: the walk is broken", len(all))
	}
	return all
}

var readSources = sync.OnceValues(func() ([]source, error) {
	var all []source
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		s := source{folder: path.Dir(filepath.ToSlash(name)), name: filepath.ToSlash(name), test: strings.HasSuffix(name, "_test.go"), file: file}
		for _, i := range file.Imports {
			target, _ := strconv.Unquote(i.Path.Value)
			s.imports = append(s.imports, target)
		}
		all = append(all, s)
		return nil
	})
	return all, err
})

// floorOf returns the room that a folder is part of, and its floor: the listed
// room nearest above it.
func floorOf(folder string) (room string, floor int) {
	for room = folder; ; room = path.Dir(room) {
		for i, rooms := range floors {
			if slices.Contains(rooms, room) && (room != "." || folder == ".") {
				return room, i
			}
		}
		if room == "." {
			return "", -1
		}
	}
}

// folderOf is the folder of one of our own imports.
func folderOf(imported string) (string, bool) {
	if imported == "callgate" {
		return ".", true
	}
	return strings.CutPrefix(imported, "callgate/")
}

func TestFloors(t *testing.T) {
	for _, s := range sources(t) {
		room, floor := floorOf(s.folder)
		if floor < 0 {
			t.Errorf("%s stands on no floor; give its room one in house_test.go and docs/ARCHITECTURE.md", s.name)
			continue
		}
		if s.test {
			continue // tests drive a room through whatever they need
		}
		for _, imported := range s.imports {
			folder, ours := folderOf(imported)
			if !ours {
				continue
			}
			if other, its := floorOf(folder); its >= floor && other != room {
				t.Errorf("%s (floor %d) imports %s (floor %d): a room imports only lower floors", s.name, floor, folder, its)
			}
		}
	}
}

func TestNevers(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, never := range nevers {
			if room, _ := floorOf(s.folder); slices.Contains(never.only, room) {
				continue
			}
			if slices.ContainsFunc(s.imports, func(i string) bool { return i == never.imports }) {
				t.Errorf("%s imports %s: %s", s.name, never.imports, never.why)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s has an init function: wire things where they are used", s.name)
				}
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "Execute" {
					break
				}
				if inner, ok := sel.X.(*ast.SelectorExpr); ok && inner.Sel.Name == "Handler" && s.folder != "internal/arbiter" {
					t.Errorf("%s invokes a handler: only the arbiter does", s.name)
				}
			}
			return true
		})
		if slices.Contains([]string{"util", "utils", "common", "helpers", "types", "models", "misc"}, s.file.Name.Name) {
			t.Errorf("%s: the package name %q says nothing", s.name, s.file.Name.Name)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			documented[s.folder] = documented[s.folder] || s.file.Doc != nil && len(s.file.Doc.Text()) > 40
		}
	}
	for room, ok := range documented {
		if !ok {
			t.Errorf("package %s has no doc comment that says what it is for", room)
		}
	}
}

var (
	namedPath = regexp.MustCompile("`((?:internal|tool|cmd|docs|scripts|model)/[A-Za-z0-9_./*-]*|[a-z_]+\\.go|Makefile)`")
	linked    = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
)

func TestPathsNamedInDocsExist(t *testing.T) {
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	guides, _ := filepath.Glob("docs/guides/*.md")
	checked := 0
	for _, doc := range slices.Concat(docs, guides, []string{"README.md", "CHANGELOG.md"}) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namedPath.FindAllSubmatch(text, -1) {
			checked++
			if !exists(string(m[1])) {
				t.Errorf("%s names %s, which does not exist", doc, m[1])
			}
		}
		for _, m := range linked.FindAllSubmatch(text, -1) {
			checked++
			if !exists(filepath.Join(filepath.Dir(doc), string(m[1]))) {
				t.Errorf("%s links to %s, which does not exist", doc, m[1])
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d paths found in the docs: the pattern is broken", checked)
	}
}

func exists(name string) bool {
	found, err := filepath.Glob(filepath.FromSlash(strings.TrimSuffix(name, "/")))
	return err == nil && len(found) > 0
}
