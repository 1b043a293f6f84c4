// Package match says which calls of a tool a rule is about, by their arguments.
//
// A [Pattern] is a mapping from parameters to conditions, the block match of a
// rule. All of its conditions must hold:
//
//	path: src/**              a glob. The value of a parameter that names a file is
//	                          its canonical path as the gate bound it, relative to
//	                          the workspace; any other text is taken as written.
//	                          Only ** crosses a slash, and * fits hidden names too
//	url: https://host/api/**  a glob of addresses, in any parameter. Pattern and value
//	                          are compared in canonical form: see package weburl
//	command: git log *        a command pattern: see package shellcmd
//	mode: [a, b]              any of these conditions
//	limit: {min: 1, max: 50}  a number in a range; either end may be left out
//	text: {exact: "a*b"}      this very value, of any type, without wildcards
//	dry_run: true             this number, truth value or null
//
// The key "=" stands alone and holds all arguments of one exact call.
//
// # Two questions
//
// A rule that permits must be sure, and a rule that forbids must not be fooled.
// So [Pattern.Fits] holds only if every part of the call fits (each path of a
// list, each simple command of a command line), and [Pattern.Touches] if any part
// does, or answers [Unsure]. An argument that the call lacks fits nothing.
//
// # Input
//
// What a program is given to read can be commands: for a shell it is nothing else. So a
// command that is input for a program that runs (input_for) fits no condition on
// commands, and neither does a command that is begun with input (stdin_text), unless the
// pattern has a condition on stdin_text too, which fits. A pattern that forbids commands
// looks for them in the input as well, and in input for a program that runs behind what
// that was given before and is no whole command yet (unfinished). A pattern that forbids
// and has a condition on stdin_text sees such a call as the program's own (task_command)
// with the text as its stdin_text.
package match

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"callgate/internal/gate/shellcmd"
	"callgate/tool"
)

// Call is one call, as a pattern sees it. It is for one goroutine.
type Call struct {
	Module, Action string
	Args           map[string]any // as JSON decodes them
	Workspace      string         // canonical
	// Paths are the canonical paths of the parameters that name files, as the gate
	// bound them, and Folders those of them that are folders: a call about a folder
	// is about what is below.
	Paths   map[string][]string
	Folders map[string]bool
	// Entries are the paths that a call names in a folder, if it only names them.
	Entries map[string][]string

	// Disk is what was found on disk for command lines; nil: it is looked at anew.
	Disk *Disk
	// Destinations are the parameters that name where the call sends data. A yes that
	// lasts is never wider than they are.
	Destinations []string

	lines map[string]*shellcmd.Line // command lines that were parsed already
}

// AddPath adds the canonical path of a parameter.
func (c *Call) AddPath(param, path string, folder bool) {
	if c.Paths == nil {
		c.Paths, c.Folders = make(map[string][]string), make(map[string]bool)
	}
	c.Paths[param] = append(c.Paths[param], path)
	if folder {
		c.Folders[path] = true
	}
}

// maxEntries bounds the names that are compared with a rule one by one.
const maxEntries = 10_000

// AddEntries notes that the call only names what lies in a folder. It returns false if that
// is too much, or cannot be read.
func (c *Call) AddEntries(folder string) bool {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) > maxEntries {
		return false
	}
	if c.Entries == nil {
		c.Entries = map[string][]string{}
	}
	for _, e := range entries {
		c.Entries[folder] = append(c.Entries[folder], filepath.Join(folder, e.Name()))
	}
	return true
}

// AddBelow notes everything below a folder that the call reads as a whole, with what links
// lead to. It returns false if that is too much, or cannot be read.
func (c *Call) AddBelow(folder string) bool {
	var list []string
	objects := filepath.Join(".git", "objects") // no name in it says anything
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && strings.HasSuffix(path, string(filepath.Separator)+objects):
			return fs.SkipDir
		}
		if list = append(list, path); e.Type()&fs.ModeSymlink != 0 {
			list = append(list, realPath(path))
		}
		if len(list) > maxEntries {
			return fs.ErrInvalid
		}
		return nil
	})
	if err != nil {
		return false
	}
	if c.Entries == nil {
		c.Entries = map[string][]string{}
	}
	c.Entries[folder] = list
	return true
}

// Of is a call of a tool with these canonical paths, by parameter, and no other
// arguments.
func Of(id tool.ID, workspace string, paths map[string]string) *Call {
	c := &Call{Module: id.Namespace, Action: id.Name, Workspace: workspace}
	for param, p := range paths {
		c.AddPath(param, p, false)
	}
	return c
}

// value returns an argument. Paths that the call names in another argument, such as a
// patch, are one too.
func (c *Call) value(param string) (any, bool) {
	if value, ok := c.Args[param]; ok {
		return value, true
	}
	paths, ok := c.Paths[param]
	if !ok {
		return nil, false
	}
	list := make([]any, len(paths))
	for i, p := range paths {
		list[i] = p
	}
	return list, true
}

// isInput reports whether the command is input for a program that runs already, such as a
// shell on another machine. What is permitted as a command of its own is not permitted
// there; what is forbidden, is there too.
func (c *Call) isInput() bool {
	task, _ := c.Args[paramInput].(string)
	return task != ""
}

// inputText returns the input for a program that runs, behind what is no whole command yet.
func (c *Call) inputText() string {
	before, _ := c.Args[paramBefore].(string)
	text, _ := c.Args[paramCommand].(string)
	return before + text
}

// asBegun returns a call that is input for a program that runs as one that begins the
// program with that input. A program that is not known is one that cannot be told.
func (c *Call) asBegun() *Call {
	begun := *c
	begun.Args = maps.Clone(c.Args)
	begun.Args[paramText] = c.inputText()
	begun.Args[paramCommand], _ = c.Args[paramTask].(string)
	for _, param := range []string{paramInput, paramTask, paramBefore} {
		delete(begun.Args, param)
	}
	return &begun
}

// hasText reports whether the command is begun with text for its input.
func (c *Call) hasText() bool {
	text, _ := c.Args[paramText].(string)
	return text != ""
}

// coversInput reports whether the pattern, if it is about commands, says something of the
// input of the call's command.
func (p *Pattern) coversInput(c *Call) bool {
	return !p.names(paramCommand) || !c.isInput() && (!c.hasText() || p.names(paramText))
}

// line returns a parsed command line.
func (c *Call) line(text string) *shellcmd.Line {
	if l := c.lines[text]; l != nil {
		return l
	}
	if c.lines == nil {
		c.lines = make(map[string]*shellcmd.Line)
	}
	l := shellcmd.Parse(text)
	c.lines[text] = l
	return l
}

// Pattern says which arguments a rule is about. The zero value fits every call.
type Pattern struct {
	conditions []condition // by parameter
	commands   bool        // whether the condition on the command is one of command patterns alone
	exact      *exactCall
	anyFile    bool // see AcrossFiles
}

// AcrossFiles returns the pattern for a rule of every module that forbids or asks: its
// condition on path is about each file that a call names, whatever the parameter is called
// that the tool takes it from. To permit, the parameter must be path.
func (p *Pattern) AcrossFiles() *Pattern {
	across := *p
	across.anyFile = true
	return &across
}

// condition is what one parameter must be.
type condition struct {
	param  string
	source any // as Compile read it
	any    []test
}

// test is one alternative of a condition.
type test interface {
	// fits reports whether every part of the value fits for certain.
	fits(c *Call, param string, value any) bool
	// touches reports whether any part of it fits.
	touches(c *Call, param string, value any) Answer
}

// Answer is how a pattern stands to a call.
type Answer int

// The answers.
const (
	No     Answer = iota
	Unsure        // it cannot be told, as with a command whose name is computed
	Yes
)

// Fits reports whether every part of a call is what the pattern says: the
// question of a rule that permits.
func (p *Pattern) Fits(c *Call) bool {
	if p.exact != nil {
		return p.exact.fits(c) && p.exact.isUnchanged(c)
	}
	if !p.coversInput(c) {
		return false
	}
	if text, ok := c.Args[paramCommand].(string); ok && p.commands {
		return c.allowed(text, func(cmd *shellcmd.Command) bool { return p.covers(c, cmd) })
	}
	for i := range p.conditions {
		if !p.conditions[i].fits(c) {
			return false
		}
	}
	return p.holdsForText(c)
}

func (k *condition) fits(c *Call) bool {
	value, ok := c.value(k.param)
	return ok && slices.ContainsFunc(k.any, func(t test) bool { return t.fits(c, k.param, value) })
}

// Touches reports whether any part of a call is what the pattern says: the
// question of a rule that forbids or asks.
func (p *Pattern) Touches(c *Call) Answer {
	if p.exact != nil {
		if p.exact.fits(c) {
			return Yes
		}
		return No
	}
	if c.isInput() && p.names(paramText) {
		c = c.asBegun()
	}
	all := Yes
	for i := range p.conditions {
		answer := p.conditions[i].touches(c)
		if p.anyFile {
			answer = max(answer, p.conditions[i].touchesFiles(c))
		}
		if all = min(all, answer); all == No {
			return No
		}
	}
	return all
}

// touches reports whether any part of an argument is what the condition says. Text for the
// input of a command is looked at like the command.
func (k *condition) touches(c *Call) Answer {
	best := No
	look := func(value any) {
		for _, t := range k.any {
			best = max(best, t.touches(c, k.param, value))
		}
	}
	if value, ok := c.value(k.param); ok {
		look(value)
	}
	if k.param == paramCommand && c.hasText() {
		look(c.Args[paramText])
	}
	if k.param == paramCommand && c.isInput() {
		look(c.inputText())
	}
	return best
}

// touchesFiles reports whether any file of a call is what a condition on path says.
func (k *condition) touchesFiles(c *Call) Answer {
	best := No
	if k.param != paramPath {
		return best
	}
	for param := range c.Paths {
		for _, one := range k.any {
			if t, ok := one.(pathTest); ok {
				best = max(best, anyText(c, param, nil, t))
			}
		}
	}
	return best
}

// names reports whether a parameter has a condition.
func (p *Pattern) names(param string) bool {
	return slices.ContainsFunc(p.conditions, func(k condition) bool { return k.param == param })
}

// Params returns the parameters that the pattern is about; none for an exact call.
func (p *Pattern) Params() []string {
	names := make([]string, len(p.conditions))
	for i, k := range p.conditions {
		names[i] = k.param
	}
	return names
}

// Map returns the form that Compile reads.
func (p *Pattern) Map() map[string]any {
	if p.exact != nil {
		return p.exact.form()
	}
	m := make(map[string]any, len(p.conditions))
	for _, k := range p.conditions {
		m[k.param] = k.source
	}
	return m
}

// String returns the pattern as a human is shown it. Patterns that differ are
// written differently, so that a yes to one is no yes to another.
func (p *Pattern) String() string {
	if p.exact != nil {
		return "exactly " + compact(p.exact.args) + p.exact.bound()
	}
	if len(p.conditions) == 0 {
		return "any arguments"
	}
	parts := make([]string, len(p.conditions))
	for i, k := range p.conditions {
		text, ok := k.source.(string)
		if !ok || !plainText(text) {
			text = compact(k.source)
		}
		param := k.param
		if !plainText(param) {
			param = compact(param)
		}
		parts[i] = param + ": " + text
	}
	return strings.Join(parts, ", ")
}

// plainText reports whether a text is read as itself without quotes.
func plainText(s string) bool {
	if s == "" || s != strings.TrimSpace(s) || strings.ContainsAny(s, `,:"`) || json.Valid([]byte(s)) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// compact writes a value as JSON, whose keys are in order.
func compact(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "?"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
