// Package fileschema tells an editor what an app file may hold: as JSON Schema,
// with a description of every key, so that the editor completes, explains and
// checks the file while it is written.
//
// # Laws
//
//   - What package app accepts, the schema accepts: a mark in an editor is a
//     mistake. The reverse does not hold. Whether a file exists, a secret has a
//     value or two agents have one id, only callgate app check can say.
//   - The schema has a key if and only if package app reads it; a test asks
//     package app for the keys of each block and compares. Keys that are not
//     built yet are left out.
//   - Where a text may hold {{variables}}, a text with variables is never
//     marked: its value is not known before the file is loaded.
package fileschema

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"callgate/internal/app"
)

// JSONSchema is the schema of app files, in draft 2020-12, for the modules that
// are known.
func JSONSchema(known app.KnownModules) []byte {
	file := block("",
		key{"schema_version", node{"enum": []any{2, "2"}}, "The version of the form of this file. There is one."},
		key{"app", appBlock(), "What the app is called."},
		key{"runtime", runtimeBlock(known), "How the app's agents run, and how their tools are shown to them."},
		key{"agents", nullable(list(ref("agent"))),
			"The agents of the app. Without any, the embedded stand-in answers, which is no language model."},
		key{"tools", toolsBlock(known), "Which tools there are, and what models may do with them."},
		key{"profiles", profilesBlock(known),
			"Parts of the app, each given to the MCP clients that come by its name: callgate mcp --profile NAME, " +
				"or /mcp/p/NAME over HTTP."},
		key{"providers", providersBlock(), "How much is asked of the providers of models. Left out: no limits."},
		key{"budget", budgetBlock(), "What models may cost in a day: of this app, or in the user's own file of all apps."},
		key{"retain", retainBlock(), "What is kept for how long. Only your own app file says it. Left out: a year of records, 90 days of artifacts that no record names."},
		key{"users", usersBlock(), "What holds for the users that tokens and logins stand for. Only your own app file says it."},
		key{"search", searchBlock(), "How tools are found by what is meant. Left out: with the model that is built in."},
		key{"security", securityBlock(), "What is trusted, and when."},
		key{"dev", devBlock(), "What the app file is made of: variables, skills, agents in other files."},
	)
	file["type"] = "object"
	file["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	file["title"] = "Callgate app file"
	file["description"] = "callgate.yaml: the modules, agents and rules of one app. " +
		"A key that is misspelt, or not built yet, is an error and never ignored."
	file["$defs"] = define(known)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(file); err != nil {
		panic(err) // it holds texts, numbers and lists of them
	}
	return out.Bytes()
}

// define makes the blocks that several places use.
func define(known app.KnownModules) node {
	defs := node{
		"agent":        agentBlock(known),
		"brain":        brainBlock(),
		"credential":   credentialBlock(),
		"rule":         ruleBlock(known),
		"server":       serverBlock(),
		"api":          apiBlock(),
		"around_calls": callMiddleware(),
		"hook":         hookBlock(),

		"hook_condition": conditionBlock(),
	}
	for name := range known {
		if actions := slices.Sorted(slices.Values(known.Actions(name))); len(actions) > 0 {
			defs["action_of_"+name] = enum("", append(slices.Compact(actions), "*")...)
		}
	}
	return defs
}

func appBlock() node {
	return block("app",
		key{"app_id", pattern(`^[a-z0-9][a-z0-9_-]{0,63}$`),
			"By what the app is known: lower-case letters, digits, - and _. Default: the name of its folder."},
		key{"name", label(), "What people call it. Default: its app_id."},
		key{"version", label(), "Its version, in quotes, such as \"1.0\"."},
		key{"description", text(), "What it is for."},
		key{"short_name", label(), "A shorter name, for where there is little room."},
		key{"author", label(), "Who made it."},
		key{"tags", list(text()).with("maxItems", 50), "Words by which people find it."},
		key{"icon", label(), "A sign for it, such as an emoji."},
		key{"color", pattern(`^(#[0-9A-Fa-f]{3}|#[0-9A-Fa-f]{6}|[a-z]{3,20})$`), "Its color: \"#3366cc\" or a name."},
		key{"category", label(), "What kind of app it is."},
		key{"attachments", anyOf(node{"const": "*"}, nullable(list(node{"const": "image"}))),
			"What users may put into their messages: [image], [] for nothing, \"*\". Left out: what the model reads."},
		key{"attachments_mode", node{"const": "direct"}, "direct: the model is given it in the message."},
		key{"quick_prompts", nullable(list(needs(block("app.quick_prompts",
			key{"label", label(), "What people choose; in the chat a command of that name."},
			key{"message", text(), "What is said then."},
			key{"icon", label(), "A sign before the label."},
		), "label", "message")).with("maxItems", 20)), "What the first screen of the chat offers to say."},
	)
}

func searchBlock() node {
	n := block("search",
		key{"model", text(), "The folder of a static embedding model, relative to the app file."},
		key{"endpoint", needs(block("search.endpoint",
			key{"url", text(), "Its address, such as http://127.0.0.1:11434."},
			key{"model", text(), "The name of the model there."},
			key{"key", text(), "Its key: {{secret.NAME}}."},
			key{"dimensions", integer(1, 65536), "How many numbers a vector has."},
		), "url"), "An embeddings API in the form of OpenAI's. It is asked once you accepted it: callgate app trust."},
		key{"synonyms", list(list(text()).with("not", node{"minItems": 1, "maxItems": 1})),
			"Groups of words that mean the same: - [refund, reimburse]."},
		key{"requests", named(list(text()).with("maxItems", 16)),
			"What people say when they mean a tool: desk.triage: [sort my tickets]."},
		key{"learn", boolean(true), "false: nothing is learned from what is searched and called, and what was is not used."},
	)
	return n.with("not", node{"type": "object", "required": []string{"model", "endpoint"}})
}

func securityBlock() node {
	return block("security",
		key{"require_pinning", boolean(false), "Show nothing of an MCP server before a human accepted it."},
		key{"max_data_classification", enum("restricted", "public", "internal", "sensitive", "restricted"),
			"No tool whose results may hold data of a higher class runs. The same as in tools.capabilities; the stricter counts."},
	)
}

func devBlock() node {
	return block("dev",
		key{"variables", named(scalar()).with("propertyNames", node{
			"pattern": `^[A-Za-z_][A-Za-z0-9_]{0,63}$`,
			"not":     node{"enum": []string{"workdir", "env", "secret", "app", "var"}},
		}), "Values that other places write as {{name}}. They may hold variables themselves."},
		key{"skills", nullable(list(needs(block("dev.skills",
			key{"command", pattern(`^/?[A-Za-z0-9_-]{1,64}$`), "By what it is asked for, with or without a slash."},
			key{"description", label(), "When it is of use, in one line: this is what a model sees of it at first."},
			key{"path", text(), "Its text, a file in the app's folder, or a folder there with a SKILL.md."},
		), "command", "path"))),
			"Texts that tell a model how something is done. An agent reads one when it needs it (use_skill), or has it " +
				"in its prompt (agents.capabilities)."},
		key{"allow_user_skills", boolean(false),
			"Agents may use the skills in the user's own folder, as far as the user accepted them."},
		key{"include", block("dev.include",
			key{"agents", list(text()), "Files in the app's folder, each with one agent or a list of them."},
			key{"hooks", list(text()),
				"Files in the app's folder, each with hooks: a list, or a mapping as in .claude/settings.json."},
		), "Parts of the app in files of their own."},
	)
}

// modules are the names that a rule may give.
func modules(known app.KnownModules) []string {
	return append(slices.Sorted(maps.Keys(known)), "*")
}
