package fileschema

import (
	"maps"
	"slices"
	"time"

	"callgate/internal/app"
	"callgate/internal/gate/policy"
)

func toolsBlock(known app.KnownModules) node {
	return block("tools",
		key{"modules", modulesBlock(known), "The modules that are on, each on a line of its own. Left out: all of them."},
		key{"capabilities", capabilitiesBlock(known),
			"What models may do. A call that several rules name follows the strictest: deny, approve, grant."},
		key{"builtin", anyOf(enum("", "auto", "all", "none"), list(suggestions(modules(known)...))),
			"Which of these modules an MCP client is given: auto (none for a coding agent, which has its own), " +
				"all, none, or some by name. Left out: those that modules names, else auto."},
		key{"dirs", list(text()), "Folders of executable tools, relative to the app file."},
		key{"require_signed", boolean(false), "No manifest of dirs but those that a key signed which you trust."},
		key{"llm", llmBlock(), "Tools whose work a language model does: docs/guides/llm-tools.md."},
		key{"apps", named(text()).with("propertyNames", node{"pattern": "^[a-z][a-z0-9_-]{0,63}$"}),
			"Apps that agents call with call_app, each by its ID and its file, relative to this one. Each needs your consent: " +
				"callgate app trust."},
		key{"channels", channelsBlock(),
			"Where agents may send messages, by name. Each needs your consent: callgate app trust."},
	)
}

func modulesBlock(known app.KnownModules) node {
	keys := []key{{"mcp", block("tools.modules.mcp",
		key{"config", block("tools.modules.mcp.config",
			key{"servers", named(ref("server")).with("propertyNames", node{"pattern": "^[a-z0-9][a-z0-9_-]{0,39}$"}),
				"MCP servers by name. The tools of the server files are the module mcp_files."},
		), "The servers."},
	), "The MCP servers behind this app."}, {"openapi", block("tools.modules.openapi",
		key{"config", block("tools.modules.openapi.config",
			key{"apis", named(ref("api")).with("propertyNames", node{"pattern": "^[a-z][a-z0-9_]{0,39}$"}),
				"APIs by name. The operations of the API petstore are the tools of the module petstore."},
		), "The APIs of this app."},
	), "The APIs whose OpenAPI documents become tools: docs/guides/openapi.md."}}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !known[name].AlwaysOn {
			keys = append(keys, key{name, moduleBlock(name, known[name]), "The module " + name + "."})
		}
	}
	server := moduleBlock("mcp_<server>", app.KnownModule{})
	return block("tools.modules", keys...).with("patternProperties", node{
		"^mcp_[a-z0-9_]+$": server.with("description", "The tools of an MCP server of this file."),
	})
}

func moduleBlock(name string, m app.KnownModule) node {
	path := "tools.modules." + name
	constraints := []key{
		{"allowed_actions", list(action(name, m)), "Models see only these actions."},
		{"blocked_actions", list(anyOf(action(name, m), text())), "Models do not see these actions."},
	}
	keys := []key{
		{"config", block(path+".config", settings(m.Config)...), "How the module works. Texts may hold {{secret.NAME}}."},
		{"constraints", block(path+".constraints", append(constraints, settings(m.Constraints)...)...),
			"What the module may do."},
		{"setup", nullable(list(needs(block(path+".setup",
			key{"action", action(name, m), "An action of this module, without the module's name."},
			key{"params", node{"type": []string{"object", "null"}}, "Its parameters. Texts may hold {{secret.NAME}}."},
		), "action"))), "Calls that the kernel makes when a session opens, once you accepted them: callgate app trust."},
		{"middleware", ref("around_calls"), "What stands around the module's calls, the first outermost."},
	}
	if m.Credential {
		keys = append(keys, key{"credential", ref("credential"), "The secret that the module's calls are given."})
	}
	return block(path, keys...)
}

// action is the name of an action of a module.
func action(name string, m app.KnownModule) node {
	if len(m.Actions) == 0 {
		return text()
	}
	return ref("action_of_" + name)
}

// settings are the keys that a module declares.
func settings(all []app.Setting) []key {
	var keys []key
	for _, s := range all {
		help := s.Help
		if s.Want != "" {
			help += " (" + s.Want + ")"
		}
		keys = append(keys, key{s.Key, setting(s), help})
	}
	return keys
}

func setting(s app.Setting) node {
	switch {
	case s.Type == "":
		return node{}
	case len(s.OneOf) > 0 && s.Type == "boolean":
		return anyOf(node{"type": "boolean"}, enum("", s.OneOf...))
	case len(s.OneOf) > 0 && s.Type == "array":
		return node{"type": "array", "items": enum("", s.OneOf...)}
	case len(s.OneOf) > 0:
		return enum("", s.OneOf...)
	}
	n := node{"type": s.Type}
	switch {
	case s.Type == "array":
		n["items"] = node{"type": "string"}
	case s.Min < s.Max:
		n["minimum"], n["maximum"] = s.Min, s.Max
	}
	return n
}

func callMiddleware() node {
	return middleware([]string{"audit", "retry"},
		key{"audit", block("middleware.audit"), "Reads, too, are on record whole before they are answered."},
		key{"retry", block("middleware.retry",
			key{"attempts", integer(1, 5).with("default", 3), "How often a call is tried in all."},
			key{"backoff_seconds", integer(0, 60).with("default", 1),
				"How many seconds to wait before the second try; then twice as long each time."},
			key{"on", list(enum("", "unavailable", "timeout", "busy", "limited", "failed")).
				with("default", []string{"unavailable", "timeout"}), "The kinds of failure that may pass."},
		), "Makes a call that failed again, when nothing can be done twice by that."},
		key{"timeout", needs(block("middleware.timeout",
			key{"seconds", integer(1, 86_400), "How many seconds a call may take."},
		), "seconds"), "How long a call may take, in place of the tool's own limit."},
	)
}

func capabilitiesBlock(known app.KnownModules) node {
	rules := func() node { return nullable(list(ref("rule"))) }
	return block("tools.capabilities",
		key{"default_policy", enum("approve", "auto", "approve", "block"),
			"What no rule names. auto: it runs. approve: a human is asked. block: it is refused."},
		key{"max_risk_level", enum("high", "low", "medium", "high"),
			"Riskier calls than this are refused unless a rule under grant or approve names them."},
		key{"max_data_classification", enum("restricted", "public", "internal", "sensitive", "restricted"),
			"Tools whose results may hold data of a higher class are refused, whatever grants them."},
		key{"grant", rules(), "What runs at once."},
		key{"approve", rules(), "What waits until a human approves the exact call."},
		key{"deny", rules(), "What is refused to everyone."},
		key{"hidden_modules", list(suggestions(modules(known)...)), "Modules that models do not see."},
		key{"hidden_actions", list(text()), "Actions that models do not see, such as [filesystem.write]."},
		key{"rate_limits", named(integer(1, 10_000)),
			"How many calls a minute may hold: of one action (filesystem.write: 30), of a module, of all (\"*\")."},
		key{"approval_timeout", integer(seconds(policy.MinTimeout), seconds(policy.MaxTimeout)).with("default", 300),
			"How many seconds a human has to answer. No answer is a no."},
	)
}

func examples() node { return nullable(list(node{"type": []string{"object", "string"}})) }

func seconds(d time.Duration) int { return int(d / time.Second) }

func ruleBlock(known app.KnownModules) node {
	n := needs(block("rule",
		key{"module", suggestions(modules(known)...), "A module, or \"*\" for every one."},
		key{"actions", list(text()), "Actions of it, without its name. Left out: all of them."},
		key{"reason", text().with("maxLength", 300), "Why, for the human who is asked or the model that is refused."},
		key{"match", node{"type": "object", "minProperties": 1},
			"The rule is only about calls with these arguments: {path: \"src/**\"}, {command: git log *}, {n: {max: 5}}."},
		key{"examples", block("rule.examples",
			key{"match", examples(), "Calls that must fit: arguments, or the text of a command."},
			key{"not_match", examples(), "Calls that must not fit."},
		), "Calls that show what match means. They are checked when this file is read."},
	), "module")
	var each []node
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if len(known[name].Actions) == 0 {
			continue
		}
		each = append(each, node{
			"if":   node{"properties": node{"module": node{"const": name}}, "required": []string{"module"}},
			"then": node{"properties": node{"actions": node{"items": action(name, known[name])}}},
		})
	}
	if len(each) > 0 {
		n["allOf"] = each
	}
	return n
}
