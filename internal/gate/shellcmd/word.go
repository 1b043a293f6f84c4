package shellcmd

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wordBuilder reads the parts of a word.
type wordBuilder struct {
	w    *walker
	text strings.Builder
	// open is set until something that is not static was read; later text is not
	// what the word begins with.
	closed bool
	shape  strings.Builder
	glob   strings.Builder
	globs  bool // a part of it stands for names of files
	other  bool // a part of it stands for something else
	Word
}

// word reads a word, and the commands of the substitutions in it.
func (w *walker) word(word *syntax.Word) Word {
	if word == nil {
		return Word{Static: true}
	}
	if word.Lit() == "[" { // the program: without its end it stands for no file
		return Word{Text: "[", Static: true, Shape: "["}
	}
	b := wordBuilder{w: w, Word: Word{Static: true}}
	for i, part := range word.Parts {
		b.part(part, i == 0)
	}
	if b.braces(word) {
		b.dynamic(true)
		b.text.Reset() // what it begins with is not known
	}
	b.Text = b.text.String()
	if b.globs && !b.other {
		b.Glob = b.glob.String()
	}
	if w.uses != nil {
		b.Shape = b.shape.String()
		b.Vars = variables(word)
	}
	return b.Word
}

func (b *wordBuilder) write(s string) {
	if b.w.uses != nil {
		b.shape.WriteString(s)
	}
	if !b.closed {
		b.text.WriteString(s)
	}
	b.glob.WriteString(globEscaper.Replace(s))
}

var globEscaper = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`)

func (b *wordBuilder) dynamic(split bool) {
	if b.w.uses != nil {
		b.shape.WriteString(Unknown)
	}
	b.closed, b.Static = true, false
	b.Split = b.Split || split
	b.other = true
}

// files notes a wildcard for names of files.
func (b *wordBuilder) files(wildcard byte) {
	other := b.other || wildcard == '['
	b.dynamic(false) // the names of files begin with what stands before it
	b.other, b.globs = other, true
	b.glob.WriteByte(wildcard)
}

func (b *wordBuilder) part(part syntax.WordPart, first bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		b.literal(p.Value, first)
	case *syntax.SglQuoted:
		if p.Dollar {
			b.dynamic(false)
		}
		b.write(p.Value)
	case *syntax.DblQuoted:
		if p.Dollar {
			b.dynamic(false)
		}
		for _, inner := range p.Parts {
			if lit, ok := inner.(*syntax.Lit); ok {
				b.write(unescapeQuoted(lit.Value))
			} else {
				b.expansion(inner, true)
			}
		}
	default:
		b.expansion(part, false)
	}
}

// literal reads text outside quotes, in which bash finds escapes, the names of
// files, and home folders.
func (b *wordBuilder) literal(s string, first bool) {
	if first && strings.HasPrefix(s, "~") {
		b.dynamic(false)
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i == len(s) {
				b.w.doubt("it ends in a backslash")
				return
			}
			b.write(s[i : i+1])
		case '*', '?', '[':
			b.files(s[i])
		case '~':
			// After a colon or an equals sign it may be a home folder too.
			if i > 0 && (s[i-1] == ':' || s[i-1] == '=') {
				b.dynamic(false)
			}
			b.write("~")
		default:
			b.write(s[i : i+1])
		}
	}
}

// expansion reads what bash replaces. Only plain parameters and command
// substitutions are judged: the others evaluate what they find in variables.
func (b *wordBuilder) expansion(part syntax.WordPart, quoted bool) {
	switch p := part.(type) {
	case *syntax.ParamExp:
		if !plainParameter(p) {
			b.w.doubt("it holds an expansion that bash evaluates")
			b.w.nested(p)
		}
		// "$@" and "$*" are several words even within quotes.
		name := ""
		if p.Param != nil {
			name = p.Param.Value
		}
		b.dynamic(!quoted || name == "@" || name == "*")
	case *syntax.CmdSubst:
		if p.TempFile || p.ReplyVar {
			b.w.doubt("it uses a form of another shell")
		}
		b.w.apart(func() { b.w.stmts(p.Stmts) })
		b.dynamic(!quoted)
	case *syntax.ProcSubst:
		b.w.apart(func() { b.w.stmts(p.Stmts) })
		b.write("/dev/fd/")
		b.dynamic(false)
	default:
		b.w.doubt("it holds an expansion that bash evaluates")
		b.w.nested(part)
		b.dynamic(true)
	}
}

// plainParameter reports whether an expansion is $name and no more.
func plainParameter(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet &&
		p.Split == syntax.OptUnset && p.GlobSubst == syntax.OptUnset && p.RcExpand == syntax.OptUnset &&
		p.NestedParam == nil && p.Index == nil && len(p.Modifiers) == 0 && p.Slice == nil &&
		p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// braces reports whether a word may be a brace expansion: an open brace outside
// quotes, and a comma or two dots anywhere after it.
func (b *wordBuilder) braces(word *syntax.Word) bool {
	open := false
	for _, part := range word.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			switch c := lit.Value[i]; {
			case c == '\\':
				i++
			case c == '{':
				open = true
			case open && (c == ',' || c == '.' && strings.HasPrefix(lit.Value[i:], "..")):
				return true
			}
		}
	}
	return false
}

// unescapeQuoted removes the escapes that count within double quotes.
func unescapeQuoted(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case '$', '`', '"', '\\':
				i++
			case '\n':
				i++
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// redirects reads redirects, and returns those that open files.
func (w *walker) redirects(list []*syntax.Redirect) []Redirect {
	var out []Redirect
	for _, r := range list {
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
			w.doubt("a redirect sets a variable")
		}
		word := w.word(r.Word)
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			w.word(r.Hdoc)
		case syntax.WordHdoc:
		case syntax.DplIn, syntax.DplOut:
			if !word.Static || !isDescriptor(word.Text) {
				out = append(out, Redirect{word, true})
			}
		case syntax.RdrIn:
			out = append(out, Redirect{word, false})
		default:
			out = append(out, Redirect{word, !word.Static || word.Text != "/dev/null"})
		}
	}
	for _, r := range out {
		// Bash opens connections by these names.
		if !r.Word.Static || strings.HasPrefix(r.Word.Text, "/dev/tcp") || strings.HasPrefix(r.Word.Text, "/dev/udp") {
			w.doubt("a redirect leads to a place that is not known")
		}
	}
	return out
}

// isDescriptor reports whether the target of >& is a descriptor, which it copies,
// moves (2-) or closes (-), and not a file.
func isDescriptor(s string) bool {
	s = strings.TrimSuffix(s, "-")
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// call reads a simple command.
func (w *walker) call(call *syntax.CallExpr, redirects []Redirect, all []*syntax.Redirect) {
	c := &Command{Redirects: redirects, Here: w.hereDocuments(all), at: w.here(), expands: w.expands(all)}
	for _, a := range call.Assigns {
		c.Assigns = append(c.Assigns, w.assign(a))
	}
	for _, arg := range call.Args {
		c.Words = append(c.Words, w.word(arg))
	}
	w.unwrap(c)
	w.add(c)
	w.moved(c)
}

// expands reports whether a here-document is not known before it is read.
func (w *walker) expands(list []*syntax.Redirect) bool {
	quiet := walker{line: &Line{}, depth: w.depth}
	for _, r := range list {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if !quiet.word(r.Hdoc).Static {
				return true
			}
		case syntax.WordHdoc:
			if !quiet.word(r.Word).Static {
				return true
			}
		}
	}
	return false
}

func (w *walker) assign(a *syntax.Assign) string {
	if a.Index != nil || a.Array != nil || a.Name == nil || a.Append || a.Naked {
		w.doubt("it sets an array, or a variable in part")
		w.nested(a)
	}
	text := ""
	if a.Name != nil {
		text = a.Name.Value + "="
	}
	v := w.word(a.Value)
	if text += v.Text; !v.Static {
		w.doubt("it sets a variable to a value that is not known")
	}
	return text
}
