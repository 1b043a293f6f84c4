// Package house reads the Go source of the repository. It checks the rules of
// docs/ARCHITECTURE.md, which a test of the root package requires, and it
// measures the tree for the report of `make house`, which requires nothing.
package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Tree is the Go source of a module.
type Tree struct {
	Module string // the module's path
	Files  []File
}

// File is one Go file.
type File struct {
	Path    string // slash-separated, from the module's root
	Folder  string // of the file; "." is the root
	Test    bool
	Syntax  *ast.File
	Imports []string
	Text    []byte
	set     *token.FileSet
}

// Read parses every Go file below a folder, without testdata, hidden folders and
// modules inside the module. The files are parsed rather than asked of the go
// command, so that a cached test result never hides a change.
func Read(root, module string) (*Tree, error) {
	t := &Tree{Module: module}
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != root && (ignored(d.Name()) || isModule(name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		file, err := parse(set, filepath.ToSlash(rel), text)
		if err != nil {
			return err
		}
		t.Files = append(t.Files, file)
		return nil
	})
	return t, err
}

// ignored reports whether a folder is left out because of its name.
func ignored(base string) bool {
	return strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules"
}

func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

func parse(set *token.FileSet, name string, text []byte) (File, error) {
	syntax, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return File{}, err
	}
	f := File{
		Path: name, Folder: path.Dir(name), Test: isTest(name),
		Syntax: syntax, Text: text, set: set,
	}
	for _, i := range syntax.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return File{}, err
		}
		f.Imports = append(f.Imports, imported)
	}
	return f, nil
}

// line returns the line of a position.
func (f File) line(pos token.Pos) int { return f.set.Position(pos).Line }

// lines returns how many lines a node spans.
func (f File) lines(n ast.Node) int { return f.line(n.End()) - f.line(n.Pos()) + 1 }

// folder returns the folder of an import of the tree's own module.
func (t *Tree) folder(imported string) (string, bool) {
	if imported == t.Module {
		return ".", true
	}
	return strings.CutPrefix(imported, t.Module+"/")
}

// Shipped yields the files that are not tests.
func (t *Tree) Shipped(yield func(File) bool) {
	for _, f := range t.Files {
		if !f.Test && !yield(f) {
			return
		}
	}
}
