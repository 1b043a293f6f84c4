package app_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/app"
	"callgate/tool"
)

// TestProfiles reads profiles, and what each gives.
func TestProfiles(t *testing.T) {
	t.Parallel()
	a := parsed(t, `
tools: {modules: {filesystem: , shell: , mcp: {config: {servers: {git-hub: {command: x}}}}}}
profiles:
  whole: {modules: [filesystem, shell]}
  some: {modules: [filesystem], actions: [filesystem.read, filesystem.list]}
  one: {actions: [shell.bash], surface: auto}
  server: {servers: [git-hub], surface: discovery}
  few: {servers: [git-hub], actions: [mcp_git_hub.get]}
`)
	for name, want := range map[string]map[string][]string{
		"whole":  {"filesystem": nil, "shell": nil},
		"some":   {"filesystem": {"read", "list"}},
		"one":    {"shell": {"bash"}},
		"server": {"mcp_git_hub": nil},
		"few":    {"mcp_git_hub": {"get"}},
	} {
		p, err := a.Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, p.Only()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if wants := map[string]string{"server": "discovery"}[name]; p.Surface != wants {
			t.Errorf("%s is shown as %q", name, p.Surface)
		}
	}
	if only := (app.Profile{}).Only(); only == nil {
		t.Error("what gives nothing must not read as no limit")
	}
	_, err := a.Profile("som")
	var e *tool.Error
	if !errors.As(err, &e) || e.Kind != tool.NotFound ||
		e.Hint != "did you mean some? the profiles are few, one, server, some, whole" {
		t.Errorf("%v", err)
	}
	if _, err := parsed(t, "app: {name: a}\n").Profile("x"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("%v", err)
	}
	if _, err := (*app.App)(nil).Profile("x"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("%v", err)
	}
}

// TestProfileOfAPart: what else there is is not known yet, and so is not missed.
func TestProfileOfAPart(t *testing.T) {
	t.Parallel()
	text := []byte("profiles: {a: {modules: [kitchen], servers: [mine], actions: [mcp_mine.x]}}\n")
	if _, err := app.ParsePart("f", text, known); err != nil {
		t.Error(err)
	}
	if _, err := app.Parse("f", text, known); err == nil {
		t.Error("nobody misses them")
	}
	with := app.KnownModules{"kitchen": {}, "mcp_mine": {AlwaysOn: true}}
	if _, err := app.Parse("f", text, with); err != nil {
		t.Error(err)
	}
}
