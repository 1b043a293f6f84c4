package consent_test

import (
	"slices"
	"strings"
	"testing"

	"callgate/internal/app"
	"callgate/internal/kernel/consent"
	"callgate/tool"
)

// memory is a store of what was accepted.
type memory map[string][]string

func (m memory) MayLaunch(key string, line []string) error {
	if !slices.Equal(m[key], line) {
		return tool.Errorf("test", tool.Denied, "not accepted")
	}
	return nil
}

func (m memory) AcceptLaunch(key string, line []string, _ string) error {
	m[key] = line
	return nil
}

func elsewhere(fallback *app.Model) *app.Model {
	return &app.Model{
		Provider: "openai", Name: "m", Fallback: fallback,
		Connection: app.Connection{BaseURL: "https://models.example.com/v1"},
	}
}

// Everything that an app does by itself is shown.
func TestLines(t *testing.T) {
	t.Parallel()
	usual := &app.Model{Provider: "anthropic", Name: "claude-sonnet-4-5"}
	for name, c := range map[string]struct {
		app  app.App
		want []string // parts of the lines, in order
	}{
		"nothing":          {app.App{Modules: []app.Module{{Name: "filesystem"}}}, nil},
		"a usual provider": {app.App{Agents: []app.Agent{{ID: "main", Model: usual}}}, nil},
		"a model elsewhere": {
			app.App{Agents: []app.Agent{{Model: elsewhere(nil)}}}, []string{"to https://models.example.com/v1"},
		},
		"a fallback": {
			app.App{Agents: []app.Agent{{Model: &app.Model{Provider: "anthropic", Fallback: elsewhere(nil)}}}},
			[]string{"models.example.com"},
		},
		"a lane": {
			app.App{Agents: []app.Agent{{Lanes: map[string]*app.Model{app.CoreLane: elsewhere(nil)}}}},
			[]string{"models.example.com"},
		},
		"the same one twice": {
			app.App{Agents: []app.Agent{{Model: elsewhere(elsewhere(nil))}}}, []string{"models.example.com"},
		},
		"a setup step": {
			app.App{Modules: []app.Module{{Name: "shell", Setup: []app.Step{
				{Action: "bash", Params: map[string]any{"command": "ls"}},
			}}}},
			[]string{`call shell.bash {"command":"ls"}`},
		},
		"a credential": {
			app.App{Modules: []app.Module{{Name: "http", Credential: "hub"}}}, []string{"the module http the secret hub"},
		},
		"secrets in a setting": {
			app.App{Modules: []app.Module{{Name: "http", Config: map[string]any{"headers": "{{secret.a}} {{secret.b}}"}}}},
			[]string{"the module http the secret a, b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := consent.Lines(&c.app)
			if len(got) != len(c.want) {
				t.Fatalf("%d lines, want %d: %q", len(got), len(c.want), got)
			}
			for i, part := range c.want {
				if !strings.Contains(got[i], part) {
					t.Errorf("line %d is %q, want %q in it", i, got[i], part)
				}
			}
		})
	}
}

// A yes counts for exactly what was shown, in that file.
func TestAccept(t *testing.T) {
	t.Parallel()
	c := consent.New(memory{})
	one := &app.App{Path: "/a/callgate.yaml", Agents: []app.Agent{{Model: elsewhere(nil)}}}
	shown := c.Pending(one)
	if shown == "" || c.Accepted(one) {
		t.Fatalf("pending %q", shown)
	}
	if err := c.Accept(one, shown+" and more", "ada"); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a yes to something else: %v", err)
	}
	if err := c.Accept(nil, "", "ada"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("no app: %v", err)
	}
	if err := c.Accept(one, shown, "ada"); err != nil {
		t.Fatal(err)
	}
	if !c.Accepted(one) || c.Pending(one) != "" {
		t.Error("it is not accepted")
	}
	copied := *one
	copied.Path = "/b/callgate.yaml"
	if c.Accepted(&copied) {
		t.Error("the same text in another folder is accepted")
	}
	one.Agents[0].Model.BaseURL = "https://other.example.com/v1"
	if c.Accepted(one) {
		t.Error("another address is accepted")
	}
	if c.Pending(nil) != "" {
		t.Error("something is pending without an app")
	}
}
