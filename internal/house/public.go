package house

import (
	"go/ast"
	"path"
	"strconv"
	"strings"
)

// public reports internal types in what a package exports: in the signatures of
// functions and methods, in exported fields, and in type and variable
// declarations. Bodies and unexported fields may hold what they like.
func (c *checking) public(f File) {
	internal := internalImports(c.tree.Module, f.Syntax)
	exposed := func(where string, e ast.Node) {
		inspectTypes(e, func(s *ast.SelectorExpr) {
			if pkg, ok := s.X.(*ast.Ident); ok && internal[pkg.Name] {
				c.add(f.Path, "%s exposes the internal type %s.%s", where, pkg.Name, s.Sel.Name)
			}
		})
	}
	for _, d := range f.Syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(typeName(d.Recv.List[0].Type))) {
				exposed(d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						exposed(s.Name.Name, s.Type)
					}
				case *ast.ValueSpec:
					if s.Type != nil && s.Names[0].IsExported() {
						exposed(s.Names[0].Name, s.Type)
					}
				}
			}
		}
	}
}

// internalImports returns the names under which a file knows packages of the
// module's internal folder.
func internalImports(module string, file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, i := range file.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil || !strings.HasPrefix(imported, module+"/internal/") {
			continue
		}
		name := path.Base(imported)
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = true
	}
	return names
}

// inspectTypes visits the qualified names in a type, unexported fields left out.
func inspectTypes(n ast.Node, visit func(*ast.SelectorExpr)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if len(field.Names) == 0 || anyExported(field.Names) {
					inspectTypes(field.Type, visit)
				}
			}
			return false
		case *ast.SelectorExpr:
			visit(n)
			return false
		}
		return true
	})
}

func anyExported(names []*ast.Ident) bool {
	for _, n := range names {
		if n.IsExported() {
			return true
		}
	}
	return false
}
