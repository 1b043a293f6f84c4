// Package hooks reads the hooks of an app file, in its own form and in Claude Code's.
//
// Law: what a hook says is checked when the file is read: its event, the keys of its
// condition and its action, expressions and templates. A hook that could not do what it
// says is a mistake of the file, never one that waits.
package hooks

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/app/node"
	"callgate/internal/hook"
)

// The levels of the file that are read here.
const (
	Level          = "hooks"
	levelCondition = "hooks.condition"
	levelAction    = "hooks.action"
	levelClaude    = "hooks.<event>"
	levelCommand   = "hooks.<event>.hooks"
)

// Source is where hooks are written.
type Source struct {
	Agent   string // whose they are; empty: all agents'
	File    string // the file beside the app file that they stand in; empty: the app file
	Folder  string // of the app file
	Workdir string // in which commands run
	Names   Names
}

// Names takes the modules and actions that hooks name.
type Names interface {
	// Mention notes that a module, and an action of it, is named at a path.
	Mention(r *node.Reader, path, module, action string, permits bool)
}

const form = "write each hook as {id: no-push, on: tool_start, condition: {…}, action: {…}}"

// Read reads hooks: a list in our form, or a mapping of events in Claude Code's.
func Read(r *node.Reader, e node.Entry, s Source) []hook.Hook {
	if e.IsNull() {
		return nil
	}
	b := block{Reader: r.WithoutEnv().WithTemplates(hook.Roots()), source: s}
	if e.IsMapping() {
		b.claude(e)
		return b.hooks
	}
	for _, in := range b.Items(e, "a list of hooks, or a mapping of events as in Claude Code", form) {
		b.hook(in)
	}
	return b.hooks
}

// ReadFile reads hooks that stand in a file of their own: as Read does, or under the key
// hooks, where the other keys are somebody else's.
func ReadFile(r *node.Reader, root node.Entry, s Source) []hook.Hook {
	if root.Has("hooks") {
		for _, in := range r.Entries(root, form) {
			if in.Key == "hooks" {
				return Read(r, in, s)
			}
		}
	}
	return Read(r, root, s)
}

// block reads the hooks of one place.
type block struct {
	*node.Reader
	source Source
	hooks  []hook.Hook
}

// hook reads one hook of our form.
func (b *block) hook(e node.Entry) {
	h := b.empty()
	enabled := true
	var on, onError, condition, action node.Entry
	keep := func(to *node.Entry) node.Read { return func(in node.Entry) { *to = in } }
	b.Mapping(Level, e, map[string]node.Read{
		"id": b.id(&h.ID), "on": keep(&on), "event": keep(&on), "condition": keep(&condition), "action": keep(&action),
		"cooldown":  b.Duration(&h.Cooldown),
		"max_fires": b.Number(&h.MaxFires, 0, 1_000_000, "write how often it may fire in one conversation, such as 10"),
		"priority":  b.Number(&h.Priority, -1_000_000, 1_000_000, "write a number; low ones run first, and 100 is usual"),
		"enabled":   b.Boolean(&enabled, "write true or false"),
		"timeout":   b.Duration(&h.Timeout),
		"on_error":  keep(&onError),
	})
	h.Disabled = !enabled
	known := b.event(e, on, &h.On) // the rest is read all the same, for its mistakes
	if onError != (node.Entry{}) {
		b.onError(&h)(onError)
	}
	if condition != (node.Entry{}) {
		h.Condition = b.condition(condition, h.On)
	}
	if action == (node.Entry{}) {
		b.Fail(e.At, "write action: {type: …}; its types are "+strings.Join(hook.Actions(), ", "),
			"%s has no action", e.Name())
		return
	}
	b.action(action, &h)
	if h.ID == "" && b.Position(e.Below("id")) == (node.Position{}) {
		b.Fail(e.At, form, "%s has no id", e.Name())
		return
	}
	if known {
		b.add(e, h)
	}
}

// empty is a hook with its defaults.
func (b *block) empty() hook.Hook {
	return hook.Hook{
		Priority: hook.DefaultPriority, Timeout: hook.DefaultTimeout, Agent: b.source.Agent, File: b.source.File,
	}
}

// add takes a hook, unless there is one of its id.
func (b *block) add(e node.Entry, h hook.Hook) {
	if slices.ContainsFunc(b.hooks, func(o hook.Hook) bool { return o.ID == h.ID }) {
		b.Fail(b.Nearest(e.Below("id")), "give one of them another id", "there are two hooks %s", node.Quote(h.ID))
		return
	}
	b.hooks = append(b.hooks, h)
}

func (b *block) id(to *string) node.Read {
	return func(e node.Entry) {
		id, ok := b.Text(e)
		if ok && (len(id) > 64 || strings.ContainsFunc(id, isOdd)) {
			b.Fail(e.At, "use letters, digits, -, _ and .", "%s is %s, which cannot be a hook's id", e.Name(), node.Quote(id))
			return
		}
		*to = id
	}
}

func isOdd(c rune) bool {
	return !(c == '-' || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z')
}

// onError reads what becomes of an event whose hook failed.
func (b *block) onError(h *hook.Hook) node.Read {
	return func(e node.Entry) {
		b.Choice((*string)(&h.OnError), string(hook.Block), string(hook.Continue))(e)
		if h.OnError == hook.Block && h.On != "" && !h.On.CanRefuse() {
			b.Fail(e.At, "write continue, or use it on tool_start, turn_start or turn_end",
				"%s is block, and nothing can be refused on %s", e.Name(), h.On)
		}
	}
}

// event reads what a hook waits for.
func (b *block) event(e, on node.Entry, to *hook.Event) bool {
	var names []string
	for _, one := range hook.Events() {
		names = append(names, string(one))
	}
	if on == (node.Entry{}) {
		b.Fail(e.At, "write on: and one of "+strings.Join(names, ", "), "%s names no event", e.Name())
		return false
	}
	name, ok := b.Text(on)
	if !ok {
		return false
	}
	if *to, ok = hook.ParseEvent(name); !ok {
		b.Fail(on.At, node.DidYouMean(name, names, "the events are"), "there is no event %s", node.Quote(name))
	}
	return ok
}

// claude reads hooks of Claude Code's form: events, each with matchers and commands.
func (b *block) claude(e node.Entry) {
	prefix := ""
	if file := b.source.File; file != "" { // several files may have commands of one event
		prefix = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) + "/"
	}
	reads := map[string]node.Read{}
	for _, name := range hook.ClaudeEvents() {
		on, _ := hook.ParseClaudeEvent(name)
		reads[name] = func(in node.Entry) {
			const remedy = "write - {matcher: Bash, hooks: [{type: command, command: …}]}"
			for i, one := range b.Items(in, "a list of matchers", remedy) {
				b.matcher(one, on, prefix+name+"."+strconv.Itoa(i+1))
			}
		}
	}
	b.Mapping(Level, e, reads)
}

// matcher reads the commands of one matcher.
func (b *block) matcher(e node.Entry, on hook.Event, id string) {
	var condition hook.Condition
	var commands node.Entry
	b.Mapping(levelClaude, e, map[string]node.Read{
		"matcher": func(in node.Entry) {
			if text, ok := in.Plain(); ok && text == "" {
				return
			}
			text, ok := b.Text(in)
			if !ok {
				return
			}
			m, err := hook.CompileClaude(text)
			if err != nil {
				b.Fail(in.At, "write a tool's name, or a regular expression such as Edit|Write", "%s: %v", in.Name(), err)
				return
			}
			if m != nil {
				condition = hook.Condition{Type: hook.SourceIs, Match: m}
				if on.IsTool() {
					condition.Type = hook.ToolName
				}
			}
		},
		"hooks": func(in node.Entry) { commands = in },
	})
	if commands == (node.Entry{}) {
		b.Fail(e.At, "write hooks: [{type: command, command: …}]", "%s has no hooks", e.Name())
		return
	}
	for i, in := range b.Items(commands, "a list of commands", "write - {type: command, command: …}") {
		h := b.empty()
		h.On, h.Condition, h.ID = on, condition, id+"."+strconv.Itoa(i+1)
		b.command(in, &h)
		b.add(in, h)
	}
}

// command reads a command of Claude Code's form.
func (b *block) command(e node.Entry, h *hook.Hook) {
	b.Mapping(levelCommand, e, map[string]node.Read{
		"type": func(in node.Entry) {
			if kind, ok := b.Text(in); ok && kind != string(hook.ActionCommand) {
				b.Fail(in.At, "write command; others are not built", "%s is %s", in.Name(), node.Quote(kind))
			}
		},
		"command":  func(in node.Entry) { b.commandLine(in, h) },
		"timeout":  b.Seconds(&h.Timeout, 1, 3600, "write how many seconds it may take, such as 60"),
		"on_error": b.onError(h),
	})
	h.Action.Type = hook.ActionCommand
	if h.Action.Command == nil && b.Position(e.Below("command")) == (node.Position{}) {
		b.Fail(e.At, "write command: and what bash shall run", "%s has no command", e.Name())
	}
}
