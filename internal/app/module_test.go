package app_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/app"
)

// What a module declares is judged where it is written.
func TestWhatAModuleDeclares(t *testing.T) {
	whole := func(config, constraints map[string]any) error {
		if config["limit"] == uint64(3) && constraints["hosts"] != nil {
			return errors.New("limit and hosts do not go together")
		}
		return nil
	}
	fit := func(v any) error {
		if _, ok := v.(uint64); !ok {
			return errors.New("it must be a whole number")
		}
		return nil
	}
	known := app.KnownModules{"net": {
		Actions: []string{"get"}, Credential: true, Check: whole,
		Config: []app.Setting{{Key: "limit", Validate: fit}}, Constraints: []app.Setting{{Key: "hosts"}},
	}, "plain": {Actions: []string{"run"}}}
	const head = "app: {app_id: shop}\ntools:\n  modules:\n    net:\n"
	for name, c := range map[string]struct {
		text string
		want app.Module
		errs []string
	}{
		"both blocks": {head + "      config: {limit: 2}\n      constraints: {hosts: [a, b], allowed_actions: [get]}\n",
			app.Module{Name: "net", Config: map[string]any{"limit": uint64(2)}, Constraints: map[string]any{"hosts": []any{"a", "b"}}}, nil},
		"hosts with ports": {head + "      constraints: {hosts: [localhost:13000, ::1, a.example]}\n",
			app.Module{Name: "net", Constraints: map[string]any{"hosts": []any{"localhost:13000", "::1", "a.example"}}}, nil},
		"credential":                {head + "      credential: hub_key\n", app.Module{Name: "net", Credential: "per_user:hub_key"}, nil},
		"credential of the user":    {head + "      credential: {ref: hub_key, provider: hub}\n", app.Module{Name: "net", Credential: "per_user:hub_key"}, nil},
		"credential of the app":     {head + "      credential: {ref: hub_key, scope: per_app_shared}\n", app.Module{Name: "net", Credential: "shop.hub_key"}, nil},
		"a value that does not fit": {head + "      config: {limit: many}\n", app.Module{}, []string{"limit: it must be a whole number", "^", ":5"}},
		"unknown constraint":        {head + "      constraints: {host: [a]}\n", app.Module{}, []string{"did you mean hosts?"}},
		"together":                  {head + "      config: {limit: 3}\n      constraints: {hosts: [a]}\n", app.Module{}, []string{"do not go together"}},
		"a credential's value":      {head + "      credential: \"sk-1234 5678\"\n", app.Module{}, []string{"never its value"}},
		"a credential without ref":  {head + "      credential: {scope: per_user}\n", app.Module{}, []string{"names no secret"}},
		"no such scope":             {head + "      credential: {ref: a, scope: mine}\n", app.Module{}, []string{"per_user"}},
		"no credential wanted":      {"tools:\n  modules:\n    plain:\n      credential: a\n", app.Module{}, []string{"takes no credential"}},
	} {
		a, err := app.Parse("callgate.yaml", []byte(c.text), known)
		if c.errs == nil {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if diff := cmp.Diff(c.want, a.Modules[0]); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			continue
		}
		for _, want := range c.errs {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", name, err, want)
			}
		}
	}
}
