package shellcmd

import (
	"regexp"
	"slices"
	"strings"
)

// Reading is a file or a folder that a line reads.
type Reading struct {
	Places []string // the folders that its name may begin in
	Name   string   // as the command names it, or the pattern of the names
	Glob   bool     // Name is a pattern, in the form of path.Match
	// Below says that what is in the folder is read too, and Hidden also what has a hidden name.
	Below, Hidden bool
	// Follows says that links below the folder are followed.
	Follows bool
	// Shown says that what it holds is printed, and not only its name or size.
	Shown bool
	// Repository says that it is only a folder in which Git looks for its repository.
	Repository bool
}

// Reads returns what a line reads, if it does nothing else: each of its commands is of a
// program that only reads, with options of the table; it writes no file and sets no variable
// but a harmless one; and its words are known before it runs, but for patterns of names.
func (l *Line) Reads() (all []Reading, ok bool) {
	if l.Doubt != "" || len(l.Commands) == 0 {
		return nil, false
	}
	for _, c := range l.Commands {
		read, ok := c.reads()
		if !ok {
			return nil, false
		}
		all = append(all, read...)
	}
	return all, true
}

// Filters reports whether a command only prints, or passes on what it reads from a pipe: it
// names no file and no folder. One that runs others is judged by those.
func (c *Command) Filters() bool {
	if c.Wrapper {
		return false
	}
	read, ok := c.reads()
	return ok && len(read) == 0
}

func (c *Command) reads() (all []Reading, ok bool) {
	if c.transparent() {
		for _, in := range c.Inner {
			read, ok := in.reads()
			if !ok {
				return nil, false
			}
			all = append(all, read...)
		}
		return all, true
	}
	if c.writes() || c.expands || !c.onlyHarmless() || len(c.Words) == 0 || slices.Contains(c.Places(), Anywhere) {
		return nil, false
	}
	for _, w := range c.Words {
		if !w.Static && w.Glob == "" {
			return nil, false
		}
	}
	for _, r := range c.Redirects {
		if !r.Writes && r.Word.Static && r.Word.Text != "/dev/null" {
			all = append(all, Reading{Places: c.Places(), Name: r.Word.Text, Shown: true})
		}
	}
	read, ok := c.readsByName()
	return append(all, read...), ok
}

// readsByName looks at the program and its words.
func (c *Command) readsByName() ([]Reading, bool) {
	name := c.Words[0].Text
	switch {
	case name == "cd":
		to := c.enter()
		if slices.Contains(to, Anywhere) {
			return nil, false
		}
		return []Reading{{Places: to, Name: "."}}, true
	case name == "git":
		return c.gitReads()
	case name == "sed":
		if sedRisk(globsAsNames(c.Words[1:], false)) != "" {
			return nil, false
		}
		return c.operandsRead(opts("n E r s u z"), 1, Reading{Shown: true}), true
	}
	p := lookup(name)
	if p != nil && p.harmless {
		p = &program{safe: p.safe} // what runs unasked is known to its last option
	}
	if p == nil || reading[name] == nil && !slices.Contains([]string{"find", "fd", "fdfind", "sort", "uniq", "date"}, name) ||
		p.scan(globsAsNames(c.Words, isHarmless(name)), 1, 1) != "" {
		return nil, false
	}
	r := Reading{Shown: slices.Contains(showing, name)}
	skip := 0 // operands that are no files
	switch name {
	case "grep", "egrep", "fgrep", "rg":
		return c.searchReads(name, p), true
	case "tr", "echo", "printf", "seq", "basename", "dirname", "which", "test", "[", "true", "false", "pwd", "fd", "fdfind", "date":
		skip = len(c.Words)
	case "diff":
		r.Below, r.Hidden, r.Follows = true, true, true
	}
	all := c.operandsRead(p.safe, skip, r)
	if len(all) == 0 && slices.Contains([]string{"ls", "du", "df", "find", "fd", "fdfind", "tree", "pwd"}, name) {
		all = append(all, Reading{Places: c.Places(), Name: "."})
	}
	return all, true
}

// showing are the programs that print what is in the files they are given.
var showing = []string{
	"cat", "head", "tail", "cut", "nl", "tac", "rev", "cmp", "comm", "join", "diff", "od", "hexdump", "strings", "column",
	"paste", "fold", "expand", "unexpand", "fmt", "tsort", "sort", "uniq",
}

func words(list []Word) (texts []string) {
	for _, w := range list {
		texts = append(texts, w.Text)
	}
	return texts
}

// globsAsNames has patterns of names stand as one name each, for the table of options. A
// name that begins with a dash would be an option, so a pattern that may give one stays,
// unless the program has no option that matters.
func globsAsNames(list []Word, harmless bool) []Word {
	list = slices.Clone(list)
	for i, w := range list {
		if w.Glob != "" && (harmless || w.Text != "" && w.Text[0] != '-') {
			list[i] = Word{Text: w.Glob, Static: true}
		}
	}
	return list
}

// operandsRead are the operands of a command behind the first ones, as files.
func (c *Command) operandsRead(o *options, skip int, r Reading) (all []Reading) {
	r.Places = c.Places()
	for i := 1; i < len(c.Words); i++ {
		w := c.Words[i]
		if len(w.Text) > 1 && w.Text[0] == '-' {
			if o != nil && !o.any && w.Text != "--" && w.Static {
				if _, _, more, _ := o.read(w.Text); more {
					i++
				}
			}
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		r.Name, r.Glob = w.Text, w.Glob != ""
		if r.Glob {
			r.Name = w.Glob
		}
		if r.Name != "-" {
			all = append(all, r)
		}
	}
	return all
}

// searchReads are the files that a search looks into: its operands, but for the pattern.
func (c *Command) searchReads(name string, p *program) []Reading {
	r := Reading{Shown: true, Below: name == "rg", Hidden: name != "rg"}
	skip := 1
	for i, text := range words(c.Words[1:]) {
		long := strings.HasPrefix(text, "--")
		letters := !long && strings.HasPrefix(text, "-")
		switch {
		case long && strings.HasPrefix(text, "--regexp"), letters && strings.Contains(text, "e"), text == "--files", text == "--type-list":
			skip = 0 // the letter may be another option's value; then a pattern is taken for a file
		}
		if name == "rg" {
			r.Hidden = r.Hidden || isGlob(text, c.Words[1:], i) || text == "--hidden" || text == "--unrestricted" || letters && strings.ContainsAny(text, "u.")
			r.Follows = r.Follows || text == "--follow" || letters && strings.Contains(text, "L")
		} else if strings.HasPrefix(text, "--recursive") || strings.HasPrefix(text, "--dereference-recursive") ||
			strings.HasPrefix(text, "--directories") || letters && strings.ContainsAny(text, "rRd") {
			r.Below = true
			r.Follows = r.Follows || strings.HasPrefix(text, "--dereference-recursive") || letters && strings.Contains(text, "R")
		}
	}
	all := c.operandsRead(p.safe, skip, r)
	if len(all) == 0 && r.Below {
		r.Places, r.Name = c.Places(), "."
		all = append(all, r)
	}
	return all
}

// suffixGlob is a pattern of names that fits no hidden name with a secret.
var suffixGlob = regexp.MustCompile(`^!?\*\.(?:[A-Za-df-z0-9_][A-Za-z0-9_]*|e(?:x|rb|l)[a-z]*)$`)

// isGlob reports whether a word is an option of rg with a pattern of names, which may be
// hidden ones.
func isGlob(text string, list []Word, at int) bool {
	value, attached := "", false
	switch {
	case strings.HasPrefix(text, "--glob=") || strings.HasPrefix(text, "--iglob="):
		_, value, attached = strings.Cut(text, "=")
	case text == "--glob", text == "--iglob", text == "-g":
	case !strings.HasPrefix(text, "--") && strings.HasPrefix(text, "-") && strings.Contains(text, "g"):
		return true // it cannot be told whose value it is
	default:
		return false
	}
	if !attached && at+1 < len(list) {
		value = list[at+1].Text
	}
	return !suffixGlob.MatchString(value)
}

// gitReading are the subcommands of git that only read, with the options that make others
// of it: "" for any of the table.
var gitReading = map[string]*options{
	"status": nil, "log": nil, "diff": nil, "show": nil, "blame": nil, "annotate": nil, "shortlog": nil, "describe": nil,
	"rev-parse": nil, "rev-list": nil, "ls-files": nil, "ls-tree": nil, "count-objects": nil,
	"for-each-ref": nil, "show-ref": nil, "merge-base": nil, "name-rev": nil, "cherry": nil, "diff-tree": nil,
	"check-ignore": nil, "version": nil, "whatchanged": nil, "range-diff": nil,
	// These change something with an operand.
	"branch": opts(gitList, "a/all r/remotes l/list v/verbose show-current abbrev=? no-abbrev"),
	"tag":    opts("l/list n=? sort= contains=? points-at="),
	"remote": opts("v/verbose"),
}

// gitReads looks at a call of git.
func (c *Command) gitReads() ([]Reading, bool) {
	list := globsAsNames(c.Words, false)
	if gitProgram.risk(list, 1) != "" {
		return nil, false
	}
	at := 1
	for at < len(list) && slices.Contains(gitProgram.flags, list[at].Text) {
		at++
	}
	if at == len(list) {
		return nil, list[at-1].Text == "--version"
	}
	sub := list[at].Text
	safe, known := gitReading[sub]
	switch {
	case !known && sub == "stash":
		known = at+1 < len(list) && slices.Contains([]string{"list", "show"}, list[at+1].Text)
	case !known && sub == "reflog":
		known = at+1 == len(list) || list[at+1].Text == "show" || strings.HasPrefix(list[at+1].Text, "-")
	case safe != nil:
		strict := &program{safe: safe, operand: func(string) string { return writes }}
		if strict.scan(list, at+1, at+1) != "" {
			return nil, false
		}
	}
	if !known {
		return nil, false
	}
	all := []Reading{{Places: c.Places(), Name: ".", Repository: true}}
	for _, w := range c.Words[at+1:] {
		if w.Static && strings.HasPrefix(w.Text, "-") {
			continue
		}
		name := w.Text
		if w.Glob != "" {
			name = w.Glob
		}
		if _, file, ok := strings.Cut(name, ":"); ok { // HEAD:file
			name = file
		}
		all = append(all, Reading{Places: c.Places(), Name: name, Glob: w.Glob != "", Shown: true})
	}
	return all, true
}
