package servers

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"callgate/internal/app"
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

// A server that a person adds gets the narrowest isolation in which its command can start,
// unless the person says another.
func TestIsolationOfAnAddedServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags   []string
		command string
		want    app.Isolation
	}{
		"a program":             {nil, "hub-server", app.Isolation{Mode: "sandboxed"}},
		"a path":                {nil, "/usr/bin/node", app.Isolation{Mode: "sandboxed"}},
		"npx fetches":           {nil, "npx", app.Isolation{Mode: "sandboxed", Network: true}},
		"uvx by its path":       {nil, "/opt/uv/uvx", app.Isolation{Mode: "sandboxed", Network: true}},
		"a daemon's client":     {nil, "docker", app.Isolation{Mode: "contained"}},
		"npx without":           {[]string{"--network=false"}, "npx", app.Isolation{Mode: "sandboxed"}},
		"a program with":        {[]string{"--network"}, "hub-server", app.Isolation{Mode: "sandboxed", Network: true}},
		"contained":             {[]string{"--isolation", "contained"}, "npx", app.Isolation{Mode: "contained"}},
		"sandboxed, as is said": {[]string{"--isolation", "sandboxed"}, "npx", app.Isolation{Mode: "sandboxed"}},
		"none":                  {[]string{"--isolation", "none"}, "docker", app.Isolation{Mode: "none"}},
		"places": {[]string{"--readable", "~/notes,/srv", "--writable", "~/drafts"}, "hub-server", app.Isolation{
			Mode: "sandboxed", Readable: []string{"~/notes", "/srv"}, Writable: []string{"~/drafts"},
		}},
	} {
		var i isolated
		cmd := &cobra.Command{}
		i.bind(cmd)
		if err := cmd.ParseFlags(c.flags); err != nil {
			t.Fatal(err)
		}
		got := i.of(c.command)
		if got.Mode != c.want.Mode || got.Network != c.want.Network || !slices.Equal(got.Readable, c.want.Readable) ||
			!slices.Equal(got.Writable, c.want.Writable) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
