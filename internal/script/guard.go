package script

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"callgate/internal/script/rewrite"
)

// checks are the functions that rewrite puts into programs.
func (m *machine) checks() starlark.StringDict {
	one := func(name string, f func(starlark.Value) (starlark.Value, error)) *starlark.Builtin {
		return starlark.NewBuiltin(name, func(
			_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple,
		) (starlark.Value, error) {
			return f(args[0])
		})
	}
	return starlark.StringDict{
		rewrite.Call:   starlark.NewBuiltin(rewrite.Call, m.checkCall),
		rewrite.Binary: starlark.NewBuiltin(rewrite.Binary, m.checkBinary),
		rewrite.Grow:   one(rewrite.Grow, m.checkGrow),
		rewrite.Key:    one(rewrite.Key, m.checkKey),
		rewrite.Copy:   one(rewrite.Copy, m.checkGrow),
		rewrite.Spread: one(rewrite.Spread, m.checkSpread),
		rewrite.Dict: one(rewrite.Dict, func(v starlark.Value) (starlark.Value, error) {
			return v, m.charge(size(v))
		}),
		rewrite.Settle: one(rewrite.Settle, m.settle),
	}
}

// charge counts memory that a program takes.
func (m *machine) charge(bytes int) error {
	if bytes < 0 || bytes > m.limits.Memory-m.memory {
		return &limitError{
			fmt.Sprintf("the program's values need more than %d MiB", m.limits.Memory>>20),
			"keep less: count, filter or cut texts as they come",
		}
	}
	m.memory += bytes
	return nil
}

// chargeProduct charges a times b.
func (m *machine) chargeProduct(a, b int) error {
	if a > 0 && b > m.limits.Memory/a {
		return m.charge(-1)
	}
	return m.charge(a * b)
}

var errTooLarge = &limitError{
	fmt.Sprintf("a value with more than %d parts, or nested more than %d deep, is too large for this", maxNodes, maxDepth),
	"work on parts of it",
}

// bounded returns what is in values that something looks through.
func bounded(values ...starlark.Value) (weight, error) {
	w := weigh(values...)
	if w.tooMuch() {
		return w, errTooLarge
	}
	return w, nil
}

func (m *machine) checkKey(v starlark.Value) (starlark.Value, error) {
	w, err := bounded(v)
	if w.replies && err == nil {
		v = plainAll(v)
	}
	return v, err
}

// checkGrow charges what a value adds to another, or what a copy of it takes.
func (m *machine) checkGrow(v starlark.Value) (starlark.Value, error) {
	v = plain(v)
	n := size(v)
	if count := starlark.Len(v); v.Type() == "range" {
		return v, m.chargeProduct(count, 16)
	} else if count < 0 {
		if _, ok := v.(starlark.Iterable); ok {
			w, err := bounded(v)
			if err != nil {
				return nil, err
			}
			n = 16 * w.nodes
		}
	}
	return v, m.charge(n)
}

// maxSpread bounds the arguments that *list and **dict give to one call.
const maxSpread = 1000

func (m *machine) checkSpread(v starlark.Value) (starlark.Value, error) {
	if n := max(starlark.Len(v), 0); n > maxSpread {
		return nil, &limitError{
			fmt.Sprintf("a call with more than %d arguments", maxSpread), "give the list itself, without the star",
		}
	}
	return m.checkGrow(v)
}

// checkCall makes a call of the program: of a tool, of a function of the program, or of a
// built-in function, which is bounded first.
func (m *machine) checkCall(
	thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	fn, args := args[0], args[1:]
	switch fn := fn.(type) {
	case *toolFunction:
		at := rewrite.At(thread.CallFrame(1).Pos)
		return m.callTool(thread, fn, args, kwargs, m.program.putOffs.Calls[at])
	case *starlark.Builtin:
		plainArgs(fn.Name(), args, kwargs)
		if list, ok := fn.Receiver().(*starlark.List); ok && fn.Name() == "index" && !weigh(list).tooMuch() {
			fn = fn.BindReceiver(plainAll(list))
		}
		if err := m.checkBuiltin(fn, args, kwargs); err != nil {
			return nil, err
		}
		v, err := starlark.Call(thread, fn, args, kwargs)
		if err == nil && fn.Name() != "append" {
			err = m.charge(size(v))
		}
		return v, err
	}
	return starlark.Call(thread, fn, args, kwargs)
}

// plainArgs puts texts in the place of replies among the arguments of a built-in function.
// Those that only hold a value, or are about its type or its fields, get it as it is.
func plainArgs(name string, args starlark.Tuple, kwargs []starlark.Tuple) {
	switch name {
	case "append", "insert", "attempt", "parallel", "getattr", "hasattr", "dir":
		return
	}
	deep := func(v starlark.Value) starlark.Value {
		if name == "join" || name == "index" || name == "remove" || name == "sorted" || name == "min" || name == "max" {
			if w := weigh(v); w.replies && !w.tooMuch() {
				return plainAll(v)
			}
		}
		return plain(v)
	}
	for i := range args {
		args[i] = deep(args[i])
	}
	for _, kw := range kwargs {
		kw[1] = deep(kw[1])
	}
}

// looksAtNothing are built-in functions that do not look through their arguments.
var looksAtNothing = map[string]bool{
	"len": true, "type": true, "append": true, "bool": true, "attempt": true, "parallel": true, "call": true,
	"range": true, "getattr": true, "hasattr": true, "insert": true, "pop": true,
}

// checkBuiltin bounds what a built-in function is about to take.
func (m *machine) checkBuiltin(fn *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) error {
	name := fn.Name()
	if looksAtNothing[name] {
		return nil
	}
	all := append([]starlark.Value{}, args...)
	for _, kw := range kwargs {
		all = append(all, kw[1])
	}
	switch fn.Receiver().(type) {
	case *starlark.List, *starlark.Dict, *starlark.Set:
		all = append(all, fn.Receiver()) // its elements are compared, or copied
	}
	w, err := bounded(all...)
	if err != nil {
		return err
	}
	if s, ok := fn.Receiver().(starlark.String); ok {
		return m.checkMethod(name, string(s), args, w)
	}
	switch name {
	case "list", "tuple", "sorted", "reversed", "extend", "items", "keys", "values":
		err = m.charge(96 * w.nodes)
	case "dict", "set", "enumerate", "zip", "update", "union", "intersection", "difference", "symmetric_difference":
		err = m.charge(160 * w.nodes)
	case "int", "float":
		if w.bytes > 20_000 {
			err = &limitError{"a number of more than 20,000 digits", "use shorter ones"}
		}
	default:
		err = m.charge(2 * w.bytes)
	}
	if err != nil {
		return err
	}
	return checkSortKey(kwargs)
}

// checkSortKey refuses a built-in method in the place of a function that a built-in
// function calls: it would not be bounded.
func checkSortKey(kwargs []starlark.Tuple) error {
	for _, kw := range kwargs {
		if b, ok := kw[1].(*starlark.Builtin); ok && (b.Receiver() != nil || b.Name() == "range" || b.Name() == "attempt") {
			return fmt.Errorf("%s: give a lambda in the place of this function", string(kw[0].(starlark.String)))
		}
	}
	return nil
}

// checkMethod bounds a method of a string.
func (m *machine) checkMethod(name, s string, args starlark.Tuple, w weight) error {
	text := func(i int) string {
		if i < len(args) {
			t, _ := starlark.AsString(args[i])
			return t
		}
		return ""
	}
	switch name {
	case "join":
		if err := m.charge(w.bytes); err != nil {
			return err
		}
		return m.chargeProduct(len(s), w.nodes)
	case "replace":
		return m.chargeProduct(strings.Count(s, text(0)), len(text(1)))
	case "format":
		return m.chargeProduct(strings.Count(s, "{"), w.bytes)
	case "split", "rsplit":
		parts := strings.Count(s, text(0))
		if text(0) == "" {
			parts = len(s) / 2
		}
		return m.chargeProduct(parts+1, 32)
	case "splitlines":
		return m.chargeProduct(strings.Count(s, "\n")+1, 32)
	}
	return nil
}

// operators are the operators of expressions, by how they are written.
var operators = func() map[string]syntax.Token {
	all := map[string]syntax.Token{}
	for t := syntax.PLUS; t <= syntax.STARSTAR; t++ {
		all[t.String()] = t
	}
	for _, t := range []syntax.Token{syntax.IN, syntax.NOT_IN} {
		all[t.String()] = t
	}
	return all
}()

// checkBinary works an operator out, after it is known how much that takes.
func (m *machine) checkBinary(
	_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple,
) (starlark.Value, error) {
	word, _ := starlark.AsString(args[0])
	t, x, y := operators[word], plain(args[1]), plain(args[2])
	switch t {
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.GT, syntax.LE, syntax.GE:
		w, err := bounded(x, y)
		if err != nil {
			return nil, err
		}
		if w.replies {
			x, y = plainAll(x), plainAll(y)
		}
		ok, err := starlark.Compare(t, x, y)
		return starlark.Bool(ok), err
	case syntax.IN, syntax.NOT_IN:
		all := []starlark.Value{x}
		if _, isDict := y.(starlark.Mapping); !isDict && y.Type() != "range" {
			all = append(all, y)
		}
		w, err := bounded(all...)
		if err != nil {
			return nil, err
		}
		if w.replies {
			x, y = plainAll(x), plainAll(y)
		}
	case syntax.STAR:
		if err := m.checkRepeat(x, y); err != nil {
			return nil, err
		}
	case syntax.PERCENT:
		if s, ok := x.(starlark.String); ok {
			w, err := bounded(y)
			if err == nil {
				err = m.chargeProduct(strings.Count(string(s), "%"), w.bytes)
			}
			if err != nil {
				return nil, err
			}
		}
	case syntax.LTLT:
		if bits(x) > maxBits {
			return nil, errBits
		}
	default:
		if err := m.charge(size(x) + size(y)); err != nil {
			return nil, err
		}
	}
	return starlark.Binary(t, x, y)
}

var errBits = &limitError{fmt.Sprintf("a number of more than %d bits", maxBits), "use smaller ones"}

func bits(v starlark.Value) int {
	if i, ok := v.(starlark.Int); ok {
		return i.BigInt().BitLen()
	}
	return 0
}

// checkRepeat bounds a product: of numbers, or of a sequence and a number.
func (m *machine) checkRepeat(x, y starlark.Value) error {
	n, ok := y.(starlark.Int)
	if !ok {
		x, y = y, x
		n, ok = y.(starlark.Int)
	}
	if !ok {
		return nil // it has no meaning, or is of floats
	}
	if _, both := x.(starlark.Int); both {
		if bits(x)+bits(y) > maxBits {
			return errBits
		}
		return nil
	}
	if _, isFloat := x.(starlark.Float); isFloat {
		return nil
	}
	times, small := n.Int64()
	if !small || times > int64(m.limits.Memory) {
		return m.charge(-1)
	}
	return m.chargeProduct(size(x), max(0, int(times)))
}

// settle makes the calls that were put off, and puts their answers where they belong.
func (m *machine) settle(v starlark.Value) (starlark.Value, error) {
	if err := m.flush(); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *starlark.List:
		for i := range v.Len() {
			if d, ok := v.Index(i).(*deferred); ok {
				if err := v.SetIndex(i, d.value); err != nil {
					return nil, err
				}
			}
		}
	case *starlark.Dict:
		for _, entry := range v.Items() {
			if d, ok := entry[1].(*deferred); ok {
				if err := v.SetKey(entry[0], d.value); err != nil {
					return nil, err
				}
			}
		}
		return v, m.charge(size(v))
	}
	return v, nil
}
