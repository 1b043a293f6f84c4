package browser_test

import (
	"slices"
	"strings"
	"testing"

	"callgate/internal/module"
	"callgate/internal/module/browser"
	"callgate/tool"
)

// Every tool can be published, its examples are valid calls, and no two tools share a
// name.
func TestTools(t *testing.T) {
	opened, err := browser.Module().Open(module.Host{})
	check(t, err)
	defer opened.Close()
	f := newFixture(t, opened)
	names := map[string]string{}
	for _, one := range opened.Tools {
		check(t, one.Validate())
		if len(one.Spec.Examples) == 0 || len(one.Spec.Description) < 100 || !one.Runtime.Network {
			t.Errorf("%s is not described well enough", one.ID)
		}
		for _, e := range one.Spec.Examples {
			meets(t, f.inputs[one.ID.Name], e.Args)
		}
		for _, a := range append(one.Spec.Aliases, one.Spec.Name) {
			if other := names[a]; other != "" {
				t.Errorf("%q is a name of %s and of %s", a, other, one.Spec.Name)
			}
			names[a] = one.Spec.Name
		}
		changes := slices.Contains([]string{"click", "type", "select"}, one.ID.Name)
		external, risky := one.Runtime.SideEffect == tool.External, one.Runtime.Risk == tool.Medium
		exclusive := one.Runtime.Effects[0].Mode == tool.X
		if external != changes || risky != changes || exclusive != changes {
			t.Errorf("%s: %+v", one.ID, one.Runtime)
		}
	}
	for _, a := range []string{
		"choir.web.browse", "browser.navigate", "browser_navigate", "browser_click", "browser_type",
		"browser_select_option", "browser_snapshot", "browser_take_screenshot", "browser_wait_for",
		"browser_navigate_back", "browser_tabs", "browser_close",
	} {
		if names[a] == "" {
			t.Errorf("no tool has the name %s", a)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	m := browser.Module()
	for name, c := range map[string]struct {
		config, constraints map[string]any
		errHas              string
	}{
		"nothing": {nil, nil, ""},
		"everything": {
			map[string]any{
				"executable": "chromium", "timeout_seconds": 5, "viewport": "800x600", "user_agent": "x",
				"headless": false, "locale": "fr",
			},
			map[string]any{
				"allowed_hosts": []any{"*.example.com"}, "denied_hosts": []any{"x.example.com"},
				"private_hosts": []any{"10.0.0.0/8"}, "max_tabs": 2, "max_download_bytes": 0,
			},
			"",
		},
		"viewport":      {map[string]any{"viewport": "wide"}, nil, "1280x800"},
		"viewport more": {map[string]any{"viewport": "800x600x3"}, nil, "1280x800"},
		"too small":     {map[string]any{"viewport": "10x10"}, nil, "200x200"},
		"locale":        {map[string]any{"locale": "../en"}, nil, "locale"},
		"agent":         {map[string]any{"user_agent": "a\r\nX: y"}, nil, "one line"},
		"a host":        {nil, map[string]any{"private_hosts": []any{"not a host"}}, "not a host"},
		"no tabs":       {nil, map[string]any{"max_tabs": 0}, "max_tabs"},
		"unknown":       {map[string]any{"headles": true}, nil, "headless"},
	} {
		_, err := m.Read(c.config, c.constraints)
		if (err == nil) != (c.errHas == "") || err != nil && !strings.Contains(err.Error(), c.errHas) {
			t.Errorf("%s: %v, want %q", name, err, c.errHas)
		}
	}
}
