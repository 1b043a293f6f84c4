package fileschema_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callgate/internal/app"
	"callgate/internal/app/starter"
	"callgate/internal/provider"
)

func TestFilesThatAreRight(t *testing.T) {
	s := compiled(t, known(t))
	files, err := filepath.Glob("../testdata/apps/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string][]byte{
		"the template":              starter.Text("shop"),
		"the template, uncommented": uncommented(starter.Text("shop")),
	} {
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := app.Parse("callgate.yaml", text, known(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The resources and prompts of a server are actions of its module, also when its
// tools are known.
func TestServerResources(t *testing.T) {
	all := known(t)
	all["mcp_hub"] = app.KnownModule{Actions: []string{"create_issue"}, AlwaysOn: true}
	s := compiled(t, all)
	for action, right := range map[string]bool{"resources": true, "prompts": true, "create_issue": true, "resource": false} {
		text := "tools: {capabilities: {grant: [{module: mcp_hub, actions: [" + action + "]}]}}"
		if err := validate(t, s, []byte(text)); (err == nil) != right {
			t.Errorf("%s: %v", action, err)
		}
	}
}

// A file that dev.include names is an agent, or a list of them.
func TestFilesOfAgents(t *testing.T) {
	one := part(t, known(t), "app.json#/$defs/agent")
	many := part(t, known(t), "app.json#/properties/agents")
	for name, right := range map[string]bool{"helper": true, "bad": false} {
		text, err := os.ReadFile("../testdata/apps/agents/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if got := validate(t, one, text) == nil || validate(t, many, text) == nil; got != right {
			t.Errorf("%s: %v", name, got)
		}
	}
}

var commented = regexp.MustCompile(`(?m)^( *)# ( *(?:- )?(?:[a-z_.]+|"\*"):(?: .*)?)$`)

// uncommented is a template with the YAML in its comments.
func uncommented(text []byte) []byte { return commented.ReplaceAll(text, []byte("$1$2")) }

func TestTheTemplateShowsAgents(t *testing.T) {
	a, err := app.Parse("callgate.yaml", uncommented(starter.Text("shop")), known(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Agents) != 1 || a.Agents[0].Model == nil {
		t.Errorf("agents: %+v", a.Agents)
	}
}

// examples are the app files in a guide: blocks, fenced or indented, that begin
// with a key of the file.
func examples(text string) []string {
	var found []string
	fenced := regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		if m[1] == "yaml" {
			found = append(found, m[2])
		}
	}
	text = fenced.ReplaceAllString(text, "-")
	for _, m := range regexp.MustCompile(`(?m)(?:^(?: {4}.*)?\n)+`).FindAllString(text, -1) {
		plain := regexp.MustCompile(`(?m)^ {4}`).ReplaceAllString(m, "")
		if other := regexp.MustCompile(`(?m)^[^\s#][^:\n]* `).FindStringIndex(plain); other != nil {
			plain = plain[:other[0]] // a command, say
		}
		found = append(found, plain)
	}
	begins := regexp.MustCompile(`\A(?:\s*#.*\n)*\s*\n?(app|runtime|agents|tools|search|security|dev):`)
	return slices.DeleteFunc(found, func(block string) bool { return !begins.MatchString(block) })
}

func TestExamplesInTheGuides(t *testing.T) {
	s := compiled(t, known(t))
	guides, err := filepath.Glob("../../../docs/guides/*.md")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, guide := range guides {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range examples(string(text)) {
			count++
			if err := validate(t, s, []byte(block)); err != nil {
				t.Errorf("%s: %v\n%s", guide, err, block)
			}
		}
	}
	if count < 12 {
		t.Errorf("%d app files in the guides: the pattern is broken", count)
	}
}

// The guide to app files must be right to the letter: what it shows is loaded.
func TestTheGuideLoads(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guides/apps.md")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range map[string]string{
		"prompts/reviewer.md": "Be brief.", "skills/release.md": "Tag it.", "agents/writer.yaml": "id: writer\nbrain: {provider: offline}\n",
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	blocks := examples(string(text))
	if len(blocks) < 5 {
		t.Fatalf("%d app files in the guide", len(blocks))
	}
	for _, block := range blocks {
		path := filepath.Join(folder, app.Filename)
		if err := os.WriteFile(path, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := app.Load(path, known(t)); err != nil {
			t.Errorf("%v\n%s", err, block)
		}
	}
}

func TestFilesThatAreWrong(t *testing.T) {
	known := known(t)
	s := compiled(t, known)
	for _, test := range []struct{ name, text, says string }{
		{"a misspelt block", "tool: {}", "tool"},
		{"a list for a block", "tools: []", "/tools"},
		{"a number for a text", "app: {version: 1.0}", "/app/version"},
		{"an empty text", `app: {name: " "}`, "/app/name"},
		{"an app_id with capitals", "app: {app_id: Shop}", "/app/app_id"},
		{"a key that is not built", "runtime: {watchers: []}", "watchers"},
		{"a pipeline without steps", "runtime: {mode: pipeline}", "/runtime"},
		{"a step without a name", "runtime: {mode: pipeline, pipeline: [{action: filesystem.read}]}", "/runtime/pipeline/0"},
		{"a channel of no type", "tools: {channels: {a: {url: 'https://x'}}}", "channels/a"},
		{"a trigger of no type", "runtime: {mode: background, triggers: {a: {path: /x}}}", "triggers/a"},
		{"too many turns", "runtime: {max_turns: 10001}", "/runtime/max_turns"},
		{"half a turn", "runtime: {max_turns: 1.5}", "/runtime/max_turns"},
		{"no folder for fixed", "runtime: {workdir_mode: fixed}", "workdir"},
		{"a filter of nothing", "runtime: {middleware: [content_filter]}", "/runtime/middleware/0"},
		{"middleware of the other kind", "runtime: {middleware: [retry]}", "/runtime/middleware/0"},
		{"an agent with no id", "agents: [{role: x}]", "/agents/0"},
		{"agents as a mapping", "agents: {main: {}}", "/agents"},
		{"a brain with no provider", "agents: [{id: a, brain: {model: m}}]", "/agents/0/brain"},
		{"a brain with no model", "agents: [{id: a, brain: {provider: openai}}]", "/agents/0/brain"},
		{"a hot brain", "agents: [{id: a, brain: {provider: offline, temperature: 3}}]", "/agents/0/brain/temperature"},
		{"a wrong fallback", "agents: [{id: a, brain: {provider: offline, fallback: {provider: openai}}}]", "/agents/0/brain/fallback"},
		{"an address that is none", "agents: [{id: a, brain: {provider: x, model: y, config: {base_url: api.example.com}}}]", "base_url"},
		{"a key in the place of its name", "agents: [{id: a, brain: {provider: offline, credential: 'sk 123'}}]", "credential"},
		{"one lane", "agents: [{id: a, lanes: {edge: {provider: offline}}}]", "core"},
		{"a lane with no model", "agents: [{id: a, lanes: {edge: {brain: {provider: openai}}, core: {provider: offline}}}]", "lanes/edge"},
		{"an action that an agent cannot use", "agents: [{id: a, modules: [{filesystem: [raed]}]}]", "modules/0"},
		{"a module that there is none of", "tools: {modules: {filesytem: {}}}", "filesytem"},
		{"a module that is always on", "tools: {modules: {context_builder: {}}}", "context_builder"},
		{"settings of a module without any", "tools: {modules: {filesystem: {config: {a: 1}}}}", "/tools/modules/filesystem"},
		{"a setting out of its range", "tools: {modules: {http: {config: {timeout_seconds: 601}}}}", "timeout_seconds"},
		{"a setting of the wrong kind", "tools: {modules: {shell: {config: {network: 'yes'}}}}", "network"},
		{"a setting that is none of the words", "tools: {modules: {open: {config: {engine: three}}}}", "engine"},
		{"a credential for who takes none", "tools: {modules: {filesystem: {credential: x}}}", "credential"},
		{"an action that is allowed in vain", "tools: {modules: {filesystem: {constraints: {allowed_actions: [dlete]}}}}", "allowed_actions/0"},
		{"a limit that says nothing", "tools: {modules: {filesystem: {middleware: [timeout]}}}", "middleware/0"},
		{"a failure that does not pass", "tools: {modules: {filesystem: {middleware: [{retry: {on: [denied]}}]}}}", "middleware/0"},
		{"a rule with no module", "tools: {capabilities: {grant: [{actions: [read]}]}}", "grant/0"},
		{"a rule for an action that is none", "tools: {capabilities: {deny: [{module: shell, actions: [zsh]}]}}", "deny/0/actions/0"},
		{"a rule as a name", "tools: {capabilities: {grant: [filesystem.read]}}", "grant/0"},
		{"a hasty human", "tools: {capabilities: {approval_timeout: 5}}", "approval_timeout"},
		{"no calls a minute", "tools: {capabilities: {rate_limits: {shell: 0}}}", "rate_limits/shell"},
		{"a server that is nowhere", "tools: {modules: {mcp: {config: {servers: {a: {}}}}}}", "servers/a"},
		{"a server in two places", "tools: {modules: {mcp: {config: {servers: {a: {command: x, url: 'https://x'}}}}}}", "servers/a"},
		{"a server's name", "tools: {modules: {mcp: {config: {servers: {A b: {command: x}}}}}}", "servers"},
		{"the key of other programs", "tools: {modules: {mcp: {config: {servers: {a: {type: stdio, command: x}}}}}}", "type"},
		{"a protocol of the future", "tools: {modules: {mcp: {config: {servers: {a: {command: x, protocol: '2030-01-01'}}}}}}", "protocol"},
		{"an effect with no mode", "tools: {modules: {mcp: {config: {servers: {a: {command: x, tools: {b: {effects: [{resource: r}]}}}}}}}}", "effects/0"},
		{"two ways to search", "search: {model: m, endpoint: {url: 'http://x'}}", "/search"},
		{"a variable of ours", "dev: {variables: {workdir: x}}", "variables"},
		{"a skill with no file", "dev: {skills: [{command: a}]}", "skills/0"},
	} {
		err := validate(t, s, []byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.name, err)
		}
		if _, err := app.Parse("callgate.yaml", []byte(test.text), known); err == nil {
			t.Errorf("%s is well after all", test.name)
		}
	}
}

func TestProvidersAreThoseThatHaveAName(t *testing.T) {
	var shown []string
	walk(t, known(t), func(s spot) {
		if s.path == "agents[0].brain.provider" && s.node["enum"] != nil {
			shown = texts(s.node["enum"])
		}
	})
	want := append(provider.Names(), app.Offline)
	slices.Sort(want)
	slices.Sort(shown)
	if !slices.Equal(slices.Compact(want), shown) {
		t.Errorf("the schema names %v, and there are %v", shown, want)
	}
}

// What is right for package app is right for the schema.
func FuzzAccepted(f *testing.F) {
	all := known(f)
	s := compiled(f, all)
	for _, name := range []string{"team", "discovery-bot"} {
		text, err := os.ReadFile("../testdata/apps/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(string(uncommented(starter.Text("shop"))))
	for _, text := range []string{
		"tools: {modules: {mcp: {config: {servers: {a: {command: [npx, 1], env: {A: 1}, timeout: 1h30m, tools: {b: }}}}}, mcp_a: }}}",
		"runtime: {primitives: [ask_user], middleware: }\nagents:\n", "dev: {variables: {a: 1}, skills: }\napp: {name: '{{a}}'}",
		"agents: [{id: a, lanes: {edge: {provider: offline}, core: {brain: {provider: offline}}}, modules: [shell, {git: [log]}], system_prompt: {}}]",
		"search: {requests: {a.b: [x, y], c.d: []}}", "search: {requests: }",
		"search: {synonyms: [[a, b], []], endpoint: {url: 'http://x', key: '{{secret.a}}'}}", "tools: {capabilities: {grant: , rate_limits: {'*': 3}, hidden_actions: [a.b]}}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := app.Parse("../testdata/apps/callgate.yaml", []byte(text), all); err != nil {
			return
		}
		doc, err := document([]byte(text))
		if err != nil {
			return // a number that JSON does not have
		}
		if err := s.Validate(doc); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	})
}
