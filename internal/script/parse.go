package script

import (
	"errors"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"callgate/internal/script/rewrite"
	"callgate/tool"
)

const (
	op       = "run_script"
	fileName = "script"
	// resultName is the global variable whose value is the program's result.
	resultName = "result"
)

// program is a parsed program, ready to run.
type program struct {
	source  []string
	code    *starlark.Program
	putOffs rewrite.PutOffs
}

// parse reads a program, checks what can be known of its calls before it runs, and puts
// the checks of memory and time into it.
func parse(text string, o *Options, fns *functions) (*program, error) {
	if len(text) > o.Limits.Program {
		const why = "the program has %d bytes; at most %d can be run"
		return nil, tool.Errorf(op, tool.Invalid, why, len(text), o.Limits.Program).WithHint("do less in one script")
	}
	p := &program{source: strings.Split(text, "\n")}
	options := &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}
	file, err := options.Parse(fileName, text, 0)
	if err != nil {
		return nil, p.syntaxError(err)
	}
	if err := p.checkDepth(file); err != nil {
		return nil, err
	}
	if at, found := rewrite.FindAugmented(file); found {
		return nil, p.errorAt(tool.Invalid, at, "this operator works on a plain name only").WithHint("write x[i] = x[i] * y")
	}
	nameResult(file)
	if err := fns.check(file, p); err != nil {
		return nil, err
	}
	p.putOffs = rewrite.FindPutOffs(file, resultName)
	rewrite.File(file, p.putOffs)
	p.code, err = starlark.FileProgram(file, fns.predeclared)
	if err != nil {
		return nil, p.syntaxError(err)
	}
	return p, nil
}

// maxNesting bounds how deeply expressions and statements are nested: what walks them
// calls itself.
const maxNesting = 100

func (p *program) checkDepth(file *syntax.File) error {
	depth := 0
	var at syntax.Position
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		if depth++; depth > maxNesting && !at.IsValid() {
			at = syntax.Start(n)
		}
		return true
	})
	if at.IsValid() {
		return p.errorAt(tool.Invalid, at, "this is nested more than %d deep", maxNesting)
	}
	return nil
}

// nameResult makes the last expression of a program, or a return in its place, the
// result, unless the program names one itself.
func nameResult(file *syntax.File) {
	named := false
	for _, s := range file.Stmts {
		if a, ok := s.(*syntax.AssignStmt); ok {
			syntax.Walk(a.LHS, func(n syntax.Node) bool {
				id, ok := n.(*syntax.Ident)
				named = named || ok && id.Name == resultName
				return true
			})
		}
	}
	if len(file.Stmts) == 0 {
		return
	}
	last := len(file.Stmts) - 1
	var value syntax.Expr
	switch s := file.Stmts[last].(type) {
	case *syntax.ExprStmt:
		if !named {
			value = s.X
		}
	case *syntax.ReturnStmt:
		value = s.Result
	}
	if value != nil {
		at := syntax.Start(value)
		name := &syntax.Ident{Name: resultName, NamePos: at}
		file.Stmts[last] = &syntax.AssignStmt{OpPos: at, Op: syntax.EQ, LHS: name, RHS: value}
	}
}

// habits are what models write that Starlark does not have, and what to write in their place.
var habits = []struct{ found, hint string }{
	{`f"`, `Starlark has no f-strings: write "{} and {}".format(a, b) or "%s" % a`},
	{`f'`, `Starlark has no f-strings: write "{} and {}".format(a, b) or "%s" % a`},
	{"try:", "Starlark has no try: attempt(lambda: …) gives .ok, .value and .error"},
	{"except", "Starlark has no try: attempt(lambda: …) gives .ok, .value and .error"},
	{"import ", "there is nothing to import: the tools and json are there already"},
	{"load(", "there is nothing to load: the tools and json are there already"},
	{"class ", "Starlark has no classes: use dicts and functions"},
	{"with ", "Starlark has no with"},
	{"async ", "Starlark has no async: parallel([lambda: …, …]) makes calls side by side"},
	{"await ", "Starlark has no await: a call returns its result"},
	{"**", "Starlark has no **: multiply"},
	{"yield", "Starlark has no generators: make a list"},
	{"raise", "Starlark has no raise: fail(\"…\") ends the program"},
	{"is None", "write x == None"},
	{"is not None", "write x != None"},
	{"return", "return stands in a function; assign result = … at the top"},
	{"global ", "Starlark has no global: return what a function makes"},
	{"lambda", "a lambda is one expression"},
}

func (p *program) syntaxError(err error) error {
	var at syntax.Position
	message := err.Error()
	var parse syntax.Error
	var names resolve.ErrorList
	switch {
	case errors.As(err, &parse):
		at, message = parse.Pos, parse.Msg
	case errors.As(err, &names) && len(names) > 0:
		at, message = names[0].Pos, names[0].Msg
	}
	e := p.errorAt(tool.Invalid, at, "%s", message)
	line := p.line(int(at.Line))
	for _, h := range habits {
		if strings.Contains(line, h.found) {
			return e.WithHint("%s", h.hint)
		}
	}
	return e.WithHint("nothing was run; it is Starlark, which is like Python without import, class, try and f-strings")
}
