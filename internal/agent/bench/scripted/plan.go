package scripted

import (
	"regexp"
	"strings"

	"callgate/internal/lazyregexp"
)

// Step is one thing that a model sets out to do. What stands in {braces} is a fact
// that an earlier step found: the model must see it on the wire when it needs it.
type Step struct {
	Read   string `yaml:"read"`   // a file
	Search string `yaml:"search"` // a pattern in the files
	Glob   string `yaml:"glob"`   // files by name
	List   string `yaml:"list"`   // a folder
	Edit   string `yaml:"edit"`   // a file in which Old becomes New
	Write  string `yaml:"write"`  // a file that becomes Content
	Delete string `yaml:"delete"` // a file
	Patch  string `yaml:"patch"`  // a patch, as the user gave it; Edit, Old and New are the same change
	Run    string `yaml:"run"`    // a command
	Tool   string `yaml:"tool"`   // what a tool should do, in the words of the user

	Change  `yaml:",inline"`
	Edits   []Change `yaml:"edits"` // of Edit: several changes, in place of Old and New
	Content string   `yaml:"content"`
	// Narrow is how it would look again: of Search in which folder, of Glob with which
	// pattern, of Run for which word.
	Narrow string         `yaml:"narrow"`
	Is     string         `yaml:"is"`   // of Tool: how it knows the right one among others, a regular expression
	Args   map[string]any `yaml:"args"` // of Tool: what it would say, under the names it would give
	Asked  `yaml:",inline"`

	Together []Step `yaml:"together"` // steps that do not need each other

	Expected `yaml:",inline"`

	Say string `yaml:"say"` // the answer
}

// Asked is how a step is tried first because the request says so: a tool that it names,
// and the arguments as that tool has them.
type Asked struct {
	Named string         `yaml:"named"`
	Under map[string]any `yaml:"under"`
}

// Change is one text that becomes another.
type Change struct {
	Old string `yaml:"old"`
	New string `yaml:"new"`
}

// Expected is what a model looks for in the result of a step.
type Expected struct {
	Find    string `yaml:"find"`    // a regular expression, whose last group is the fact
	As      string `yaml:"as"`      // the name of the fact
	Fails   bool   `yaml:"fails"`   // it is content with a failure that shows it
	Refused string `yaml:"refused"` // what it says if it may not
}

// intent is what a call is for.
type intent string

const (
	reading   intent = "read"
	searching intent = "search"
	globbing  intent = "glob"
	listing   intent = "list"
	editing   intent = "edit"
	writing   intent = "write"
	deleting  intent = "delete"
	patching  intent = "patch"
	running   intent = "run"
	acting    intent = "tool"
)

// role is what a value means to a tool, whatever the parameter is called.
type role string

const (
	path    role = "path"
	pattern role = "pattern"
	old     role = "old"
	new_    role = "new"
	content role = "content"
	command role = "command"
	patch   role = "patch"
	offset  role = "offset"
	limit   role = "limit"
	several role = "edits"
)

// intent returns what a step is, and the values it needs.
func (s *Step) intent() (intent, map[role]any) {
	switch {
	case s.Read != "":
		return reading, map[role]any{path: s.Read}
	case s.Search != "":
		return searching, map[role]any{pattern: s.Search}
	case s.Glob != "":
		return globbing, map[role]any{pattern: s.Glob}
	case s.List != "":
		return listing, map[role]any{path: s.List}
	case s.Patch != "":
		return patching, map[role]any{patch: s.Patch}
	case s.Edit != "":
		return s.asEdit()
	case s.Write != "":
		return writing, map[role]any{path: s.Write, content: s.Content}
	case s.Delete != "":
		return deleting, map[role]any{path: s.Delete}
	case s.Run != "":
		return running, map[role]any{command: s.Run}
	}
	return acting, map[role]any{}
}

// changes returns those of an edit.
func (s *Step) changes() []Change {
	if len(s.Edits) > 0 {
		return s.Edits
	}
	return []Change{s.Change}
}

// apart returns a step with several changes as steps with one each.
func (s *Step) apart() []Step {
	var steps []Step
	for _, c := range s.Edits {
		one := *s
		one.Edits, one.Change = nil, c
		steps = append(steps, one)
	}
	return steps
}

// asEdit is a step as a change of one text in one file.
func (s *Step) asEdit() (intent, map[role]any) {
	if len(s.Edits) > 0 {
		return editing, map[role]any{path: s.Edit, several: s.Edits}
	}
	return editing, map[role]any{path: s.Edit, old: s.Old, new_: s.New}
}

// steps returns a step, or those that it holds together.
func (s *Step) steps() []Step {
	if len(s.Together) > 0 {
		return s.Together
	}
	return []Step{*s}
}

// fact finds what a step looks for in a text.
func (s *Step) fact(text string) (string, bool) {
	if s.Find == "" {
		return "", false
	}
	all := regexp.MustCompile(s.Find).FindAllStringSubmatch(text, -1)
	if all == nil {
		return "", false
	}
	last := all[len(all)-1] // what was seen last is what is so
	return last[len(last)-1], true
}

var braces = lazyregexp.New(`\{(\w+)\}`)

// missing returns the facts that a text needs and nobody told.
func missing(text string, facts map[string]string) []string {
	var names []string
	for _, m := range braces.FindAllStringSubmatch(text, -1) {
		if _, known := facts[m[1]]; !known {
			names = append(names, m[1])
		}
	}
	return names
}

// filled puts facts into a text.
func filled(text string, facts map[string]string) string {
	return braces.ReplaceAllStringFunc(text, func(b string) string {
		if value, known := facts[strings.Trim(b, "{}")]; known {
			return value
		}
		return b
	})
}

// filled returns a step with the facts in it.
func (s Step) filled(facts map[string]string) Step {
	for _, t := range []*string{&s.Read, &s.Search, &s.Glob, &s.List, &s.Edit, &s.Write, &s.Delete, &s.Patch, &s.Run,
		&s.Old, &s.New, &s.Content, &s.Say} {
		*t = filled(*t, facts)
	}
	args := make(map[string]any, len(s.Args))
	for k, v := range s.Args {
		if text, ok := v.(string); ok {
			v = filled(text, facts)
		}
		args[k] = v
	}
	s.Args = args
	together := make([]Step, len(s.Together))
	for i, t := range s.Together {
		together[i] = t.filled(facts)
	}
	s.Together = together
	return s
}

// needs returns the text of a step in which facts may stand.
func (s *Step) needs() string {
	b := strings.Join([]string{s.Read, s.Search, s.Glob, s.List, s.Edit, s.Write, s.Delete, s.Patch, s.Run, s.Old, s.New,
		s.Content, s.Say}, "\n")
	for _, v := range s.Args {
		if text, ok := v.(string); ok {
			b += "\n" + text
		}
	}
	for i := range s.Together {
		b += "\n" + s.Together[i].needs()
	}
	return b
}
