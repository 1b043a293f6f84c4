package house

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"io"
	"maps"
	"slices"
	"unicode/utf8"
)

// Count is a named number: the methods of a type, the lines of a package.
type Count struct {
	Name string
	N    int
}

// Tail is the size of what is largest in a tree, largest first, tests left out.
type Tail struct {
	Lines, Files   int
	Packages       []Count // lines
	FileLines      []Count
	Functions      []Count // lines
	Methods        []Count // of a type
	Fields         []Count // of a struct
	Interfaces     []Count // methods
	Exported       []Count // names of a package
	Over120        int     // lines of more characters
	Over140        []Count // the lines themselves, with their length
	TestLines      int
	ParallelTests  int // test files that run in parallel
	SleepsInTests  int
	PackagesNoTest []string
}

// Measure returns the tail of a tree.
func Measure(t *Tree) Tail {
	m := measuring{
		packages: map[string]int{}, methods: map[string]int{}, exported: map[string]int{}, tested: map[string]bool{},
	}
	for _, f := range t.Files {
		if f.Test {
			m.test(f)
		} else {
			m.file(f)
		}
	}
	m.Packages, m.Methods, m.Exported = counts(m.packages), counts(m.methods), counts(m.exported)
	for _, list := range [][]Count{m.FileLines, m.Functions, m.Fields, m.Interfaces, m.Over140} {
		largestFirst(list)
	}
	for _, folder := range slices.Sorted(maps.Keys(m.packages)) {
		if !m.tested[folder] {
			m.PackagesNoTest = append(m.PackagesNoTest, folder)
		}
	}
	return m.Tail
}

type measuring struct {
	Tail
	packages, methods, exported map[string]int
	tested                      map[string]bool
}

func (m *measuring) test(f File) {
	m.TestLines += bytes.Count(f.Text, []byte("\n"))
	m.tested[f.Folder] = true
	if bytes.Contains(f.Text, []byte("t.Parallel()")) {
		m.ParallelTests++
	}
	m.SleepsInTests += bytes.Count(f.Text, []byte("time.Sleep("))
}

func (m *measuring) file(f File) {
	lines := bytes.Split(f.Text, []byte("\n"))
	n := len(lines) - 1
	m.Lines, m.Files = m.Lines+n, m.Files+1
	m.packages[f.Folder] += n
	m.FileLines = append(m.FileLines, Count{f.Path, n})
	for i, line := range lines {
		length := utf8.RuneCount(line)
		if length > 120 {
			m.Over120++
		}
		if length > 140 {
			m.Over140 = append(m.Over140, Count{fmt.Sprintf("%s:%d", f.Path, i+1), length})
		}
	}
	for _, d := range f.Syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			m.function(f, d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				m.spec(f, s)
			}
		}
	}
}

func (m *measuring) function(f File, d *ast.FuncDecl) {
	name := d.Name.Name
	if d.Recv != nil {
		receiver := receiverName(d.Recv.List[0].Type)
		m.methods[f.Folder+"."+receiver]++
		name = receiver + "." + name
	} else if d.Name.IsExported() {
		m.exported[f.Folder]++
	}
	lines := f.set.Position(d.End()).Line - f.set.Position(d.Pos()).Line + 1
	m.Functions = append(m.Functions, Count{f.Path + ": " + name, lines})
}

func (m *measuring) spec(f File, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() {
				m.exported[f.Folder]++
			}
		}
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			m.exported[f.Folder]++
		}
		name := f.Folder + "." + s.Name.Name
		switch t := s.Type.(type) {
		case *ast.StructType:
			m.Fields = append(m.Fields, Count{name, fieldCount(t.Fields)})
		case *ast.InterfaceType:
			m.Interfaces = append(m.Interfaces, Count{name, fieldCount(t.Methods)})
		}
	}
}

func fieldCount(list *ast.FieldList) int {
	n := 0
	for _, f := range list.List {
		n += max(1, len(f.Names))
	}
	return n
}

func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

func counts(m map[string]int) []Count {
	list := make([]Count, 0, len(m))
	for name, n := range m {
		list = append(list, Count{name, n})
	}
	largestFirst(list)
	return list
}

func largestFirst(list []Count) {
	slices.SortFunc(list, func(a, b Count) int { return cmp.Or(b.N-a.N, cmp.Compare(a.Name, b.Name)) })
}

// Print writes the tail, a few of the largest of each kind.
func (t Tail) Print(w io.Writer, most int) {
	fmt.Fprintf(w, "%d lines in %d files, %d packages; %d lines of tests\n",
		t.Lines, t.Files, len(t.Packages), t.TestLines)
	for _, part := range []struct {
		title string
		list  []Count
	}{
		{"lines of a package", t.Packages}, {"lines of a file", t.FileLines}, {"lines of a function", t.Functions},
		{"methods of a type", t.Methods}, {"fields of a struct", t.Fields}, {"methods of an interface", t.Interfaces},
		{"exported names of a package", t.Exported},
	} {
		fmt.Fprintf(w, "\n%s\n", part.title)
		for _, c := range part.list[:min(most, len(part.list))] {
			fmt.Fprintf(w, "  %6d  %s\n", c.N, c.Name)
		}
	}
	fmt.Fprintf(w, "\nlines over 120 characters: %d, over 140: %d\n", t.Over120, len(t.Over140))
	for _, c := range t.Over140[:min(most, len(t.Over140))] {
		fmt.Fprintf(w, "  %6d  %s\n", c.N, c.Name)
	}
	fmt.Fprintf(w, "test files that run in parallel: %d, sleeps in tests: %d, packages without tests of their own: %d\n",
		t.ParallelTests, t.SleepsInTests, len(t.PackagesNoTest))
}
