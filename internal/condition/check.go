package condition

import (
	"regexp"
	"strings"

	"callgate/internal/nearest"
	"callgate/tool"
)

// checker gives every node its type, and refuses what cannot be.
type checker struct {
	source string
	env    Env
}

func (c *checker) fault(n *node, what string) *tool.Error { return fault(c.source, n.pos, what) }

// check types a node. compared says that a bare name is a text here, because it is
// compared with something.
func (c *checker) check(n *node, compared bool) error {
	switch n.kind {
	case literal:
		n.typ = Type{Kind: kindOf(n.value)}
		return nil
	case name:
		return c.name(n, compared)
	case list:
		for _, a := range n.args {
			if err := c.check(a, true); err != nil {
				return err
			}
		}
		n.typ = Type{Kind: List}
		return nil
	case field, index, each:
		return c.step(n)
	case call:
		return c.call(n)
	case unary:
		want := Number
		if n.name == "not" {
			want = Bool
		}
		n.typ = Type{Kind: want}
		return c.operand(n.args[0], want, n.name)
	}
	return c.binary(n)
}

// operand checks a node that must be of a kind.
func (c *checker) operand(n *node, want Kind, op string) error {
	if err := c.check(n, false); err != nil {
		return err
	}
	if k := n.typ.Kind; k != want && k != Any {
		e := c.fault(n, n.text(c.source)+" is "+k.String()+", and "+op+" needs "+want.String())
		if want == Bool {
			return e.WithHint("compare it with something, as in %s != null", n.text(c.source))
		}
		return e
	}
	return nil
}

// name decides what a name is: a root, a text, or a field of the implied root.
func (c *checker) name(n *node, compared bool) error {
	if t, ok := c.env.Roots[n.name]; ok {
		n.typ = t
		return nil
	}
	if near := nearest.Name(n.name, c.env.names()); near != "" {
		hint := "did you mean " + near + "? A text is written in quotes"
		if c.env.Implied != "" {
			hint += ", and a field as " + c.env.Implied + "." + n.name
		}
		return c.unknown(n).WithHint("%s", hint)
	}
	if compared {
		n.kind, n.value, n.typ = literal, n.name, Type{Kind: Text}
		return nil
	}
	if c.env.Implied == "" {
		return c.unknown(n)
	}
	root := &node{kind: name, name: c.env.Implied, pos: n.pos, end: n.end, typ: c.env.Roots[c.env.Implied]}
	n.kind, n.args, n.safe = field, []*node{root}, c.env.Safe
	return c.stepInto(n, root.typ)
}

func (c *checker) unknown(n *node) *tool.Error {
	return c.fault(n, "there is no "+n.name+" here").
		WithHint("an expression may speak of %s", strings.Join(c.env.names(), ", "))
}

// step types a path.
func (c *checker) step(n *node) error {
	base := n.args[0]
	n.safe = c.env.Safe
	if err := c.check(base, false); err != nil {
		return err
	}
	if n.kind == index {
		if err := c.check(n.args[1], true); err != nil {
			return err
		}
	}
	if base.typ.spread {
		inner := *n
		if err := c.stepInto(&inner, elemOf(base.typ)); err != nil {
			return err
		}
		t := inner.typ
		if inner.typ.spread { // [*] in [*] is one list
			t = elemOf(inner.typ)
		}
		n.typ = Type{Kind: List, Elem: &t, spread: true}
		return nil
	}
	return c.stepInto(n, base.typ)
}

// elemOf is the type of a list's elements.
func elemOf(t Type) Type {
	if t.Elem == nil {
		return Type{}
	}
	return *t.Elem
}

// stepInto types one step from a value of a type.
func (c *checker) stepInto(n *node, from Type) error {
	base := n.args[0].text(c.source)
	switch {
	case n.kind == each && (from.Kind == List || from.Kind == Any):
		elem := elemOf(from)
		n.typ = Type{Kind: List, Elem: &elem, spread: true}
		return nil
	case n.kind == each:
		return c.fault(n, base+" is "+from.Kind.String()+", and [*] is for lists")
	case n.kind == index:
		return c.place(n, base, from)
	case from.Kind == Any, from.Kind == Null:
		return nil
	case from.Kind == List:
		return c.fault(n, base+" is a list, and has no field "+n.name).
			WithHint("write %s[0].%s for the first one, or %s[*].%s for all of them", base, n.name, base, n.name)
	case from.Kind != Map:
		return c.fault(n, base+" is "+from.Kind.String()+", and has no field "+n.name)
	}
	return c.member(n, base, n.name, from)
}

// member types a field of a Map.
func (c *checker) member(n *node, base, field string, from Type) error {
	t, ok := from.Fields[field]
	if !ok && from.Closed {
		fields := Env{Roots: from.Fields}.names()
		e := c.fault(n, base+" has no field "+field).WithHint("it has %s", strings.Join(fields, ", "))
		if near := nearest.Name(field, fields); near != "" {
			e = e.WithHint("did you mean %s?", near)
		}
		return e
	}
	n.typ = t
	return nil
}

// place types a[i].
func (c *checker) place(n *node, base string, from Type) error {
	at := n.args[1]
	want := Any
	switch from.Kind {
	case List:
		want = Number
	case Map:
		want = Text
	case Any, Null:
		if k := at.typ.Kind; k != Number && k != Text && k != Any {
			return c.fault(at, "a place is a number or the name of a field, and this is "+k.String())
		}
		return nil
	default:
		return c.fault(n, base+" is "+from.Kind.String()+", and has no places")
	}
	if k := at.typ.Kind; k != want && k != Any {
		return c.fault(at, base+" is "+from.Kind.String()+", and what is in its brackets is "+k.String())
	}
	if key, ok := at.value.(string); ok && want == Text {
		return c.member(n, base, key, from)
	}
	if want == Number {
		n.typ = elemOf(from)
	}
	return nil
}

// call types a function.
func (c *checker) call(n *node) error {
	takes, gives, ok := signature(n.name)
	if !ok {
		e := c.fault(n, "there is no function "+n.name).WithHint("there are %s", strings.Join(functions[:], ", "))
		if near := nearest.Name(n.name, functions[:]); near != "" {
			e = e.WithHint("did you mean %s?", near)
		}
		return e
	}
	if len(n.args) != 1 {
		return c.fault(n, n.name+" takes one value")
	}
	n.typ = Type{Kind: gives}
	if takes != Any {
		return c.operand(n.args[0], takes, n.name)
	}
	if err := c.check(n.args[0], false); err != nil {
		return err
	}
	if k := n.args[0].typ.Kind; k == Number || k == Bool || k == Null {
		return c.fault(n.args[0], n.name+" counts a text, a list or an object, and this is "+k.String())
	}
	return nil
}

// functions are the functions of the language.
var functions = [...]string{"abs", "len", "lower"}

// signature says what a function takes and gives.
func signature(name string) (takes, gives Kind, ok bool) {
	switch name {
	case "len":
		return Any, Number, true
	case "lower":
		return Text, Text, true
	case "abs":
		return Number, Number, true
	}
	return Any, Any, false
}

// binary types an operator between two values.
func (c *checker) binary(n *node) error {
	a, b := n.args[0], n.args[1]
	n.typ = Type{Kind: Bool}
	switch n.name {
	case "and", "or":
		if err := c.operand(a, Bool, n.name); err != nil {
			return err
		}
		return c.operand(b, Bool, n.name)
	case "+", "-", "*", "/", "%":
		n.typ = Type{Kind: Number}
		if err := c.operand(a, Number, n.name); err != nil {
			return err
		}
		return c.operand(b, Number, n.name)
	}
	if err := c.check(a, n.name == "in"); err != nil {
		return err
	}
	if err := c.check(b, n.name != "in"); err != nil {
		return err
	}
	return c.compare(n, a, b)
}

// compare refuses a comparison of values that can never be compared.
func (c *checker) compare(n, a, b *node) error {
	ka, kb := a.typ.Kind, b.typ.Kind
	cannot := func() error {
		return c.fault(n, a.text(c.source)+" is "+ka.String()+" and "+b.text(c.source)+" is "+kb.String()+
			": "+n.name+" cannot compare them")
	}
	switch n.name {
	case "==", "!=":
		if ka != kb && ka > Null && kb > Null {
			return cannot()
		}
	case "<", "<=", ">", ">=":
		ordered := func(k Kind) bool { return k == Any || k == Number || k == Text }
		if !ordered(ka) || !ordered(kb) || ka != kb && ka != Any && kb != Any {
			return cannot()
		}
	case "in":
		if !holds(kb, ka) {
			return cannot()
		}
	case "contains":
		if !holds(ka, kb) {
			return cannot()
		}
	default: // startswith, endswith, matches
		if ka != Any && ka != Text || kb != Any && kb != Text {
			return cannot()
		}
		if n.name == "matches" {
			return c.pattern(n, b)
		}
	}
	return nil
}

// holds reports whether a value of one kind can contain one of the other.
func holds(whole, part Kind) bool {
	switch whole {
	case Any, List:
		return true
	case Text, Map:
		return part == Text || part == Any
	}
	return false
}

// pattern compiles the regular expression of "matches", which must be written out.
func (c *checker) pattern(n, b *node) error {
	text, ok := b.value.(string)
	if !ok || b.kind != literal {
		return c.fault(b, "matches needs a regular expression in quotes")
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return c.fault(b, strings.TrimPrefix(err.Error(), "error parsing regexp: ")+" in the regular expression")
	}
	n.match = re.MatchString
	return nil
}
