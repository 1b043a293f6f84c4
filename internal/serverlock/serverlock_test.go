package serverlock_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"callgate/internal/gate/binding"
	"callgate/internal/serverlock"
	"callgate/tool"
)

const schema = `{"type":"object","properties":{"path":{},"source":{},"destination":{},"paths":{}}}`

// requiring is the schema with arguments that no call can leave out.
const requiring = `{"properties":{"source":{},"destination":{},"path":{}},"required":["source","destination"]}`

// A call claims its server in a mode that stops nobody, and beside it what the file
// says, or else the ready map, each only where the tool has the arguments.
func TestClaims(t *testing.T) {
	t.Parallel()
	files := serverlock.Ready(serverlock.Program{
		Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/data"},
	})
	line := func(tools string, locks ...serverlock.Lock) []serverlock.Line {
		return []serverlock.Line{{Tools: tools, Locks: locks}}
	}
	node := " server:user/files:"
	for name, c := range map[string]struct {
		terms serverlock.Terms
		tool  serverlock.Tool
		want  string
		notes int
	}{
		"changes": {serverlock.Terms{}, serverlock.Tool{Names: []string{"x"}, Changes: true}, node + "IX", 0},
		"reads":   {serverlock.Terms{}, serverlock.Tool{Names: []string{"x"}}, node + "IS", 0},
		"of an app": {serverlock.Terms{AppFile: "/p/{a}/callgate.yaml"}, serverlock.Tool{Names: []string{"x"}},
			" server:app/p/%7Ba%7D/callgate.yaml/files:IS", 0},
		"a line": {serverlock.Terms{Lines: line("x", serverlock.Lock{Resource: "file:{path}"}), Folder: "/f"},
			serverlock.Tool{Names: []string{"x"}, Changes: true}, " file:{path}:X@/f" + node + "IX", 0},
		"a line for a reader": {serverlock.Terms{Lines: line("x", serverlock.Lock{Resource: "file:{path}"}), Folder: "/f"},
			serverlock.Tool{Names: []string{"x"}}, " file:{path}:S@/f" + node + "IS", 0},
		"a mode for changes": {serverlock.Terms{Lines: line("x", serverlock.Lock{Resource: "server", Mode: tool.X})},
			serverlock.Tool{Names: []string{"x"}}, node + "X" + node + "IX", 0},
		"a thing of its own": {serverlock.Terms{Lines: line("*", serverlock.Lock{Resource: "server:issue/{path}"})},
			serverlock.Tool{Names: []string{"x"}}, " server:user/files/issue/{path}:S" + node + "IS", 0},
		"our name": {serverlock.Terms{Lines: line("our*", serverlock.Lock{Resource: "db:main"})},
			serverlock.Tool{Names: []string{"x", "our_x"}}, " db:main:S" + node + "IS", 0},
		"no such argument": {serverlock.Terms{Lines: line("x", serverlock.Lock{Resource: "file:{pth}"})},
			serverlock.Tool{Names: []string{"x"}}, node + "IS", 1},
		"the name before a pattern": {serverlock.Terms{Lines: append(line("*"), line("x", serverlock.Lock{Resource: "db:a"})...)},
			serverlock.Tool{Names: []string{"x"}}, " db:a:S" + node + "IS", 0},
		"ready": {serverlock.Terms{Ready: files, Folder: "/f"}, serverlock.Tool{Names: []string{"move_file"}, Changes: true},
			" file:{source}:X@/f file:{source}:X@/data file:{destination}:X@/f file:{destination}:X@/data" + node + "IX", 0},
		"ready, and each argument is required": {serverlock.Terms{Ready: files, Folder: "/data"},
			serverlock.Tool{Names: []string{"move_file"}, Changes: true, Input: json.RawMessage(requiring)},
			" file:{source}:X@/data file:{destination}:X@/data server:user/files/file/{source}:IX" +
				" server:user/files/file/{destination}:IX", 0},
		"a line, and its argument is required": {
			serverlock.Terms{Lines: line("x", serverlock.Lock{Resource: "server:issue/{source}"})},
			serverlock.Tool{Names: []string{"x"}, Input: json.RawMessage(requiring)},
			" server:user/files/issue/{source}:S server:user/files/issue/{source}:IS", 0},
		"a line, and one argument is not required": {
			serverlock.Terms{Lines: line("x", serverlock.Lock{Resource: "db:{source}"}, serverlock.Lock{Resource: "db:{path}"})},
			serverlock.Tool{Names: []string{"x"}, Input: json.RawMessage(requiring)},
			" db:{source}:S db:{path}:S" + node + "IS", 0},
		"a line, and one lock without an argument": {
			serverlock.Terms{Lines: line("x", serverlock.Lock{Resource: "db:{source}"}, serverlock.Lock{Resource: "db:main"})},
			serverlock.Tool{Names: []string{"x"}, Input: json.RawMessage(requiring)},
			" db:{source}:S db:main:S" + node + "IS", 0},
		"a line, and one lock that is not held": {
			serverlock.Terms{Lines: line("x", serverlock.Lock{Resource: "db:{source}"}, serverlock.Lock{Resource: "db:{pth}"})},
			serverlock.Tool{Names: []string{"x"}, Input: json.RawMessage(requiring)},
			" db:{source}:S" + node + "IS", 1},
		"ready, and said to read": {serverlock.Terms{Ready: files, Folder: "/data"},
			serverlock.Tool{Names: []string{"edit_file"}}, " file:{path}:S@/data" + node + "IS", 0},
		"ready, another tool of that name": {serverlock.Terms{Ready: files},
			serverlock.Tool{Names: []string{"write_file"}, Changes: true, Input: json.RawMessage(`{"properties":{"file":{}}}`)},
			node + "IX", 0},
		"ready, and off": {serverlock.Terms{Ready: files, Lines: line("*")},
			serverlock.Tool{Names: []string{"write_file"}, Changes: true}, node + "IX", 0},
		"ready, and effects": {serverlock.Terms{Ready: files}, serverlock.Tool{
			Names: []string{"write_file"}, Changes: true, Said: []tool.Effect{{Resource: "workspace", Mode: tool.U}},
		}, " workspace:U" + node + "IX", 0},
	} {
		c.terms.Name = "files"
		if c.tool.Input == nil {
			c.tool.Input = json.RawMessage(schema)
		}
		got := c.terms.Of(c.tool)
		var text strings.Builder
		for _, e := range got.Effects {
			text.WriteString(" " + e.Resource + ":" + e.Mode.String())
			if e.Folder != "" {
				text.WriteString("@" + e.Folder)
			}
			if e.Mode.Writes() && !got.Changes {
				t.Errorf("%s: %v of a tool that reads", name, e)
			}
		}
		if text.String() != c.want || len(got.Notes) != c.notes {
			t.Errorf("%s:\n got%s %q\nwant%s", name, text.String(), got.Notes, c.want)
		}
	}
}

// A well-known server is known however it is run, and no other is taken for it.
func TestWellKnown(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem .":                       "@modelcontextprotocol/server-filesystem",
		"npx -y @modelcontextprotocol/server-filesystem@2026.1.14 /a /b":         "@modelcontextprotocol/server-filesystem",
		"cmd /c npx -y @modelcontextprotocol/server-filesystem C:/a":             "@modelcontextprotocol/server-filesystem",
		"pnpm dlx @modelcontextprotocol/server-memory":                           "@modelcontextprotocol/server-memory",
		"bunx @modelcontextprotocol/server-memory":                               "@modelcontextprotocol/server-memory",
		"npm exec -- @modelcontextprotocol/server-memory":                        "@modelcontextprotocol/server-memory",
		"deno run -A npm:@modelcontextprotocol/server-memory":                    "@modelcontextprotocol/server-memory",
		"node /x/node_modules/@modelcontextprotocol/server-memory/dist/index.js": "@modelcontextprotocol/server-memory",
		"/x/node_modules/.bin/mcp-server-filesystem /a":                          "@modelcontextprotocol/server-filesystem",
		"uvx mcp-server-git --repository .":                                      "mcp-server-git",
		"uvx mcp-server-git==2026.1.1":                                           "mcp-server-git",
		"uvx --from git+https://host/x mcp-server-git":                           "mcp-server-git",
		"uv --directory /x run mcp-server-sqlite --db-path /a.db":                "mcp-server-sqlite",
		"python -m mcp_server_git":                                               "mcp-server-git",
		"npx -y mcp-sqlite /a.db":                                                "mcp-sqlite",
		"npx -y @modelcontextprotocol/server-github":                             "",
		"npx -y mcp-server-github":                                               "",
		"npx -y evil-server @modelcontextprotocol/server-filesystem":             "",
		"docker run -i --rm mcp/filesystem /projects":                            "",
		"docker run node npx @modelcontextprotocol/server-filesystem":            "",
		"sh -c npx": "",
		"":          "",
	} {
		words := strings.Split(line, " ")
		got := ""
		if m := serverlock.Ready(serverlock.Program{Command: words[0], Args: words[1:]}); m != nil {
			got = m.Name
		}
		if got != want {
			t.Errorf("%s is %q; want %q", line, got, want)
		}
	}
}

// The servers with one file lock that file.
func TestOneFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line, env, tool, want string
	}{
		{"uvx mcp-server-sqlite --db-path /a.db", "", "write_query", "file:/a.db"},
		{"uvx mcp-server-sqlite --db-path=data/a.db", "", "read_query", "file:/f/data/a.db"},
		{"npx mcp-server-sqlite", "SQLITE_DB_PATH=/b.db", "transaction", "file:/b.db"},
		{"npx mcp-server-sqlite", "", "transaction", "server:user/db"},
		{"npx mcp-sqlite a.db", "", "query", "file:/f/a.db"},
		{"npx @modelcontextprotocol/server-memory", "MEMORY_FILE_PATH=/m.json", "create_entities", "file:/m.json"},
		{"npx @modelcontextprotocol/server-memory", "", "read_graph", "memory:default"},
		{"npx @modelcontextprotocol/server-memory", "MEMORY_FILE_PATH=/{{secret.x}}", "read_graph", "memory:default"},
	} {
		words := strings.Split(c.line, " ")
		p := serverlock.Program{Command: words[0], Args: words[1:]}
		if name, value, ok := strings.Cut(c.env, "="); ok {
			p.Env = map[string]string{name: value}
		}
		terms := serverlock.Terms{Name: "db", Folder: "/f", Ready: serverlock.Ready(p)}
		claimed := terms.Of(serverlock.Tool{Names: []string{c.tool}, Input: json.RawMessage(schema), Changes: true})
		claims, err := binding.Claims("/w", claimed.Effects, json.RawMessage(`{}`))
		if err != nil || claims[0].Resource != c.want {
			t.Errorf("%s %s: %v, %v; want %s", c.line, c.tool, claims, err, c.want)
		}
	}
}

// Lines that name nothing are told, and a pattern that names everything is not one.
func TestUnused(t *testing.T) {
	t.Parallel()
	terms := serverlock.Terms{Lines: []serverlock.Line{{Tools: "write_*"}, {Tools: "*"}, {Tools: "*_x_*"}, {Tools: "ours"}}}
	got := terms.Unused([][]string{{"write_file"}, {"theirs", "ours"}})
	if !slices.Equal(got, []string{"*_x_*"}) {
		t.Error(got)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for resource, want := range map[string]string{
		"file:{path}": "", "repo:{repo_path}": "", "server": "", "server:{a}/{b}": "", "db:main": "", "file:data/x.db": "",
		"{path}": "kind", "path": "kind", "files:{path}": "no server can lock", "workspace": "kind", "issue:{n}": "no server can lock",
		"file:": "name a thing", "file:{path": "name a thing", "file:path}": "name a thing", "file:{}": "name a thing",
		"file:<path>": "angle", "file:notes/{path}": "in the middle", "file:/": "outside", "file:../x": "outside",
		"file:/etc": "outside", "module:shell": "no server can lock",
	} {
		wrong, remedy := serverlock.Check(resource)
		if (wrong == "") != (want == "") || !strings.Contains(wrong, want) || (wrong == "") != (remedy == "") {
			t.Errorf("%s: %q, %q; want %q", resource, wrong, remedy, want)
		}
	}
}

// What Check lets through always binds, to a claim of a kind that a server may lock.
func FuzzCheck(f *testing.F) {
	f.Add("file:{path}", `{"path":"a/../b"}`)
	f.Add("server:{a}/x", `{"a":["x","/"]}`)
	f.Add("db:main", `{}`)
	f.Fuzz(func(t *testing.T, resource, args string) {
		if wrong, _ := serverlock.Check(resource); wrong != "" || !json.Valid([]byte(args)) || args[0] != '{' {
			return
		}
		names, _ := serverlock.Params(resource)
		properties := map[string]any{}
		for _, name := range names {
			properties[name] = map[string]any{}
		}
		input, _ := json.Marshal(map[string]any{"properties": properties})
		terms := serverlock.Terms{Name: "s", Folder: "/f", Lines: []serverlock.Line{{
			Tools: "x", Locks: []serverlock.Lock{{Resource: resource}},
		}}}
		claims, err := binding.Claims("/w", terms.Of(serverlock.Tool{Names: []string{"x"}, Input: input}).Effects, []byte(args))
		if err != nil {
			if strings.Contains(err.Error(), "is written") { // two arguments that differ in case
				return
			}
			t.Fatalf("%q with %s: %v", resource, args, err)
		}
		for _, c := range claims {
			kind, rest, _ := strings.Cut(c.Resource, ":")
			if !slices.Contains([]string{"file", "repo", "db", "server"}, kind) ||
				kind == "server" && !strings.HasPrefix(rest, "user/s") {
				t.Errorf("%q with %s claims %s", resource, args, c.Resource)
			}
		}
	})
}
