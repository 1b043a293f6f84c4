package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/agent/surface"
	"callgate/internal/app"
	"callgate/internal/gate/policy"
	"callgate/internal/serverlock"
	"callgate/tool"
)

func TestServers(t *testing.T) {
	a := parsed(t, `
tools:
  modules:
    mcp_my_hub: {constraints: {blocked_actions: [delete_repo]}}
    mcp:
      config:
        servers:
          my-hub:
            command: [npx, -y, some-server, 3]
            args: [--flag, ""]
            env: {TOKEN: "{{secret.hub_token}}", LEVEL: 2}
            dir: work
            protocol: 2025-11-25
            timeout: 2m
            start_timeout: 5
            concurrency: 3
            env_allow: [HUB_HOST]
            pin: true
            tools:
              create_issue:
                risk: high
                side_effect: external
                idempotent: true
                effects: [{resource: "issue:{repo}", mode: X, unless: [dry_run]}]
              noisy: {enabled: false}
            locks:
              "write_*": ["file:{path}", {resource: "server:{n}", mode: U}]
              read_file: "file:{path}"
              plain: []
          remote:
            locks: off
            url: https://example.com/mcp
            transport: sse
            protocol: "2024-11-05"
            headers: {Authorization: "Bearer {{secret.remote}}"}
            oauth: {client_id: me, callback_port: 8765, scopes: [read]}
          later: {command: x, enabled: false}
  capabilities:
    grant: [{module: mcp_my_hub, actions: [whatever]}]
`)
	want := []app.Server{
		{
			Name: "my-hub", Command: "npx", Args: []string{"-y", "some-server", "3", "--flag", ""},
			Env: map[string]string{"TOKEN": "{{secret.hub_token}}", "LEVEL": "2"}, Dir: "work", Protocol: "2025-11-25",
			Timeout: 2 * time.Minute, StartTimeout: 5 * time.Second, Concurrency: 3, EnvAllow: []string{"HUB_HOST"}, Pin: true,
			Tools: map[string]app.ServerTool{
				"create_issue": {
					Risk:       tool.High,
					SideEffect: tool.External,
					Idempotent: true,
					Effects:    []tool.Effect{{Resource: "issue:{repo}", Mode: tool.X, Unless: []string{"dry_run"}}},
				},
				"noisy": {Off: true},
			},
			Locks: []serverlock.Line{
				{Tools: "write_*", Locks: []serverlock.Lock{{Resource: "file:{path}"}, {Resource: "server:{n}", Mode: tool.U}}},
				{Tools: "read_file", Locks: []serverlock.Lock{{Resource: "file:{path}"}}},
				{Tools: "plain"},
			},
		},
		{
			Name: "remote", URL: "https://example.com/mcp", Transport: "sse", Protocol: "2024-11-05",
			Headers: map[string]string{"Authorization": "Bearer {{secret.remote}}"},
			OAuth:   &app.OAuth{ClientID: "me", CallbackPort: 8765, Scopes: []string{"read"}},
			Locks:   []serverlock.Line{{Tools: "*"}},
		},
	}
	if diff := cmp.Diff(want, a.Servers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(a.Warnings) > 0 {
		t.Errorf("warnings: %v", a.Warnings)
	}
	if got := verdict(t, a, "mcp_my_hub.delete_repo", tool.Runtime{}); got != policy.Hide {
		t.Errorf("a blocked action of a server is %s", got)
	}
}

// The resources and prompts of a server are actions of its module, also when its
// tools are known.
func TestServerResources(t *testing.T) {
	known := app.KnownModules{"mcp_hub": {Actions: []string{"create_issue"}, AlwaysOn: true}}
	const file = `
tools:
  modules:
    mcp: {config: {servers: {hub: {command: hub}}}}
    mcp_hub: {constraints: {blocked_actions: [prompts]}}
  capabilities:
    grant: [{module: mcp_hub, actions: [resources]}]
    deny: [{module: mcp_hub, actions: [create_issue]}]
    hidden_actions: [mcp_hub.resources]
    rate_limits: {mcp_hub.resources: 5}
agents: [{id: main, modules: [{mcp_hub: [resources, prompts]}]}]
`
	a, err := app.Parse("f", []byte(file), known)
	if err != nil {
		t.Fatal(err)
	}
	if got := verdict(t, a, "mcp_hub.prompts", tool.Runtime{}); got != policy.Hide || len(a.Warnings) > 0 {
		t.Errorf("the blocked prompts of a server: %s, warnings %q", got, a.Warnings)
	}
	_, err = app.Parse("f", []byte(strings.Replace(file, "actions: [resources]", "actions: [resurces]", 1)), known)
	const want = "did you mean resources? its actions are create_issue, prompts, resources"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a misspelt action: %v", err)
	}
}

func TestBlocks(t *testing.T) {
	a := parsed(t, `
runtime:
  tool_injection: discovery
  direct_modules: [filesystem]
  pinned_tools: [shell.bash]
  primitives: none
  context: {max_tokens: 200000}
search:
  endpoint: {url: "http://127.0.0.1:11434", model: nomic, key: "{{secret.k}}", dimensions: 768}
  synonyms: [[refund, reimburse], [facture, invoice]]
  requests: {filesystem.read: [open it, "ouvre {{region}}"]}
  learn: false
security: {require_pinning: true}
tools:
  modules:
    filesystem:
      setup:
      - action: list
        params: {path: "{{workdir}}/data", deep: [1, "{{var.region}}"]}
      - {action: read}
dev:
  variables: {region: "{{short ?? long}}", short: eu}
`)
	if diff := cmp.Diff(app.Surface{Mode: "discovery", Window: 200000, DirectModules: []string{"filesystem"}, Pinned: []string{"shell.bash"}, Primitives: []string{}, Builtin: surface.Builtin{Choice: surface.BuiltinAll}}, a.Surface); diff != "" {
		t.Errorf("surface (-want +got):\n%s", diff)
	}
	want := app.Search{
		Endpoint: app.Endpoint{URL: "http://127.0.0.1:11434", Model: "nomic", Key: "{{secret.k}}", Dimensions: 768},
		Synonyms: [][]string{{"refund", "reimburse"}, {"facture", "invoice"}},
		Requests: map[string][]string{"filesystem.read": {"open it", "ouvre eu"}}, NoLearn: true,
	}
	if diff := cmp.Diff(want, a.Search); diff != "" {
		t.Errorf("search (-want +got):\n%s", diff)
	}
	if (app.Search{}).Key() == a.Search.Key() || !a.Pinning {
		t.Error("two ways to search have one key, or pinning is lost")
	}
	steps := []app.Step{
		{Action: "list", Params: map[string]any{"path": "work/My Project/data", "deep": []any{uint64(1), "eu"}}},
		{Action: "read", Params: map[string]any{}},
	}
	if diff := cmp.Diff(steps, a.Modules[0].Setup); diff != "" {
		t.Errorf("setup (-want +got):\n%s", diff)
	}
}

func TestVariables(t *testing.T) {
	vars := app.Vars{Workdir: "/work", Env: func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": "/home/ada", "EMPTY": ""}[name]
		return v, ok
	}}
	for text, want := range map[string]string{
		"plain":                           "plain",
		"{{env.HOME}}/x":                  "/home/ada/x",
		"{{ env.HOME }}{{workdir}}":       "/home/ada/work",
		"{{env.NONE ?? env.HOME}}":        "/home/ada",
		"{{env.NONE ?? some words}}":      "some words",
		"{{env.NONE ?? 'a ?'}}":           "a ?",
		`{{env.NONE ?? ""}}x`:             "x",
		"a{{env.EMPTY ?? b}}c":            "ac", // it is set
		"{{name}} and {{var.name}}":       "ada lovelace and ada lovelace",
		"{{missing ?? name}}":             "ada lovelace",
		"{{{{name}} is {{name}}":          "{{name}} is ada lovelace",
		"open {{name":                     "open {{name",
		"{{app.id}}":                      "demo",
		"{{count}} of {{flag}}":           "3 of true",
		"{single} } }} {":                 "{single} } }} {",
		"{{env.HOME ?? {{workdir}}}} end": "/home/ada}} end",
	} {
		file := t.TempDir() + "/callgate.yaml"
		write(
			t,
			file,
			"app:\n  app_id: demo\nagents:\n- id: main\n  system_prompt: |-\n    "+text+"\ndev:\n  variables: {name: '{{first}} lovelace', first: ada, count: 3, flag: true}\n",
		)
		a, err := app.LoadWith(file, known, vars)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := a.Agents[0].SystemPrompt; got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestVariablesDoNotBlowUp(t *testing.T) {
	var b strings.Builder
	b.WriteString("app: {name: '{{v9}}'}\ndev:\n  variables:\n    v0: " + strings.Repeat("x", 60_000) + "\n")
	for i := 1; i < 10; i++ {
		prev := "{{v" + string(rune('0'+i-1)) + "}}"
		b.WriteString("    v" + string(rune('0'+i)) + ": '" + strings.Repeat(prev, 10) + "'\n")
	}
	if _, err := app.Parse("f", []byte(b.String()), known); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %.200v", err)
	}
}
