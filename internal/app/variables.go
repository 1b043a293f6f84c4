package app

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Vars is what the variables of an app file stand for outside it. The zero
// value is this process's environment and the app file's own folder.
type Vars struct {
	Env     func(name string) (string, bool)
	Workdir string
}

func (v Vars) withDefaults(folder string) Vars {
	if v.Env == nil {
		v.Env = os.LookupEnv
	}
	if v.Workdir == "" {
		v.Workdir = folder
	}
	return v
}

const (
	maxChain    = 10      // variables that lead to each other
	maxExpanded = 1 << 20 // bytes of one value
)

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	secretName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`)
)

// variables are those that the file itself defines, as they are written.
type variables map[string]entry

// variablesBlock takes the variables in, before anything uses them.
func (d *decoder) variablesBlock(e entry) {
	d.variables = variables{}
	for _, in := range d.entries(e, "write one variable on each line, such as region: eu") {
		switch _, ok := scalarText(in.value); {
		case !variableName.MatchString(in.key):
			d.fail(in.keyAt, "use letters, digits and _", "a variable cannot be named %s", quote(in.key))
		case slices.Contains([]string{"workdir", "env", "secret", "app", "var"}, in.key):
			d.fail(in.keyAt, "choose another name", "%s is a variable of its own", in.key)
		case !ok:
			d.typeError(in, "text or a number", "write one value")
		default:
			d.variables[in.key] = in
		}
	}
}

// scalarText is a value as it stands in a text.
func scalarText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	default:
		return "", false
	}
}

// expand puts values in the place of a text's variables. It reports whether
// all could be found.
func (d *decoder) expand(e entry, text string) (string, bool) {
	return d.expanded(e, text, nil)
}

func (d *decoder) expanded(e entry, text string, chain []string) (string, bool) {
	if !strings.Contains(text, "{{") {
		return text, true
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), true
		case strings.HasPrefix(rest, "{{"): // {{{{ is {{ itself
			b.WriteString("{{")
			text = rest[2:]
			continue
		}
		inside, after, closed := strings.Cut(rest, "}}")
		if !closed {
			b.WriteString("{{" + rest)
			return b.String(), true
		}
		value, ok := d.first(e, inside, chain)
		if !ok {
			return "", false
		}
		b.WriteString(value)
		if b.Len() > maxExpanded {
			d.fail(e.at, "write less", "%s becomes too long once its variables are filled in", e.name())
			return "", false
		}
		text = after
	}
}

// first is the value of the first alternative that there is: a ?? b.
func (d *decoder) first(e entry, inside string, chain []string) (string, bool) {
	alternatives := strings.Split(inside, "??")
	for i, alternative := range alternatives {
		name := strings.TrimSpace(alternative)
		last := i == len(alternatives)-1
		if text, ok := quoted(name); ok {
			return text, true
		}
		value, state := d.lookUp(e, name, chain)
		switch {
		case state == varFound:
			return value, true
		case state == varInvalid:
			return "", false
		case last && i > 0 && !d.variableLike(name):
			return name, true // plain words after ?? are a text
		case last:
			d.missing(e, name)
			return "", false
		}
	}
	return "", false
}

type lookupState int

const (
	varMissing lookupState = iota
	varFound
	varInvalid // and reported
)

// variableLike reports whether a name has the form of a variable that must
// exist.
func (d *decoder) variableLike(name string) bool {
	kind, _, dotted := strings.Cut(name, ".")
	return dotted && slices.Contains([]string{"env", "secret", "var", "app"}, kind) || name == "workdir"
}

// lookUp finds one variable.
func (d *decoder) lookUp(e entry, name string, chain []string) (string, lookupState) {
	kind, rest, _ := strings.Cut(name, ".")
	switch {
	case name == "workdir":
		return d.vars.Workdir, varFound
	case name == "app.id":
		return d.app.ID, stateOf(d.app.ID != "")
	case name == "app.name":
		return d.app.Name, stateOf(d.app.Name != "")
	case kind == "env" && rest != "":
		value, ok := d.vars.Env(rest)
		return value, stateOf(ok)
	case kind == "secret" && rest != "":
		return d.secret(e, rest)
	}
	own := strings.TrimPrefix(name, "var.")
	in, ok := d.variables[own]
	if !ok {
		return "", varMissing
	}
	if at := slices.Index(chain, own); at >= 0 || len(chain) >= maxChain {
		d.fail(in.at, "break the circle: write one of them out", "the variables lead in a circle: %s", strings.Join(append(chain[max(at, 0):], own), " → "))
		return "", varInvalid
	}
	text, ok := scalarText(in.value)
	if !ok {
		return "", varInvalid // reported where it is defined
	}
	value, ok := d.expanded(in, text, append(chain, own))
	if !ok {
		return "", varInvalid
	}
	return value, varFound
}

func stateOf(ok bool) lookupState {
	if ok {
		return varFound
	}
	return varMissing
}

// secret keeps a reference to a secret as it stands: its value is put in at
// the very edge, when it is used.
func (d *decoder) secret(e entry, name string) (string, lookupState) {
	switch {
	case !secretName.MatchString(name):
		d.fail(e.at, "name a secret with letters, digits, _, - and .", "%s names the secret %s", e.name(), quote(name))
		return "", varInvalid
	case !d.secrets:
		d.fail(e.at, "secrets may stand in a module's config, in an MCP server's command, env, url and headers, and in search.endpoint.key", "%s may not hold a secret", e.name())
		return "", varInvalid
	}
	return "{{secret." + name + "}}", varFound
}

// missing reports a variable that there is none of.
func (d *decoder) missing(e entry, name string) {
	kind, rest, _ := strings.Cut(name, ".")
	switch {
	case kind == "env" && rest != "":
		d.fail(e.at, "set it where the kernel is started, or give a value to fall back on: {{"+name+" ?? value}}", "%s wants %s from the environment, and it is not set", e.name(), quote(rest))
	case name == "":
		d.fail(e.at, "name a variable, such as {{env.HOME}}; {{{{ is a plain {{", "%s holds an empty {{}}", e.name())
	default:
		out := "the variables are env.NAME, secret.NAME, workdir, app.id, app.name and those of dev.variables"
		if close := closestName(strings.TrimPrefix(name, "var."), append(slices.Sorted(maps.Keys(d.variables)), "workdir", "app.id", "app.name")); close != "" {
			out = "did you mean {{" + close + "}}? " + out
		}
		d.fail(e.at, out+"; {{{{ is a plain {{", "there is no variable %s", quote(name))
	}
}

// quoted is a text in quotes.
func quoted(s string) (string, bool) {
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1], true
	}
	return "", false
}
