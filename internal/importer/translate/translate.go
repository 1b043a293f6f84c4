// Package translate puts the texts of a client's config into the words of an app
// file: ${X} becomes {{env.X}}, and what nobody but a person can give becomes a
// reference to a secret.
package translate

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"callgate/internal/importer/hide"
	"callgate/tool"
)

// Syntax is the ways of writing a variable that a client knows, beside ${X}.
type Syntax int

// The ways.
const (
	BareDollar Syntax = 1 << iota // $X
	Commands                      // $(command)
	BracesEnv                     // {env:X} and {file:path}
)

const maxNesting = 8 // of variables

// Notes takes what a person should know of a server, or do for it.
type Notes interface {
	Note(format string, args ...any)
	// NeedSecret notes a secret that has to be set, and why.
	NeedSecret(name, why string)
	// OwnSecret is the name of a secret of this server alone.
	OwnSecret(name string) string
}

// Translator translates the texts of one server.
type Translator struct {
	Syntax     Syntax
	GOOS       string
	Workspace  string
	Getenv     func(string) string
	SecretVars bool              // variables that are named like secrets become {{secret.X}}
	Inputs     map[string]string // what the client asks its user for, by its id
	Notes      Notes
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

// Expand writes a client's text with its variables translated.
func (t *Translator) Expand(to *Text, text string) { t.expand(to, text, 0) }

func (t *Translator) expand(to *Text, text string, depth int) {
	braces, parens := closings(text, "${", '}'), closings(text, "$(", ')')
	for at := 0; at < len(text); {
		next := strings.IndexAny(text[at:], "${")
		if next < 0 {
			to.Literal(text[at:])
			return
		}
		to.Literal(text[at : at+next])
		at += next
		end := 0
		switch {
		case braces[at] > 0 && t.braced(to, text[at+2:braces[at]-1]):
			end = braces[at]
		case parens[at] > 0 && t.Syntax&Commands != 0:
			end = parens[at]
			t.shell(to, text[at+2:end-1], depth)
		default:
			end = at + t.short(to, text[at:])
		}
		if end == at {
			end++
			to.Literal(text[at:end])
		}
		at = end
	}
}

// short translates $X or {env:X} at the beginning of a text, and returns its
// length.
func (t *Translator) short(to *Text, text string) int {
	switch {
	case text[0] == '$' && t.Syntax&BareDollar != 0:
		if m := dollarName.FindStringSubmatch(text); m != nil {
			t.environment(to, m[1])
			return len(m[0])
		}
	case text[0] == '{' && t.Syntax&BracesEnv != 0:
		if m := bracesForm.FindStringSubmatch(text); m != nil {
			if m[1] == "env" {
				t.environment(to, m[2])
			} else {
				t.UserInput(to, m[2], "what the file %s holds", quote(m[2]))
			}
			return len(m[0])
		}
	}
	return 0
}

// closings finds, for each offset where a variable opens, the offset behind the
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

// braced translates the inside of ${…}. It reports whether that is a variable
// at all.
func (t *Translator) braced(to *Text, inside string) bool {
	if t.editorVariable(to, inside) {
		return true
	}
	if m := prefixForm.FindStringSubmatch(inside); m != nil && !strings.HasPrefix(m[2], "-") {
		switch m[1] {
		case "env":
			t.environment(to, m[2])
		case "input":
			t.promptedInput(to, m[2])
		case "file":
			t.UserInput(to, m[2], "what the file %s holds", quote(m[2]))
		default:
			t.UserInput(to, m[2], "what %s stood for", quote("${"+inside+"}"))
		}
		return true
	}
	if namedForm.MatchString(inside) {
		t.environment(to, inside)
		return true
	}
	return false
}

// editorVariable translates the variables that an editor has by itself.
func (t *Translator) editorVariable(to *Text, inside string) bool {
	home, slash := "HOME", "/"
	if t.GOOS == "windows" {
		home, slash = "USERPROFILE", `\`
	}
	switch name, _, _ := strings.Cut(inside, ":"); name {
	case "workspaceFolder", "workspaceRoot", "CLAUDE_PROJECT_DIR":
		to.Variable("workdir")
		return true
	}
	switch inside {
	case "cwd":
		to.Variable("workdir")
	case "userHome":
		to.Variable("env." + home)
	case "pathSeparator", "/":
		to.Literal(slash)
	case "workspaceFolderBasename":
		if t.Workspace == "" {
			t.UserInput(to, inside, "the name of the project's folder")
		} else {
			to.Literal(filepath.Base(t.Workspace))
		}
	default:
		return false
	}
	return true
}

// environment writes a variable of the environment, which may have a value to
// fall back on: NAME, or NAME:-value.
func (t *Translator) environment(to *Text, text string) {
	name, fallback, has := text, "", false
	if m := namedForm.FindStringSubmatch(text); m != nil {
		name, fallback, has = m[1], m[2], m[1] != text
	}
	if strings.Contains(name, "??") || strings.Contains(name, "}}") {
		t.UserInput(to, "variable", "the value of the variable %s", quote(name))
		return
	}
	if !has && t.SecretVars && hide.IsSecretName(name) {
		ref := hide.Name(name)
		t.Notes.NeedSecret(ref, "it was taken from the variable "+name)
		to.Variable("secret." + ref)
		return
	}
	if !has {
		if t.Getenv(name) == "" {
			t.Notes.Note("the variable %s is not set here: set it where the kernel is started", name)
		}
		to.Variable("env." + name)
		return
	}
	alternative, ok := alternative(fallback, 0)
	if !ok {
		t.Notes.Note("the value to fall back on when %s is not set cannot be said in an app file, and is left out", name)
		to.Variable("env." + name)
		return
	}
	to.Variable("env." + name + " ?? " + alternative)
}

// alternative is a value to fall back on, as it is written behind ??.
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

// shell translates $(command): echo stands for its words, and a person has to
// give what any other command would print.
func (t *Translator) shell(to *Text, command string, depth int) {
	m := echo.FindStringSubmatch(command)
	if m == nil || depth > maxNesting || strings.ContainsAny(m[1], "|;&`<>") {
		t.UserInput(to, command, "what the command %s prints", quote(command))
		return
	}
	words := m[1]
	if n := len(words); n >= 2 && (words[0] == '"' || words[0] == '\'') && words[n-1] == words[0] {
		words = words[1 : n-1]
	}
	t.expand(to, words, depth+1)
}

// promptedInput writes what a client would have asked its user for.
func (t *Translator) promptedInput(to *Text, id string) {
	what := "it asked for " + quote(id)
	if text := t.Inputs[id]; text != "" {
		what = "it asked for: " + strings.TrimSpace(quote(text))
	}
	name := hide.Name(id)
	t.Notes.NeedSecret(name, what)
	to.Variable("secret." + name)
}

// UserInput writes a reference to what a person has to give, since nothing here
// can find it out.
func (t *Translator) UserInput(to *Text, name, format string, args ...any) {
	ref := t.Notes.OwnSecret(name)
	t.Notes.NeedSecret(ref, fmt.Sprintf(format, args...))
	to.Variable("secret." + ref)
}

// quote shows a piece of a file in a sentence.
func quote(s string) string { return fmt.Sprintf("%q", tool.TruncateTo(s, 60)) }
