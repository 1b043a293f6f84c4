package fetchtest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"callgate/internal/module"
)

// CheckTools checks that a module has these tools, by their dotted names, and
// that each can be published: it is valid, uses the network, has enough words
// to be found, and its examples match its schema.
func CheckTools(t *testing.T, m module.Module, want ...string) {
	t.Helper()
	b := Open(t, m, nil, nil)
	var names []string
	for _, made := range b.Instance.Tools {
		names = append(names, made.ID.Dotted())
		if err := made.Validate(); err != nil {
			t.Error(err)
		}
		spec := made.Spec
		if !made.Runtime.Network || len(spec.Examples) == 0 || len(spec.Aliases) < 8 || len(spec.Tags) < 5 {
			t.Errorf("%s lacks something: %+v", made.ID, spec)
		}
		for _, e := range spec.Examples {
			b.checkSchema(spec.Input, e.Args)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("the tools are %v, want %v", names, want)
	}
}

// CheckGuide checks that the app file which a guide shows has every setting of
// the module, and that the module accepts it.
func CheckGuide(t *testing.T, m module.Module, guide string) {
	t.Helper()
	text, err := os.ReadFile(guide)
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
	block := app.Modules[m.Name]
	if n := len(block.Config) + len(block.Constraints); n != len(m.Fields()) {
		t.Errorf("the guide shows %d settings, there are %d", n, len(m.Fields()))
	}
	if _, err := m.Read(block.Config, block.Constraints); err != nil {
		t.Error(err)
	}
}
