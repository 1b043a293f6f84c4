package web_test

import (
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"callgate/internal/module/web"
)

// The block that the guide shows is one that the module takes.
func TestTheGuideIsTrue(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guides/web.md")
	if err != nil {
		t.Skip("the guide is not here")
	}
	_, rest, ok := strings.Cut(string(text), "\n    tools:\n")
	shown, _, _ := strings.Cut(rest, "\n\n")
	var app struct {
		Modules map[string]struct {
			Credential          string
			Config, Constraints map[string]any
		}
	}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll("\n"+shown, "\n    ", "\n")), &app); err != nil || !ok {
		t.Fatal(err)
	}
	m := web.Module()
	block := app.Modules["web"]
	if len(block.Config)+len(block.Constraints) != len(m.Fields()) {
		t.Errorf("the guide shows %d settings, there are %d", len(block.Config)+len(block.Constraints), len(m.Fields()))
	}
	if _, err := m.Read(block.Config, block.Constraints); err != nil {
		t.Error(err)
	}
}
