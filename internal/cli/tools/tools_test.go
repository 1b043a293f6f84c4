package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"callgate/internal/cli/argv"
	"callgate/internal/protocol"
	"callgate/tool"
)

func newFlags() *pflag.FlagSet {
	set := pflag.NewFlagSet("call", pflag.ContinueOnError)
	set.String("state", "", "")
	set.StringP("workspace", "C", "", "")
	set.String("app", "", "")
	set.Bool("json", false, "")
	set.Bool("no-wait", false, "")
	return set
}

// A flag that says where the tool is found is never taken for a parameter of the
// tool; any other flag gives way to one.
func TestOwnFlags(t *testing.T) {
	t.Parallel()
	got := map[string]argv.CommandFlag{}
	for _, f := range ownFlags(newFlags()) {
		got[f.Name] = f
	}
	for _, want := range []argv.CommandFlag{
		{Name: "state", Takes: true},
		{Name: "workspace", Short: "C", Takes: true},
		{Name: "app", Takes: true},
		{Name: "json", Yields: true},
		{Name: "no-wait", Yields: true},
	} {
		if got[want.Name] != want {
			t.Errorf("got %+v, want %+v", got[want.Name], want)
		}
	}
}

func TestAsksJSON(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		rest   []string
		params []argv.Param
		want   bool
	}{
		{"not asked for", []string{"--path", "x"}, nil, false},
		{"asked for", []string{"--path", "x", "--json"}, nil, true},
		{"declined", []string{"--json=false"}, nil, false},
		{"a parameter of the tool", []string{"--json"}, []argv.Param{{Name: "json"}}, false},
		{"another parameter", []string{"--json"}, []argv.Param{{Name: "path"}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := asksJSON(ownFlags(newFlags()), tt.rest, tt.params); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestModelOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		made protocol.AgentSurface
		want string
		way  string
	}{
		{protocol.AgentSurface{Provider: "openai", Model: "m", Native: true}, "openai/m", "given by its API"},
		{protocol.AgentSurface{Provider: "openai", Model: "m"}, "openai/m", "written into its prompt"},
		{protocol.AgentSurface{Provider: "mine", Model: "m", ToolsWhy: "http://127.0.0.1/v1 said it takes none (asked 2026-11-15)"},
			"mine/m", "written into its prompt: http://127.0.0.1/v1 said it takes none (asked 2026-11-15)"},
		{protocol.AgentSurface{Offline: true, Native: true}, "the offline model", ""},
		{protocol.AgentSurface{Provider: "openai", Model: "a\nb", Native: true, ToolsWhy: "a\nb"}, "openai/a b", "given by its API: a b"},
	}
	for _, tt := range tests {
		if got := modelOf(&tt.made); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
		if got := toolsOf(&tt.made); got != tt.way {
			t.Errorf("got %q, want %q", got, tt.way)
		}
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plan.svg")
	if err := draw(path, &protocol.Surface{}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(data), "<svg") {
		t.Errorf("got %q: %v", data, err)
	}
	if err := draw(filepath.Join(path, "x.svg"), &protocol.Surface{}); tool.KindOf(err) != tool.Failed {
		t.Errorf("a folder that is a file: %v", err)
	}
}
