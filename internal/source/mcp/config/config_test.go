package config_test

import (
	"strings"
	"testing"
	"time"

	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		cfg  config.Config
		want string
	}{
		{"no name", config.Config{Command: "x"}, "no name"},
		{"neither", config.Config{Name: "n"}, "either a command or a url"},
		{"both", config.Config{Name: "n", Command: "x", URL: "https://x"}, "either a command or a url"},
		{"transport", config.Config{Name: "n", URL: "https://x", Transport: "carrier-pigeon"}, "carrier-pigeon"},
		{"stdio without a command", config.Config{Name: "n", URL: "https://x", Transport: config.Stdio}, "no command"},
		{"http with a command", config.Config{Name: "n", Command: "x", Transport: config.HTTP}, "needs a url"},
		{"a url that is none", config.Config{Name: "n", URL: "ftp://x"}, "scheme"},
		{"a url without a host", config.Config{Name: "n", URL: "https:///x"}, "no host"},
		{"the kernel's variables", config.Config{Name: "n", Command: "x", EnvAllow: []string{"CALLGATE_TOKEN"}}, "CALLGATE_TOKEN"},
		{"negative", config.Config{Name: "n", Command: "x", Concurrency: -1}, "negative"},
		{"a port", config.Config{Name: "n", URL: "https://x", OAuth: &config.OAuth{CallbackPort: 70000}}, "70000"},
		{"a risk", config.Config{Name: "n", Command: "x", Tools: map[string]translate.ToolConfig{"t": {Risk: "huge"}}}, "huge"},
		{"an effect", config.Config{Name: "n", Command: "x", Tools: map[string]translate.ToolConfig{
			"t": {SideEffect: tool.Read, Effects: []tool.Effect{{Resource: "workspace", Mode: tool.X}}},
		}}, "read"},
		{"an unknown protocol", config.Config{Name: "n", Command: "x", Protocol: "2020-01-01"}, "2020-01-01"},
		{"a new protocol over sse", config.Config{Name: "n", URL: "https://x", Transport: config.SSE, Protocol: "2026-07-28"}, "sse"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.cfg.Validate()
			if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want %q", err, c.want)
			}
		})
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	for _, c := range []config.Config{
		{Name: "n", Command: "x"},
		{Name: "n", URL: "https://x/{{secret.PATH}}", Transport: config.SSE},
		{Name: "n", URL: "{{secret.URL}}"},
		{Name: "n", Command: "x", EnvAllow: []string{"TOKEN"}, Tools: map[string]translate.ToolConfig{"t": {Off: true}}},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := config.Config{Name: "n", Command: "x"}.WithDefaults()
	if c.CallTimeout != time.Minute || c.StartTimeout != 30*time.Second || c.Concurrency != 8 || c.Transport != config.Stdio {
		t.Errorf("defaults %+v", c)
	}
	c = config.Config{Name: "n", URL: "https://x", CallTimeout: 1, StartTimeout: 2, Concurrency: 3}.WithDefaults()
	if c.CallTimeout != 1 || c.StartTimeout != 2 || c.Concurrency != 3 || c.Transport != "" {
		t.Errorf("settings were replaced: %+v", c)
	}
}

// Every setting tells servers apart; only some tell logins apart.
func TestKeys(t *testing.T) {
	t.Parallel()
	base := config.Config{Name: "n", URL: "https://x"}
	for _, c := range []struct {
		name        string
		change      func(*config.Config)
		sameAccount bool
	}{
		{"another name", func(c *config.Config) { c.Name = "m" }, false},
		{"another url", func(c *config.Config) { c.URL = "https://y" }, false},
		{"another client", func(c *config.Config) { c.OAuth = &config.OAuth{ClientID: "id"} }, false},
		{"other scopes", func(c *config.Config) { c.OAuth = &config.OAuth{Scopes: []string{"s"}} }, true},
		{"a header", func(c *config.Config) { c.Headers = map[string]string{"X": "{{secret.K}}"} }, true},
		{"a timeout", func(c *config.Config) { c.CallTimeout = time.Second }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := base
			c.change(&other)
			if other.Key() == base.Key() || (other.AccountKey() == base.AccountKey()) != c.sameAccount {
				t.Errorf("keys %s and %s, accounts %s and %s", base.Key(), other.Key(), base.AccountKey(), other.AccountKey())
			}
		})
	}
}
