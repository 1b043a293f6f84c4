package rewrite

import (
	"slices"

	"go.starlark.net/syntax"
)

// # Which calls can be put off
//
// A call can be put off while the program cannot look at its answer. That is known from
// the text, and only from the text:
//
//   - a call that is a statement, or whose answer goes into a variable that nothing reads;
//   - the element of a comprehension, until the comprehension ends;
//   - what list.append(…) adds in a loop, until the outermost loop ends, if everything
//     before that which names the list makes it empty or appends a call to it, in the
//     same function.
//
// Everything else has its answer at once.

// PutOffs is what of a program can be put off.
type PutOffs struct {
	Calls    map[Position]bool              // by the place of their bracket
	collects map[*syntax.Comprehension]bool // whose elements are such calls
	after    map[syntax.Stmt][]string       // the lists that are complete after a loop
}

// FindPutOffs finds them. result is the variable that is looked at when the program has ended.
func FindPutOffs(file *syntax.File, result string) PutOffs {
	f := finder{
		put:   PutOffs{map[Position]bool{}, map[*syntax.Comprehension]bool{}, map[syntax.Stmt][]string{}},
		reads: map[string]int{}, uses: map[string][]use{}, result: result,
	}
	syntax.Walk(file, f.count)
	f.statements(file.Stmts, file, nil)
	for _, name := range f.names {
		f.settle(name)
	}
	return f.put
}

// use is one place where a name stands.
type use struct {
	kind  useKind
	scope syntax.Node // the function; the file
	loop  syntax.Stmt // the outermost loop in it; nil: none
	at    syntax.Position
	call  *syntax.CallExpr // that is appended
}

type useKind uint8

const (
	anyUse useKind = iota
	madeEmpty
	appended
)

type finder struct {
	put   PutOffs
	reads map[string]int // how often a name stands anywhere but left of =
	uses  map[string][]use
	names []string // of uses, in the order found

	result string
}

// Position is a place in a program, from 1.
type Position struct {
	Line   int
	Column int
}

// At is the place that the parser names so.
func At(p syntax.Position) Position { return Position{int(p.Line), int(p.Col)} }

// count counts the reads of names.
func (f *finder) count(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Ident:
		f.reads[n.Name]++
	case *syntax.AssignStmt:
		if id, ok := n.LHS.(*syntax.Ident); ok && n.Op == syntax.EQ {
			f.reads[id.Name]--
		}
	case *syntax.Comprehension:
		f.collect(n)
	}
	return true
}

// collect finds a comprehension whose elements are calls.
func (f *finder) collect(e *syntax.Comprehension) {
	body := e.Body
	if entry, ok := body.(*syntax.DictEntry); ok {
		body = entry.Value
	} else if e.Curly {
		return // a set looks at its elements
	}
	if call, ok := body.(*syntax.CallExpr); ok {
		f.put.Calls[At(call.Lparen)] = true
		f.put.collects[e] = true
	}
}

func (f *finder) statements(list []syntax.Stmt, scope syntax.Node, loop syntax.Stmt) {
	for _, s := range list {
		f.statement(s, scope, loop)
	}
}

func (f *finder) statement(s syntax.Stmt, scope syntax.Node, loop syntax.Stmt) {
	inner := loop
	if inner == nil {
		inner = s
	}
	switch s := s.(type) {
	case *syntax.ForStmt:
		f.mention(s.Vars, scope, inner)
		f.mention(s.X, scope, inner)
		f.statements(s.Body, scope, inner)
	case *syntax.WhileStmt:
		f.mention(s.Cond, scope, inner)
		f.statements(s.Body, scope, inner)
	case *syntax.IfStmt:
		f.mention(s.Cond, scope, loop)
		f.statements(s.True, scope, loop)
		f.statements(s.False, scope, loop)
	case *syntax.DefStmt:
		for _, p := range s.Params {
			f.mention(p, s, nil)
		}
		f.statements(s.Body, s, nil)
	case *syntax.AssignStmt:
		f.assignment(s, scope, loop)
	case *syntax.ExprStmt:
		f.expression(s, scope, loop)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			f.mention(s.Result, scope, loop)
		}
	}
}

func (f *finder) assignment(s *syntax.AssignStmt, scope syntax.Node, loop syntax.Stmt) {
	id, plain := s.LHS.(*syntax.Ident)
	plain = plain && s.Op == syntax.EQ
	if call, ok := s.RHS.(*syntax.CallExpr); ok && plain && f.reads[id.Name] == 0 && id.Name != f.result {
		f.put.Calls[At(call.Lparen)] = true
	}
	if list, ok := s.RHS.(*syntax.ListExpr); ok && plain && len(list.List) == 0 {
		f.add(id.Name, use{kind: madeEmpty, scope: scope, loop: loop, at: id.NamePos})
		return
	}
	f.mention(s.LHS, scope, loop)
	f.mention(s.RHS, scope, loop)
}

func (f *finder) expression(s *syntax.ExprStmt, scope syntax.Node, loop syntax.Stmt) {
	call, ok := s.X.(*syntax.CallExpr)
	if !ok {
		f.mention(s.X, scope, loop)
		return
	}
	f.put.Calls[At(call.Lparen)] = true
	dot, ok := call.Fn.(*syntax.DotExpr)
	if ok && dot.Name.Name == "append" && len(call.Args) == 1 {
		list, isName := dot.X.(*syntax.Ident)
		added, isCall := call.Args[0].(*syntax.CallExpr)
		if isName && isCall {
			f.add(list.Name, use{kind: appended, scope: scope, loop: loop, at: list.NamePos, call: added})
			f.mention(added, scope, loop)
			return
		}
	}
	f.mention(call, scope, loop)
}

// mention notes the names in an expression.
func (f *finder) mention(e syntax.Expr, scope syntax.Node, loop syntax.Stmt) {
	syntax.Walk(e, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LambdaExpr:
			if n != scope {
				for _, p := range n.Params {
					f.mention(p, n, nil)
				}
				f.mention(n.Body, n, nil)
				return false
			}
		case *syntax.Ident:
			f.add(n.Name, use{scope: scope, loop: loop, at: n.NamePos})
		}
		return true
	})
}

func (f *finder) add(name string, u use) {
	if f.uses[name] == nil {
		f.names = append(f.names, name)
	}
	f.uses[name] = append(f.uses[name], u)
}

// settle finds out whether the calls that are appended to a list can be put off.
func (f *finder) settle(name string) {
	uses := f.uses[name]
	var end syntax.Position
	for _, u := range uses {
		if u.kind == appended && u.loop != nil {
			if e := syntax.End(u.loop); !end.IsValid() || before(end, e) {
				end = e
			}
		}
	}
	if !end.IsValid() {
		return
	}
	for _, u := range uses {
		if u.scope != uses[0].scope || u.kind == anyUse && before(u.at, end) {
			return
		}
	}
	for _, u := range uses {
		if u.kind != appended || u.loop == nil {
			continue
		}
		f.put.Calls[At(u.call.Lparen)] = true
		if !slices.Contains(f.put.after[u.loop], name) {
			f.put.after[u.loop] = append(f.put.after[u.loop], name)
		}
	}
}

func before(a, b syntax.Position) bool { return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col }
