package house

import (
	"bytes"
	"go/ast"
	"go/token"
	"maps"
	"slices"
)

// pkg is what the shipped files of a folder declare and use. Declarations are
// sets of names, because a name may be declared once for each operating system.
type pkg struct {
	folder, name string
	lines        int
	exported     map[string]bool            // package-level names
	methods      map[string]map[string]bool // by type
	functions    map[string]map[string]bool // by the type of their first parameter that is no context
	importers    map[string]bool            // folders of shipped packages
	usedBy       map[string]map[string]bool // the same, by exported name
}

// forTests reports whether the package exists for tests only.
func (p *pkg) forTests() bool { return forTests(p.folder) }

// packages indexes the shipped files of a tree by folder.
func packages(t *Tree) map[string]*pkg {
	index := map[string]*pkg{}
	for f := range t.Shipped {
		p := index[f.Folder]
		if p == nil {
			p = &pkg{
				folder: f.Folder, name: f.Syntax.Name.Name, exported: map[string]bool{},
				methods: map[string]map[string]bool{}, functions: map[string]map[string]bool{},
				importers: map[string]bool{}, usedBy: map[string]map[string]bool{},
			}
			index[f.Folder] = p
		}
		p.lines += bytes.Count(f.Text, []byte("\n"))
		p.declarations(f)
	}
	for f := range t.Shipped {
		if !forTests(f.Folder) {
			uses(t, f, index)
		}
	}
	return index
}

func (p *pkg) declarations(f File) {
	for _, d := range f.Syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			p.function(d)
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					p.export(s.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						p.export(name)
					}
				}
			}
		}
	}
}

func (p *pkg) function(d *ast.FuncDecl) {
	if d.Recv != nil {
		put(p.methods, typeName(d.Recv.List[0].Type), d.Name.Name)
		return
	}
	p.export(d.Name)
	parameters := d.Type.Params.List
	if len(parameters) > 0 && isContext(parameters[0].Type) {
		parameters = parameters[1:]
	}
	if len(parameters) > 0 {
		put(p.functions, typeName(parameters[0].Type), d.Name.Name)
	}
}

func (p *pkg) export(name *ast.Ident) {
	if name.IsExported() {
		p.exported[name.Name] = true
	}
}

// uses records which packages of the tree a file imports, and which of their
// names it uses. A local variable named like an import is taken for the import.
func uses(t *Tree, f File, index map[string]*pkg) {
	imported := map[string]*pkg{} // by the name in this file
	for i, spec := range f.Syntax.Imports {
		folder, ours := t.folder(f.Imports[i])
		p := index[folder]
		if !ours || p == nil {
			continue
		}
		p.importers[f.Folder] = true
		if spec.Name != nil {
			imported[spec.Name.Name] = p
		} else {
			imported[p.name] = p
		}
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && imported[x.Name] != nil {
				if p := imported[x.Name]; p.exported[s.Sel.Name] {
					put(p.usedBy, s.Sel.Name, f.Folder)
				}
			}
		}
		return true
	})
}

// typeName returns the name of a type of the same package, without pointer and
// type arguments, or "" for any other type.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func isContext(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "Context" {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == "context"
}

func put(sets map[string]map[string]bool, set, member string) {
	if sets[set] == nil {
		sets[set] = map[string]bool{}
	}
	sets[set][member] = true
}

// byFolder returns the packages in the order of their folders.
func byFolder(index map[string]*pkg) []*pkg {
	list := make([]*pkg, 0, len(index))
	for _, folder := range slices.Sorted(maps.Keys(index)) {
		list = append(list, index[folder])
	}
	return list
}
