package house

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"slices"
	"unicode/utf8"
)

// count is a number with the name of the thing that it measures.
type count struct {
	name string
	n    int
}

// largestFirst sorts counts by number, and equal ones by name.
func largestFirst(list []count) []count {
	slices.SortFunc(list, func(a, b count) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name)) })
	return list
}

// largest lists the sizes of everything shipped, largest first.
type largest struct {
	packages, files, functions []count // lines
	types                      []count // methods
	structs                    []count // fields
	interfaces                 []count // methods
	exported                   []count // names of a package
}

func measureLargest(t *Tree, index map[string]*pkg) largest {
	var l largest
	for f := range t.Shipped {
		l.files = append(l.files, count{f.Path, bytes.Count(f.Text, []byte("\n"))})
		for _, d := range f.Syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				l.functions = append(l.functions, count{f.Path + ": " + functionName(d), f.lines(d)})
			case *ast.GenDecl:
				for _, s := range d.Specs {
					l.spec(f, s)
				}
			}
		}
	}
	for _, p := range index {
		l.packages = append(l.packages, count{p.folder, p.lines})
		l.exported = append(l.exported, count{p.folder, len(p.exported)})
		for name, methods := range p.methods {
			l.types = append(l.types, count{p.folder + "." + name, len(methods)})
		}
	}
	for _, list := range [][]count{l.packages, l.files, l.functions, l.types, l.structs, l.interfaces, l.exported} {
		largestFirst(list)
	}
	return l
}

func (l *largest) spec(f File, s ast.Spec) {
	declared, ok := s.(*ast.TypeSpec)
	if !ok {
		return
	}
	name := f.Folder + "." + declared.Name.Name
	switch t := declared.Type.(type) {
	case *ast.StructType:
		l.structs = append(l.structs, count{name, fieldCount(t.Fields)})
	case *ast.InterfaceType:
		l.interfaces = append(l.interfaces, count{name, fieldCount(t.Methods)})
	}
}

func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	return typeName(d.Recv.List[0].Type) + "." + d.Name.Name
}

func fieldCount(list *ast.FieldList) int {
	n := 0
	for _, f := range list.List {
		n += max(1, len(f.Names))
	}
	return n
}

const (
	longFunction = 80  // lines
	longLine     = 120 // characters
)

// warnings are the shipped functions and lines that are long, in the order of
// the tree.
type warnings struct {
	functions []count // lines, by "file:line: name"
	lines     []count // characters, by "file:line"
}

func measureWarnings(t *Tree) warnings {
	var w warnings
	for f := range t.Shipped {
		for _, d := range f.Syntax.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && f.lines(d) > longFunction {
				where := fmt.Sprintf("%s:%d: %s", f.Path, f.line(d.Pos()), functionName(d))
				w.functions = append(w.functions, count{where, f.lines(d)})
			}
		}
		n := 0
		for line := range bytes.Lines(f.Text) {
			n++
			if length := utf8.RuneCount(bytes.TrimSuffix(line, []byte("\n"))); length > longLine {
				w.lines = append(w.lines, count{fmt.Sprintf("%s:%d", f.Path, n), length})
			}
		}
	}
	return w
}
