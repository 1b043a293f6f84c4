package importer

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"callgate/internal/importer/configtree"
)

// writer writes a text as an app file has it, where {{ begins a variable: a
// literal {{ is doubled, and a brace right before a variable stands in quotes.
type writer struct {
	b        strings.Builder
	literal  strings.Builder
	reserved bool // a literal part would be taken for a secret of Callgate's
}

func (w *writer) text(s string) { w.literal.WriteString(s) }

func (w *writer) flush(before bool) {
	s := w.literal.String()
	w.literal.Reset()
	w.reserved = w.reserved || reserved.MatchString(s)
	doubled := strings.ReplaceAll(s, "{{", "{{{{")
	run := len(s) - len(strings.TrimRight(s, "{"))
	if before && run%2 == 1 {
		doubled = doubled[:len(doubled)-1] + "{{'{'}}"
	}
	w.b.WriteString(doubled)
}

// variable writes {{name}}.
func (w *writer) variable(name string) {
	w.flush(true)
	w.b.WriteString("{{" + name + "}}")
}

func (w *writer) String() string {
	w.flush(false)
	return w.b.String()
}

// escaped is a text that holds no variable.
func escaped(s string) string { return strings.ReplaceAll(s, "{{", "{{{{") }

// reserved is what would be taken for a secret of Callgate's, however it is
// written.
var reserved = regexp.MustCompile(`\{\{\s*secret\.`)

// translate puts a client's text into the words of an app file.
func (d *draft) translate(v *configtree.Value) string {
	w := &writer{}
	d.expand(w, v.Text, 0)
	return d.written(w, v.From)
}

// written is what a writer wrote, unless that could be misread.
func (d *draft) written(w *writer, at int) string {
	text := w.String()
	if w.reserved {
		d.fail(at, "a text of it holds {{secret, which here would be a secret of yours")
	}
	return text
}

var (
	dollarName  = regexp.MustCompile(`^\$([A-Za-z_][A-Za-z0-9_]*)`)
	bracesForm  = regexp.MustCompile(`^\{(env|file):([^{}]+)\}`)
	echo        = regexp.MustCompile(`^\s*echo\s+(.*?)\s*$`)
	namedForm   = regexp.MustCompile(`(?s)^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$`)
	prefixForm  = regexp.MustCompile(`^([A-Za-z]+):(.+)$`)
	plainWords  = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=~-]+$`)
	mustBeThere = regexp.MustCompile(`^(?:env|secret|var|app)\.|^workdir$`)
)

// expand writes a text with its variables translated.
func (d *draft) expand(w *writer, text string, depth int) {
	braces, parens := closings(text, "${", '}'), closings(text, "$(", ')')
	for at := 0; at < len(text); {
		next := strings.IndexAny(text[at:], "${")
		if next < 0 {
			w.text(text[at:])
			return
		}
		w.text(text[at : at+next])
		at += next
		end := 0
		switch {
		case braces[at] > 0 && d.braced(w, text[at+2:braces[at]-1]):
			end = braces[at]
		case parens[at] > 0 && d.client.syntax&commands != 0:
			end = parens[at]
			d.shell(w, text[at+2:end-1], depth)
		default:
			end = at + d.short(w, text[at:])
		}
		if end == at {
			end++
			w.text(text[at:end])
		}
		at = end
	}
}

// short translates $X or {env:X} at the beginning of a text, and returns how
// much of the text it is.
func (d *draft) short(w *writer, text string) int {
	switch syntax := d.client.syntax; {
	case text[0] == '$' && syntax&bareDollar != 0:
		if m := dollarName.FindStringSubmatch(text); m != nil {
			d.environment(w, m[1])
			return len(m[0])
		}
	case text[0] == '{' && syntax&bracesEnv != 0:
		if m := bracesForm.FindStringSubmatch(text); m != nil {
			if m[1] == "env" {
				d.environment(w, m[2])
			} else {
				d.userInput(w, m[2], "what the file %s holds", quote(m[2]))
			}
			return len(m[0])
		}
	}
	return 0
}

// closings finds, for each place where a variable opens, the place behind the
// bracket that closes it.
func closings(text, open string, shut byte) map[int]int {
	ends := map[int]int{}
	var opened []int
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], open):
			opened = append(opened, i)
			i++
		case text[i] == shut && len(opened) > 0:
			ends[opened[len(opened)-1]] = i + 1
			opened = opened[:len(opened)-1]
		}
	}
	return ends
}

// braced translates what stands in ${…}. It reports whether that is a variable
// at all.
func (d *draft) braced(w *writer, inside string) bool {
	home, slash := "HOME", "/"
	if d.env.GOOS == "windows" {
		home, slash = "USERPROFILE", `\`
	}
	switch name, _, _ := strings.Cut(inside, ":"); name {
	case "workspaceFolder", "workspaceRoot", "CLAUDE_PROJECT_DIR":
		w.variable("workdir")
		return true
	}
	switch inside {
	case "cwd":
		w.variable("workdir")
		return true
	case "userHome":
		w.variable("env." + home)
		return true
	case "pathSeparator", "/":
		w.text(slash)
		return true
	case "workspaceFolderBasename":
		if d.env.Workspace == "" {
			d.userInput(w, inside, "the name of the project's folder")
		} else {
			w.text(filepath.Base(d.env.Workspace))
		}
		return true
	}
	if m := prefixForm.FindStringSubmatch(inside); m != nil && !strings.HasPrefix(m[2], "-") {
		switch m[1] {
		case "env":
			d.environment(w, m[2])
		case "input":
			d.promptedInput(w, m[2])
		case "file":
			d.userInput(w, m[2], "what the file %s holds", quote(m[2]))
		default:
			d.userInput(w, m[2], "what %s stood for", quote("${"+inside+"}"))
		}
		return true
	}
	if namedForm.MatchString(inside) {
		d.environment(w, inside)
		return true
	}
	return false
}

// environment writes a variable of the environment, which may have a value to
// fall back on: NAME, or NAME:-value.
func (d *draft) environment(w *writer, text string) {
	name, fallback, has := text, "", false
	if m := namedForm.FindStringSubmatch(text); m != nil {
		name, fallback, has = m[1], m[2], m[1] != text
	}
	if strings.Contains(name, "??") || strings.Contains(name, "}}") {
		d.userInput(w, "variable", "the value of the variable %s", quote(name))
		return
	}
	if !has && d.opt.SecretVars && secretish(name) {
		ref := secretName(name)
		d.needs(ref, "it was taken from the variable "+name)
		w.variable("secret." + ref)
		return
	}
	if !has {
		if d.env.Getenv(name) == "" {
			d.note("the variable %s is not set here: set it where the kernel is started", name)
		}
		w.variable("env." + name)
		return
	}
	alternative, ok := alternative(fallback, 0)
	if !ok {
		d.note("the value to fall back on when %s is not set cannot be said in an app file, and is left out", name)
		w.variable("env." + name)
		return
	}
	w.variable("env." + name + " ?? " + alternative)
}

// alternative is a value to fall back on, as it stands behind ??.
func alternative(text string, depth int) (string, bool) {
	if depth > maxNesting {
		return "", false
	}
	if strings.HasPrefix(text, "${") && strings.HasSuffix(text, "}") {
		m := namedForm.FindStringSubmatch(text[2 : len(text)-1])
		switch {
		case m == nil:
			return "", false
		case m[2] == "":
			return "env." + m[1], true
		}
		next, ok := alternative(m[2], depth+1)
		return "env." + m[1] + " ?? " + next, ok
	}
	switch {
	case strings.Contains(text, "??") || strings.Contains(text, "}}") || strings.Contains(text, "$"):
		return "", false
	case plainWords.MatchString(text) && !mustBeThere.MatchString(text):
		return text, true
	}
	return "'" + text + "'", true
}

// shell translates $(command): echo is nothing but its words, and what any
// other command would have printed is for a person to give.
func (d *draft) shell(w *writer, command string, depth int) {
	m := echo.FindStringSubmatch(command)
	if m == nil || depth > maxNesting || strings.ContainsAny(m[1], "|;&`<>") {
		d.userInput(w, command, "what the command %s prints", quote(command))
		return
	}
	words := m[1]
	if n := len(words); n >= 2 && (words[0] == '"' || words[0] == '\'') && words[n-1] == words[0] {
		words = words[1 : n-1]
	}
	d.expand(w, words, depth+1)
}

// promptedInput writes what a client would have asked its user for.
func (d *draft) promptedInput(w *writer, id string) {
	what := "it asked for " + quote(id)
	if text := d.inputs[id]; text != "" {
		what = "it asked for: " + strings.TrimSpace(quote(text))
	}
	name := secretName(id)
	d.needs(name, what)
	w.variable("secret." + name)
}

// userInput writes a reference to what a person has to give, since nothing here
// could find it out.
func (d *draft) userInput(w *writer, name, format string, args ...any) {
	ref := d.ownSecret(name)
	d.needs(ref, fmt.Sprintf(format, args...))
	w.variable("secret." + ref)
}

// needs notes a secret that has to be set.
func (d *draft) needs(name, what string) {
	d.note("set the secret %s in the kernel's environment or its secrets file (%s)", name, what)
}
