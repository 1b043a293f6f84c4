package fileschema

import (
	"callgate/internal/hook"
)

// hooksBlock is what happens by itself when something happens: in our form, or in Claude
// Code's.
func hooksBlock() node {
	return anyOf(nullable(list(ref("hook"))), claudeHooks())
}

func hookBlock() node {
	events := []string{"pre_tool_use", "post_tool_use", "user_prompt", "stop", "before_tool", "after_tool", "agent_spawn",
		"agent_complete"}
	var own []string
	for _, e := range hook.Events() {
		own = append(own, string(e))
	}
	event := enum("", append(own, events...)...)
	n := block("hooks",
		key{"id", pattern(`^[A-Za-z0-9_.-]{1,64}$`), "By what it is known: letters, digits, -, _ and ."},
		key{"on", event, "What it waits for."},
		key{"event", enum("", append(own, events...)...), "The same as on."},
		key{"condition", ref("hook_condition"), "When it fires. Left out: always."},
		key{"action", hookAction(), "What it does then."},
		key{"cooldown", duration(), "How much time passes between two firings, such as 60 (seconds) or 5m."},
		key{"max_fires", integer(0, 1_000_000), "How often it fires in one conversation; 0: any."},
		key{"priority", integer(-1_000_000, 1_000_000).with("default", hook.DefaultPriority),
			"Hooks of one event run in the order of their priorities, low first."},
		key{"enabled", boolean(true), "false: it never fires."},
		key{"timeout", duration(), "How long what it runs may take. Default: 60 seconds."},
		key{"on_error", enum("", string(hook.Block), string(hook.Continue)),
			"What becomes of the event when the hook fails. Default: block for a hook that can refuse a call or a turn, " +
				"else continue."},
	)
	has := func(name string) node { return node{"required": []string{name}} }
	return needs(n, "id", "action").with("anyOf", []node{has("on"), has("event")})
}

func conditionBlock() node {
	names := func() node { return anyOf(text(), list(text())) }
	return needs(block("hooks.condition",
		key{"type", enum("", hook.ConditionTypes()...), "What decides."},
		key{"conditions", list(ref("hook_condition")), "all_of, any_of: the conditions."},
		key{"condition", ref("hook_condition"), "not: the condition that must not hold."},
		key{"match", names(), "tool_name: tools, with * for a part of a name. error_type: kinds of errors."},
		key{"value", names(), "The same as match."},
		key{"keyword", text(), "content_contains: the words, in any case."},
		key{"threshold", number(0, 1_000_000_000), "The least count, or the least part of the context."},
		key{"every", integer(1, 1_000_000), "turn_count: every so many turns."},
		key{"expr", text(), "expression: such as turn > 5 and pressure > 0.6."},
	), "type")
}

func hookAction() node {
	arguments := func() node { return node{"type": "object"} }
	return needs(block("hooks.action",
		key{"type", enum("", hook.Actions()...), "What is done."},
		key{"tool", text(), "module_action: the tool, such as memory.remember."},
		key{"name", text(), "The same as tool."},
		key{"module", text(), "module_action: the tool's module, beside action."},
		key{"action", text(), "module_action: the tool's action, beside module."},
		key{"params", arguments(), "module_action: the arguments, which may hold {{tool.params.path}} and others."},
		key{"action_params", arguments(), "The same as params."},
		key{"message", text(), "inject_message, notify, log: the text."},
		key{"content", text(), "inject_message: the same as message."},
		key{"reason", text(), "block: what the model, or the user, is told."},
		key{"allow", boolean(false).with("const", false), "block: false. A hook allows nothing."},
		key{"title", text(), "notify: the title."},
		key{"level", enum("info", "debug", "info", "warning", "error"), "notify, log: how much it matters."},
		key{"channel", label(), "notify: the channel. Left out: the app's default."},
		key{"command", text(), "shell, command: the command line for bash."},
		key{"inject_result", boolean(false), "shell: tell the model what the command printed."},
		key{"set", arguments(), "transform_params: arguments that are set."},
		key{"remove", list(text()), "transform_params: arguments that are removed."},
		key{"append_to_result", text(), "transform_result: what is added."},
		key{"inject_note", text(), "transform_result: what is told beside it."},
		key{"cut", integer(1, 1<<30), "transform_result: how many bytes of it stay."},
	), "type")
}

// claudeHooks are commands by the events of Claude Code.
func claudeHooks() node {
	command := func(onError ...string) node {
		return needs(block("hooks.command",
			key{"type", enum("command", string(hook.ActionCommand)), "What it is: a command."},
			key{"command", text(), "The command line for bash. It reads JSON, and exits with 2 to refuse."},
			key{"timeout", integer(1, 3600).with("default", 60), "How many seconds it may take."},
			key{"on_error", enum("", onError...), "What becomes of the event when it fails."},
		), "command")
	}
	matcher := func(of node) node {
		return needs(block("hooks.matcher",
			key{"matcher", node{"type": "string"}, "The tools, as a regular expression such as Edit|Write. Left out: all."},
			key{"hooks", list(of), "The commands."},
		), "hooks")
	}
	var keys []key
	for _, name := range hook.ClaudeEvents() {
		of := command(string(hook.Continue))
		if e, _ := hook.ParseClaudeEvent(name); e.CanRefuse() {
			of = command(string(hook.Block), string(hook.Continue))
		}
		keys = append(keys, key{name, list(matcher(of)), "Commands of this event, as in Claude Code."})
	}
	return block("hooks", keys...).with("type", "object")
}
