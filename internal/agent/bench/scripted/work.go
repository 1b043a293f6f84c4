package scripted

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"callgate/internal/lazyregexp"
)

// tries is how often a model tries one step.
const tries = 6

// linesAtATime is how much of a file a model reads by a command.
const linesAtATime = 400

// work is one step that a model is at.
type work struct {
	step    Step
	intent  intent
	values  map[role]any
	tool    string         // the tool of the next call; empty: to be chosen
	exact   map[string]any // arguments as an error or a hint wrote them, for the next call
	own     string         // the tool of its last call of its own
	last    string         // the tool of its last call, and what it said there
	said    map[string]any
	plain   Step // the step with its facts not filled in
	aside   func(m *Model, r *Request, res Result)
	tries   int
	doubted bool // it looked again, elsewhere
	copied  bool // it copied an example
	waiting bool // its call is under way
	again   bool // it did this before
	done    bool
	failed  string // what the model says when it gives up
	call    Call
	toldCalls
	commandLines
}

// toldCalls are calls that give the rest of what was cut.
type toldCalls struct {
	queue  []told
	queued map[string]bool
}

// commandLines are the lines of a file that a command reads.
type commandLines struct {
	first int
	piece int  // how many at a time
	full  bool // it gave as many as it was asked for
}

func newWork(h Habits, s Step) *work {
	w := &work{step: s, commandLines: commandLines{first: 1, piece: linesAtATime}}
	w.intent, w.values = s.intent()
	if s.Named != "" {
		w.tool, w.exact = s.Named, s.Under
		return w
	}
	if h.byShell {
		w.asCommand()
	}
	if h.patches && w.intent == editing {
		w.intent, w.values = patching, map[role]any{patch: ""} // written when it is sent
	}
	return w
}

// asCommand makes a command of what a tool could do.
func (w *work) asCommand() {
	var line string
	switch w.intent {
	case reading:
		if filepath.Ext(w.step.Read) == ".png" {
			return
		}
		line = fmt.Sprintf("sed -n '%d,%dp' %s", w.first, w.first+w.piece-1, word(w.step.Read))
	case searching:
		line = "grep -rn -- " + word(w.step.Search) + " ."
	case listing:
		line = "ls -la " + word(w.step.List)
	case globbing:
		line = "find . -name " + word(filepath.Base(w.step.Glob))
	default:
		return
	}
	w.intent, w.values = running, map[role]any{command: line}
}

// word quotes a word of a command.
func word(text string) string {
	if regexp.MustCompile(`^[\w./-]+$`).MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// patchOf is an edit in the form that codex was trained on.
func patchOf(s Step, seen string) string {
	marked := func(mark, text string) string {
		var b strings.Builder
		for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
			b.WriteString(mark + line)
		}
		return b.String()
	}
	var hunks strings.Builder
	for _, c := range s.changes() {
		c = wholeLines(c, seen)
		hunks.WriteString("@@\n" + marked("-", c.Old) + marked("+", c.New))
	}
	return "*** Begin Patch\n*** Update File: " + s.Edit + "\n" + hunks.String() + "*** End Patch\n"
}

var (
	numbered = lazyregexp.New(`(?m)^ *\d+\t|^\+`)
	removed  = lazyregexp.New(`(?m)^(?:-|@@).*\n`)
)

// wholeLines widens a change to the lines that it is in, as the model saw them.
func wholeLines(s Change, seen string) Change {
	seen = numbered.ReplaceAllString(removed.ReplaceAllString(seen, ""), "")
	at := strings.LastIndex(seen, s.Old)
	if at < 0 || s.Old == "" {
		return s
	}
	start, end := strings.LastIndexByte(seen[:at], '\n')+1, at+len(s.Old)
	if rest := strings.IndexByte(seen[end:], '\n'); rest > 0 {
		s.Old, s.New = seen[start:end+rest], seen[start:at]+s.New+seen[end:end+rest]
	} else {
		s.Old, s.New = seen[start:end], seen[start:at]+s.New
	}
	return s
}

// next makes the next call.
func (w *work) next(m *Model, r *Request) {
	w.waiting = true
	if w.intent == patching && w.step.Patch == "" {
		w.values[patch] = patchOf(w.step, r.shown())
	}
	if w.tool == "" {
		w.choose(m, r)
		if w.tool == "" { // it looks for one
			return
		}
	}
	t, onWire := byName(r.Tools, w.tool)
	schema := t.Schema
	if s, told := m.known[w.tool]; told && len(schema.Properties) == 0 {
		schema = s
	}
	if get, p, ok := w.unread(m, r, schema); ok {
		w.waitFor(m, get, map[string]any{p: w.tool})
		t, onWire = byName(r.Tools, w.tool)
	}
	args := w.exact
	if args == nil {
		args = w.args(m, schema)
		w.own = w.tool
	}
	w.exact = nil
	w.last, w.said = w.tool, args
	if onWire {
		w.call = m.write(t.Name, args)
		return
	}
	through, p, ok := helper(r.Tools, []string{"execute", "call", "invoke"}, nameParams(), argsParams())
	if !ok || !m.habits.discovers && !strings.Contains(w.tool, ".") {
		w.call = m.write(w.tool, args) // a name that it guesses, or was told
		return
	}
	var inner any = args
	if m.habits.quotes {
		text, _ := json.Marshal(args) // of plain values
		inner = string(text)
	}
	w.call = m.write(through.Name, map[string]any{p[0]: w.tool, p[1]: inner})
}

// unread finds the tool that shows the schema of the next one, if nobody showed it
// and the model is one that looks first.
func (w *work) unread(m *Model, r *Request, s Schema) (string, string, bool) {
	if !m.habits.discovers || len(s.Properties) > 0 || w.exact != nil || m.learned[w.tool] {
		return "", "", false
	}
	get, p, ok := helper(r.Tools, []string{"get", "describe", "schema"}, nameParams())
	if !ok {
		return "", "", false
	}
	m.learned[w.tool] = true
	return get.Name, p[0], true
}

// choose picks the tool of the next call: one that is shown, one that was found
// before, the name that the model is used to, or it goes to find one.
func (w *work) choose(m *Model, r *Request) {
	habit := m.habits.names[w.intent]
	t, isShown := shown(r.Tools, w.intent, w.values)
	_, canEdit := shown(r.Tools, editing, map[role]any{path: ""})
	if w.intent == patching && !isShown && w.step.Edit != "" && (habit == "" || m.refused[patching] || canEdit) {
		w.intent, w.values = w.step.asEdit() // the change can be made otherwise
		w.choose(m, r)
		return
	}
	switch {
	case m.names[w.intent] != "" && w.intent != acting:
		w.tool = m.names[w.intent]
	case m.habits.stubborn && habit != "" && !m.refused[w.intent]:
		w.tool = habit
	case isShown:
		w.tool = t.Name
	case habit != "" && !m.refused[w.intent] && !m.habits.discovers:
		w.tool = habit
	default:
		w.discover(m, r)
	}
}

// args writes the arguments of a call, by habit or by the schema.
func (w *work) args(m *Model, s Schema) map[string]any {
	if w.intent == acting {
		return fitted(w.step.Args, s)
	}
	args := map[string]any{}
	for r, value := range w.values {
		if m.habits.commandList && r == command && s.Properties[w.param(m, s, r)].Type != "string" {
			value = []string{"bash", "-lc", value.(string)}
		}
		if m.habits.quotes && r == offset {
			value = fmt.Sprint(value)
		}
		if r == several {
			value = w.list(m, s)
		}
		args[w.param(m, s, r)] = value
	}
	if m.habits.omits && !m.omitted && w.intent == editing {
		m.omitted = true
		delete(args, w.param(m, s, path))
	}
	return args
}

// list writes several changes of a file, each with the names that one has.
func (w *work) list(m *Model, s Schema) []map[string]any {
	var changes []map[string]any
	for _, c := range w.step.Edits {
		changes = append(changes, map[string]any{w.param(m, s, old): c.Old, w.param(m, s, new_): c.New})
	}
	return changes
}

// param is how a model calls a parameter.
func (w *work) param(m *Model, s Schema, r role) string {
	byHabit, fits := m.habits.params[r], s.param(r)
	switch {
	case byHabit != "" && (fits == "" || m.habits.stubborn && !m.learned[w.tool]):
		return byHabit
	case fits != "":
		return fits
	default:
		return namesOf(r)[0]
	}
}

// fitted puts arguments under the names of a schema, where a reader sees which is
// meant.
func fitted(args map[string]any, s Schema) map[string]any {
	out := map[string]any{}
	for name, value := range args {
		to := name
		if len(s.Properties) > 0 && !s.has(name) {
			for property := range s.Properties {
				if alike(property, name) {
					to = property
				}
			}
		}
		out[to] = value
	}
	return out
}

// alike reports whether two names of parameters share a word.
func alike(a, b string) bool {
	for _, x := range strings.Split(a, "_") {
		for _, y := range strings.Split(b, "_") {
			if strings.EqualFold(x, y) {
				return true
			}
		}
	}
	return false
}
