package app_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/app"
)

var agentKnown = app.KnownModules{
	"filesystem": {Actions: []string{"read", "grep"}}, "shell": {Actions: []string{"bash"}},
	"memory": {Actions: []string{"remember"}}, "web": {Actions: []string{"fetch"}},
}

func noEnv(string) (string, bool) { return "", false }

// The tutorial's app, as it stands.
func TestDiscoveryBot(t *testing.T) {
	a, err := app.LoadWith("testdata/apps/discovery-bot.yaml", agentKnown, app.Vars{Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	zero := 0.0
	want := &app.Model{
		Provider: "deepseek", Name: "deepseek-chat",
		Connection: app.Connection{
			Backend: "openai_compat", Credential: "per_user:deepseek_main", BaseURL: "https://api.deepseek.com/v1",
		},
		Sampling: app.Sampling{Temperature: &zero, MaxTokens: 400},
	}
	if diff := cmp.Diff(want, a.Agents[0].Model); diff != "" {
		t.Error(diff)
	}
	if !reflect.DeepEqual(a.Runtime, app.Runtime{Mode: "conversation", Entry: "main", TurnLimits: app.TurnLimits{MaxTurns: 10, Timeout: 3 * time.Minute}, WorkdirMode: "auto"}) ||
		a.Surface.Mode != "discovery" {
		t.Errorf("%+v %+v", a.Runtime, a.Surface)
	}
	if !strings.HasPrefix(a.Agents[0].SystemPrompt, "You have many tools") || len(a.Warnings) > 0 {
		t.Errorf("%q %v", a.Agents[0].SystemPrompt, a.Warnings)
	}
	keyed, err := app.LoadWith(
		"testdata/apps/discovery-bot.yaml",
		agentKnown,
		app.Vars{Env: func(name string) (string, bool) { return "k-" + name, true }},
	)
	if err != nil || keyed.Agents[0].Model.Key != "k-DEEPSEEK_API_KEY" {
		t.Errorf("with the variable: %+v, %v", keyed, err)
	}
}

func TestTeam(t *testing.T) {
	a, err := app.LoadWith("testdata/apps/team.yaml", agentKnown, app.Vars{Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	warm, half, not := 0.2, 0.5, false
	folder, err := filepath.Abs("testdata/apps")
	if err != nil {
		t.Fatal(err)
	}
	wantAgents := []app.Agent{
		{ID: "helper", Role: "assistant", SystemPrompt: "be calm", Model: &app.Model{Provider: "offline"}, PlanFirst: true},
		{ID: "lead", Role: "coordinator", Specialty: "planning", SystemPrompt: "You lead.\n", Skills: []string{"tone"}, MaxIterations: 9,
			Modules: []app.AgentModule{{Name: "filesystem"}, {Name: "shell", Actions: []string{"bash"}}},
			Model: &app.Model{
				Provider: "openai", Name: "gpt-5", Sampling: app.Sampling{Temperature: &warm},
				Connection: app.Connection{
					Key: "{{secret.team_key}}", Headers: map[string]string{"X-Team": "search"},
					DataSent: []string{"a key {{secret.team_key}}", "the header X-Team that stands in the file"},
				},
				Fallback: &app.Model{Provider: "offline"},
			},
			Lanes: map[string]*app.Model{
				"edge": {Provider: "offline"},
				"core": {
					Provider: "anthropic", Name: "claude-sonnet-4-5", NativeTools: &not, Window: 200000,
					Sampling: app.Sampling{Effort: "high", TopP: &half}, Timeout: 90 * time.Second,
				},
			},
		},
	}
	if diff := cmp.Diff(wantAgents, a.Agents); diff != "" {
		t.Error(diff)
	}
	wantSkills := []app.Skill{
		{
			Command:     "tone",
			Description: "how we write",
			Content:     "Write calmly.\n",
			Path:        filepath.Join(folder, "skills/tone.md"),
			Dir:         filepath.Join(folder, "skills"),
		},
	}
	if diff := cmp.Diff(wantSkills, a.Skills); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]app.Middleware{{Kind: "mask_secrets"}, {Kind: "content_filter", Patterns: []string{"(?i)classified"}, Where: "output", Message: "not here"}}, a.Middleware); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]app.Middleware{{Kind: "audit"}, {Kind: "retry", Attempts: 2, On: []string{"busy"}}, {Kind: "timeout", Limit: 5 * time.Second}}, a.Modules[0].Middleware); diff != "" {
		t.Error(diff)
	}
	if !reflect.DeepEqual(a.Runtime, app.Runtime{Mode: "one_shot", Entry: "lead", TurnLimits: app.TurnLimits{MaxTurns: 7, Timeout: time.Minute}, WorkdirMode: "required"}) {
		t.Errorf("%+v", a.Runtime)
	}
}

// What an app names beside it stays in its folder, and mistakes in an included
// file are told with its name and line.
func TestFilesBesideTheApp(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte("the secret text"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"bad.yaml": "- id: a\n- idd: b\n", "broken.yaml": "id: [", "action.yaml": "id: a\nmodules: [{shell: [bsh]}]\n",
		"twice.yaml": "role: x\nid: a\n", "big.md": strings.Repeat("x", 70<<10), "raw.md": "\xff\xfe\x00",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	agent := func(file string) string { return "agents: [{id: a, system_prompt: {file: " + file + "}}]\n" }
	for name, c := range map[string]struct{ text, has string }{
		"above":             {agent("../x.md"), "not in the app's folder"},
		"absolute":          {agent(outside), "not in the app's folder"},
		"by a link":         {agent("link.md"), "cannot be read"},
		"missing":           {agent("none.md"), "there is no file"},
		"too long":          {agent("big.md"), "longer than 64 KiB"},
		"not text":          {agent("raw.md"), "is not text"},
		"a folder":          {agent("."), "not a regular file"},
		"included mistakes": {"dev: {include: {agents: [bad.yaml]}}\n", "bad.yaml:2:3: "},
		"included, broken":  {"dev: {include: {agents: [broken.yaml]}}\n", "broken.yaml:"},
		"included action":   {"dev: {include: {agents: [action.yaml]}}\n", "action.yaml:2:20: the module shell has no action"},
		"included twice":    {"dev: {include: {agents: [twice.yaml, twice.yaml]}}\n", "twice.yaml:2:5: there are two agents"},
		"skill elsewhere":   {"dev: {skills: [{command: x, path: ../x.md}]}\n", "not in the app's folder"},
	} {
		path := filepath.Join(dir, "callgate.yaml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := app.LoadWith(path, agentKnown, app.Vars{Env: noEnv})
		if err == nil || !strings.Contains(err.Error(), c.has) || strings.Contains(err.Error(), "secret text") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
