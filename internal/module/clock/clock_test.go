package clock_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/module"
	"callgate/internal/module/clock"
	"callgate/tool"
)

// ask calls clock.now under the settings of an app file.
func ask(t *testing.T, config, constraints map[string]any, args string) (*tool.Result, error) {
	t.Helper()
	m := clock.Module()
	settings, err := m.Read(config, constraints)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := m.Open(module.Host{})
	if err != nil {
		t.Fatal(err)
	}
	call := tool.Call{Args: json.RawMessage(args)}
	return instance.Tools[0].Handler.Execute(t.Context(), call, tool.Grant{Settings: settings})
}

func TestNow(t *testing.T) {
	r, err := ask(t, map[string]any{"zone": "Asia/Tokyo"}, nil, `{}`)
	if err != nil || !strings.Contains(r.Summary, "JST") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := ask(t, nil, nil, `{"zone": "Mars/Olympus"}`); tool.KindOf(err) != tool.Invalid {
		t.Errorf("an unknown zone: %v", err)
	}
}

// A constraint holds for what the model asks, not only for the app file.
func TestZones(t *testing.T) {
	only := map[string]any{"zones": []any{"Europe/Paris", "UTC"}}
	for zone, allowed := range map[string]bool{"Europe/Paris": true, "UTC": true, "Asia/Tokyo": false, "europe/paris": false} {
		_, err := ask(t, nil, only, `{"zone": "`+zone+`"}`)
		if allowed && err != nil || !allowed && tool.KindOf(err) != tool.Denied {
			t.Errorf("%s: %v", zone, err)
		}
	}
}

func TestSettings(t *testing.T) {
	m := clock.Module()
	for name, c := range map[string]struct{ config, constraints map[string]any }{
		"a misspelt key":           {map[string]any{"zoen": "UTC"}, nil},
		"an unknown zone":          {map[string]any{"zone": "Mars/Olympus"}, nil},
		"an unknown allowed zone":  {nil, map[string]any{"zones": []any{"UTC", "Mars/Olympus"}}},
		"a default out of bounds":  {map[string]any{"zone": "Asia/Tokyo"}, map[string]any{"zones": []any{"UTC"}}},
		"a constraint as a config": {map[string]any{"zones": []any{"UTC"}}, nil},
	} {
		if _, err := m.Read(c.config, c.constraints); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
