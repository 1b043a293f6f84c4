package shellcmd

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Pattern is a pattern of one simple command: its words, in which * stands for
// any characters of a word, and as the last word * or ** for any further words, also
// none. Variables that the command may set, and files that it may write by a
// redirect, stand in it as they would in the command.
type Pattern struct {
	text    string
	assigns []string
	words   []wordPattern
	tail    bool // the last word is *
	writes  []string
}

// wordPattern is the texts between the wildcards of a word.
type wordPattern []string

const formHint = "the words of one command, such as git log * or go test ./..."

// CompilePattern reads a pattern. Its errors say what to write.
func CompilePattern(text string) (*Pattern, error) {
	if unreadable(text) != "" {
		return nil, errors.New(formHint + ", in characters that are printed")
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil || len(f.Stmts) != 1 {
		return nil, errors.New(formHint + "; the commands of a line are matched each by itself")
	}
	s := f.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || s.Coprocess || len(call.Args) == 0 {
		return nil, errors.New(formHint + "; the commands of a line are matched each by itself")
	}
	p := &Pattern{text: text}
	if err := p.read(call, s.Redirs); err != nil {
		return nil, err
	}
	if len(p.words) == 0 || len(p.words[0]) != 1 || p.words[0][0] == "" {
		return nil, errors.New("the name of the program first, without *; to mean every command, leave match out")
	}
	return p, nil
}

func (p *Pattern) read(call *syntax.CallExpr, redirects []*syntax.Redirect) error {
	probe := walker{line: &Line{}}
	for _, a := range call.Assigns {
		p.assigns = append(p.assigns, probe.assign(a))
	}
	for _, r := range probe.redirects(redirects) {
		if r.Writes {
			p.writes = append(p.writes, r.Word.Text)
		}
	}
	if probe.line.Doubt != "" {
		return errors.New(formHint + ", with variables and redirects as they are to be, without * or $")
	}
	for i, arg := range call.Args {
		w, err := readWord(arg)
		if err != nil {
			return err
		}
		if i == len(call.Args)-1 && len(w) >= 2 && strings.Join(w, "") == "" { // ** is what people write for paths
			p.tail = true
			continue
		}
		p.words = append(p.words, w)
	}
	return nil
}

// readWord reads a word of a pattern: only * outside quotes is special.
func readWord(word *syntax.Word) (wordPattern, error) {
	w := wordPattern{""}
	write := func(s string) { w[len(w)-1] += s }
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			for i := 0; i < len(part.Value); i++ {
				switch c := part.Value[i]; c {
				case '\\':
					if i++; i < len(part.Value) {
						write(part.Value[i : i+1])
					}
				case '*':
					w = append(w, "")
				default:
					write(string(part.Value[i : i+1]))
				}
			}
			continue
		case *syntax.SglQuoted:
			if !part.Dollar {
				write(part.Value)
				continue
			}
		case *syntax.DblQuoted:
			probe := walker{line: &Line{}}
			if v := probe.word(&syntax.Word{Parts: []syntax.WordPart{part}}); v.Static && probe.line.Doubt == "" {
				write(v.Text)
				continue
			}
		}
		return nil, errors.New(formHint + ", without $, ` or <(…): quote them with ' if you mean the characters")
	}
	return w, nil
}

// matches reports whether a text fits a word of a pattern.
func (w wordPattern) matches(s string) bool {
	if len(w) == 1 {
		return s == w[0]
	}
	if !strings.HasPrefix(s, w[0]) {
		return false
	}
	s = s[len(w[0]):]
	for _, part := range w[1 : len(w)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, w[len(w)-1])
}

// String returns the pattern as it was written.
func (p *Pattern) String() string { return p.text }

// Program returns the first word, which is always fixed.
func (p *Pattern) Program() string { return p.words[0][0] }

// Allows reports whether the pattern covers a command by itself.
func (p *Pattern) Allows(c *Command) bool {
	if !p.sets(c.Assigns) || len(c.Words) < len(p.words) || len(c.Words) > len(p.words) && !p.tail {
		return false
	}
	for _, r := range c.Redirects {
		if r.Writes && (!r.Word.Static || !slices.Contains(p.writes, r.Word.Text)) {
			return false
		}
	}
	fixed := len(p.words) // words from here on are what a wildcard stands for
	for i, w := range p.words {
		word := c.Words[i]
		if !word.Static || !w.matches(word.Text) {
			return false
		}
		if len(w) > 1 {
			fixed = min(fixed, i)
			if strings.HasPrefix(word.Text, "-") && !strings.HasPrefix(w[0], "-") {
				return false // a wildcard does not make an option of an operand
			}
		}
	}
	if fixed == len(p.words) && !p.tail {
		return true // it says these very words
	}
	return risk(c.Words, fixed) == ""
}

// sets reports whether a command sets just the variables that the pattern says, and
// harmless ones.
func (p *Pattern) sets(assigns []string) bool {
	rest := slices.DeleteFunc(slices.Clone(assigns), func(a string) bool {
		return !slices.Contains(p.assigns, a) && harmless(a)
	})
	return slices.Equal(rest, p.assigns)
}

// harmlessVariable are the variables, with a plain value, that only say how a program writes
// what it finds: no value of them names a file or a program.
var harmlessVariable = regexp.MustCompile(
	`^(?:(?:LANG|LC_[A-Z]+|NODE_ENV|CI|NO_COLOR|FORCE_COLOR)=[A-Za-z0-9_.:@,+-]*|TZ=[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+)*|TZ=)$`)

func harmless(assign string) bool { return harmlessVariable.MatchString(assign) }

// onlyHarmless reports whether the variables that the command sets are all harmless.
func (c *Command) onlyHarmless() bool {
	return !slices.ContainsFunc(c.Assigns, func(a string) bool { return !harmless(a) })
}

// answer is how a pattern stands to a command that a rule would forbid.
type answer int

const (
	no answer = iota
	unsure
	yes
)

// Touches reports whether any command of the line is one that the pattern means,
// and whether that is certain.
func (l *Line) Touches(p *Pattern) (found, sure bool) {
	a := p.touchesAny(l.Commands)
	return a == yes, a != unsure && (l.Doubt == "" || a == yes)
}

func (p *Pattern) touchesAny(list []*Command) answer {
	best := no
	for _, c := range list {
		best = max(best, p.touches(c), p.touchesAny(c.Inner))
		if c.Opaque != "" {
			best = max(best, unsure)
		}
	}
	return best
}

// touches compares without regard to how the program is named by its path, and
// looks for the fixed words behind options too.
func (p *Pattern) touches(c *Command) answer {
	if len(c.Words) == 0 {
		return no
	}
	if !c.Words[0].Static {
		return unsure
	}
	if !strings.EqualFold(path.Base(c.Words[0].Text), path.Base(p.Program())) { // some disks do not tell case apart
		return no
	}
	for _, a := range p.assigns {
		if !slices.Contains(c.Assigns, a) {
			return no
		}
	}
	at := 1
	certain := yes
	for _, w := range p.words[1:] {
		for ; ; at++ {
			if at == len(c.Words) {
				return no
			}
			word := c.Words[at]
			if !word.Static {
				return unsure
			}
			if w.matches(word.Text) {
				break
			}
			certain = unsure // an option stands before it, or another word
			if !optionsBefore(c.Words[1 : at+1]) {
				return no
			}
		}
		at++
	}
	if at < len(c.Words) && !p.tail {
		return min(certain, unsure)
	}
	return certain
}

// optionsBefore reports whether the words hold an option, whose value the others
// may be.
func optionsBefore(words []Word) bool {
	return slices.ContainsFunc(words, func(w Word) bool { return strings.HasPrefix(w.Text, "-") })
}

// Allowed reports whether every simple command of the line is allowed. A command
// that only wraps others is, if they are.
func (l *Line) Allowed(allows func(*Command) bool) bool {
	if l.Doubt != "" || len(l.Commands) == 0 {
		return false
	}
	return allowedAll(l.Commands, func(c *Command) bool {
		return (c.Stays() || !c.IsRelative()) && allows(c) // the same name is another program elsewhere
	})
}

func allowedAll(list []*Command, allows func(*Command) bool) bool {
	for _, c := range list {
		if !allows(c) && !(c.transparent() && allowedAll(c.Inner, allows)) {
			return false
		}
	}
	return true
}

// FirstRefused returns the words of the first command that is not allowed, as far
// as they are known.
func (l *Line) FirstRefused(allows func(*Command) bool) string {
	return firstRefused(l.Commands, allows)
}

func firstRefused(list []*Command, allows func(*Command) bool) string {
	for _, c := range list {
		switch {
		case allows(c):
		case c.transparent():
			if inner := firstRefused(c.Inner, allows); inner != "" {
				return inner
			}
		default:
			return c.String()
		}
	}
	return ""
}

// String returns the command for a human.
func (c *Command) String() string {
	words := slices.Clone(c.Assigns)
	for _, w := range c.Words {
		if !w.Static {
			w.Text += "…"
		}
		words = append(words, w.Text)
	}
	for _, r := range c.Redirects {
		if r.Writes {
			words = append(words, ">", r.Word.Text)
		}
	}
	return strings.Join(words, " ")
}

// transparent reports whether a command does nothing but run the ones within.
func (c *Command) transparent() bool {
	return c.Wrapper && c.Opaque == "" && len(c.Inner) > 0 && c.onlyHarmless() && !c.writes()
}

func (c *Command) changesFolder() bool {
	if slices.ContainsFunc(c.Inner, (*Command).changesFolder) {
		return true
	}
	return len(c.Words) > 0 && slices.Contains([]string{"cd", "pushd", "popd"}, c.Words[0].Text)
}

// IsRelative reports whether a command runs a program or a script by a path that
// begins in the folder that it runs in.
func (c *Command) IsRelative() bool {
	if slices.ContainsFunc(c.Inner, (*Command).IsRelative) {
		return true
	}
	if len(c.Words) == 0 {
		return false
	}
	name := c.Words[0].Text
	if strings.Contains(name, "/") {
		return !path.IsAbs(name)
	}
	return isInterpreter(name) && !strings.HasSuffix(name, "awk") && !strings.HasSuffix(name, "sed") &&
		len(c.Words) > 1 && !strings.HasPrefix(c.Words[1].Text, "-") && !path.IsAbs(c.Words[1].Text)
}
