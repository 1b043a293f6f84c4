package fileschema

import "callgate/internal/source/prompted/builtin"

// llmBlock is the LLM-backed tools of an app.
func llmBlock() node {
	return block("tools.llm",
		key{"default_model", modelName(), "The model of tools that name none. Left out: the agent's own."},
		key{"compat", text(), "The file with what was measured of models, relative to the app file."},
		key{"bench_models", list(modelName()), "Models that callgate bench llm measures, beside those that tools name."},
		key{"model_catalog", text(), "A file of models, their prices, windows and scores, relative to the app file."},
		key{"dirs", list(text()), "Folders of definitions, each in a file of its own, relative to the app file."},
		key{"catalogs", list(toolCatalog()), "Signed catalogs of tools on servers. Each needs your consent: callgate app trust."},
		key{"models", named(list(modelName())), "The models that a tool asks first, in order, by its ID."},
		key{"builtins", anyOf(list(enum("", builtin.Names()...)), named(llmPreference())),
			"The kernel's own tools that are turned on: a list, or each with the models that it asks."},
		key{"require_signed", boolean(false), "No tool but those that a key signed which you trust: callgate keys trust."},
		key{"timeout", duration(), "How long a request to a model may take, such as 60s. Left out: no limit."},
		key{"connect_timeout", duration(), "How long a connection to a provider may take. Left out: 30 seconds, and again."},
		key{"first_token_timeout", duration(), "How long it may take until an answer begins. Left out: no limit."},
		key{"tools", list(llmTool()), "The tools. Each needs your consent: callgate app trust."},
	)
}

// toolCatalog is a remote catalog of tools.
func toolCatalog() node {
	return needs(block("tools.llm.catalogs",
		key{"url", pattern("^https?://"), "Where it is, without a query: https, or http where private_hosts lists the host."},
		key{"key", text(), "The public key, of minisign, of who signs it, or the name of a key that you trust."},
		key{"refresh", durationFrom(60), "How often the server is asked whether it changed, 1m to 24h. Left out: 1h."},
		key{"private_hosts", list(text()), "Hosts that may be reached although they are not public, such as localhost:8080."},
	), "url", "key")
}

// modelName is the name of a model.
func modelName() node { return pattern("^[^/]+/.+") }

// llmTool is the definition of one tool.
func llmTool() node {
	const path = "tools.llm.tools"
	schema := func() node { return node{"type": "object"} }
	return needs(block(path,
		key{"id", pattern("^[a-z0-9_.-]+:[a-z0-9_-]+@[0-9]+"), "namespace:name@version, such as acme:triage@1.0.0."},
		key{"description", text(), "What it does, for the model that calls it."},
		key{"input_schema", schema(), "The JSON Schema of its arguments, of type object."},
		key{"output_schema", schema(), "The JSON Schema of its answer. Left out: a text."},
		key{"output_schema_from", text(), "The argument that is the JSON Schema of the answer."},
		key{"system_prompt", text(), "What the model is told it is. {{argument}} is filled in."},
		key{"user_template", text(), "What the model is asked. {{argument}}, {{a.path}} and {{list | numbered}} are filled in."},
		key{"output_format", enum("", "text", "json"), "What the model answers with. Left out: json where there is a schema."},
		key{"output_example", node{}, "An answer to imitate."},
		key{"variants", list(llmVariant()), "Other prompts for certain models or modes."},
		key{"model_preference", llmPreference(), "Which models are asked, in order."},
		key{"recommended_threshold", number(0, 100), "The score that a model must reach to be recommended. Default: 100."},
		key{"tags", list(text()), "Words by which it is found."},
		key{"repairs", integer(0, 5), "How often a model is shown what is wrong with its answer. Default: 1."},
		key{"prepare_input", named(node{}), "More variables for the templates, made of the arguments: '{{lower(text)}}'."},
		key{"resolve_max_tokens", text(), "The tokens of an answer at most, over the arguments: '{{words + 100}}'."},
	), "id", "description")
}

func llmPreference() node {
	return block("tools.llm.tools.model_preference",
		key{"preferred", modelName(), "The model that is asked first, as openai/gpt-5.4-nano."},
		key{"fallbacks", list(modelName()), "Models that are asked when one fails, in order."},
		key{"too_long", list(modelName()), "The same, where the input is too long for a model."},
		key{"refused", list(modelName()), "The same, where a model declined."},
		key{"max_tokens", integer(1, 1_000_000), "The tokens of an answer at most."},
		key{"temperature", number(0, 2), "How much the answers vary."},
	)
}

func llmVariant() node {
	return needs(block("tools.llm.tools.variants",
		key{"id", text(), "The name of the variant."},
		key{"description", text(), "What it is for, for people."},
		key{"system_prompt", text(), "In the place of the tool's."},
		key{"user_template", text(), "In the place of the tool's."},
		key{"output_example", node{}, "In the place of the tool's."},
		key{"output_schema", node{"type": "object"}, "In the place of the tool's."},
		key{"modes", list(text()), "The values of the argument mode for which it is."},
		key{"models", list(modelName()), "The models for which it is."},
		key{"providers", list(text()), "The providers for which it is."},
		key{"match", anyOf(text(), list(text())), "A part of provider/model for which it is."},
		key{"default", boolean(false), "It is used where no other fits."},
		key{"resolve_max_tokens", text(), "In the place of the tool's."},
	), "id")
}
