package servers

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"callgate/tool"
)

func TestPairs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		list []string
		want map[string]string // nil with bad: an error
		bad  bool
	}{
		{"none", nil, nil, false},
		{"one", []string{"A=1"}, map[string]string{"A": "1"}, false},
		{"the value may hold =", []string{"A=b=c"}, map[string]string{"A": "b=c"}, false},
		{"an empty value", []string{"A="}, map[string]string{"A": ""}, false},
		{"the last counts", []string{"A=1", "A=2"}, map[string]string{"A": "2"}, false},
		{"no =", []string{"A=1", "B"}, nil, true},
		{"no name", []string{"=x"}, nil, true},
		{"empty", []string{""}, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := pairs("--env", tt.list)
			if tt.bad != (tool.KindOf(err) == tool.Invalid) || !maps.Equal(got, tt.want) {
				t.Errorf("got %v: %v", got, err)
			}
			if tt.bad && !strings.Contains(err.Error(), "--env") {
				t.Errorf("the error does not name the flag: %v", err)
			}
		})
	}
}

func TestServerOfCommandLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		add  add
		args []string
		bad  bool
	}{
		{"a command", add{}, []string{"fs", "npx", "-y", "server"}, false},
		{"an address", add{url: "https://example.com/mcp"}, []string{"web"}, false},
		{"both", add{url: "https://example.com/mcp"}, []string{"web", "npx"}, true},
		{"neither", add{}, []string{"web"}, true},
		{"a variable that is none", add{env: []string{"X"}}, []string{"fs", "npx"}, true},
		{"a header that is none", add{url: "https://example.com", header: []string{"X"}}, []string{"web"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := tt.add.server(tt.args)
			if tt.bad {
				if tool.KindOf(err) != tool.Invalid {
					t.Errorf("got %+v: %v", s, err)
				}
				return
			}
			if err != nil || s.Name != tt.args[0] || s.URL != tt.add.url {
				t.Errorf("got %+v: %v", s, err)
			}
			if len(tt.args) > 1 && (s.Command != tt.args[1] || !slices.Equal(s.Args, tt.args[2:])) {
				t.Errorf("got the command %s %v", s.Command, s.Args)
			}
		})
	}
}
