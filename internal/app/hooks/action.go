package hooks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"callgate/internal/app/node"
	"callgate/internal/condition"
	"callgate/internal/hook"
	"callgate/tool"
)

// actionKeys are the keys that each action takes beside its type.
var actionKeys = map[hook.ActionType]string{
	hook.ActionCall: "tool name module action params action_params", hook.ActionInject: "message content",
	hook.ActionCallInject: "tool name module action params action_params",
	hook.ActionNotify:     "channel title message level",
	hook.ActionLog:        "message level", hook.ActionBlock: "reason allow", hook.ActionTransformParams: "set remove",
	hook.ActionTransformResult: "append_to_result inject_note cut", hook.ActionShell: "command inject_result",
	hook.ActionCommand: "command",
}

// action reads what a hook does.
func (b *block) action(e node.Entry, h *hook.Hook) {
	var kind string
	given, written := map[string]node.Entry{}, map[string]any{}
	reads := map[string]node.Read{"type": b.actionType(&kind)}
	for _, keys := range actionKeys {
		for _, key := range strings.Fields(keys) {
			reads[key] = func(in node.Entry) {
				given[key], written[key] = in, b.Value(in)
				b.actionKey(key, in, h)
			}
		}
	}
	b.Mapping(levelAction, e, reads)
	if kind == "" {
		if b.Position(e.Below("type")) == (node.Position{}) {
			b.Fail(e.At, "write type: and one of "+strings.Join(hook.Actions(), ", "), "%s has no type", e.Name())
		}
		return
	}
	a := &h.Action
	a.Type, _ = hook.ParseAction(kind)
	if ok, where := a.Type.On(h.On); !ok && h.On != "" {
		b.Fail(e.At, "use it on "+where, "the action %s does nothing on %s", kind, h.On)
		return
	}
	keys := actionKeys[a.Type]
	if kind == hook.Diagnose {
		keys = "params"
	}
	if !b.fits(e, given, kind, keys) {
		return
	}
	if kind == hook.Diagnose {
		b.diagnoses(e, h)
	} else {
		b.called(e, given, h)
	}
	b.needs(e, h)
	if text, err := json.Marshal(written); err == nil {
		a.Written = string(text)
	}
	if a.Type == hook.ActionCommand || a.Type == hook.ActionShell {
		a.Written = fmt.Sprint(written["command"])
	}
}

// actionType reads the type of an action. What is designed elsewhere and not built here is
// refused with the way to get the same.
func (b *block) actionType(to *string) node.Read {
	others := map[string]string{
		"chain":           "write one hook for each action; those of one event run in the order of their priority",
		"pipe":            "write type: module_action, and its arguments under params",
		"compact_context": "set runtime.context.compression_trigger: conversations are made shorter by themselves",
	}
	return func(e node.Entry) {
		if word, ok := e.Scalar(); ok && others[word] != "" {
			b.Fail(e.At, others[word], "the action %s is not built", word)
			*to = ""
			return
		}
		b.Choice(to, hook.Actions()...)(e)
	}
}

// actionKey reads one key of an action.
func (b *block) actionKey(key string, e node.Entry, h *hook.Hook) {
	a := &h.Action
	switch key {
	case "message", "content", "reason":
		a.Text = b.text(e, h.On)
	case "title":
		a.Title = b.text(e, h.On)
	case "append_to_result":
		a.Append = b.text(e, h.On)
	case "inject_note":
		a.Note = b.text(e, h.On)
	case "params", "action_params":
		a.Params = b.object(e, h.On)
	case "set":
		a.Set = b.object(e, h.On)
	case "remove":
		b.Texts(&a.Remove, "name the arguments, such as [force]")(e)
	case "cut":
		b.Number(&a.Cut, 1, 1<<30, "write how many bytes stay, such as 2000")(e)
	case "level":
		b.Choice(&a.Level, "debug", "info", "warning", "error")(e)
	case "channel":
		b.Label(&a.Channel)(e)
	case "allow":
		var allow bool
		if b.Boolean(&allow, "write false, or leave the key out")(e); allow {
			b.Fail(e.At, "delete the hook: only the rules of tools.capabilities let something run",
				"a hook cannot allow anything")
		}
	case "inject_result":
		b.Boolean(&a.Inject, "write true to tell the model what the command printed")(e)
	case "command":
		b.commandLine(e, h)
	case "tool", "name", "module", "action":
		var name string
		b.TextInto(&name)(e)
	}
}

// diagnoses fills in the call of an action that has the file of a call looked at.
func (b *block) diagnoses(e node.Entry, h *hook.Hook) {
	a := &h.Action
	a.Tool = "lsp.diagnostics"
	b.source.Names.Mention(b.Reader, e.Below("type"), "lsp", "diagnostics", true)
	if a.Params != nil {
		return
	}
	t, err := condition.CompileTemplate([]byte(`{"path": "{{tool.path}}", "severity": "warning"}`), hook.Env(h.On))
	if err != nil {
		b.FailExpression(e, err)
		return
	}
	a.Params = t
}

// called reads which tool an action calls: by its name, or by its module and action.
func (b *block) called(e node.Entry, given map[string]node.Entry, h *hook.Hook) {
	a := &h.Action
	if a.Type != hook.ActionCall && a.Type != hook.ActionCallInject {
		return
	}
	text := func(key string) (s string) {
		if in, there := given[key]; there {
			s, _ = b.Value(in).(string)
		}
		return s
	}
	name := cmp.Or(text("tool"), text("name"))
	if action, module := text("action"), text("module"); name == "" && action != "" {
		if name = action; module != "" {
			name = module + "." + action
		}
	}
	if name == "" {
		b.Fail(e.At, "write tool: filesystem.read, or module: and action:", "%s names no tool", e.Name())
		return
	}
	dotted, act, err := tool.ParseDotted(name)
	if err != nil {
		b.Fail(e.At, "write a tool with its module, such as filesystem.read",
			"%s names the tool %s", e.Name(), node.Quote(name))
		return
	}
	a.Tool = name
	path := e.Path
	for _, key := range []string{"tool", "name", "action", "module"} {
		if in, there := given[key]; there {
			path = in.Path
			break
		}
	}
	b.source.Names.Mention(b.Reader, path, dotted, act, true)
	if params, there := given["params"]; name == "shell.bash" && there && a.Params != nil && !a.Params.Fixed() {
		b.Fail(params.At, "write type: shell, whose values cannot become parts of the command",
			"%s puts values into a command line", e.Name())
	}
}

// needs reports what an action lacks.
func (b *block) needs(e node.Entry, h *hook.Hook) {
	a := &h.Action
	lacks := func(key string, missing bool) {
		if missing && b.Position(e.Below(key)) == (node.Position{}) {
			b.Fail(e.At, "write "+key+": …", "%s is %s, and has no %s", e.Name(), a.Type, key)
		}
	}
	switch a.Type {
	case hook.ActionBlock:
		lacks("reason", a.Text == nil)
	case hook.ActionInject:
		lacks("message", a.Text == nil && b.Position(e.Below("content")) == (node.Position{}))
	case hook.ActionNotify, hook.ActionLog:
		lacks("message", a.Text == nil)
	case hook.ActionShell, hook.ActionCommand:
		lacks("command", a.Command == nil)
	case hook.ActionTransformParams:
		lacks("set", a.Set == nil && len(a.Remove) == 0)
	case hook.ActionTransformResult:
		lacks("inject_note", a.Note == nil && a.Append == nil && a.Cut == 0)
	}
}

// text reads a template of a text.
func (b *block) text(e node.Entry, on hook.Event) *condition.Template {
	text, ok := b.Text(e)
	if !ok {
		return nil
	}
	t, err := condition.CompileText(text, hook.Env(on))
	if err != nil {
		b.FailExpression(e, err)
	}
	return t
}

// object reads a template of a mapping.
func (b *block) object(e node.Entry, on hook.Event) *condition.Template {
	if !e.IsMapping() {
		b.TypeError(e, "a mapping of names to values", "write one argument on each line")
		return nil
	}
	data, err := json.Marshal(b.Value(e))
	if err != nil {
		b.FailExpression(e, err)
		return nil
	}
	t, err := condition.CompileTemplate(data, hook.Env(on))
	if err != nil {
		b.FailExpression(e, err)
	}
	return t
}

// commandLine reads a command, and the scripts that it names.
func (b *block) commandLine(e node.Entry, h *hook.Hook) {
	line, ok := b.Text(e)
	if !ok {
		return
	}
	c, err := hook.CompileCommand(line, hook.Env(h.On))
	if err != nil {
		b.FailExpression(e, err)
		return
	}
	h.Action.Command, h.Action.Written = c, line
	if h.Scripts, err = Scripts(c.Line, b.source.Folder, b.source.Workdir); err != nil {
		b.FailExpression(e, err)
	}
	if h.GuardsCalls() {
		h.Scripts = withFolders(h.Scripts, b.source.Folder, b.source.Workdir)
	}
}
