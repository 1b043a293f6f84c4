package shellcmd

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Suggest returns lists of patterns that would allow a line, narrowest first: its
// commands as they are, and with any arguments after the program and subcommand.
func Suggest(l *Line) [][]string {
	if l.Doubt != "" {
		return nil
	}
	var out [][]string
	for _, form := range []func(*Command) string{(*Command).asIs, (*Command).withSubcommand} {
		list, ok := suggestEach(l.Commands, form)
		if ok && !slices.ContainsFunc(out, func(other []string) bool { return slices.Equal(other, list) }) {
			out = append(out, list)
		}
	}
	return out
}

func suggestEach(list []*Command, form func(*Command) string) (patterns []string, ok bool) {
	for _, c := range list {
		if c.transparent() {
			inner, ok := suggestEach(c.Inner, form)
			if !ok {
				return nil, false
			}
			patterns = append(patterns, inner...)
			continue
		}
		text := form(c)
		p, err := CompilePattern(text)
		if err != nil || !p.Allows(c) {
			return nil, false
		}
		if !slices.Contains(patterns, text) {
			patterns = append(patterns, text)
		}
	}
	return patterns, len(patterns) > 0
}

// asIs is the pattern of this very command.
func (c *Command) asIs() string {
	var words []string
	for _, a := range c.Assigns {
		name, value, _ := strings.Cut(a, "=")
		words = append(words, name+"="+quoteWord(value))
	}
	for _, w := range c.Words {
		if !w.Static {
			return ""
		}
		words = append(words, quoteWord(w.Text))
	}
	for _, r := range c.Redirects {
		if r.Writes {
			words = append(words, "> "+quoteWord(r.Word.Text))
		}
	}
	return strings.Join(words, " ")
}

// withSubcommand is its program, the words that say what it does, and any others.
func (c *Command) withSubcommand() string {
	if len(c.Assigns) > 0 || c.writes() || len(c.Words) == 0 {
		return ""
	}
	n := 1
	if len(c.Words) > 1 && isName(c.Words[1]) {
		n = 2
		if slices.Contains([]string{"run", "run-script"}, c.Words[1].Text) && len(c.Words) > 2 && isName(c.Words[2]) {
			n = 3
		}
	}
	words := make([]string, n, n+1)
	for i := range n {
		if !c.Words[i].Static {
			return ""
		}
		words[i] = quoteWord(c.Words[i].Text)
	}
	return strings.Join(append(words, "*"), " ")
}

// isName reports whether a word may be a subcommand.
func isName(w Word) bool {
	return w.Static && w.Text != "" && w.Text[0] != '-' && strings.Trim(w.Text, "abcdefghijklmnopqrstuvwxyz-:") == ""
}

// quoteWord writes a word as bash, and a pattern, read it back.
func quoteWord(s string) string {
	q, err := syntax.Quote(s, syntax.LangBash)
	if err != nil || strings.HasPrefix(q, "$") {
		return "$" // which is no pattern
	}
	return q
}
