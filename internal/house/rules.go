package house

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Rules are the rules that the files of a tree obey.
type Rules struct {
	// Layers lists folders, lowest layer first. A folder that is not listed
	// belongs to the listed folder nearest above it; that group of folders is a
	// room. A room imports only rooms of lower layers.
	Layers [][]string
	// Forbidden lists imports that only some rooms may have.
	Forbidden []Forbidden
	// ForbiddenCalls lists functions that only some rooms may use.
	ForbiddenCalls []ForbiddenCall
	// ForbiddenInTests lists functions that only tests of some rooms may use.
	ForbiddenInTests []ForbiddenCall
	// TestsNeed lists imports that tests must have if they have another one.
	TestsNeed []TestsNeed
	// Public lists the packages whose exported names mention no internal type.
	Public []string
	// BadNames lists package names that carry no meaning.
	BadNames []string
	// Unshipped lists folders of programs that do not ship, which may import test helpers.
	Unshipped []string
	// HandlerRoom is the one folder whose code runs a tool's handler.
	HandlerRoom string
}

// Forbidden is an import that only some rooms may have.
type Forbidden struct {
	Import string   // the import, and everything below it
	Exact  bool     // the import alone
	Only   []string // the folders that may have it, with everything below them
	Why    string
}

// ForbiddenCall is a function of a package that only some rooms may use,
// whether they call it or pass it on.
type ForbiddenCall struct {
	Import string   // the package
	Name   string   // the function, or a type of which only some rooms may write a literal
	Only   []string // the folders that may use it, with everything below them
	Why    string
	// Literal says that Name is a type, and that its literals are meant, not its name.
	Literal bool
}

// TestsNeed is an import without which the tests of a folder would be skipped.
type TestsNeed struct {
	Import string // tests that import this
	Needs  string // must import that, in any file of their folder
	Except string // but not those of this folder
	Why    string
}

// Problem is a rule that a file breaks.
type Problem struct {
	Where string
	What  string
}

func (p Problem) String() string { return p.Where + ": " + p.What }

// Check returns everything in the tree that breaks a rule.
func (r Rules) Check(t *Tree) []Problem {
	c := &checking{Rules: r, tree: t}
	for _, f := range t.Files {
		c.layer(f)
		if f.Test {
			c.forbiddenCalls(f, r.ForbiddenInTests)
		}
	}
	for f := range t.Shipped {
		c.forbidden(f)
		c.forbiddenCalls(f, r.ForbiddenCalls)
		c.inits(f)
		c.handlers(f)
		c.names(f)
		if slices.Contains(r.Public, f.Folder) {
			c.public(f)
		}
	}
	c.testsNeed()
	c.docs()
	return c.problems
}

type checking struct {
	Rules
	tree     *Tree
	problems []Problem
}

func (c *checking) add(where, format string, args ...any) {
	c.problems = append(c.problems, Problem{where, fmt.Sprintf(format, args...)})
}

// room returns the room of a folder, and its layer; -1 for none. The root is
// the room of its own files only.
func (c *checking) room(folder string) (string, int) {
	for room := folder; ; room = path.Dir(room) {
		for i, rooms := range c.Layers {
			if slices.Contains(rooms, room) && (room != "." || folder == ".") {
				return room, i
			}
		}
		if room == "." {
			return "", -1
		}
	}
}

func (c *checking) layer(f File) {
	room, layer := c.room(f.Folder)
	if layer < 0 {
		c.add(f.Path, "its folder is in no layer; give its room one in house_test.go and docs/ARCHITECTURE.md")
		return
	}
	if f.Test {
		return // tests drive a room through whatever they need
	}
	for _, imported := range f.Imports {
		folder, ours := c.tree.folder(imported)
		if !ours {
			continue
		}
		if forTests(folder) && !forTests(f.Folder) && !isBelow(f.Folder, c.Unshipped) {
			c.add(f.Path, "imports %s, which is for tests", folder)
		}
		if other, its := c.room(folder); its >= layer && other != room {
			c.add(f.Path, "imports %s (layer %d) from layer %d: a room imports only lower layers", folder, its, layer)
		}
	}
}

func (c *checking) forbidden(f File) {
	for _, rule := range c.Forbidden {
		if isBelow(f.Folder, rule.Only) {
			continue
		}
		for _, imported := range f.Imports {
			if imported == rule.Import || !rule.Exact && strings.HasPrefix(imported, rule.Import+"/") {
				c.add(f.Path, "imports %s: %s", imported, rule.Why)
			}
		}
	}
}

// isBelow reports whether a folder is one of a list, or lies below one.
func isBelow(folder string, list []string) bool {
	return slices.ContainsFunc(list, func(o string) bool { return folder == o || strings.HasPrefix(folder, o+"/") })
}

func (c *checking) forbiddenCalls(f File, rules []ForbiddenCall) {
	for _, rule := range rules {
		name := importName(f.Syntax, rule.Import)
		if name == "" || isBelow(f.Folder, rule.Only) {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); rule.Literal {
				if !ok {
					return true
				}
				n = literal.Type
			}
			s, ok := n.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != rule.Name {
				return true
			}
			if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == name {
				where := fmt.Sprintf("%s:%d", f.Path, f.set.Position(s.Pos()).Line)
				c.add(where, "uses %s.%s: %s", rule.Import, rule.Name, rule.Why)
			}
			return true
		})
	}
}

// importName returns the name under which a file knows a package, "" for none.
func importName(file *ast.File, imported string) string {
	for _, i := range file.Imports {
		if i.Path.Value != strconv.Quote(imported) {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		return path.Base(imported)
	}
	return ""
}

func (c *checking) testsNeed() {
	for _, rule := range c.TestsNeed {
		needs, has := map[string]string{}, map[string]bool{}
		for _, f := range c.tree.Files {
			if !f.Test {
				continue
			}
			if slices.Contains(f.Imports, rule.Import) && f.Folder != rule.Except {
				needs[f.Folder] = f.Path
			}
			has[f.Folder] = has[f.Folder] || slices.Contains(f.Imports, rule.Needs)
		}
		for folder, file := range needs {
			if !has[folder] {
				c.add(file, "imports %s, and no test beside it imports %s: %s", rule.Import, rule.Needs, rule.Why)
			}
		}
	}
}

func (c *checking) inits(f File) {
	for _, d := range f.Syntax.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			c.add(f.Path, "has an init function: wire things where they are used")
		}
	}
}

// forTests reports whether a package helps tests, by Go's convention for the
// names of such packages. Nothing that ships imports it.
func forTests(folder string) bool { return strings.HasSuffix(folder, "test") }

func (c *checking) handlers(f File) {
	if f.Folder == c.HandlerRoom || forTests(f.Folder) {
		return
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		outer, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || outer.Sel.Name != "Execute" {
			return true
		}
		if inner, ok := outer.X.(*ast.SelectorExpr); ok && inner.Sel.Name == "Handler" {
			c.add(f.Path, "runs a tool's handler: only %s does", c.HandlerRoom)
		}
		return true
	})
}

func (c *checking) names(f File) {
	if slices.Contains(c.BadNames, f.Syntax.Name.Name) {
		c.add(f.Path, "the package name %q says nothing", f.Syntax.Name.Name)
	}
}

func (c *checking) docs() {
	documented := map[string]bool{}
	for f := range c.tree.Shipped {
		documented[f.Folder] = documented[f.Folder] || f.Syntax.Doc != nil && len(f.Syntax.Doc.Text()) > 40
	}
	for folder, ok := range documented {
		if !ok {
			c.add(folder, "the package has no comment that says what it is for")
		}
	}
}
