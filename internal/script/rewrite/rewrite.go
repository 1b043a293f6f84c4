// Package rewrite puts checks into a Starlark program, and finds the calls in it that can be
// put off.
//
// Law: a rewritten program means what it meant. Whatever can take much memory or time in one
// step goes through a check, which knows the size before it happens; every call keeps its
// place in the source.
package rewrite

import (
	"go.starlark.net/syntax"
)

// The checks that are put into a program, as functions. No program can spell these names.
const (
	Call   = "$call"   // (function, arguments…)
	Binary = "$binary" // (operator, x, y)
	Grow   = "$grow"   // (what is added)
	Key    = "$key"    // (a key or an index)
	Copy   = "$copy"   // (what is sliced)
	Spread = "$spread" // (what is spread over arguments)
	Dict   = "$dict"   // (a new dict)
	Settle = "$settle" // (a list, or a dict: the answers of calls that were put off go into it)
)

// File puts the checks into a program. Calls that can be put off keep their place in
// the source, by which they are known when they are reached.
func File(file *syntax.File, put PutOffs) {
	r := rewriter{put}
	file.Stmts = r.statements(file.Stmts)
}

type rewriter struct{ put PutOffs }

func (r rewriter) statements(list []syntax.Stmt) []syntax.Stmt {
	var out []syntax.Stmt
	for _, s := range list {
		r.statement(s)
		out = append(out, s)
		for _, name := range r.put.after[s] {
			call := check(Settle, syntax.End(s), &syntax.Ident{Name: name, NamePos: syntax.End(s)})
			out = append(out, &syntax.ExprStmt{X: call})
		}
	}
	return out
}

func (r rewriter) statement(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.AssignStmt:
		r.assign(s)
	case *syntax.DefStmt:
		r.parameters(s.Params)
		s.Body = r.statements(s.Body)
	case *syntax.ExprStmt:
		s.X = r.expr(s.X)
	case *syntax.ForStmt:
		s.Vars = r.target(s.Vars)
		s.X = r.expr(s.X)
		s.Body = r.statements(s.Body)
	case *syntax.WhileStmt:
		s.Cond = r.expr(s.Cond)
		s.Body = r.statements(s.Body)
	case *syntax.IfStmt:
		s.Cond = r.expr(s.Cond)
		s.True = r.statements(s.True)
		s.False = r.statements(s.False)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result = r.expr(s.Result)
		}
	}
}

// assign rewrites an assignment. x += y and x |= y change x in its place, so only what is
// added is checked; any other x op= y with a plain name is x = x op y.
func (r rewriter) assign(s *syntax.AssignStmt) {
	s.RHS = r.expr(s.RHS)
	if s.Op == syntax.EQ {
		s.LHS = r.target(s.LHS)
		return
	}
	binary := s.Op - syntax.PLUS_EQ + syntax.PLUS
	id, plain := s.LHS.(*syntax.Ident)
	switch {
	case binary == syntax.PLUS || binary == syntax.PIPE || binary == syntax.MINUS:
		s.LHS = r.target(s.LHS)
		s.RHS = check(Grow, s.OpPos, s.RHS)
	case plain:
		s.Op = syntax.EQ
		x := &syntax.Ident{Name: id.Name, NamePos: id.NamePos}
		s.RHS = check(Binary, s.OpPos, text(binary.String(), s.OpPos), x, s.RHS)
	default: // what multiplies was refused: see FindAugmented
		s.LHS = r.target(s.LHS)
	}
}

// multiplies reports whether an operator can make much of little.
func multiplies(t syntax.Token) bool {
	return t == syntax.STAR_EQ || t == syntax.PERCENT_EQ || t == syntax.LTLT_EQ
}

// FindAugmented finds an x[i] *= y or the like, whose x[i] cannot be checked before.
func FindAugmented(file *syntax.File) (at syntax.Position, found bool) {
	syntax.Walk(file, func(n syntax.Node) bool {
		if s, ok := n.(*syntax.AssignStmt); ok && multiplies(s.Op) && !found {
			_, plain := s.LHS.(*syntax.Ident)
			at, found = s.OpPos, !plain
		}
		return true
	})
	return at, found
}

// target rewrites what is assigned to.
func (r rewriter) target(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.IndexExpr:
		e.X, e.Y = r.expr(e.X), check(Key, e.Lbrack, r.expr(e.Y))
	case *syntax.DotExpr:
		e.X = r.expr(e.X)
	case *syntax.ParenExpr:
		e.X = r.target(e.X)
	case *syntax.TupleExpr:
		for i := range e.List {
			e.List[i] = r.target(e.List[i])
		}
	case *syntax.ListExpr:
		for i := range e.List {
			e.List[i] = r.target(e.List[i])
		}
	}
	return e
}

// parameters rewrites the defaults of a function's parameters.
func (r rewriter) parameters(list []syntax.Expr) {
	for _, p := range list {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			b.Y = r.expr(b.Y)
		}
	}
}

func (r rewriter) expr(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.BinaryExpr:
		e.X, e.Y = r.expr(e.X), r.expr(e.Y)
		if e.Op != syntax.AND && e.Op != syntax.OR {
			return check(Binary, e.OpPos, text(e.Op.String(), e.OpPos), e.X, e.Y)
		}
	case *syntax.CallExpr:
		return r.call(e)
	case *syntax.Comprehension:
		return r.comprehension(e)
	case *syntax.CondExpr:
		e.Cond, e.True, e.False = r.expr(e.Cond), r.expr(e.True), r.expr(e.False)
	case *syntax.DictExpr:
		for i := range e.List {
			r.entry(e.List[i])
		}
		return check(Dict, e.Lbrace, e)
	case *syntax.DotExpr:
		e.X = r.expr(e.X)
	case *syntax.IndexExpr:
		e.X, e.Y = r.expr(e.X), check(Key, e.Lbrack, r.expr(e.Y))
	case *syntax.LambdaExpr:
		r.parameters(e.Params)
		e.Body = r.expr(e.Body)
	case *syntax.ListExpr:
		r.all(e.List)
	case *syntax.TupleExpr:
		r.all(e.List)
	case *syntax.ParenExpr:
		e.X = r.expr(e.X)
	case *syntax.SliceExpr:
		e.X = check(Copy, e.Lbrack, r.expr(e.X))
		for _, part := range []*syntax.Expr{&e.Lo, &e.Hi, &e.Step} {
			if *part != nil {
				*part = r.expr(*part)
			}
		}
	case *syntax.UnaryExpr:
		if e.X != nil {
			e.X = r.expr(e.X)
		}
	}
	return e
}

func (r rewriter) all(list []syntax.Expr) {
	for i := range list {
		list[i] = r.expr(list[i])
	}
}

func (r rewriter) entry(e syntax.Expr) {
	if entry, ok := e.(*syntax.DictEntry); ok {
		entry.Key, entry.Value = check(Key, entry.Colon, r.expr(entry.Key)), r.expr(entry.Value)
	}
}

// call has a call go through its check, with the function as the first argument.
func (r rewriter) call(e *syntax.CallExpr) syntax.Expr {
	args := []syntax.Expr{r.expr(e.Fn)}
	for _, arg := range e.Args {
		switch a := arg.(type) {
		case *syntax.BinaryExpr:
			if a.Op == syntax.EQ { // name=value
				a.Y = r.expr(a.Y)
				args = append(args, a)
				continue
			}
		case *syntax.UnaryExpr:
			if a.Op == syntax.STAR || a.Op == syntax.STARSTAR {
				a.X = check(Spread, a.OpPos, r.expr(a.X))
				args = append(args, a)
				continue
			}
		}
		args = append(args, r.expr(arg))
	}
	fn := &syntax.Ident{Name: Call, NamePos: e.Lparen}
	return &syntax.CallExpr{Fn: fn, Lparen: e.Lparen, Args: args, Rparen: e.Rparen}
}

func (r rewriter) comprehension(e *syntax.Comprehension) syntax.Expr {
	if entry, ok := e.Body.(*syntax.DictEntry); ok {
		r.entry(entry)
	} else {
		e.Body = r.expr(e.Body)
	}
	for _, c := range e.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			c.Vars, c.X = r.target(c.Vars), r.expr(c.X)
		case *syntax.IfClause:
			c.Cond = r.expr(c.Cond)
		}
	}
	switch {
	case r.put.collects[e]:
		return check(Settle, e.Lbrack, e)
	case e.Curly:
		return check(Dict, e.Lbrack, e)
	}
	return e
}

// check is a call of one of the checks.
func check(name string, at syntax.Position, args ...syntax.Expr) *syntax.CallExpr {
	return &syntax.CallExpr{Fn: &syntax.Ident{Name: name, NamePos: at}, Lparen: at, Args: args, Rparen: at}
}

func text(s string, at syntax.Position) *syntax.Literal {
	return &syntax.Literal{Token: syntax.STRING, TokenPos: at, Raw: `""`, Value: s}
}
