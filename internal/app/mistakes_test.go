package app_test

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"callgate/internal/app"
	"callgate/internal/app/starter"
	"callgate/tool"
)

var update = flag.Bool("update", false, "rewrite the golden messages")

// under puts lines below tools.capabilities.
func under(lines ...string) string {
	return "tools:\n  capabilities:\n    " + strings.Join(lines, "\n    ") + "\n"
}

// module puts lines below tools.modules.filesystem.
func module(lines ...string) string {
	return "tools:\n  modules:\n    filesystem:\n      " + strings.Join(lines, "\n      ") + "\n"
}

// servers puts lines below the MCP servers.
func servers(lines ...string) string {
	const at = "          "
	return "tools:\n  modules:\n    mcp:\n      config:\n        servers:\n" + at + strings.Join(lines, "\n"+at) + "\n"
}

// toolCatalog puts catalogs below tools.llm.
func toolCatalog(lines ...string) string {
	return "tools:\n  llm:\n    catalogs:\n    - {" + strings.Join(lines, "}\n    - {") + "}\n"
}

// channel puts a line below tools.channels, and trigger some below runtime.triggers.
func channel(line string) string { return "tools:\n  channels:\n    " + line + "\n" }

func trigger(lines ...string) string {
	return "runtime:\n  mode: background\n  triggers:\n    " + strings.Join(lines, "\n    ") + "\n"
}

// agent puts lines below an agent, and brain below its brain.
func agent(lines ...string) string { return "agents:\n  - " + strings.Join(lines, "\n    ") + "\n" }

func brain(lines ...string) string {
	return agent("id: a", "brain:", "  "+strings.Join(lines, "\n      "))
}

// section puts lines below a section of the context.
func section(lines ...string) string {
	return "runtime:\n  context:\n    sections:\n    - " + strings.Join(lines, "\n      ") + "\n"
}

// hooks puts lines below a hook.
func hooks(lines ...string) string {
	return "runtime:\n  hooks:\n  - " + strings.Join(lines, "\n    ") + "\n"
}

var mistakes = []struct{ name, text string }{
	// The text as a whole.
	{"empty", ""},
	{"only comments", "# app:\n#   name: x\n"},
	{"only a document mark", "---\n"},
	{"only null", "~\n"},
	{"too large", strings.Repeat("# far too much\n", 1<<17)},
	{"not UTF-8", "app:\n  name: caf\xe9\n"},
	{"UTF-16", "\xff\xfea\x00p\x00p\x00"},
	{"control character", "app:\n  name: a\x1b[31mb\n"},
	{"a list at the root", "- app\n- tools\n"},
	{"text at the root", "app\n"},
	{"two documents", "app: {name: a}\n---\napp: {name: b}\n"},
	{"empty lines", "app:\n  description: |\n    x\n" + strings.Repeat("\n", 200) + "  name: x\n"},
	{"too many tabs", "app:\n  name: \"" + strings.Repeat("\t", 2000) + "\"\n"},
	{"too deep", "app: " + strings.Repeat("[", 60) + "\n"},
	{"too deep with dashes", "app:\n  " + strings.Repeat("- ", 60) + "x\n"},
	{"too deep with indentation", func() (text string) {
		for i := range 60 {
			text += strings.Repeat(" ", i) + "a:\n"
		}
		return text
	}()},
	{"key too long", "app:\n  " + strings.Repeat("k", 500) + ": x\n"},
	{"too many values", "app:\n  - " + strings.Repeat("a\n  - ", 6000) + "a\n"},

	// YAML.
	{"tab", "app:\n\tname: x\n"},
	{"tab after spaces", "app:\n  name: x\n \tversion: y\n"},
	{"open double quote", "app:\n  name: \"x\n  version: '1'\n"},
	{"open single quote", "app:\n  name: 'it's\n"},
	{"open list", "tools:\n  capabilities:\n    hidden_modules: [shell\n"},
	{"open brace", "app: {name: x\n"},
	{"stray bracket", "app:\n  name: x\n]\n"},
	{"two colons", "app:\n  name: x: y\n"},
	{"no colon", "app:\n  name x\n  version: '1'\n"},
	{"crooked indentation", "app:\n    name: x\n  version: '1'\n"},
	{"reserved character", "app:\n  name: @home\n"},
	{"unknown escape", "app:\n  name: \"C:\\work\"\n"},
	{"anchor", "app: &a\n  name: x\n"},
	{"alias", "app:\n  name: *a\n"},
	{"bare star", under("deny:", "- module: *")},
	{"bare star as a key", under("rate_limits:", "  *: 5")},
	{"merge key", "app:\n  <<: {name: x}\n"},
	{"tag", "app:\n  name: !!str x\n"},
	{"question mark key", "? app\n: {}\n"},
	{"directive", "%YAML 1.2\n---\napp: {}\n"},

	// Keys.
	{"misspelt block", "ap:\n  name: x\n"},
	{"misspelt key", "app:\n  nmae: x\n"},
	{"dashes for underscores", under("default-policy: auto")},
	{"capitals", under("Deny: []")},
	{"a key from nowhere", "app:\n  quux: 1\n"},
	{"key twice", "app:\n  name: x\n  version: '1'\n  name: y\n"},
	{"module twice", "tools:\n  modules:\n    shell:\n    shell: {}\n"},
	{"a number as a key", "app:\n  1: x\n"},
	{"misplaced block", "capabilities:\n  default_policy: auto\n"},
	{"misplaced key", "tools:\n  deny:\n  - module: shell\n"},
	{"misplaced constraint", module("allowed_actions: [read]")},
	{"not built: a block", "runtime:\n  mode: conversation\n  workdir: x\nui: {}\n"},
	{"sections of one brain", "agents: [{id: a, brain: {provider: offline, context: {sections: []}}}]\n"},
	{"one conversation of an app that answers once", "runtime: {mode: one_shot, session_mode: mono}\n"},
	{"conversations by an unknown word", "runtime: {session_mode: single, max_sessions_per_user: 0}\n"},
	{"a schema of what nothing brings", "runtime:\n  mode: background\n  payload_schema: {type: object}\n" +
		"  triggers: {daily: {type: schedule, when: \"@daily\"}}\n"},
	{"a schema that is none", trigger("a: {type: webhook, path: /a, auth: none}") + "  payload_schema: {type: objct}\n"},
	{"attachments of other kinds", "app: {attachments: [image, document, audio, movie], attachments_mode: tool}\n"},
	{"attachments in an unknown way", "app: {attachments: 3, attachments_mode: inline}\n"},
	{"sections that are no list", "runtime: {context: {sections: {id: a}}}\n"},
	{"a section without anything", section("title: x")},
	{"a section with two sources", section("id: a", "text: x", "file: y")},
	{"two sections of one name", section("id: a", "text: x") + "    - {id: a, text: y}\n"},
	{"a section with a name that is none", section("id: a b", "text: x")},
	{"a section of the code", section("id: a", "builtin: code_index")},
	{"a section of an unknown kind", section("id: a", "builtin: dattime")},
	{"a section that may be written", section("id: a", "file: x", "writable: true")},
	{"a section outside", section("id: a", "files: [../x, /etc/passwd]")},
	{"a section of no files", section("id: a", "files: []")},
	{"a section of the environment", section("id: a", "text: \"{{env.HOME}}\"")},
	{"a section with a template that is wrong", section("id: a", "template: \"{{session.turns}} of {{place.os}}\"")},
	{"a section with a condition that is wrong", section("id: a", "text: x", "when: place.gti")},
	{"a section with half a condition", section("id: a", "text: x", "when: session.turn >")},
	{
		"not built: several",
		"app: {name: x, attachments: y}\nagents: []\nsecurity: {content_filter: x, mask_secrets: true, sandbox: x}\nruntime: {max_data_classification: x}\ndev: {skills: [], include: {}}\n",
	},
	{"not built: misspelt", "agnets: []\n"},
	{"a credential that is not wanted", module("credential: x")},
	{"behavior is no module", "tools:\n  modules:\n    behavior: {config: {profile: dev}}\n"},
	{"not built: modules", "tools:\n  modules:\n    queue: {}\n"},
	{"no data classification", under("max_data_classification: secret")},

	{"watchers that are no switch", "runtime:\n  watchers: 5\n"},
	{"a scheduler that is no switch", "runtime:\n  scheduler: often\n"},
	{"a scheduler without room", "runtime:\n  scheduler: {max_jobs: 0}\n"},
	{"a scheduler in no time zone", "runtime:\n  scheduler: {timezone: Berlin}\n"},
	{"a misspelt key of the scheduler", "runtime:\n  scheduler: {time_zone: UTC}\n"},

	{"a channel of no type", channel("log: {path: x}")},
	{"a channel of a wrong type", channel("log: {type: slack}")},
	{"the conversation as a channel", channel("conversation: {type: stdout}")},
	{"a channel's name", channel("My Log: {type: stdout}")},
	{"a webhook to nowhere", channel("ops: {type: webhook, url: example.com}")},
	{"a key of another type of channel", channel("ops: {type: webhook, url: 'https://x', to: [a@b.c]}")},
	{"mail without a server", channel("mail: {type: email, from: a@b.c, to: [d@e.f]}")},
	{"mail to nobody", channel("mail: {type: email, host: x, from: a@b.c}")},
	{"half a login", channel("mail: {type: email, host: x, from: a@b.c, to: [d@e.f], username: a}")},
	{"a file outside", channel("log: {type: file, path: ../log.jsonl}")},
	{"a header that is none", channel("ops: {type: webhook, url: 'https://x', headers: {'a b': x}}")},
	{"a private host that is none", channel("ops: {type: webhook, url: 'https://x', private_hosts: ['a b']}")},
	{"a secret where none is read", channel("log: {type: file, path: '{{secret.a}}'}")},
	{"a reply to nobody", trigger("a: {type: schedule, when: '@daily', reply_to: lgo}") + channel("log: {type: stdout}")},
	{"triggers in a conversation", "runtime:\n  triggers:\n    a: {type: schedule, when: '@daily'}\n"},
	{"triggers at the root", "triggers: {}\n"},
	{"a trigger of no type", trigger("a: {path: /x}")},
	{"a trigger's name", trigger("A: {type: webhook}")},
	{"a webhook without a path", trigger("a: {type: webhook, auth: none}")},
	{"a webhook for whom", trigger("a: {type: webhook, path: /x}")},
	{"a webhook for everybody", trigger("a: {type: webhook, path: /x, auth: none, listen: '0.0.0.0:80'}")},
	{"a webhook without its secret", trigger("a: {type: webhook, path: /x, auth: token}")},
	{"a secret that is not asked for", trigger("a: {type: webhook, path: /x, auth: none, credential: k}")},
	{"a webhook nowhere", trigger("a: {type: webhook, path: /x, auth: none, listen: localhost}")},
	{"a method of no webhook", trigger("a: {type: webhook, path: /x, auth: none, methods: [post]}")},
	{"two webhooks at one path", trigger("a: {type: webhook, path: /x, auth: none}", "b: {type: webhook, path: /x, auth: none}")},
	{"a feed of nothing", trigger("a: {type: feed}")},
	{"a mailbox of nobody", trigger("a: {type: mailbox, host: x}")},
	{"a time that is none", trigger("a: {type: schedule, when: often}")},
	{"a time that comes once", trigger("a: {type: schedule, when: in 5m}")},
	{"a trigger in no time zone", trigger("a: {type: schedule, when: '@daily', timezone: Mars}")},
	{"a folder outside", trigger("a: {type: folder, path: /tmp}")},
	{"a pattern that is none", trigger("a: {type: folder, path: in, pattern: '['}")},
	{"a key of another type of trigger", trigger("a: {type: folder, path: in, url: 'https://x'}")},
	{"a trigger for nobody", trigger("a: {type: schedule, when: '@daily', agent: mian}") + agent("id: main")},
	{"too hasty a trigger", trigger("a: {type: feed, url: 'https://x', interval: 1}")},

	// Remote catalogs of tools.
	{"a catalog of nobody", toolCatalog("url: 'https://x/c.json'")},
	{"a catalog nowhere", toolCatalog("key: acme")},
	{"a key that is none", toolCatalog("url: 'https://x/c.json', key: 'RW secret'")},
	{"a catalog in the open", toolCatalog("url: 'http://x/c.json', key: acme")},
	{"a password in an address", toolCatalog("url: 'https://me:secret@x/c.json', key: acme")},
	{"a token in an address", toolCatalog("url: 'https://x/c.json?token=abc', key: acme")},
	{"a secret in an address", toolCatalog("url: 'https://x/{{secret.a}}.json', key: acme")},
	{"a folder for a catalog", toolCatalog("url: 'https://x/', key: acme")},
	{"too hasty a catalog", toolCatalog("url: 'https://x/c.json', key: acme, refresh: 30s")},
	{"a catalog twice", toolCatalog("url: 'https://x/c.json', key: acme", "url: 'https://x/c.json', key: other")},
	{"a key that no catalog has", toolCatalog("url: 'https://x/c.json', key: acme, token: x")},
	{"a catalog that is a text", "tools: {llm: {catalogs: [https://x/c.json]}}\n"},

	// Variables.
	{"environment that is not set", "search:\n  model: \"{{env.CALLGATE_NOT_SET}}\"\n"},
	{"nothing to fall back on", "search:\n  model: \"{{env.CALLGATE_NOT_SET ?? env.CALLGATE_NEITHER}}\"\n"},
	{"environment in what is shown", "app:\n  name: \"{{env.HOME}}\"\n"},
	{"environment in what is shown, by a variable", "agents:\n- {id: a, role: \"{{v}}\"}\ndev:\n  variables: {v: \"{{env.HOME}}\"}\n"},
	{"no such variable", "app:\n  name: \"{{regoin}}\"\ndev:\n  variables: {region: eu}\n"},
	{"no such variable of ours", "app:\n  name: \"{{workdri}}\"\n"},
	{"a variable without a name", "app:\n  name: \"x {{ }} y\"\n"},
	{"variables in a circle", "app:\n  name: \"{{a}}\"\ndev:\n  variables:\n    a: \"{{b}}\"\n    b: \"{{var.c}}\"\n    c: \"x{{a}}\"\n"},
	{"a variable that is itself", "app:\n  name: \"{{a}}\"\ndev:\n  variables: {a: \"{{a}}\"}\n"},
	{"a variable with a bad name", "dev:\n  variables:\n    my-region: eu\n"},
	{"a variable of a taken name", "dev:\n  variables:\n    workdir: /tmp\n"},
	{"a variable that is a list", "dev:\n  variables:\n    regions: [eu, us]\n"},
	{"variables as a list", "dev:\n  variables: [region]\n"},
	{"a secret where none may stand", "app:\n  description: \"{{secret.token}}\"\n"},
	{"a secret with a bad name", module("config:", "  ignore: ['{{secret.a b}}']")},
	{"empty once filled in", "app:\n  name: \"{{nothing}}\"\ndev:\n  variables: {nothing: ''}\n"},

	// Setup, surface, search, security.
	{"setup as a mapping", module("setup: {action: read}")},
	{"setup without an action", module("setup:", "- {params: {path: x}}")},
	{"setup of an unknown action", module("setup:", "- {action: raed}")},
	{"setup with the module's name", module("setup:", "- {action: filesystem.read}")},
	{"setup with params as a list", module("setup:", "- {action: read, params: [x]}")},
	{"setup with another key", module("setup:", "- {action: read, args: {}}")},
	{"a version of the form that is not there", "schema_version: 1\napp: {name: x}\n"},
	{"a color that is none", "app: {color: \"#12\"}\n"},
	{"a quick prompt without a message", "app:\n  quick_prompts:\n  - {label: Review}\n"},
	{"a misspelt key of a quick prompt", "app:\n  quick_prompts:\n  - {label: Review, message: x, icno: y}\n"},
	{"instructions in a file that is not there", agent("id: a", "instructions: {file: prompts/none.md}")},
	{"a prompt that is not there", agent("id: a", "system_prompt: \"{{prompt.none}}\"")},
	{"a prompt outside the folder", agent("id: a", "system_prompt: \"{{prompt.../../x}}\"")},
	{"a machine that is not known", agent("id: a", "system_prompt: \"{{sys.user}}\"")},
	{"vision that is no switch", brain("provider: openai", "model: x", "vision: yes please")},
	{"an image detail that is not there", brain("provider: openai", "model: x", "image_detail: fine")},
	{"no pictures at all", brain("provider: openai", "model: x", "max_images_per_turn: 0")},
	{"prompt_inject without a text", "runtime:\n  middleware: [prompt_inject]\n"},
	{"prompt_inject with a variable", "runtime:\n  middleware:\n  - prompt_inject: {text: \"{{env.HOME}}\"}\n"},
	{"response_filter without patterns", "runtime:\n  middleware:\n  - response_filter: {replace_with: x}\n"},
	{"response_filter with a bad pattern", "runtime:\n  middleware:\n  - response_filter: {remove: [\"(\"]}\n"},
	{"rag_inject", "runtime:\n  middleware:\n  - rag_inject: {limit: 0, base: main}\n"},
	{"a mode with a bad name", "runtime:\n  modes: {Auto: {}}\n"},
	{"a misspelt key of a mode", "runtime:\n  modes: {auto: {max_turn: 5}}\n"},
	{"a mode that grants every module", "runtime:\n  modes: {auto: {tool_grants: [{module: \"*\"}]}}\n"},
	{"a mode that grants an action that is not there", "runtime:\n  modes: {look: {tool_grants: [filesystem.raed]}}\n"},
	{"a mode that grants no module", "runtime:\n  modes: {look: {tool_grants: [{actions: [read]}]}}\n"},
	{"a mode without turns", "runtime:\n  modes: {look: {max_turns: 0}}\n"},
	{"injection", "runtime:\n  tool_injection: compact\n"},
	{"direct modules as text", "runtime:\n  direct_modules: filesystem\n"},
	{"primitives", "runtime:\n  primitives: some\n"},
	{"a window that is too small", "runtime:\n  context: {max_tokens: 10}\n"},
	{"a window in words", "runtime:\n  context: {max_tokens: 128k}\n"},
	{"a strategy that is not there", "runtime:\n  context: {strategy: summarise}\n"},
	{"all of the window for the answer", "runtime:\n  context: {max_tokens: 4000, output_reserved: 4096}\n"},
	{"nothing for the answer", "runtime:\n  context: {output_reserved: 0}\n"},
	{"none of the last messages", "runtime:\n  context: {keep_recent: 0}\n"},
	{"a trigger in percent", "runtime:\n  context: {compression_trigger: 75}\n"},
	{"a trigger in words", "runtime:\n  context: {compression_trigger: full}\n"},
	{"a summary of a few words", "runtime:\n  context: {summary_max_tokens: 10}\n"},
	{"compaction now and then", "runtime:\n  context: {auto_compact: sometimes}\n"},
	{"a summary brain by name", "runtime:\n  context: {summary_brain: gpt-5}\n"},
	{"a summary brain without a model", "runtime:\n  context: {summary_brain: {provider: openai}}\n"},
	{"a summary brain and no summary", "runtime:\n  context: {strategy: truncate, summary_brain: {provider: ollama, model: x}}\n"},
	{"facts of summaries and no summaries", "runtime:\n  context: {strategy: truncate, remember_facts: true}\n"},
	{"a summary brain that cannot write", "runtime:\n  context: {summary_brain: {provider: offline}}\n"},
	{
		"a summary brain that compacts",
		"runtime:\n  context:\n    summary_brain:\n      provider: ollama\n      model: x\n      context: {max_tokens: 9000, keep_recent: 3}\n",
	},
	{"a misspelt key of the context", "runtime:\n  context: {compresion_trigger: 0.5}\n"},
	{"injection at the root", "tool_injection: direct\n"},
	{"search by two means", "search:\n  model: models/mine\n  endpoint: {url: http://127.0.0.1:11434}\n"},
	{"an endpoint without a url", "search:\n  endpoint: {model: m}\n"},
	{"an endpoint with a secret url", "search:\n  endpoint: {url: '{{secret.url}}'}\n"},
	{"dimensions", "search:\n  endpoint: {url: http://x, dimensions: 0}\n"},
	{"synonyms as text", "search:\n  synonyms: [refund, reimburse]\n"},
	{"a group of one", "search:\n  synonyms: [[refund]]\n"},
	{"requests as a list", "search:\n  requests: [sort my tickets]\n"},
	{"a request as text", "search:\n  requests: {filesystem.read: open it}\n"},
	{"a request for no tool", "search:\n  requests: {read: [open it]}\n"},
	{"a request for a misspelt tool", "search:\n  requests:\n    filesystem.raed: [open it]\n"},
	{"a request for a misspelt module", "search:\n  requests:\n    filesytem.read: [open it]\n"},
	{"too many requests", "search:\n  requests:\n    filesystem.read: [" + strings.Repeat("a b, ", 16) + "c]\n"},
	{"too long a request", "search:\n  requests:\n    filesystem.read: [open, " + strings.Repeat("é", 301) + "]\n"},
	{"learning by a word", "search:\n  learn: sometimes\n"},
	{"search misspelt", "search:\n  modle: x\n"},
	{"pinning", "security:\n  require_pinning: yes please\n"},

	// MCP servers.
	{"servers as a list", servers("- command: npx")},
	{"server with a bad name", servers("My Server: {command: npx}")},
	{"two servers of one module", servers("a-b: {command: npx}", "a_b: {command: npx}")},
	{"server of nothing", servers("files:", "  args: [x]")},
	{"server of both kinds", servers("files:", "  command: npx", "  url: https://x")},
	{"server with a wrong protocol", servers("files:", "  command: npx", "  protocol: 2025-11-26")},
	{
		"server with a protocol that its transport does not know",
		servers("files:", "  url: https://example.com", "  transport: sse", "  protocol: 2026-07-28"),
	},
	{"server with a wrong transport", servers("files:", "  command: npx", "  transport: http")},
	{"server with another program's type", servers("files:", "  type: stdio", "  command: npx")},
	{"server with type sse", servers("files:", "  type: sse", "  url: https://x")},
	{"server with another program's variable", servers("files:", "  command: npx", "  env: {TOKEN: '${TOKEN:-none}'}")},
	{"server with an editor's variable", servers("files:", "  url: https://x", "  headers: {Authorization: 'Bearer ${env:TOKEN}'}")},
	{"server with a wrong isolation", servers("files:", "  command: npx", "  isolation: full")},
	{"server with the network twice", servers("files:", "  command: npx", "  isolation: contained", "  network: true")},
	{"server with isolation and a url", servers("files:", "  url: https://x", "  isolation: none")},
	{"server with a place and no walls", servers("files:", "  command: npx", "  isolation: none", "  readable: [/x]")},
	{"server with a place as text", servers("files:", "  command: npx", "  readable: /x")},
	{"server with the network in words", servers("files:", "  command: npx", "  network: some")},
	{"server with a bare address", servers("files:", "  url: example.com/mcp")},
	{"server with a time in words", servers("files:", "  command: npx", "  timeout: soon")},
	{"server with too long a time", servers("files:", "  command: npx", "  timeout: 90000")},
	{"server with no concurrency", servers("files:", "  command: npx", "  concurrency: 0")},
	{"server with args as text", servers("files:", "  command: npx", "  args: -y x")},
	{"server misspelt", servers("files:", "  comand: npx")},
	{"server's tool with a wrong risk", servers("files:", "  command: npx", "  tools: {x: {risk: extreme}}")},
	{
		"server's tool with a wrong effect",
		servers("files:", "  command: npx", "  tools: {x: {effects: [{resource: 'file:{path}', mode: W}]}}"),
	},
	{"server's tool with half an effect", servers("files:", "  command: npx", "  tools: {x: {effects: [{mode: X}]}}")},
	{
		"server's tool that reads and writes",
		servers("files:", "  command: npx", "  tools: {x: {side_effect: read, effects: [{resource: 'file:{path}', mode: X}]}}"),
	},
	{"server's lock of an unknown kind", servers("files:", "  command: npx", "  locks: {x: ['fil:{path}']}")},
	{"server's lock of a kind of others", servers("files:", "  command: npx", "  locks: {x: ['module:shell']}")},
	{"server's lock without a kind", servers("files:", "  command: npx", "  locks: {x: '{path}'}")},
	{"server's lock on everything", servers("files:", "  command: npx", "  locks: {x: ['file:/']}")},
	{"server's lock with a mode at its end", servers("files:", "  command: npx", "  locks: {x: ['file:{path}:X']}")},
	{"server's lock with a wrong mode", servers("files:", "  command: npx", "  locks: {x: [{resource: server, mode: W}]}")},
	{"server's lock without a resource", servers("files:", "  command: npx", "  locks: {x: [{mode: X}]}")},
	{"server's lock misspelt", servers("files:", "  command: npx", "  locks: {x: [{resorce: server}]}")},
	{"server's locks as a list", servers("files:", "  command: npx", "  locks: ['file:{path}']")},
	{"server's locks as another word", servers("files:", "  command: npx", "  locks: none")},
	{"servers at the root", "mcpServers:\n  files: {command: npx}\n"},
	{"servers without config", "tools:\n  modules:\n    mcp:\n      servers: {}\n"},
	{"oauth misspelt", servers("files:", "  url: https://x", "  oauth: {clientId: x}")},
	{"module of a server that is not there", "tools:\n  modules:\n    mcp_github: {}\n"},

	// Kinds of values.
	{"number for text", "app:\n  version: 1.0\n"},
	{"truth for text", "app:\n  name: true\n"},
	{"list for text", "app:\n  name: [x]\n"},
	{"no value for text", "app:\n  name:\n  version: '1'\n"},
	{"empty text", "app:\n  name: ''\n"},
	{"text for a block", "app: demo\n"},
	{"list for a block", "tools:\n  modules: [filesystem]\n"},
	{"text for a list", under("grant:", "- module: filesystem", "  actions: read")},
	{"rule as text", under("grant: [filesystem.read]")},
	{"rules as a mapping", under("grant:", "  module: filesystem")},
	{"rule that is empty", under("grant:", "-", "- module: shell")},
	{"text for a number", under("approval_timeout: 5m")},
	{"fraction for a number", under("approval_timeout: 60.5")},
	{"number too large", under("approval_timeout: 99999999999")},
	{"rate as text", under("rate_limits:", "  shell: 5/s")},
	{"rates as a number", under("rate_limits: 5")},
	{"not a number", module("config:", "  max_bytes: .nan")},

	// Names and values.
	{"app_id", "app:\n  app_id: My Shop!\n"},
	{"name of two lines", "app:\n  name: |\n    a\n    b\n"},
	{"unknown module", "tools:\n  modules:\n    filesytem: {}\n"},
	{"unknown module, nothing close", "tools:\n  modules:\n    teleport: {}\n"},
	{"module of every app", "tools:\n  modules:\n    context_builder: {}\n"},
	{"unknown action in a constraint", module("constraints:", "  allowed_actions: [raed, list]")},
	{"dotted action in a constraint", module("constraints:", "  blocked_actions: [filesystem.read]")},
	{"nothing allowed", module("constraints:", "  allowed_actions: []")},
	{"no value for allowed", module("constraints:", "  allowed_actions:")},
	{"star in a constraint", module("constraints:", "  blocked_actions: ['*']")},
	{"unknown config key", module("config:", "  max_byte: 5")},
	{"config where there is none", "tools:\n  modules:\n    plain:\n      config: {a: 1}\n"},
	{"unknown action in a rule", under("deny:", "- module: shell", "  actions: [bsh]")},
	{"unknown hidden action", under("hidden_actions: [shell.exec]")},
	{"unknown limited action", under("rate_limits:", "  filesystem.delete: 3")},
	{"bare hidden action", under("hidden_actions: [bash]")},
	{"rule without a module", under("deny:", "- actions: [bash]")},
	{"rule with tools", under("deny:", "- module: shell", "  tools: [bash]")},
	{"match of text", under("grant:", "- module: shell", "  match: git log *")},
	{"match of nothing", under("grant:", "- module: shell", "  match: {}")},
	{"match with an unknown key", under("grant:", "- module: filesystem", "  match:", "    size: {most: 3}")},
	{"match of two commands", under("grant:", "- module: shell", "  match:", "    command: [npm test, git add . && git commit]")},
	{"match with a broken glob", under("deny:", "- module: filesystem", "  match: {path: \"src/[a\"}")},
	{"example that does not fit", under("grant:", "- module: shell", "  match: {command: git log *}",
		"  examples:", "    match: [git log, git log | sh]")},
	{"example that fits", under("deny:", "- module: filesystem", "  match: {path: \"secret/**\"}",
		"  examples: {not_match: [{path: docs/a}, {path: secret/b}]}")},
	{"example without a match", under("deny:", "- module: shell", "  examples: {match: [rm x]}")},
	{"example of a number", under("deny:", "- module: shell", "  match: {command: rm *}", "  examples: {match: [3]}")},
	{"unknown kind of example", under("deny:", "- module: shell", "  match: {command: rm *}", "  examples: {fits: [rm x]}")},
	{"module with a star inside", under("deny:", "- module: mcp_*")},
	{"misspelt module in a rule", under("deny:", "- module: shel")},
	{"module with capitals", under("deny:", "- module: Shell")},
	{"reason of two lines", under("deny:", "- module: shell", "  reason: \"a\\nb\"")},
	{"default policy", under("default_policy: ask")},
	{"risk", under("max_risk_level: extreme")},
	{"timeout too short", under("approval_timeout: 5")},
	{"timeout of nothing", under("approval_timeout: 0")},
	{"rate of nothing", under("rate_limits:", "  shell: 0")},
	// Agents.
	{"agents that are no list", "agents: {id: main}\n"},
	{"agents that are text", "agents: main\n"},
	{"agent that is text", "agents: [main]\n"},
	{"agent without an id", agent("role: x")},
	{"agent with an empty id", agent("id:")},
	{"agent with a bad id", agent("id: main one")},
	{"agent with a number for an id", agent("id: 7")},
	{"two agents of one id", "agents:\n  - id: a\n  - id: a\n"},
	{"agent with an unknown key", agent("id: a", "brian: {}")},
	{"agent with a key from elsewhere", agent("id: a", "max_turns: 3")},
	{"agent with a pool of nobody", agent("id: a", "pool: {max_workers: 0}")},
	{"agent with a pool of retries", agent("id: a", "pool: {auto_retry: 6}")},
	{"agent with a pool of something else", agent("id: a", "pool: {workers: 3}")},
	{"agent with hooks that are text", agent("id: a", "hooks: none")},
	{"agent that delegates to nobody", agent("id: a", "delegate_to: [b]")},
	{"a prompt that is a number", agent("id: a", "system_prompt: 3")},
	{"a prompt that is empty", agent("id: a", "system_prompt: \"\"")},
	{"a prompt file without a name", agent("id: a", "system_prompt: {path: x.md}")},
	{"a prompt file that is not there", agent("id: a", "system_prompt: {file: nowhere.md}")},
	{"a prompt file above", agent("id: a", "system_prompt: {file: ../x.md}")},
	{"modules that are text", agent("id: a", "modules: filesystem")},
	{"an action that is not there", agent("id: a", "modules: [{filesystem: [raed]}]")},
	{"actions that are text", agent("id: a", "modules: [{filesystem: read}]")},
	{"a skill that is not there", "agents: [{id: a, capabilities: [tone]}]\n"},
	{"capabilities that are text", agent("id: a", "capabilities: tone")},
	{"one lane", agent("id: a", "lanes: {edge: {provider: offline}}")},
	{"a third lane", agent("id: a", "lanes: {edge: {provider: offline}, core: {provider: offline}, side: {provider: offline}}")},
	{"lanes that are a list", agent("id: a", "lanes: [edge]")},
	{"iterations of nothing", agent("id: a", "max_tool_iterations: 0")},
	{"plan first that is text", agent("id: a", "plan_first: maybe")},
	{"a label of two lines", agent("id: a", "role: \"a\\nb\"")},

	// Brains.
	{"a brain that is text", agent("id: a", "brain: gpt-5")},
	{"a brain without a provider", brain("model: x")},
	{"a brain without a model", brain("provider: openai")},
	{"an empty brain", brain("provider:")},
	{"a backend that is not there", brain("provider: openai", "model: x", "backend: openai")},
	{"temperature too high", brain("provider: openai", "model: x", "temperature: 3")},
	{"temperature below nothing", brain("provider: openai", "model: x", "temperature: -0.1")},
	{"temperature that is text", brain("provider: openai", "model: x", "temperature: warm")},
	{"top_p too high", brain("provider: openai", "model: x", "top_p: 1.5")},
	{"tokens of nothing", brain("provider: openai", "model: x", "max_tokens: 0")},
	{"tokens that are text", brain("provider: openai", "model: x", "max_tokens: many")},
	{"timeout that is a decimal", brain("provider: openai", "model: x", "timeout: 1.5")},
	{"native tools that are text", brain("provider: openai", "model: x", "native_tool_use: auto")},
	{"a window too small", brain("provider: openai", "model: x", "context: {max_tokens: 5}")},
	{"sections of a brain", brain("provider: openai", "model: x", "context: {sections: []}")},
	{"compaction of a brain", brain("provider: openai", "model: x", "context: {strategy: drop, keep_recent: many}")},
	{"compaction of a fallback", brain("provider: openai", "model: x", "fallback: {provider: offline, context: {strategy: truncate}}")},
	{"an effort that is not there", brain("provider: openai", "model: x", "effort: extreme")},
	{"pictures that a model makes", brain("provider: openai", "model: x", "image_generation: true")},
	{"a base url that is none", brain("provider: openai", "model: x", "config: {base_url: api.openai.com}")},
	{"a key whose variable is not set", brain("provider: openai", "model: x", "config: {api_key: \"{{env.CALLGATE_NOT_SET}}\"}")},
	{"a key at the brain", brain("provider: openai", "model: x", "api_key: x")},
	{"an unknown key in config", brain("provider: openai", "model: x", "config: {url: x}")},
	{"headers that are a list", brain("provider: openai", "model: x", "config: {headers: [a]}")},
	{"a credential with spaces", brain("provider: openai", "model: x", "credential: \"my key\"")},
	{"a credential without a ref", brain("provider: openai", "model: x", "credential: {provider: openai}")},
	{"a scope that is not there", brain("provider: openai", "model: x", "credential: {ref: k, scope: global}")},
	{"a fallback without a model", brain("provider: openai", "model: x", "fallback: {provider: groq}")},

	// How agents run.
	{"a mode that is not there", "runtime: {mode: chat}\n"},
	{"a pipeline without steps", "runtime: {mode: pipeline}\n"},
	{"steps without their mode", "runtime: {pipeline: [{id: a, action: filesystem.read}]}\n"},
	{"steps that are no list", "runtime: {mode: pipeline, pipeline: read}\n"},
	{"a step with two kinds of work", "runtime: {mode: pipeline, pipeline: [{id: a, action: filesystem.read, agent: main}]}\n"},
	{"a step without a name", "runtime: {mode: pipeline, pipeline: [{action: filesystem.read}]}\n"},
	{"a step of no agent", "agents: [{id: main}]\nruntime: {mode: pipeline, pipeline: [{id: a, agent: mian, prompt: go}]}\n"},
	{"a step of no action", "runtime: {mode: pipeline, pipeline: [{id: a, action: filesystem.raed}]}\n"},
	{"a step that nobody told what to do", "agents: [{id: main}]\nruntime: {mode: pipeline, pipeline: [{id: a, agent: main}]}\n"},
	{"two steps of one name", "runtime: {mode: pipeline, pipeline: [{id: a, action: filesystem.read}, {id: a, action: filesystem.read}]}\n"},
	{"a reference to a later step", "runtime: {mode: pipeline, pipeline: [{id: a, action: filesystem.read, params: {path: '{{steps.b.text}}'}}, {id: b, action: filesystem.read}]}\n"},
	{"a reference to a part of a text", "runtime: {mode: pipeline, pipeline: [{id: a, action: filesystem.read, params: {path: '{{input.path}}'}}]}\n"},
	{"a reference that the input does not have", "runtime: {mode: pipeline, input: {type: object, properties: {path: {type: string}}}, pipeline: [{id: a, action: filesystem.read, params: {path: '{{input.pth}}'}}]}\n"},
	{"a reference into a number", "runtime: {mode: pipeline, input: {type: object, properties: {n: {type: integer}}}, pipeline: [{id: a, action: filesystem.read, params: {path: '{{input.n.x}}'}}]}\n"},
	{"a reference to neither part", "runtime: {mode: pipeline, pipeline: [{id: a, action: filesystem.read}, {id: b, action: filesystem.read, params: {path: '{{steps.a}}'}}]}\n"},
	{"an app that is no file", "tools: {apps: {lint: ../lint}}\n"},
	{"an app with a bad name", "tools: {apps: {Lint It: ../lint/callgate.yaml}}\n"},
	{"apps in a list", "tools: {apps: [../lint/callgate.yaml]}\n"},
	{"an input that is no schema", "runtime: {input: {type: objekt}}\n"},
	{"an output that is a word", "runtime: {output: text}\n"},
	{"an entry that is not there", "runtime: {entry_agent: mian}\nagents: [{id: main}]\n"},
	{"turns of nothing", "runtime: {max_turns: 0}\n"},
	{"timeout of a turn that is text", "runtime: {timeout: 5m}\n"},
	{"a workdir mode that is not there", "runtime: {workdir_mode: here}\n"},
	{"a fixed workdir without one", "runtime: {workdir_mode: fixed}\n"},
	{"words around that are not there", "runtime: {middleware: [mask_secret]}\n"},
	{"words around that are not built", "runtime: {middleware: [prompt_inject]}\n"},
	{"a call's middleware around words", "runtime: {middleware: [audit]}\n"},
	{"a filter that blocks nothing", "runtime: {middleware: [content_filter]}\n"},
	{"a filter with a bad pattern", "runtime: {middleware: [{content_filter: {block: [\"(\"]}}]}\n"},
	{"a filter somewhere", "runtime: {middleware: [{content_filter: {block: [x], where: here}}]}\n"},
	{"a mask with a bad pattern", "runtime: {middleware: [{mask_secrets: {patterns: [\"[\"]}}]}\n"},
	{"middleware that is a mapping", module("middleware: {retry: {}}")},
	{"retry too often", module("middleware: [{retry: {attempts: 50}}]")},
	{"retry on anything", module("middleware: [{retry: {on: [denied]}}]")},
	{"a timeout without a time", module("middleware: [timeout]")},
	{"a misspelt middleware", module("middleware: [rety]")},
	{"audit with settings", module("middleware: [{audit: {level: 3}}]")},

	// What stands beside the file.
	{"a skill without a command", "dev: {skills: [{path: x.md}]}\n"},
	{"a skill without a path", "dev: {skills: [{command: x}]}\n"},
	{"a skill with a bad command", "dev: {skills: [{command: \"do it\", path: x.md}]}\n"},
	{"a skill whose file is not there", "dev: {skills: [{command: x, path: x.md}]}\n"},
	{"a project memory elsewhere", "runtime: {project_memory: ../x.md}\n"},
	{"an agent whose file of skills is not there", "agents: [{id: a, skills: none.md}]\n"},
	{"skills that are a mapping", "dev: {skills: {x: x.md}}\n"},
	{"hooks of a file that is not there", "dev: {include: {hooks: [x.yaml]}}\n"},
	{"an included file that is not there", "dev: {include: {agents: [x.yaml]}}\n"},
	{"includes that are text", "dev: {include: {agents: x.yaml}}\n"},

	// Profiles.
	{"a profile with a misspelt module", "profiles: {review: {modules: [filesytem]}}\n"},
	{"a profile with a module that nobody has", "profiles: {review: {modules: [kitchen]}}\n"},
	{"a profile with a misspelt action", "profiles: {review: {actions: [filesystem.raed]}}\n"},
	{"a profile with an action of no module", "profiles: {review: {actions: [filesytem.read]}}\n"},
	{"a profile with an action without its module", "profiles: {review: {actions: [read]}}\n"},
	{"a profile with a misspelt server", servers("github: {command: x}") + "profiles: {review: {servers: [gihub]}}\n"},
	{"a profile with a server where there is none", "profiles: {review: {servers: [github]}}\n"},
	{"a profile with a server as a module", servers("github: {command: x}") + "profiles: {review: {modules: [github]}}\n"},
	{"a profile with a server's module", servers("github: {command: x}") + "profiles: {review: {modules: [mcp_github]}}\n"},
	{"a profile with a server's action", servers("github: {command: x}") + "profiles: {review: {actions: [github.get]}}\n"},
	{"a profile that gives nothing", "profiles: {review: {surface: direct}}\n"},
	{"a profile with nothing in it", "profiles: {review: }\n"},
	{"a profile with a bad name", "profiles: {Code Review: {modules: [shell]}}\n"},
	{"a profile with a key of its own", "profiles: {review: {module: [shell]}}\n"},
	{"a profile with a surface of its own", "profiles: {review: {modules: [shell], surface: small}}\n"},
	{"profiles that are a list", "profiles: [review]\n"},

	// Hooks.
	{"a hook without an id", hooks("on: tool_start", "action: {type: block, reason: no}")},
	{"a hook with a bad id", hooks("id: a b", "on: tool_start", "action: {type: block, reason: no}")},
	{"two hooks of one id", "runtime:\n  hooks:\n  - {id: a, on: turn_end, action: {type: log, message: x}}\n" +
		"  - {id: a, on: turn_end, action: {type: log, message: y}}\n"},
	{"a hook without an event", hooks("id: a", "action: {type: log, message: x}")},
	{"a hook with a misspelt event", hooks("id: a", "on: tool_strat", "action: {type: log, message: x}")},
	{"a hook without an action", hooks("id: a", "on: tool_start")},
	{"a hook with an action without a type", hooks("id: a", "on: tool_start", "action: {reason: no}")},
	{"a hook with a misspelt action", hooks("id: a", "on: tool_start", "action: {type: blok, reason: no}")},
	{"a hook with an action that is not built", hooks("id: a", "on: tool_end", "action: {type: chain}")},
	{"a hook that blocks without a reason", hooks("id: a", "on: tool_start", "action: {type: block}")},
	{"a hook that allows", hooks("id: a", "on: tool_start", "action: {type: gate, allow: true, reason: x}")},
	{"a hook that blocks too late", hooks("id: a", "on: tool_end", "action: {type: block, reason: no}")},
	{"a hook that fails closed too late", hooks("id: a", "on: tool_end", "on_error: block", "action: {type: log, message: x}")},
	{"a hook with a key of another action", hooks("id: a", "on: tool_end", "action: {type: log, message: x, command: y}")},
	{"a hook with a misspelt key", hooks("id: a", "on: tool_end", "colldown: 3", "action: {type: log, message: x}")},
	{"a hook with a misspelt tool", hooks("id: a", "on: tool_end", "action: {type: module_action, tool: filesystem.raed}")},
	{"a hook with a tool without its module", hooks("id: a", "on: tool_end", "action: {type: module_action, tool: read}")},
	{"a hook that makes a command of values", hooks("id: a", "on: tool_end",
		`action: {type: module_action, tool: shell.bash, params: {command: "fmt {{tool.params.path}}"}}`)},
	{"a hook whose template has no such name", hooks("id: a", "on: tool_start", `action: {type: log, message: "{{tool.nmae}}"}`)},
	{"a hook whose template comes too early", hooks("id: a", "on: tool_start", `action: {type: log, message: "{{tool.result.x}}"}`)},
	{"a hook whose variable is not there", hooks("id: a", "on: tool_start", `action: {type: log, message: "{{tol.name}}"}`)},
	{"a hook with a secret", hooks("id: a", "on: tool_start", `action: {type: log, message: "{{secret.KEY}}"}`)},
	{"a hook with the environment", hooks("id: a", "on: tool_start", `action: {type: log, message: "{{env.HOME}}"}`)},
	{"a condition without a type", hooks("id: a", "on: turn_end", "condition: {match: x}", "action: {type: log, message: x}")},
	{"a condition with a misspelt type", hooks("id: a", "on: turn_end", "condition: {type: tol_name}", "action: {type: log, message: x}")},
	{"a condition that lacks something", hooks("id: a", "on: tool_end", "condition: {type: tool_name}", "action: {type: log, message: x}")},
	{"a condition with a key of another", hooks("id: a", "on: tool_end", "condition: {type: tool_failed, match: x}",
		"action: {type: log, message: x}")},
	{"a condition with a bad pattern", hooks("id: a", "on: tool_end", `condition: {type: tool_name, match: "["}`,
		"action: {type: log, message: x}")},
	{"a condition inside another", hooks("id: a", "on: tool_end", "condition: {type: not, condition: {type: expression}}",
		"action: {type: log, message: x}")},
	{"an expression that cannot be", hooks("id: a", "on: turn_end", "condition: {type: expression, expr: turn > many}",
		"action: {type: log, message: x}")},
	{"an expression of another event", hooks("id: a", "on: turn_end", "condition: {type: expression, expr: tool.failed}",
		"action: {type: log, message: x}")},
	{"Claude Code's hooks with a misspelt event", "runtime: {hooks: {PreToolUs: []}}\n"},
	{"Claude Code's hooks without commands", "runtime: {hooks: {PreToolUse: [{matcher: Bash}]}}\n"},
	{"Claude Code's hooks with another type", "runtime: {hooks: {PreToolUse: [{hooks: [{type: prompt, command: x}]}]}}\n"},
	{"Claude Code's hooks with a bad matcher", "runtime: {hooks: {PreToolUse: [{matcher: \"(\", hooks: []}]}}\n"},
	{"Claude Code's hooks without a command", "runtime: {hooks: {Stop: [{hooks: [{type: command}]}]}}\n"},

	{"providers as a list", "providers: [openai]\n"},
	{"a provider's limit misspelt", "providers:\n  openai: {rpn: 500}\n"},
	{"a provider's limit of zero", "providers:\n  openai: {rpm: 0}\n"},
	{"a provider's limit as a word", "providers:\n  openai: {tpm: many}\n"},
	{"a provider's cool-down of a year", "providers:\n  openai: {cool_down: 9000h}\n"},
	{"a model's limit that is its provider's", "providers:\n  openai: {models: {gpt-4o: {max_queue: 3}}}\n"},
	{"a budget as a number", "budget: 5\n"},
	{"a budget of a month", "budget: {usd_per_month: 5}\n"},
	{"a budget of nothing", "budget: {usd_per_day: 0}\n"},
	{"a budget of part of a token", "budget: {tokens_per_day: 0.5}\n"},
	{"a budget with another way for unpriced models", "budget: {usd_per_day: 1, unpriced: guess}\n"},
	{"a provider's budget misspelt", "budget: {providers: {openai: {usd: 3}}}\n"},

	{
		"several at once",
		"app:\n  nam: x\ntools:\n  modules:\n    shell:\n      config: {time: 3}\n  capabilities:\n    default_policy: maybe\n    deny:\n    - {module: shell, actions: [bash, zsh], why: no}\n",
	},
	{"more than can be told", "app:\n" + strings.Repeat("  x: 1\n", 30)},
	{"a very long line", "app: {description: \"" + strings.Repeat("long ", 100) + "\", naame: x}\n"},
	{"letters of other scripts", "app: {description: \"日本語\", naame: x}\n"},
}

func TestMistakes(t *testing.T) {
	const golden = "testdata/mistakes.txtar"
	archive, err := txtar.ParseFile(golden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := make(map[string]string)
	if archive != nil {
		for _, f := range archive.Files {
			want[f.Name] = string(f.Data)
		}
	}
	fresh := &txtar.Archive{Comment: []byte("The message for each mistake in mistakes_test.go. Rewrite with go test -update.\n\n")}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			a, err := app.Parse("callgate.yaml", []byte(m.text), known)
			var e *tool.Error
			if !errors.As(err, &e) || e.Kind != tool.Invalid || e.Op == "" || a != nil {
				t.Fatalf("got %+v, %#v", a, err)
			}
			checkMessage(t, "callgate.yaml", err)
			got := err.Error() + "\n"
			fresh.Files = append(fresh.Files, txtar.File{Name: m.name, Data: []byte(got)})
			if diff := cmp.Diff(want[m.name], got); diff != "" && !*update {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if len(want) != len(mistakes) && !*update {
		t.Errorf("%d golden messages for %d mistakes", len(want), len(mistakes))
	}
	if *update {
		if err := os.WriteFile(golden, txtar.Format(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// checkMessage checks what holds for every message, whatever the file.
func checkMessage(t *testing.T, file string, err error) {
	t.Helper()
	text := err.Error()
	if !strings.HasPrefix(text, file+":") {
		t.Errorf("the message does not start with the file's name: %.80q", text)
	}
	if !utf8.ValidString(text) {
		t.Errorf("the message is not UTF-8: %q", text)
	}
	if len(text) > 20_000 {
		t.Errorf("the message has %d bytes", len(text))
	}
	if i := strings.IndexFunc(text, func(c rune) bool { return c < ' ' && c != '\n' || c == 0x7f }); i >= 0 {
		t.Errorf("the message holds a control character: %q", text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(starter.Text("demo"))
	for _, m := range mistakes {
		if len(m.text) < 4096 {
			f.Add([]byte(m.text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := app.Parse("dir/callgate.yaml", data, known)
		switch {
		case err != nil:
			if a != nil || tool.KindOf(err) != tool.Invalid {
				t.Fatalf("got %+v, %v", a, err)
			}
			checkMessage(t, "dir/callgate.yaml", err)
		case a.Rules == nil || a.ID == "" || a.Name == "":
			t.Fatalf("an app that lacks something: %+v", a)
		}
	})
}
