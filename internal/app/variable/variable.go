// Package variable fills in the variables of an app file: {{env.NAME}},
// {{workdir}}, {{app.id}}, {{app.name}}, {{sys.os}}, {{sys.arch}}, the app's own files
// ({{prompt.NAME}} and others) and those that the file defines itself.
// What a file holds is put in as it is: its own {{ }} are text.
// A reference to a secret stays as it is written, because its value is put in
// only where it is used.
package variable

import (
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"callgate/internal/app/node"
)

const (
	maxChain    = 10      // variables that lead to each other
	maxExpanded = 1 << 20 // bytes of one value
)

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	secretName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`)
)

// Set is the variables of one app file. Files beside it may be read at the same time.
type Set struct {
	Env     func(name string) (string, bool)
	Workdir string
	// AppID and AppName are the app's own, empty as long as they are not read.
	AppID, AppName *string
	// File reads a file of the app by its kind and its name: see Folders; nil: there are none.
	File func(r *node.Reader, e node.Entry, kind, name string) (string, bool)

	mu   sync.Mutex            // held while values are put in
	file *node.Reader          // where own is written
	own  map[string]node.Entry // defined by the file, as they are written
	used Used                  // values of the environment that were filled in, with their names
	log  []string              // names of the environment that were filled in, in order
}

// Define takes the variables of the file, before anything uses them.
func (s *Set) Define(r *node.Reader, e node.Entry) {
	s.file, s.own = r, make(map[string]node.Entry)
	for _, in := range r.Entries(e, "write one variable on each line, such as region: eu") {
		switch _, ok := in.Scalar(); {
		case !variableName.MatchString(in.Key):
			r.Fail(in.KeyAt, "use letters, digits and _", "a variable cannot be named %s", node.Quote(in.Key))
		case in.Key == "workdir" || isKind(in.Key):
			r.Fail(in.KeyAt, "choose another name", "%s is a variable of its own", in.Key)
		case !ok:
			r.TypeError(in, "text or a number", "write one value")
		default:
			s.own[in.Key] = in
		}
	}
}

// Unset reports whether a text is one variable of the environment that has no
// value.
func (s *Set) Unset(text string) bool {
	name, ok := strings.CutPrefix(strings.TrimSpace(text), "{{")
	name, shut := strings.CutSuffix(name, "}}")
	variable, env := strings.CutPrefix(strings.TrimSpace(name), "env.")
	if !ok || !shut || !env || !variableName.MatchString(variable) {
		return false
	}
	value, there := s.Env(variable)
	return !there || value == ""
}

// Expand puts values in the place of a text's variables. It reports whether
// all could be found.
func (s *Set) Expand(r *node.Reader, e node.Entry, text string) (string, bool) {
	if !strings.Contains(text, "{{") {
		return text, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.expand(place{r, e}, text, nil)
}

// place is the text whose variables are filled in.
type place struct {
	*node.Reader
	entry node.Entry
}

func (p place) fail(remedy, format string, args ...any) { p.Fail(p.entry.At, remedy, format, args...) }

// expand fills in a text that the variables of the chain led to.
func (s *Set) expand(at place, text string, chain []string) (string, bool) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), true
		case strings.HasPrefix(rest, "{{"): // {{{{ is {{ itself
			b.WriteString(literalBraces(at))
			text = rest[2:]
			continue
		}
		inside, after, closed := strings.Cut(rest, "}}")
		if !closed {
			b.WriteString("{{" + rest)
			return b.String(), true
		}
		if at.IsLater(inside) {
			b.WriteString("{{" + inside + "}}")
			text = after
			continue
		}
		value, ok := s.first(at, inside, chain)
		if !ok {
			return "", false
		}
		b.WriteString(value)
		if b.Len() > maxExpanded {
			at.fail("write less", "%s becomes too long once its variables are filled in", at.entry.Name())
			return "", false
		}
		text = after
	}
}

// literalBraces is {{ itself, where a text is a template as that writes it.
func literalBraces(at place) string {
	if at.IsTemplate() {
		return `{{ "{{" }}`
	}
	return "{{"
}

// first is the value of the first alternative that exists: a ?? b.
func (s *Set) first(at place, inside string, chain []string) (string, bool) {
	alternatives := strings.Split(inside, "??")
	for i, alternative := range alternatives {
		name := strings.TrimSpace(alternative)
		last := i == len(alternatives)-1
		if text, ok := quoted(name); ok {
			return text, true
		}
		value, state := s.lookUp(at, name, chain)
		switch {
		case state == found:
			return value, true
		case state == invalid:
			return "", false
		case last && i > 0 && !mustExist(name):
			return name, true // plain words after ?? are a text
		case last:
			s.reportMissing(at, name)
			return "", false
		}
	}
	return "", false
}

// quoted is the text between quotes.
func quoted(s string) (string, bool) {
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1], true
	}
	return "", false
}

// mustExist reports whether a name has the form of a variable, so that it is
// no plain text.
func mustExist(name string) bool {
	kind, _, dotted := strings.Cut(name, ".")
	return dotted && isKind(kind) || name == "workdir"
}

type state int

const (
	missing state = iota
	found
	invalid // and reported
)

func stateOf(ok bool) state {
	if ok {
		return found
	}
	return missing
}

// lookUp finds one variable.
func (s *Set) lookUp(at place, name string, chain []string) (string, state) {
	kind, rest, _ := strings.Cut(name, ".")
	switch {
	case name == "workdir":
		return s.Workdir, found
	case name == "app.id":
		return *s.AppID, stateOf(*s.AppID != "")
	case name == "app.name":
		return *s.AppName, stateOf(*s.AppName != "")
	case kind == "sys":
		value, ok := system[rest]
		return value, stateOf(ok)
	case isFile(kind) && rest != "" && s.File != nil:
		text, ok := s.File(at.Reader, at.entry, kind, rest)
		if !ok {
			return "", invalid // and reported
		}
		return text, found
	case kind == "env" && rest != "" && !at.EnvAllowed():
		at.fail("write the text itself; the environment may be used in the settings of modules, MCP servers and brains, "+
			"and in prompts", "%s may not hold a variable of the environment where it is shown to models and people",
			at.entry.Name())
		return "", invalid
	case kind == "env" && rest != "":
		value, ok := s.Env(rest)
		s.use(rest, value)
		return value, stateOf(ok)
	case kind == "secret" && rest != "":
		return secret(at, rest)
	}
	own := ownName(name)
	in, ok := s.own[own]
	if !ok {
		return "", missing
	}
	defined := place{s.file, in}
	if at.SecretsAllowed() { // what is allowed depends on where the variable is used
		defined.Reader = s.file.WithSecrets()
	}
	if !at.EnvAllowed() {
		defined = place{s.file.WithoutEnv(), in}
	}
	if i := slices.Index(chain, own); i >= 0 || len(chain) >= maxChain {
		defined.fail("break the circle: write one of them out", "the variables lead in a circle: %s",
			strings.Join(append(chain[max(i, 0):], own), " → "))
		return "", invalid
	}
	text, ok := in.Scalar()
	if !ok {
		return "", invalid // reported where it is defined
	}
	value, ok := s.expand(defined, text, append(chain, own))
	if !ok {
		return "", invalid
	}
	return value, found
}

// system is what is known of this machine, and tells nothing of its user.
var system = map[string]string{
	"os": runtime.GOOS, "arch": runtime.GOARCH, "platform": runtime.GOOS + "/" + runtime.GOARCH,
}

// ownName is the name of a variable of the file, which user. or var. may stand before.
func ownName(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, "var."), "user.")
}

// isKind reports whether a word stands before the dot of variables that the file does not
// define.
func isKind(word string) bool {
	return isFile(word) || slices.Contains([]string{"env", "secret", "app", "var", "user", "sys"}, word)
}

// isFile reports whether a kind of variable is a file of the app.
func isFile(kind string) bool { return Folders[kind] != "" }

// Folders are where the files of the app lie, by the kind of variable that names one.
var Folders = map[string]string{"prompt": "prompts", "skill": "skills", "behavior": "behaviors", "asset": "assets"}

// secret keeps a reference to a secret as it is written.
func secret(at place, name string) (string, state) {
	switch {
	case !secretName.MatchString(name):
		at.fail("name a secret with letters, digits, _, - and .",
			"%s names the secret %s", at.entry.Name(), node.Quote(name))
		return "", invalid
	case !at.SecretsAllowed():
		at.fail("secrets may stand in a module's config, in an MCP server's command, env, url and headers, "+
			"in url, headers and username of channels and triggers, and in search.endpoint.key", "%s may not hold a secret", at.entry.Name())
		return "", invalid
	}
	return "{{secret." + name + "}}", found
}

// reportMissing reports a variable that does not exist.
func (s *Set) reportMissing(at place, name string) {
	kind, rest, _ := strings.Cut(name, ".")
	switch {
	case kind == "env" && rest != "":
		at.fail("set it where the kernel is started, or give a value to fall back on: {{"+name+" ?? value}}",
			"%s wants %s from the environment, and it is not set", at.entry.Name(), node.Quote(rest))
	case name == "":
		at.fail("name a variable, such as {{env.HOME}}; {{{{ is a plain {{", "%s holds an empty {{}}", at.entry.Name())
	default:
		remedy := "the variables are env.NAME, secret.NAME, workdir, app.id, app.name, sys.os, sys.arch, " +
			"prompt.NAME, skill.NAME, behavior.NAME, asset.NAME and those of dev.variables"
		known := append(slices.Sorted(maps.Keys(s.own)), "workdir", "app.id", "app.name")
		if close := node.Closest(ownName(name), known); close != "" {
			remedy = "did you mean {{" + close + "}}? " + remedy
		}
		at.fail(remedy+"; {{{{ is a plain {{", "there is no variable %s", node.Quote(name))
	}
}
