package fileschema

import (
	"maps"
	"slices"

	"callgate/internal/app"
)

func runtimeBlock(known app.KnownModules) node {
	n := block("runtime", append(startKeys(),
		key{"entry_agent", text(), "The id of the agent that is spoken to. Default: the first."},
		key{"max_turns", integer(1, 10_000).with("default", 50), "How often a model is asked within one turn."},
		key{"timeout", integer(1, 86_400).with("default", 3600),
			"How many seconds of the model's time one turn may take. Calls and questions to a human are not counted."},
		key{"max_cost", number(0.000001, 1_000_000), "How many dollars one turn may cost, where the price is known."},
		key{"max_cost_tokens", integer(1, 1_000_000_000), "How many tokens one turn may take, read and written."},
		key{"workdir", text(), "The folder that workdir_mode: fixed means, relative to the app file."},
		key{"workdir_mode", enum("auto", "none", "required", "fixed", "auto"),
			"In which folder agents work. auto: the one they are started in. required: one that is named (callgate -C " +
				"FOLDER run). fixed: workdir. none: an empty one."},
		key{"tool_injection", enum("auto", "auto", "direct", "compact_direct", "discovery"),
			"How tools are shown to a model. auto: by what they cost. direct: whole. compact_direct: each by name and " +
				"one line. discovery: by search."},
		key{"direct_modules", list(suggestions(modules(known)...)), "Modules whose tools are shown whole in every mode."},
		key{"pinned_tools", list(text()), "Tools that are shown whole in every mode, such as [filesystem.read]."},
		key{"primitives", anyOf(enum("", "all", "none"), list(text())),
			"The kernel's own tools beyond the five that find and call others: all, none, or the names of some."},
		key{"context", contextBlock("runtime.context", key{"sections", nullable(list(sectionBlock()).with("maxItems", 50)),
			"What every model is told anew with each turn: docs/guides/context-sections.md."}), "The models' context."},
		key{"project_instructions", boolean(true),
			"Whether a model is told what AGENTS.md says (CLAUDE.md where there is none), of the project and of the user. " +
				"false in the user's own file: in no folder."},
		key{"project_memory", text(),
			"The file that the project keeps for every agent, beside AGENTS.md: auto (.callgate.md, where there is one), " +
				"none, or a file in the app's folder."},
		key{"default_channel", text(),
			"The channel of replies that answer no event. Left out: the conversation itself."},
		key{"triggers", triggersBlock(),
			"What starts turns of the app by itself, by name. Each needs your consent: callgate app trust."},
		key{"scheduler", schedulerBlock(),
			"Whether agents may have calls made later and be reminded: true, or settings. It asks for your consent."},
		key{"watchers", boolean(false),
			"Whether agents may have calls made again and again, and be told when the results change. It asks for your consent."},
		key{"strict", boolean(false), "One bad manifest in tools.dirs fails the start; calls in the text of a model are refused."},
		key{"sandbox", enum("full", "full", "relaxed"),
			"relaxed: commands run even where this machine cannot put up every wall around them."},
		key{"modes", modesBlock(known),
			"Ways of working, by name, of which a conversation is in one: auto, or else the first, until you choose another " +
				"(/app-mode, --app-mode)."},
		key{"session_mode", enum("multi", "multi", "mono"),
			"mono: a user has one conversation with each agent of the app in a folder, and beginning another goes on with it."},
		key{"max_sessions_per_user", integer(1, 10_000),
			"How many conversations a user may have open with the app at once. Left out: any number."},
		key{"hooks", hooksBlock(), "What happens by itself when something happens: docs/guides/hooks.md."},
		key{"middleware", textMiddleware(), "What stands around all that is said, the first outermost."},
	)...)
	with := func(key, word, needs string) node {
		is := node{"properties": node{key: node{"const": word}}, "required": []string{key}}
		return node{"if": is, "then": node{"required": []string{needs}}}
	}
	return n.with("allOf", []node{with("workdir_mode", "fixed", "workdir"), with("mode", "pipeline", "pipeline")})
}

// startKeys say how a turn starts, and with what.
func startKeys() []key {
	return []key{
		{"mode", enum("conversation", "conversation", "one_shot", "background", "pipeline"),
			"conversation: words and answers, until somebody ends it. one_shot: one task, one answer. " +
				"background: turns that triggers start, without a client: callgate app start. pipeline: the steps of pipeline."},
		{"pipeline", list(stepBlock()), "The steps of an app whose mode is pipeline, in their order: docs/guides/pipelines.md."},
		{"input", node{"type": "object"}, "The JSON Schema of what the app is given when another one calls it."},
		{"output", node{"type": "object"}, "The JSON Schema of what the app gives to another one that calls it."},
		{"payload_schema", node{"type": "object"},
			"The JSON Schema of what triggers bring. What does not fit starts no turn: a webhook is answered with 422."},
		{"max_concurrent_activations", integer(1, 1000).with("default", 4),
			"How many turns that events start run at a time. More wait."},
	}
}

// stepBlock is a step of a pipeline.
func stepBlock() node {
	return needs(block("runtime.pipeline",
		key{"id", text().with("pattern", "^[a-z][a-z0-9_]{0,39}$"), "Its name, by which later steps refer to what it gave."},
		key{"action", text(), "The tool that it calls, such as filesystem.read."},
		key{"params", node{"type": []string{"object", "null"}},
			"The parameters of the call. {{input.KEY}}, {{steps.ID.output.KEY}} and {{steps.ID.text}} are filled in."},
		key{"agent", text(), "The agent of this file that works, in the place of a call."},
		key{"prompt", text(), "What the agent is to do. The same is filled in."},
		key{"output", node{"type": "object"}, "The JSON Schema of what the agent gives. Left out: a text."},
	), "id")
}

// modesBlock are the modes of the app, by name.
func modesBlock(known app.KnownModules) node {
	grant := anyOf(text(), needs(block("runtime.modes.tool_grants",
		key{"module", suggestions(slices.Sorted(maps.Keys(known))...), "The module whose tools stay."},
		key{"actions", list(text()), "Some of its actions. Left out: all."},
		key{"tools", list(text()), "The same as actions."},
	), "module"))
	mode := block("runtime.modes",
		key{"description", label(), "What it is for, in a line."},
		key{"behavior", text(), "What the model is told as long as the mode lasts."},
		key{"tool_grants", nullable(list(grant)),
			"What stays of the agent's tools: filesystem, filesystem.read or {module: …, actions: […]}. Left out: all."},
		key{"max_turns", integer(1, 10_000), "How often a model is asked within one turn. Default: as the app says."},
		key{"timeout", integer(1, 86_400), "Seconds of the model's time in one turn. Default: as the app says."},
	)
	return named(mode).with("propertyNames", node{"pattern": "^[a-z][a-z0-9_-]{0,39}$"})
}

func schedulerBlock() node {
	return anyOf(boolean(false), block("runtime.scheduler",
		key{"max_jobs", integer(1, 100_000).with("default", app.DefaultMaxJobs),
			"How many schedules and reminders of the app may wait at once."},
		key{"timezone", text(), "In which time zone times are read that name none, such as Europe/Berlin. Default: UTC."},
	).with("type", "object"))
}

// contextBlock is the size of a model's context, and what happens when a
// conversation no longer fits into it.
func contextBlock(path string, more ...key) node {
	return block(path, append([]key{
		{"max_tokens", node{"type": "integer", "anyOf": []node{{"const": 0}, integer(1000, 100_000_000)}},
			"The size of the model's context in tokens. 0, or left out: as the model is known to have."},
		{"output_reserved", integer(1, 10_000_000).with("default", 4096),
			"How many of these tokens are kept free for the answer."},
		{"strategy", enum("summarize", "summarize", "truncate"),
			"What becomes of old messages when the context is full. summarize: a model writes a summary of them, where " +
				"there is one. truncate: what was said is listed, a line each."},
		{"keep_recent", integer(1, 10_000).with("default", 10),
			"How many of the last messages always stay as they are, where they fit."},
		{"compression_trigger", number(0.1, 1).with("default", 0.75),
			"The share of the context at which old messages go."},
		{"summary_max_tokens", integer(100, 100_000),
			"How many tokens a summary may have. Default: a 32nd of the context, from 1024 to 8192."},
		{"auto_compact", boolean(true), "false: conversations are shortened by hand only (callgate sessions compact)."},
		{"summary_brain", ref("brain"), "The model that writes summaries. Left out: the agent's own."},
		{"remember_facts", boolean(false), "true: that model also finds the facts of what is summarized, and they are remembered " +
			"by calls of memory.remember. Needs the module memory, and a rule that lets it remember without asking."},
	}, more...)...)
}

func textMiddleware() node {
	return middleware([]string{"mask_secrets", "rag_inject"},
		key{"mask_secrets", block("middleware.mask_secrets",
			key{"patterns", list(text()), "More of what is taken out, as regular expressions."},
		), "Takes what looks like a key, a token or a password out of what is said."},
		key{"content_filter", needs(block("middleware.content_filter",
			key{"block", list(text()).with("minItems", 1), "What may not be said, as regular expressions."},
			key{"where", enum("both", "input", "output", "both"), "input: what the user says. output: what the model says."},
			key{"message", label(), "What is said in its place."},
		), "block"), "Refuses what may not be said."},
		key{"prompt_inject", needs(block("middleware.prompt_inject",
			key{"text", text(), "What every agent is told, after its own system_prompt."},
		), "text"), "Adds to what the model is told."},
		key{"rag_inject", block("middleware.rag_inject",
			key{"bases", list(text()), "The knowledge bases that are asked. Left out: all."},
			key{"limit", integer(1, 20).with("default", 4), "How many passages the model is told."},
		), "Asks the module rag about what the user says, and tells the model the passages."},
		key{"response_filter", needs(block("middleware.response_filter",
			key{"remove", list(text()).with("minItems", 1), "What is taken out of the model's answers, as regular expressions."},
			key{"replace_with", label(), "What stands in its place. Left out: nothing."},
		), "remove"), "Takes something out of what the model says."},
	)
}

// middleware is a list of names, alone or with settings; bare are those that
// need none.
func middleware(bare []string, kinds ...key) node {
	return nullable(list(anyOf(enum("", bare...), block("middleware", kinds...).with("type", "object"))))
}

func agentBlock(known app.KnownModules) node {
	return needs(block("agents",
		key{"id", pattern(`^[A-Za-z0-9_-]{1,64}$`), "By what it is known: letters, digits, - and _."},
		key{"role", label().with("default", "assistant"), "What it is, in a word or two."},
		key{"specialty", label(), "What it is good at."},
		key{"system_prompt", anyOf(text(), block("agents.system_prompt",
			key{"file", text(), "A file in the app's folder."},
		).with("type", "object")), "What it is told: the text, or {file: prompts/main.md}."},
		key{"instructions", anyOf(text(), block("agents.instructions",
			key{"file", text(), "A file in the app's folder."},
		).with("type", "object")), "What it is told after its system_prompt: the text, or {file: prompts/more.md}."},
		key{"brain", ref("brain"),
			"Its model, and how that is asked. Left out: the embedded stand-in, which is no language model."},
		key{"lanes", lanesBlock(),
			"Two models in the place of one: a fast one that answers, and one for deep work in the background."},
		key{"modules", list(agentModule(known)),
			"The modules it may use: - filesystem for all of it, or - filesystem: [read, grep]. Left out: all of the " +
				"app's."},
		key{"capabilities", list(text()), "Skills of dev.skills whose text is always in its prompt."},
		key{"skills", text(), "A file in the app's folder whose text tells this agent how things are done; it is always " +
			"in its prompt."},
		key{"hooks", hooksBlock(), "Hooks of this agent alone, in the form of runtime.hooks."},
		key{"plan_first", boolean(true), "Whether it plans before it acts."},
		key{"max_tool_iterations", integer(1, 10_000),
			"How often its model is asked within one turn. Default: runtime.max_turns."},
		key{"delegate_to", list(text()), "Agents of this file that it may start. Left out: all."},
		key{"coordination", text(), "How it is to work with the agents that it starts; stands in its prompt."},
		key{"pool", poolBlock(), "Limits of the agents that it starts."},
	), "id")
}

func poolBlock() node {
	d := app.DefaultPool()
	return nullable(block("agents.pool",
		key{"max_workers", integer(1, 100).with("default", d.MaxWorkers), "How many work at once; the others wait."},
		key{"progress", boolean(false), "Whether it is told how far they are."},
		key{"auto_retry", integer(0, 5).with("default", 0), "How often one that failed is tried again."},
		key{"max_depth", integer(1, 10).with("default", d.MaxDepth), "How deep agents may start agents."},
		key{"max_agents", integer(1, 1000).with("default", d.MaxAgents),
			"How many agents may work for one conversation, of whatever depth."},
		key{"max_tokens", integer(1, 1_000_000_000),
			"Tokens that all agents of one conversation may take together. Left out: any."},
		key{"max_cost", number(0.0001, 100_000), "US dollars that they may cost together. Left out: any."},
	).with("type", "object"))
}

// agentModule is a module by its name, or with the actions of it.
func agentModule(known app.KnownModules) node {
	each := node{}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		each[name] = list(action(name, known[name]))
	}
	return anyOf(suggestions(slices.Sorted(maps.Keys(known))...),
		node{"type": "object", "properties": each, "additionalProperties": list(text())})
}

func lanesBlock() node {
	lane := func() node {
		return node{
			"if":   node{"required": []string{"brain"}},
			"then": block("agents.lanes", key{"brain", ref("brain"), "The lane's model, and how that is asked."}),
			"else": ref("brain"),
		}
	}
	return block("agents.lanes",
		key{"edge", lane(), "The lane that answers the user at once."},
		key{"core", lane(), "The lane that is handed deep work, and does it in the background."},
	).with("dependentRequired", node{"edge": []string{"core"}, "core": []string{"edge"}})
}

// providers are those that are known by name; any other comes with an address.
var providers = []string{"offline", "openai", "anthropic", "deepseek", "groq", "mistral", "together", "gemini",
	"xai", "cerebras", "fireworks", "perplexity", "openrouter", "ollama", "lmstudio", "vllm", "llamacpp", "github_copilot"}

func brainBlock() node {
	n := block("brain",
		key{"provider", suggestions(providers...),
			"Who runs the model. offline is the embedded stand-in, which is no language model and needs no key; a " +
				"provider that is not known by name comes with config.base_url."},
		key{"provider_id", suggestions(providers...), "The same as provider."},
		key{"model", text(), "The name by which the provider knows the model."},
		key{"backend", enum("", "openai_compat", "anthropic", "github_copilot"),
			"The API that the provider speaks, where its name does not tell."},
		key{"credential", ref("credential"), "The secret that is its key. It goes before config.api_key."},
		key{"config", block("brain.config",
			key{"base_url", pattern(`^https?://`), "Its address. It is used once you accepted it: callgate app trust."},
			key{"api_key", text(),
				"Its key: {{secret.NAME}} or {{env.NAME}}. Left out: the provider's usual variable, such as OPENAI_API_KEY."},
			key{"headers", named(text()), "Headers of every request. They may hold {{secret.NAME}}."},
		), "Where the provider is, and its key."},
		key{"temperature", number(0, 2), "How much chance there is in an answer."},
		key{"top_p", number(0, 1), "From how much of what is likely an answer is taken."},
		key{"max_tokens", integer(1, 10_000_000), "How many tokens one answer may have."},
		key{"timeout", integer(1, 86_400), "How many seconds one answer may take."},
		key{"patience", integer(1, 86_400).with("default", 600),
			"How many seconds a request waits in all for a provider that limits the rate or is busy."},
		key{"max_concurrent", integer(1, 100).with("default", 8),
			"How many requests to the model run at once, of all agents together; the others wait."},
		key{"effort", enum("", "low", "medium", "high"), "How much a model that thinks does so before it answers."},
		key{"native_tool_use", node{"type": "boolean"},
			"Whether the model takes tools beside the prompt. Left out: as is known of it, or as its server answers. " +
				"false: it reads of them in the prompt, and calls in text."},
		key{"vision", node{"type": "boolean"},
			"Whether the model reads pictures. Left out: as is known of it. false: it is told of each in a line."},
		key{"image_detail", enum("auto", "auto", "low", "high"), "How closely pictures are read, where the provider has that."},
		key{"max_images_per_turn", integer(1, 100), "How many pictures of one turn the model is sent. Default: all."},
		key{"context", contextBlock("brain.context"), "The model's context. It goes before runtime.context."},
		key{"fallback", ref("brain"), "The model that takes over for the rest of a turn when this one cannot answer."},
	)
	has := func(name string) node { return node{"required": []string{name}} }
	offline := func(name string) node {
		return has(name).with("properties", node{name: node{"pattern": "^" + app.Offline + "$|" + variable}})
	}
	return n.with("type", "object").with("allOf", []node{
		anyOf(has("provider"), has("provider_id")),
		anyOf(has("model"), offline("provider"), offline("provider_id")),
	})
}

func credentialBlock() node {
	const name = `^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`
	return anyOf(pattern(name), needs(block("credential",
		key{"ref", pattern(name), "The name of a secret: callgate secrets set NAME keeps its value."},
		key{"scope", enum("per_user", "per_user", "system_wide", "per_app_per_user", "per_app_shared"),
			"Whose secret it is. per_user and system_wide: ref itself. per_app_per_user and per_app_shared: this app's " +
				"own, APP_ID.REF."},
		key{"provider", label(), "A note of what it is for."},
	), "ref"))
}
