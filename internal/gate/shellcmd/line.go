// Package shellcmd reads a command line of bash as the simple commands that it
// runs, and says whether a pattern covers them.
//
// # The law
//
// A command line is allowed if every simple command in it is, wherever it stands:
// in a list, a pipe, a subshell, a loop, a substitution, a here-document, behind a
// wrapper such as timeout or sh -c. A simple command is allowed by a pattern if
//
//   - its words are known before it runs where the pattern fixes them, and equal;
//   - it sets no variable and writes no file by a redirect (but /dev/null), unless
//     the pattern says these very ones;
//   - the words that a wildcard stands for neither run another program nor write a
//     file, as far as the table of programs knows (programs.go). A wildcard never
//     covers what an interpreter or a wrapper is told to run.
//
// What is not understood is not allowed: the walk over the syntax tree lists what
// it knows, and everything else makes the line uncertain. The words of the tree
// are those of mvdan.cc/sh; a fuzz test holds them against bash itself.
package shellcmd

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Line is a command line, read.
type Line struct {
	Commands []*Command
	// Doubt says what in the line cannot be judged; "" if nothing.
	Doubt string
}

// Command is one simple command.
type Command struct {
	Words     []Word
	Assigns   []string // as written, name=value; a value that is not static ends in $
	Redirects []Redirect
	// Wrapper is set if the command runs other commands, which are Inner. Opaque
	// says why they cannot be seen; "" if they can.
	Wrapper bool
	Inner   []*Command
	Opaque  string
	Here    []Word // its here-documents; only for Use

	at      []string // the folders that it may run in; nil: that of the line
	expands bool     // it has a here-document that bash expands
}

// Word is one word of a command.
type Word struct {
	// Text is the word as its program gets it if it is static, and else what it
	// begins with for certain.
	Text   string
	Static bool
	// Split says that a word that is not static may become any words, or none. One
	// that is not split becomes words that begin with Text.
	Split bool
	// Glob is set for a word that is not static only because bash puts names of files in
	// its place: the pattern, in the form of path.Match.
	Glob string

	// These are only for Use. Shape is the whole word with Unknown for each part that
	// is not known before it runs, and Vars are the variables in it, also of the
	// commands in it.
	Shape string
	Vars  []string
}

// Redirect is a redirect that opens a file.
type Redirect struct {
	Word   Word
	Writes bool
}

// These bound how deep a line can be nested, and so how long it takes to read.
const (
	maxLine   = 16 << 10
	maxOpened = 1000
)

// Parse reads a command line.
func Parse(text string) *Line {
	l := &Line{}
	if why := unreadable(text); why != "" {
		l.Doubt = why
		return l
	}
	w := walker{line: l}
	w.script(text)
	if len(l.Commands) == 0 && l.Doubt == "" {
		l.Doubt = "it runs nothing"
	}
	return l
}

// unreadable says why a text is not even parsed: shells and terminals disagree
// about characters that are not printed.
func unreadable(text string) string {
	if tooLong(text) {
		return "it is too long"
	}
	if !utf8.ValidString(text) {
		return "it is not UTF-8"
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return "it holds a character that is not printed"
		}
	}
	return ""
}

func tooLong(text string) bool {
	return len(text) > maxLine || strings.Count(text, "(")+strings.Count(text, "{") > maxOpened
}

// walker collects the simple commands of a syntax tree.
type walker struct {
	line  *Line
	depth int
	uses  *Uses             // nil: nobody asks
	known map[string]string // variables, for uses
	folders
}

const maxDepth = 8

// doubt notes what cannot be judged; the first reason stays.
func (w *walker) doubt(why string) {
	if w.line.Doubt == "" {
		w.line.Doubt = why
	}
}

// script reads a text as a script.
func (w *walker) script(text string) {
	if w.depth++; w.depth > maxDepth {
		w.unread("it is nested too deeply")
		return
	}
	defer func() { w.depth-- }()
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		w.unread("it cannot be parsed as bash")
		return
	}
	w.look(f)
	w.stmts(f.Stmts)
}

func (w *walker) stmts(list []*syntax.Stmt) {
	w.stays(w.here())
	for _, s := range list {
		w.at = places(w.ok, w.failed)
		w.stmt(s)
	}
	w.at = places(w.ok, w.failed)
}

func (w *walker) stmt(s *syntax.Stmt) {
	if s == nil {
		return
	}
	before := w.here()
	w.stays(before)
	w.simpleOrCompound(s)
	switch {
	case s.Background || s.Coprocess || s.Disown:
		w.stays(before)
	case s.Negated:
		w.ok, w.failed = w.failed, w.ok
	}
}

func (w *walker) simpleOrCompound(s *syntax.Stmt) {
	if s.Coprocess || s.Disown {
		w.doubt("it uses a form of another shell")
	}
	redirects := w.redirects(s.Redirs)
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		w.call(call, redirects, s.Redirs)
		return
	}
	if len(redirects) > 0 {
		// The redirects of a compound are those of a command without words.
		w.add(&Command{Redirects: redirects})
	}
	if s.Cmd != nil {
		w.compound(s.Cmd)
	}
}

// add adds a command. One that only opens files for reading is none.
func (w *walker) add(c *Command) {
	if len(c.Words) == 0 && len(c.Assigns) == 0 && !c.writes() {
		return
	}
	w.line.Commands = append(w.line.Commands, c)
}

func (c *Command) writes() bool {
	for _, r := range c.Redirects {
		if r.Writes {
			return true
		}
	}
	return false
}

func (w *walker) compound(c syntax.Command) {
	switch c := c.(type) {
	case *syntax.BinaryCmd:
		w.binary(c)
	case *syntax.Block:
		w.stmts(c.Stmts)
	case *syntax.Subshell:
		w.apart(func() { w.stmts(c.Stmts) })
	case *syntax.IfClause:
		w.branches(c)
	case *syntax.WhileClause:
		w.repeated(func() {
			w.stmts(c.Cond)
			w.stmts(c.Do)
		})
	case *syntax.TimeClause:
		w.stmt(c.Stmt)
	case *syntax.ForClause:
		w.repeated(func() { w.loop(c) })
	case *syntax.CaseClause:
		w.cases(c)
	case *syntax.TestClause:
		w.test(c.X)
	case *syntax.FuncDecl:
		w.doubt("it defines a function")
		w.apart(func() { w.stmt(c.Body) })
	default:
		w.doubt("it holds a form of bash that is not judged")
		w.nested(c)
	}
}

// binary walks a list of two, or a pipe, whose sides are processes of their own.
func (w *walker) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.AndStmt:
		w.stmt(c.X)
		failed := w.failed
		w.at = w.ok
		w.stmt(c.Y)
		w.failed = places(failed, w.failed)
	case syntax.OrStmt:
		w.stmt(c.X)
		ok := w.ok
		w.at = w.failed
		w.stmt(c.Y)
		w.ok = places(ok, w.ok)
	default:
		w.apart(func() { w.stmt(c.X) })
		w.apart(func() { w.stmt(c.Y) })
	}
}

// branches walks if, elif and else, of which one is taken.
func (w *walker) branches(c *syntax.IfClause) {
	var ends []string
	for ; c != nil; c = c.Else {
		w.stmts(c.Cond)
		failed := w.failed
		w.at = w.ok
		w.stmts(c.Then)
		ends = places(ends, w.at, failed)
		w.at = failed
	}
	w.stays(ends)
}

// cases walks the branches of a case, of which any may be taken, or none.
func (w *walker) cases(c *syntax.CaseClause) {
	w.word(c.Word)
	before := w.here()
	ends := before
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			w.word(p)
		}
		w.at = ends // a branch may fall through to the next
		w.stmts(item.Stmts)
		ends = places(ends, w.at)
	}
	w.stays(ends)
}

// loop reads a for loop over words. Its variable must be one that no program
// reads.
func (w *walker) loop(c *syntax.ForClause) {
	over, ok := c.Loop.(*syntax.WordIter)
	switch {
	case !ok || c.Select:
		w.doubt("it holds a loop that is not judged")
		w.nested(c.Loop)
	case !harmlessName(over.Name.Value):
		w.doubt("it sets the variable " + over.Name.Value)
	}
	if ok {
		for _, item := range over.Items {
			w.word(item)
		}
	}
	w.stmts(c.Do)
}

// harmlessName reports whether a variable is of a kind that neither bash nor
// programs read.
func harmlessName(name string) bool {
	return len(name) <= 12 && name != "histchars" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == ""
}

// test reads the expression of [[ ]]: files and texts are compared; what
// evaluates arithmetic, or the name of a variable, is not judged.
func (w *walker) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.ParenTest:
		w.test(x.X)
	case *syntax.Word:
		w.word(x)
	case *syntax.UnaryTest:
		switch x.Op {
		case syntax.TsVarSet, syntax.TsRefVar, syntax.TsOptSet:
			w.doubt("it tests a variable by its name")
		}
		w.test(x.X)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest, syntax.OrTest, syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch, syntax.TsBefore,
			syntax.TsAfter, syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
		default:
			w.doubt("it compares numbers, which bash evaluates")
		}
		w.test(x.X)
		w.test(x.Y)
	default:
		w.doubt("it holds a test that is not judged")
	}
}

// nested collects the commands of substitutions below a node that is not judged,
// so that a rule that forbids still finds them.
func (w *walker) nested(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if s, ok := n.(*syntax.Stmt); ok {
			w.stmt(s)
			return false
		}
		return true
	})
}
