package importer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/importer"
	"callgate/tool"
)

// Files that are wrong are told with their line, and never changed.
func TestHostile(t *testing.T) {
	servers := func(text string) string { return "{\n\"mcpServers\": {\n" + text + "\n}}" }
	many := func(n int, each func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(each(i))
		}
		return b.String()
	}
	for _, c := range []struct{ name, client, text, want string }{
		{"huge", "cursor", strings.Repeat(" ", 32<<20+1), "larger than 32 MiB"},
		{"deep", "cursor", "\n" + strings.Repeat("[", 100_000), ":2: it is more than 200 levels deep"},
		{"many values", "cursor", "[" + strings.Repeat("1,", 600_000) + "1]", "more than 500000 values"},
		{"not UTF-8", "cursor", "{\n\"a\": \"\xff\"}", ":2: the file is not UTF-8"},
		{"UTF-16", "cursor", "\xff\xfe{\x00}\x00", "not UTF-8"},
		{"a list", "cursor", "[]", ":1: the file should hold an object, and it holds a list"},
		{"two values", "cursor", "{}\n{}", ":2: there is '{' after the end"},
		{"unclosed", "cursor", "{\n\"a\": {", ":2: a name in double quotes or a value is expected, and there is nothing more"},
		{"unclosed text", "cursor", "{\n\"a\n\": 1}", ":2: the text that begins on this line is not closed"},
		{"unclosed comment", "cursor", "{\n/* x", ":2: a comment begins with"},
		{"no comma", "cursor", "{\"a\": 1\n\"b\": 2}", ":2: a comma or } is expected, and there is '\"'"},
		{"single quotes", "cursor", "{\n'a': 1}", ":2: a name in double quotes"},
		{"bad escape", "cursor", "{\"a\": \"\\x\"}", "backslash"},
		{"bad number", "cursor", "{\"a\": 01}", `"01" is no number`},
		{"bad word", "cursor", "{\"a\": nul}", "a value is expected, and there is 'n'"},
		{"servers are a list", "cursor", "{\n\"mcpServers\": []}", `:2: "mcpServers" should be an object of servers, and it is a list`},
		{"servers twice", "cursor", "{\"mcpServers\": {},\n\"mcpServers\": {}}", `:2: "mcpServers" stands here a second time`},
		{"a server twice", "cursor", servers("\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}"), `:4: the server "a" stands here a second time`},
		{"a key twice", "cursor", servers("\"a\": {\"command\": \"x\",\n\"command\": \"y\"}"), `:4: the server "a": "command" stands here a second time`},
		{"a variable twice", "cursor", servers("\"a\": {\"command\": \"x\", \"env\": {\"A\": \"1\",\n\"A\": \"2\"}}"), `:4: the server "a": "A" of env stands here a second time`},
		{"an escaped name twice", "cursor", servers("\"a\": {\"command\": \"x\"},\n\"\\u0061\": {\"command\": \"y\"}"), `:4: the server "a" stands`},
		{"a server that is text", "cursor", servers("\"a\": \"x\""), `:3: the server "a": its entry should be an object, and it is text`},
		{"nothing to start", "cursor", servers("\"a\": {}"), "neither a command nor a url"},
		{"both", "cursor", servers("\"a\": {\"command\": \"x\", \"url\": \"https://y\"}"), "a command and a url"},
		{"odd transport", "cursor", servers("\"a\": {\"type\": \"ws\", \"url\": \"wss://y\"}"), `over "ws", which is not known`},
		{"odd url", "cursor", servers("\"a\": {\"url\": \"file:///etc\"}"), "its url begins with \"file\""},
		{"args that are text", "cursor", servers("\"a\": {\"command\": \"x\", \"args\": \"y\"}"), "args should be a list, and it is text"},
		{"command that is a number in a list", "cursor", servers("\"a\": {\"command\": [\"x\", {}]}"), "command should be a text, and it is an object"},
		{"env that is a list", "cursor", servers("\"a\": {\"command\": \"x\", \"env\": [\"A=1\"]}"), "env should be an object of texts, and it is a list"},
		{"timeout that is text", "cursor", servers("\"a\": {\"command\": \"x\", \"timeout\": \"5s\"}"), "a time should be a number, and it is text"},
		{"control character", "cursor", servers("\"a\": {\"command\": \"x\\u0000\"}"), "control character"},
		{"only spaces", "cursor", servers("\"a\": {\"command\": \"x\", \"args\": [\" \"]}"), "only spaces"},
		{"callback port", "cursor", servers("\"a\": {\"url\": \"https://x\", \"oauth\": {\"callbackPort\": 70000}}"), "callback port"},
		{"too many arguments", "cursor", servers("\"a\": {\"command\": \"x\", \"args\": [" + strings.Repeat("\"ghp_0123456789abcdef\",", 100_000) + "]}"), "args holds 100000 things"},
		{"too many secrets", "cursor", servers("\"a\": {\"command\": \"" + strings.Repeat("${x:y}", 10_000) + "\"}"), "more than 100 secrets"},
		{"a long text", "cursor", servers("\"a\": {\"command\": \"" + strings.Repeat("${", 1<<20) + "\"}"), "a text of 2097152 bytes"},
		{"too many keys", "cursor", servers("\"a\": {" + many(2000, func(i int) string { return fmt.Sprintf("\"k%d\": 1,", i) }) + "}"), "it holds 2000 things"},
		{"too many servers", "cursor", servers(many(600, func(i int) string { return fmt.Sprintf("\"s%d\": {\"command\": \"x\"},\n", i) })), ":503: it names more than 500 servers"},
		{"too many problems", "cursor", servers(many(300, func(i int) string { return fmt.Sprintf("\"s%d\": 1,\n", i) })), "there is more wrong with it"},

		{"toml: no value", "codex", "a = 1\nb =", ":2: expected value"},
		{"toml: key twice", "codex", "[mcp_servers.a]\ncommand = 'x'\ncommand = 'y'", `:3: the key "command" stands here a second time`},
		{"toml: table twice", "codex", "[mcp_servers.a]\ncommand = 'x'\n[mcp_servers.a]", `:3: the table "mcp_servers.a" stands here a second time`},
		{"toml: list of tables", "codex", "[[mcp_servers]]\ncommand = 'x'", `:1: "mcp_servers" should be an object of servers, and it is a list`},
		{"toml: servers are a number", "codex", "\nmcp_servers = 5", `:2: "mcp_servers" should be an object`},
		{"toml: deep", "codex", "a = " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "more than 100 levels deep"},
		{"toml: deep without an end", "codex", "\na = " + strings.Repeat("[", 10_000), ":2: array is incomplete"},
		{"toml: deeper than the library goes", "codex", "\na = " + strings.Repeat("[{a=", 1_000_000), ":2: arrays and inline tables are nested"},
		{"toml: many values", "codex", "\na = [" + strings.Repeat("1,", 300_000) + "]", ":2: it holds more than 200000 values"},
		{"toml: huge", "codex", "\na = '" + strings.Repeat(" ", 4<<20) + "'", "it is larger than 4 MiB"},
		{"toml: long name", "codex", strings.Repeat("a.", 100) + "b = 1", "more than 32 parts"},
		{"toml: not UTF-8", "codex", "a = 1\n# \xff", ":2: the file is not UTF-8"},
		{"toml: two on a line", "codex", "a = 1 b = 2", ":1: expected newline but got"},
		{"toml: neither", "codex", "[mcp_servers.a]\nenabled = true", "neither a command nor a url"},
		{"toml: control character", "codex", "a = 1\n# \x01\n", ":2: control characters are not allowed in comments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			s := importer.Source{Client: c.client, Path: path}
			_, problems := importer.Read(s, env(""), importer.Options{})
			var b strings.Builder
			for _, p := range problems {
				if p.Harmless || !strings.HasPrefix(p.String(), path+":") {
					t.Errorf("the problem is %q", p)
				}
				b.WriteString(p.String() + "\n")
			}
			if !strings.Contains(b.String(), c.want) {
				t.Errorf("the problems are %s, and %q is wanted", tool.TruncateTo(b.String(), 500), c.want)
			}
			if len(problems) > 51 {
				t.Errorf("there are %d problems", len(problems))
			}
			change, err := importer.Replace(s, entry)
			if err == nil || change.Next != nil || tool.KindOf(err) != tool.Invalid {
				t.Errorf("it was changed, or else: %v", err)
			}
		})
	}
}

func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none"), dir} {
		s := importer.Source{Client: "cursor", Path: path}
		if found, problems := importer.Read(s, env(""), importer.Options{}); len(found) > 0 || len(problems) != 1 || problems[0].Line != 0 {
			t.Errorf("%v, %v", found, problems)
		}
		if _, err := importer.Replace(s, entry); err == nil {
			t.Error("nothing was changed, and that is no error")
		}
	}
}

// What is nested or repeated without end is read in no time, and bounded.
func TestEndless(t *testing.T) {
	const n = 6000
	for _, arg := range []string{
		strings.Repeat("${A:-", n) + strings.Repeat("}", n), strings.Repeat("${", n), strings.Repeat("${A}", n), strings.Repeat("$(echo ", n) + strings.Repeat(")", n),
		strings.Repeat("${${A}", n), strings.Repeat("{env:", n), strings.Repeat("{", n) + "${A}", strings.Repeat("://a:b@", n), strings.Repeat("?token=x", n),
	} {
		for _, client := range []string{"claude-code", "crush", "opencode"} {
			f, problems := one(t, client, arg, importer.Options{})
			if len(problems) == 0 {
				holds(t, f.Server)
			}
			if len(f.Notes) > 101 {
				t.Errorf("%d notes on %.20s", len(f.Notes), arg)
			}
		}
	}
}

// One bad entry does not hide the others, and keeps the file as it is.
func TestOneBadEntry(t *testing.T) {
	found, problems := read(
		t,
		"cursor",
		"mcp.json",
		`{"mcpServers": {"a": {"command": "x"}, "b": {"type": "ws", "url": "wss://x"}, "c": {"url": "https://c.example"}}}`,
		importer.Options{},
	)
	if len(found) != 2 || len(problems) != 1 {
		t.Errorf("%v, %v", found, problems)
	}
}

// Servers that stand where their client does not look are imported, and yet
// nothing is put there.
func TestWrongKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	for client, text := range map[string]string{"vscode": `{"mcpServers": {"a": {"command": "x"}}}`, "cursor": `{"servers": {"a": {"command": "x"}}}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := importer.Source{Client: client, Path: path}
		if found, problems := importer.Read(s, env(""), importer.Options{}); len(found) != 1 || len(problems) > 0 {
			t.Errorf("%v, %v", found, problems)
		}
		if _, err := importer.Replace(s, entry); tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "looks for them under") {
			t.Errorf("%v", err)
		}
	}
}

// A client that would not start Callgate says so before it is changed.
func TestTurnedOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	for text, ok := range map[string]bool{
		`{"mcp": {"allowed": ["a"]}, "mcpServers": {"a": {"command": "x"}}}`:                 false,
		`{"mcp": {"excluded": ["callgate"]}}`:                                                false,
		`{"mcp": {"allowed": ["a", "callgate"]}, "mcpServers": {"a": {"command": "x"}}}`:     true,
		`{"mcp": {"allowed": [], "excluded": ["b"]}, "mcpServers": {"a": {"command": "x"}}}`: true,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := importer.Replace(importer.Source{Client: "gemini-cli", Path: path}, entry)
		if ok != (err == nil) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
