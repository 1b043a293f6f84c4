package importer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/app"
	"callgate/internal/importer"
)

// read reads the servers of a text.
func read(t testing.TB, client, name, text string, o importer.Options) ([]importer.FoundServer, []importer.Problem) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return importer.Read(importer.Source{Client: client, Path: path}, env("/work/demo"), o)
}

// one reads a server whose only argument is given.
func one(t testing.TB, client, arg string, o importer.Options) (importer.FoundServer, []importer.Problem) {
	t.Helper()
	key := "mcpServers"
	if client == "opencode" || client == "crush" {
		key = "mcp"
	}
	text, err := json.Marshal(map[string]any{key: map[string]any{"s": map[string]any{"command": "run", "args": []string{arg}}}})
	if err != nil {
		t.Fatal(err)
	}
	found, problems := read(t, client, "c.json", string(text), o)
	if len(found) == 0 {
		return importer.FoundServer{Server: app.Server{Args: []string{""}}}, problems
	}
	return found[0], problems
}

func TestVariables(t *testing.T) {
	for _, c := range []struct{ name, client, text, want string }{
		{"plain", "claude-code", "a b", "a b"},
		{"env", "claude-code", "x${A}y", "x{{env.A}}y"},
		{"default", "claude-code", "${A:-b c}", "{{env.A ?? 'b c'}}"},
		{"plain default", "claude-code", "${A:-/tmp/x}", "{{env.A ?? /tmp/x}}"},
		{"empty default", "claude-code", "${A:-}", "{{env.A ?? ''}}"},
		{"default that would be a variable", "claude-code", "${A:-workdir}", "{{env.A ?? 'workdir'}}"},
		{"nested default", "claude-code", "${A:-${B:-c}}", "{{env.A ?? env.B ?? c}}"},
		{"default that cannot be said", "claude-code", "${A:-b}}c}", "{{env.A ?? b}}}c}"},
		{"default with ??", "claude-code", "${A:-b??c}", "{{env.A}}"},
		{"project", "claude-code", "${CLAUDE_PROJECT_DIR}/x", "{{workdir}}/x"},
		{"bare dollar where it means nothing", "claude-code", "$A", "$A"},
		{"bare dollar", "gemini-cli", "$A-$B2.$1$", "{{env.A}}-{{env.B2}}.$1$"},
		{"vscode", "vscode", "${workspaceFolder:root}/${cwd}", "{{workdir}}/{{workdir}}"},
		{"cursor env", "cursor", "${env:A}", "{{env.A}}"},
		{"odd env", "cursor", "${env:ProgramFiles(x86)}", "{{env.ProgramFiles(x86)}}"},
		{"input", "vscode", "${input:my key}", "{{secret.my_key}}"},
		{"not a variable", "vscode", "${} ${ x } ${1}", "${} ${ x } ${1}"},
		{"unclosed", "vscode", "${A", "${A"},
		{"braces", "vscode", "{{.ID}} {{{", "{{{{.ID}} {{{{{"},
		{"brace before a variable", "vscode", "{${A}}", "{{'{'}}{{env.A}}}"},
		{"three braces before a variable", "vscode", "{{{${A}", "{{{{{{'{'}}{{env.A}}"},
		{"two braces before a variable", "vscode", "{{${A}", "{{{{{{env.A}}"},
		{"opencode", "opencode", "{env:A}/{x}", "{{env.A}}/{x}"},
		{"opencode file", "opencode", "{file:./key}", "{{secret.s_key}}"},
		{"opencode braces elsewhere", "claude-code", "{env:A}", "{env:A}"},
		{"echo", "crush", "$(echo Bearer $A)", "Bearer {{env.A}}"},
		{"echo in quotes", "crush", `$(echo "$A")`, "{{env.A}}"},
		{"echo and more", "crush", "$(echo $A | tr a b)", "{{secret.s_echo_A_tr_a_b}}"},
		{"command elsewhere", "claude-code", "$(date)", "$(date)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, problems := one(t, c.client, c.text, importer.Options{})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := f.Server.Args[0]; got != c.want {
				t.Errorf("%q became %q, not %q", c.text, got, c.want)
			}
			holds(t, f.Server)
		})
	}
}

// What a text says is what an app file reads, once its variables are set.
func TestVariablesMean(t *testing.T) {
	t.Setenv("A", "va")
	t.Setenv("B", "")
	os.Unsetenv("B")
	for text, want := range map[string]string{
		"{${A}}":          "{va}",
		"{{{${A}":         "{{{va",
		"{{${A}}}":        "{{va}}",
		"{{.ID}}${A}":     "{{.ID}}va",
		"${B:-it's}":      "it's",
		"${B:-'q'}":       "'q'",
		"${B:-${A}}":      "va",
		"${B:-app.id}":    "app.id",
		"x${B:- }y":       "x y",
		"${A}${A:-b}{":    "vava{",
		"${B:-a{b}":       "a{b",
		"a ${B:-{{x} ${A": "a {{x ${A",
	} {
		f, problems := one(t, "claude-code", text, importer.Options{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		arg, err := json.Marshal(f.Server.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		yaml := "tools: {modules: {mcp: {config: {servers: {s: {command: run, args: [" + string(arg) + "]}}}}}}"
		a, err := app.Parse(app.Filename, []byte(yaml), nil)
		if err != nil {
			t.Fatalf("%q as %s: %v", text, arg, err)
		}
		if got := a.Servers[0].Args[0]; got != want {
			t.Errorf("%q became %s, which is %q and not %q", text, arg, got, want)
		}
	}
}

// A text that would be read as one of Callgate's own secrets is refused: a
// stranger's file must not name them.
func TestStolenSecrets(t *testing.T) {
	for _, text := range []string{"{{secret.OPENAI}}", "{{ secret.OPENAI }}", "{{{secret.OPENAI}}}"} {
		f, problems := one(t, "claude-code", text, importer.Options{})
		if len(problems) != 1 || !strings.Contains(problems[0].Text, "secret") {
			t.Errorf("%s: %v, %v", text, f.Server.Args, problems)
		}
	}
}

func TestSecretsInArguments(t *testing.T) {
	const token = "ghp_0123456789abcdefABCDEF0123456789abcd"
	for text, want := range map[string]string{
		"--api-key=abc":                         "--api-key={{secret.s_api_key}}",
		"GITHUB_TOKEN=abc":                      "GITHUB_TOKEN={{secret.s_GITHUB_TOKEN}}",
		token:                                   "{{secret.s_arg1}}",
		"--key-file=/etc/key.pem":               "--key-file=/etc/key.pem",
		"--max-tokens=400":                      "--max-tokens=400",
		"--no-token=true":                       "--no-token=true",
		"https://u:p@h.example/x":               "https://u:{{secret.s_password}}@h.example/x",
		"https://h.example/x?token=1a&y=2":      "https://h.example/x?token={{secret.s_token}}&y=2",
		"https://h.example/x?token=${T}":        "https://h.example/x?token={{env.T}}",
		"https://h.example/a:b@c":               "https://h.example/a:b@c",
		"Authorization: token " + token:         "Authorization: token {{secret.s_authorization}}",
		"X-Api-Key:abc":                         "X-Api-Key:{{secret.s_x_api_key}}",
		"tokens are fun":                        "tokens are fun",
		"postgresql://${U}:${P}@h/db":           "postgresql://{{env.U}}:{{env.P}}@h/db",
		"postgresql://${U}:plain@h/db?sslkey=x": "postgresql://{{env.U}}:{{secret.s_password}}@h/db?sslkey={{secret.s_sslkey}}",
	} {
		f, problems := one(t, "claude-code", text, importer.Options{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if got := f.Server.Args[0]; got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
		hidden := strings.Contains(want, "{{secret.")
		noted := strings.Contains(strings.Join(f.Notes, "\n"), "with callgate secrets set")
		if hidden != noted {
			t.Errorf("%q: the notes are %q", text, f.Notes)
		}
		if hidden && (strings.Contains(strings.Join(f.Notes, ""), token) || strings.Contains(strings.Join(f.Notes, ""), "abc")) {
			t.Errorf("a note tells the secret: %q", f.Notes)
		}
		kept, _ := one(t, "claude-code", text, importer.Options{KeepSecrets: true})
		if !strings.Contains(text, "$") && kept.Server.Args[0] != text {
			t.Errorf("%q was not kept: %q", text, kept.Server.Args[0])
		}
	}
}

func TestSecretVariables(t *testing.T) {
	f, _ := one(t, "claude-code", "${GITHUB_TOKEN} ${PLACE} ${API_KEY:-x}", importer.Options{SecretVars: true})
	if got, want := f.Server.Args[0], "{{secret.GITHUB_TOKEN}} {{env.PLACE}} {{env.API_KEY ?? x}}"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestNames(t *testing.T) {
	text := `{"mcpServers": {
	  "My Server!": {"command": "a"}, "my_server": {"command": "b"}, "my-server": {"command": "b"}, "--": {"command": "c"},
	  "1password": {"command": "d", "env": {"TOKEN": "x", "OTHER_KEY": "y"}}, "1Password": {"command": "d", "env": {"TOKEN": "z"}},
	  "` + strings.Repeat("long", 20) + `": {"command": "e"}, "` + strings.Repeat("long", 21) + `": {"command": "f"}, "日本語": {"command": "g"}}}`
	found, problems := read(t, "claude-code", ".mcp.json", text, importer.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := map[string]string{}
	for _, f := range found {
		holds(t, f.Server)
		got[f.Server.Name] = f.Server.Command + " " + f.Server.Env["TOKEN"]
	}
	long := strings.Repeat("long", 10)
	want := map[string]string{
		"my-server": "a ", "my_server-2": "b ", "server": "c ", "server-2": "g ", long: "e ", long[:38] + "-2": "f ",
		"1password": "d {{secret._1password_TOKEN}}", "1password-2": "d {{secret._1password_2_TOKEN}}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMerge(t *testing.T) {
	load := func(name, text string) []importer.FoundServer {
		found, problems := read(t, "claude-code", name, `{"mcpServers": {`+text+`}}`, importer.Options{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return found
	}
	const a, b = `"command": "a", "env": {"API_TOKEN": "1"}`, `"command": "a", "env": {"API_TOKEN": "2"}`
	all := append(load("1.json", `"x": {`+a+`, "disabled": true}, "y": {"command": "y", "enabled_tools": ["t"]}`),
		append(load("2.json", `"x": {`+b+`}, "y": {"command": "z", "enabled_tools": ["t"]}`),
			load("3.json", `"x": {`+a+`}, "X": {`+b+`}, "other": {`+b+`}`)...)...)
	merged := importer.Merge(all)
	for again := range 2 {
		var names []string
		for _, f := range merged {
			names = append(names, f.Server.Name+" "+f.Server.Env["API_TOKEN"])
		}
		want := []string{"x {{secret.x_API_TOKEN}}", "y ", "x-2 {{secret.x_2_API_TOKEN}}", "y-2 ", "other {{secret.other_API_TOKEN}}"}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Fatalf("%d (-want +got):\n%s", again, diff)
		}
		merged = importer.Merge(merged)
	}
	if merged[0].Disabled {
		t.Error("a server that is on in one place is off")
	}
	for i, note := range []string{"3.json too", "mcp_y.", "another server is called x, in", "mcp_y_2.", "the same as the server x-2"} {
		if text := strings.Join(merged[i].Notes, "\n"); !strings.Contains(text, note) {
			t.Errorf("%s has no note %q: %s", merged[i].Server.Name, note, text)
		}
	}
	if text := strings.Join(merged[2].Notes, "\n"); !strings.Contains(text, "secret x_2_API_TOKEN ") ||
		strings.Contains(text, "secret x_API_TOKEN ") {
		t.Errorf("the notes name another secret: %s", text)
	}
	if all[2].Server.Name != "x" {
		t.Error("what was merged has changed")
	}
}

func TestLogins(t *testing.T) {
	text := `{"mcpServers": {
	  "a": {"url": "https://a.example", "oauth": {"client_id": "id", "client_secret": "s", "callback_port": 99, "scope": "x y", "redirect_uri": "r", "enabled": true}, "timeout": 5},
	  "A": {"url": "https://b.example", "auth": {"CLIENT_ID": "id", "CLIENT_SECRET": "t", "scopes": ["z"]}},
	  "c": {"command": "x", "oauth": {"clientId": "left out"}, "headers": {"H": "left out"}}}}`
	found, problems := read(t, "cursor", "mcp.json", text, importer.Options{})
	if len(found) != 3 || len(problems) > 0 {
		t.Fatalf("%v, %v", found, problems)
	}
	want := []app.Server{
		{
			Name:  "a",
			URL:   "https://a.example",
			OAuth: &app.OAuth{ClientID: "id", ClientSecret: "{{secret.a_client_secret}}", CallbackPort: 99, Scopes: []string{"x", "y"}},
		},
		{
			Name:  "a-2",
			URL:   "https://b.example",
			OAuth: &app.OAuth{ClientID: "id", ClientSecret: "{{secret.a_2_client_secret}}", Scopes: []string{"z"}},
		},
		{Name: "c", Command: "x"},
	}
	for i, f := range found {
		holds(t, f.Server)
		if diff := cmp.Diff(want[i], f.Server); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if text := strings.Join(found[2].Notes, "\n"); !strings.Contains(text, "its login are left out") {
		t.Errorf("what a program does not take went in silence: %s", text)
	}
	for _, note := range []string{`"redirect_uri" of its login is not carried over`, "a timeout of 5 is not carried over"} {
		if text := strings.Join(found[0].Notes, "\n"); !strings.Contains(text, note) {
			t.Errorf("there is no note %q: %s", note, text)
		}
	}
}
