package shellcmd

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Unknown stands in the shape of a word for a part that is not known before it runs.
const Unknown = "\x00"

// Uses is what a command line uses, for somebody who looks for the files that it runs and
// for the values that it evaluates.
type Uses struct {
	// Unread says why a part of the line was not read; "": all of it was.
	Unread   string
	Commands []*Command // all of them, those that others run too
	Words    []Word     // all of them, wherever they stand
	Sets     []Set
	// Evaluated are the variables in arithmetic, which evaluates what they hold.
	Evaluated []string
}

// Set is a variable that the line sets.
type Set struct {
	Name string
	Word Word
}

// Use reads a command line as Parse does, where the values of some variables are known.
// A variable that the line sets once, to a known value, is known too.
func Use(text string, known map[string]string) *Uses {
	u := &Uses{}
	if u.Unread = unreadable(text); u.Unread != "" {
		return u
	}
	known = maps.Clone(known)
	for range 4 { // one variable may be made of others
		before := len(known)
		u = &Uses{}
		w := walker{line: &Line{}, uses: u}
		u.known(&w, text, known)
		if u.learn(known); len(known) == before {
			break
		}
	}
	return u
}

// known reads the line with the variables that are known.
func (u *Uses) known(w *walker, text string, known map[string]string) {
	w.known = known
	w.script(text)
	u.flatten(w.line.Commands)
}

func (u *Uses) flatten(list []*Command) {
	for _, c := range list {
		u.Commands = append(u.Commands, c)
		u.flatten(c.Inner)
	}
}

// learn adds the variables that are set once, to a value that is known.
func (u *Uses) learn(known map[string]string) {
	times := map[string]int{}
	for _, s := range u.Sets {
		times[s.Name]++
	}
	for _, word := range u.Words {
		times[word.Text]++ // as read and unset name it
		if name, _, ok := strings.Cut(word.Text, "="); ok {
			times[name]++
		}
	}
	for _, s := range u.Sets {
		if _, there := known[s.Name]; !there && times[s.Name] == 1 && s.Word.Static && s.Word.Text != "" {
			known[s.Name] = s.Word.Text
		}
	}
}

// unread notes that a part of the line was not read.
func (w *walker) unread(why string) {
	w.doubt(why)
	if w.uses != nil && w.uses.Unread == "" {
		w.uses.Unread = why
	}
}

// hereDocuments reads the here-documents of a command.
func (w *walker) hereDocuments(list []*syntax.Redirect) (out []Word) {
	if w.uses == nil {
		return nil
	}
	quiet := walker{line: &Line{}, uses: &Uses{}, known: w.known}
	for _, r := range list {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			out = append(out, quiet.word(r.Hdoc))
		case syntax.WordHdoc:
			out = append(out, quiet.word(r.Word))
		}
	}
	return out
}

// look writes known variables into a tree, and collects what is used in it.
func (w *walker) look(f *syntax.File) {
	u := w.uses
	if u == nil {
		return
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			w.resolve(n.Parts, false)
		case *syntax.DblQuoted:
			w.resolve(n.Parts, true)
		}
		return true
	})
	quiet := walker{line: &Line{}, uses: &Uses{}, known: w.known, depth: w.depth} // it has collected the commands
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			u.Words = append(u.Words, quiet.word(n))
		case *syntax.Assign:
			u.assigned(&quiet, n)
		case *syntax.WordIter:
			u.Sets = append(u.Sets, Set{Name: n.Name.Value})
			for _, item := range n.Items {
				u.Sets = append(u.Sets, Set{Name: n.Name.Value, Word: Word{Vars: variables(item)}})
			}
		default:
			u.evaluated(n)
		}
		return true
	})
}

// assigned notes a variable that is set.
func (u *Uses) assigned(w *walker, n *syntax.Assign) {
	if n.Name == nil {
		u.Evaluated = append(u.Evaluated, variables(n)...) // declare "$x": what it holds names a variable
		return
	}
	s := Set{Name: n.Name.Value, Word: w.word(n.Value)}
	if n.Append || n.Naked || n.Array != nil || n.Index != nil {
		s.Word.Static = false
		s.Word.Vars = append(s.Word.Vars, variables(n)...)
	}
	u.Sets = append(u.Sets, s)
}

// evaluated notes the variables that bash evaluates: as numbers, or as names of others.
func (u *Uses) evaluated(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ParamExp:
		if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) && n.Param != nil {
			u.Sets = append(u.Sets, Set{Name: n.Param.Value, Word: Word{Vars: variables(n.Exp.Word)}})
		}
		if n.Index != nil {
			u.evaluates(n.Index)
		}
		if n.Slice != nil && n.Slice.Offset != nil {
			u.evaluates(n.Slice.Offset)
		}
		if n.Slice != nil && n.Slice.Length != nil {
			u.evaluates(n.Slice.Length)
		}
		if n.Excl && n.Param != nil {
			u.Evaluated = append(u.Evaluated, n.Param.Value)
		}
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop:
		u.evaluates(n)
	case *syntax.BinaryTest:
		switch n.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			u.evaluates(n)
		}
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			u.evaluates(n)
		}
	}
}

func (u *Uses) evaluates(n syntax.Node) { u.Evaluated = append(u.Evaluated, variables(n)...) }

// resolve replaces the variables that are known among the parts of a word.
func (w *walker) resolve(parts []syntax.WordPart, quoted bool) {
	for i, part := range parts {
		p, ok := part.(*syntax.ParamExp)
		if !ok || p.Param == nil {
			continue
		}
		value, known := w.known[p.Param.Value]
		plain := *p
		if p.Exp != nil && slices.Contains([]syntax.ParExpOperator{
			syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull,
		}, p.Exp.Op) {
			plain.Exp = nil
		}
		if !known || !plainParameter(&plain) {
			continue
		}
		if quoted {
			parts[i] = &syntax.Lit{Value: strings.NewReplacer(`\`, `\\`, `$`, `\$`, "`", "\\`", `"`, `\"`).Replace(value)}
		} else {
			parts[i] = &syntax.SglQuoted{Value: value}
		}
	}
}

// variables names the variables below a node.
func variables(n syntax.Node) (names []string) {
	if word, ok := n.(*syntax.Word); ok && word == nil {
		return nil
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil {
			names = append(names, p.Param.Value)
		}
		return true
	})
	return names
}
