package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"callgate/internal/nearest"
	"callgate/internal/script/rewrite"
	"callgate/internal/visible"
	"callgate/tool"
)

// Function is a tool as a program calls it: module.name(…), or name(…).
type Function struct {
	Name   string // dotted; without a dot, a function by itself
	Params []Param
	Open   bool // it takes other parameters too
	// Aliases are other names of parameters that the caller understands.
	Aliases []string
	// Refused says that the rules deny it: it is on no list, and the caller answers its calls.
	Refused bool
}

// Param is a parameter. Required ones may be given by their place.
type Param struct {
	Name     string
	Type     string // str, int, float, bool, list, dict, any, or several with | between
	Required bool
}

// What a signature shows of a function: parameters, and characters of a name. A stranger
// may have named them.
const (
	maxSigned = 100
	maxName   = 100
)

// Signature is the function in a line. What could not be seen in it is written out.
func (f *Function) Signature() string {
	var all []string
	for i, p := range f.Params {
		if i == maxSigned {
			all = append(all, "…")
			break
		}
		mark := "?: "
		if p.Required {
			mark = ": "
		}
		all = append(all, visible.Clip(p.Name, maxName)+mark+p.Type)
	}
	if f.Open {
		all = append(all, "…")
	}
	return f.Name + "(" + strings.Join(all, ", ") + ")"
}

// Identifier is a name as a program can write it.
func Identifier(name string) string {
	id := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, name)
	if id == "" || id[0] >= '0' && id[0] <= '9' {
		id = "_" + id
	}
	return id
}

// functions are the tools of a program.
type functions struct {
	modules map[string]*module
	single  map[string]*Function
	builtin map[string]bool
}

func newFunctions(o *Options) *functions {
	fs := &functions{modules: map[string]*module{}, single: map[string]*Function{}, builtin: map[string]bool{}}
	for _, name := range []string{
		"json", "parallel", "attempt", "call", rewrite.Call, rewrite.Binary, rewrite.Grow, rewrite.Key,
		rewrite.Copy, rewrite.Spread,
		rewrite.Dict, rewrite.Settle,
	} {
		fs.builtin[name] = true
	}
	for i := range o.Functions {
		f := &o.Functions[i]
		name, action, dotted := strings.Cut(f.Name, ".")
		name = Identifier(name)
		switch {
		case fs.builtin[name] || starlark.Universe.Has(name):
		case !dotted && fs.modules[name] == nil:
			fs.single[name] = f
		case dotted && fs.single[name] == nil:
			if fs.modules[name] == nil {
				fs.modules[name] = &module{name: name, members: map[string]*Function{}}
			}
			if action = Identifier(action); fs.modules[name].members[action] == nil {
				fs.modules[name].members[action] = f
			}
		}
	}
	return fs
}

func (fs *functions) predeclared(name string) bool {
	return fs.builtin[name] || fs.modules[name] != nil || fs.single[name] != nil
}

// check finds calls of tools in a program that cannot be made, before anything runs.
func (fs *functions) check(file *syntax.File, p *program) (failed error) {
	own := map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool { assigned(n, own); return true })
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || failed != nil {
			return failed == nil
		}
		f, at, err := fs.find(call.Fn, own)
		if err == nil && f != nil {
			at, err = call.Lparen, f.checkNames(call.Args)
		}
		if err != nil {
			failed = p.errorAt(tool.Invalid, at, "%s", err).WithHint("nothing was run")
		}
		return failed == nil
	})
	return failed
}

// assigned notes the names that a program gives meanings of its own.
func assigned(n syntax.Node, own map[string]bool) {
	note := func(e syntax.Expr) {
		syntax.Walk(e, func(n syntax.Node) bool {
			if id, ok := n.(*syntax.Ident); ok {
				own[id.Name] = true
			}
			return true
		})
	}
	switch n := n.(type) {
	case *syntax.AssignStmt:
		if id, ok := n.LHS.(*syntax.Ident); ok {
			own[id.Name] = true
		} else if _, ok := n.LHS.(*syntax.TupleExpr); ok {
			note(n.LHS)
		}
	case *syntax.ForStmt:
		note(n.Vars)
	case *syntax.ForClause:
		note(n.Vars)
	case *syntax.DefStmt:
		own[n.Name.Name] = true
		for _, p := range n.Params {
			note(p)
		}
	case *syntax.LambdaExpr:
		for _, p := range n.Params {
			note(p)
		}
	}
}

// find finds the function that an expression names; nil: it names none, or one that is
// not known before the program runs.
func (fs *functions) find(e syntax.Expr, own map[string]bool) (*Function, syntax.Position, error) {
	switch e := e.(type) {
	case *syntax.Ident:
		if !own[e.Name] {
			return fs.single[e.Name], e.NamePos, nil
		}
	case *syntax.DotExpr:
		id, ok := e.X.(*syntax.Ident)
		if !ok || own[id.Name] || fs.modules[id.Name] == nil {
			break
		}
		f, err := fs.modules[id.Name].member(e.Name.Name)
		return f, e.Dot, err
	}
	return nil, syntax.Position{}, nil
}

// member finds a function of a module.
func (m *module) member(name string) (*Function, error) {
	if f := m.members[name]; f != nil {
		return f, nil
	}
	names := m.AttrNames()
	text := fmt.Sprintf("%s has no function %s", m.name, name)
	if close := nearest.Name(name, names); close != "" {
		return nil, errors.New(text + "; did you mean " + m.members[close].Signature() + "?")
	}
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	return nil, errors.New(text + "; it has " + strings.Join(names, ", "))
}

// checkNames checks the names of arguments, as far as the text of a call tells them.
func (f *Function) checkNames(args []syntax.Expr) error {
	var names []string
	places := 0
	for _, a := range args {
		switch a := a.(type) {
		case *syntax.UnaryExpr:
			if a.Op == syntax.STAR || a.Op == syntax.STARSTAR {
				return nil
			}
		case *syntax.BinaryExpr:
			if id, ok := a.X.(*syntax.Ident); ok && a.Op == syntax.EQ {
				names = append(names, id.Name)
				continue
			}
		}
		places++
	}
	return f.checkGiven(places, names)
}

func (f *Function) checkGiven(places int, names []string) error {
	var required []string
	known, aliased := slices.Clone(f.Aliases), false
	for _, p := range f.Params {
		known = append(known, p.Name)
		if p.Required {
			required = append(required, p.Name)
		}
	}
	for _, name := range names {
		if !f.Open && !slices.Contains(known, name) {
			return f.misuse("there is no parameter " + name)
		}
		aliased = aliased || slices.Contains(f.Aliases, name)
		if i := slices.Index(required, name); i >= 0 && i < places {
			return f.misuse(name + " is given twice")
		}
	}
	if places > len(f.Params) || places > len(required) && len(required) > 0 && places > 1 {
		return f.misuse("give optional parameters by their names")
	}
	for i, name := range required {
		if i >= places && !aliased && !slices.Contains(names, name) {
			return f.misuse(name + " is missing")
		}
	}
	return nil
}

func (f *Function) misuse(text string) error { return errors.New(text + ": " + f.Signature()) }

// bind makes the arguments of a call.
func (f *Function) bind(args starlark.Tuple, kwargs []starlark.Tuple) (json.RawMessage, error) {
	given := starlark.NewDict(len(args) + len(kwargs))
	var names []string
	for _, kw := range kwargs {
		names = append(names, string(kw[0].(starlark.String)))
	}
	if len(args) == 1 && len(kwargs) == 0 {
		if d, ok := args[0].(*starlark.Dict); ok && !f.takesDict() { // all of them, as a dict
			args = nil
			for _, item := range d.Items() {
				name, ok := starlark.AsString(item[0])
				if !ok {
					return nil, f.misuse("the names of parameters are texts")
				}
				names, kwargs = append(names, name), append(kwargs, starlark.Tuple{starlark.String(name), item[1]})
			}
		}
	}
	if err := f.checkGiven(len(args), names); err != nil {
		return nil, err
	}
	for i, v := range args {
		kwargs = append(kwargs, starlark.Tuple{starlark.String(f.Params[i].Name), v})
	}
	for _, kw := range kwargs {
		name := string(kw[0].(starlark.String))
		i := slices.IndexFunc(f.Params, func(p Param) bool { return p.Name == name })
		if i >= 0 && kw[1] == starlark.None && !f.Params[i].Required {
			continue // as if it was not given
		}
		if i >= 0 && !f.Params[i].takes(kw[1]) {
			return nil, f.misuse(fmt.Sprintf("%s is a %s, not a %s", name, f.Params[i].Type, typeName(kw[1])))
		}
		if err := given.SetKey(kw[0], kw[1]); err != nil {
			return nil, err
		}
	}
	return toJSON(given)
}

// takesDict reports whether the first parameter may be a dict.
func (f *Function) takesDict() bool {
	return len(f.Params) > 0 && f.Params[0].takes(starlark.NewDict(0))
}

func typeName(v starlark.Value) string {
	switch v.(type) {
	case starlark.String:
		return "str"
	case *reply:
		return "str"
	case starlark.Tuple, *starlark.Set:
		return "list"
	}
	return v.Type()
}

// takes reports whether a value has the type of a parameter.
func (p *Param) takes(v starlark.Value) bool {
	got := typeName(v)
	for want := range strings.SplitSeq(p.Type, "|") {
		switch want = strings.TrimSpace(want); {
		case want == got, want == "any", want == "":
			return true
		case want == "float" && got == "int", got == "range" && want == "list":
			return true
		case !slices.Contains([]string{"str", "int", "float", "bool", "list", "dict"}, want):
			return true // the gate knows it
		}
	}
	return false
}

// module is the functions of one module.
type module struct {
	name    string
	members map[string]*Function
	bound   func(*Function) starlark.Value
}

var _ starlark.HasAttrs = (*module)(nil)

func (m *module) String() string        { return "<module " + m.name + ">" }
func (m *module) Type() string          { return "module" }
func (m *module) Freeze()               {}
func (m *module) Truth() starlark.Bool  { return true }
func (m *module) Hash() (uint32, error) { return 0, errors.New("unhashable: module") }

// Attr returns a function of the module.
func (m *module) Attr(name string) (starlark.Value, error) {
	f, err := m.member(name)
	if err != nil {
		return nil, starlark.NoSuchAttrError(err.Error())
	}
	return m.bound(f), nil
}

// AttrNames lists the functions by name.
func (m *module) AttrNames() []string {
	names := make([]string, 0, len(m.members))
	for name, f := range m.members {
		if !f.Refused {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// toolFunction is a tool as a value of the program.
type toolFunction struct {
	machine *machine
	*Function
}

var _ starlark.Callable = (*toolFunction)(nil)

// Name returns the tool's name.
func (t *toolFunction) Name() string          { return t.Function.Name }
func (t *toolFunction) String() string        { return "<tool " + t.Signature() + ">" }
func (t *toolFunction) Type() string          { return "tool" }
func (t *toolFunction) Freeze()               {}
func (t *toolFunction) Truth() starlark.Bool  { return true }
func (t *toolFunction) Hash() (uint32, error) { return starlark.String(t.Function.Name).Hash() }

// CallInternal makes a call whose answer is needed at once.
func (t *toolFunction) CallInternal(
	thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	return t.machine.callTool(thread, t, args, kwargs, false)
}
