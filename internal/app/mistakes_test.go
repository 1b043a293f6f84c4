package app_test

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"callgate/internal/app"
	"callgate/tool"
)

var update = flag.Bool("update", false, "rewrite the golden messages")

// under puts lines below tools.capabilities.
func under(lines ...string) string {
	return "tools:\n  capabilities:\n    " + strings.Join(lines, "\n    ") + "\n"
}

// module puts lines below tools.modules.filesystem.
func module(lines ...string) string {
	return "tools:\n  modules:\n    filesystem:\n      " + strings.Join(lines, "\n      ") + "\n"
}

var mistakes = []struct{ name, text string }{
	// The text as a whole.
	{"empty", ""},
	{"only comments", "# app:\n#   name: x\n"},
	{"only a document mark", "---\n"},
	{"only null", "~\n"},
	{"too large", strings.Repeat("# far too much\n", 1<<17)},
	{"not UTF-8", "app:\n  name: caf\xe9\n"},
	{"UTF-16", "\xff\xfea\x00p\x00p\x00"},
	{"control character", "app:\n  name: a\x1b[31mb\n"},
	{"a list at the root", "- app\n- tools\n"},
	{"text at the root", "app\n"},
	{"two documents", "app: {name: a}\n---\napp: {name: b}\n"},
	{"empty lines", "app:\n  description: |\n    x\n" + strings.Repeat("\n", 200) + "  name: x\n"},
	{"too deep", "app: " + strings.Repeat("[", 60) + "\n"},
	{"too deep with dashes", "app:\n  " + strings.Repeat("- ", 60) + "x\n"},
	{"too deep with indentation", func() (text string) {
		for i := range 60 {
			text += strings.Repeat(" ", i) + "a:\n"
		}
		return text
	}()},
	{"key too long", "app:\n  " + strings.Repeat("k", 500) + ": x\n"},
	{"too many values", "app:\n  - " + strings.Repeat("a\n  - ", 6000) + "a\n"},

	// YAML.
	{"tab", "app:\n\tname: x\n"},
	{"tab after spaces", "app:\n  name: x\n \tversion: y\n"},
	{"open double quote", "app:\n  name: \"x\n  version: '1'\n"},
	{"open single quote", "app:\n  name: 'it's\n"},
	{"open list", "tools:\n  capabilities:\n    hidden_modules: [shell\n"},
	{"open brace", "app: {name: x\n"},
	{"stray bracket", "app:\n  name: x\n]\n"},
	{"two colons", "app:\n  name: x: y\n"},
	{"no colon", "app:\n  name x\n  version: '1'\n"},
	{"crooked indentation", "app:\n    name: x\n  version: '1'\n"},
	{"reserved character", "app:\n  name: @home\n"},
	{"unknown escape", "app:\n  name: \"C:\\work\"\n"},
	{"anchor", "app: &a\n  name: x\n"},
	{"alias", "app:\n  name: *a\n"},
	{"bare star", under("deny:", "- module: *")},
	{"bare star as a key", under("rate_limits:", "  *: 5")},
	{"merge key", "app:\n  <<: {name: x}\n"},
	{"tag", "app:\n  name: !!str x\n"},
	{"question mark key", "? app\n: {}\n"},
	{"directive", "%YAML 1.2\n---\napp: {}\n"},

	// Keys.
	{"misspelt block", "ap:\n  name: x\n"},
	{"misspelt key", "app:\n  nmae: x\n"},
	{"dashes for underscores", under("default-policy: auto")},
	{"capitals", under("Deny: []")},
	{"a key from nowhere", "app:\n  quux: 1\n"},
	{"key twice", "app:\n  name: x\n  version: '1'\n  name: y\n"},
	{"module twice", "tools:\n  modules:\n    shell:\n    shell: {}\n"},
	{"a number as a key", "app:\n  1: x\n"},
	{"misplaced block", "capabilities:\n  default_policy: auto\n"},
	{"misplaced key", "tools:\n  deny:\n  - module: shell\n"},
	{"misplaced constraint", module("allowed_actions: [read]")},
	{"not built: runtime", "runtime:\n  tool_injection: discovery\n"},
	{"not built: several", "app: {name: x, icon: y}\nagents: []\nsearch: {}\nsecurity: {}\ndev: {skills: []}\ntools: {channels: {}, llm: {}, dirs: []}\n"},
	{"not built: misspelt", "agnets: []\n"},
	{"not built: module keys", module("setup: []", "middleware: []", "credential: x")},
	{"not built: modules", "tools:\n  modules:\n    database: {}\n    mcp_github: {}\n"},
	{"not built: data classification", under("max_data_classification: internal")},
	{"not built: variable", "app:\n  name: \"{{env.NAME}}\"\n"},
	{"not built: variable in config", module("config:", "  ignore: ['{{workdir}}/x']")},

	// Kinds of values.
	{"number for text", "app:\n  version: 1.0\n"},
	{"truth for text", "app:\n  name: true\n"},
	{"list for text", "app:\n  name: [x]\n"},
	{"no value for text", "app:\n  name:\n  version: '1'\n"},
	{"empty text", "app:\n  name: ''\n"},
	{"text for a block", "app: demo\n"},
	{"list for a block", "tools:\n  modules: [filesystem]\n"},
	{"text for a list", under("grant:", "- module: filesystem", "  actions: read")},
	{"rule as text", under("grant: [filesystem.read]")},
	{"rules as a mapping", under("grant:", "  module: filesystem")},
	{"rule that is empty", under("grant:", "-", "- module: shell")},
	{"text for a number", under("approval_timeout: 5m")},
	{"fraction for a number", under("approval_timeout: 60.5")},
	{"number too large", under("approval_timeout: 99999999999")},
	{"rate as text", under("rate_limits:", "  shell: 5/s")},
	{"rates as a number", under("rate_limits: 5")},
	{"not a number", module("config:", "  max_bytes: .nan")},

	// Names and values.
	{"app_id", "app:\n  app_id: My Shop!\n"},
	{"name of two lines", "app:\n  name: |\n    a\n    b\n"},
	{"unknown module", "tools:\n  modules:\n    filesytem: {}\n"},
	{"unknown module, nothing close", "tools:\n  modules:\n    teleport: {}\n"},
	{"module of every app", "tools:\n  modules:\n    context_builder: {}\n"},
	{"unknown action in a constraint", module("constraints:", "  allowed_actions: [raed, list]")},
	{"dotted action in a constraint", module("constraints:", "  blocked_actions: [filesystem.read]")},
	{"nothing allowed", module("constraints:", "  allowed_actions: []")},
	{"no value for allowed", module("constraints:", "  allowed_actions:")},
	{"star in a constraint", module("constraints:", "  blocked_actions: ['*']")},
	{"unknown config key", module("config:", "  max_byte: 5")},
	{"config where there is none", "tools:\n  modules:\n    plain:\n      config: {a: 1}\n"},
	{"unknown action in a rule", under("deny:", "- module: shell", "  actions: [bsh]")},
	{"unknown hidden action", under("hidden_actions: [shell.exec]")},
	{"unknown limited action", under("rate_limits:", "  filesystem.delete: 3")},
	{"bare hidden action", under("hidden_actions: [bash]")},
	{"rule without a module", under("deny:", "- actions: [bash]")},
	{"rule with tools", under("deny:", "- module: shell", "  tools: [bash]")},
	{"module with a star inside", under("deny:", "- module: mcp_*")},
	{"module with capitals", under("deny:", "- module: Shell")},
	{"reason of two lines", under("deny:", "- module: shell", "  reason: \"a\\nb\"")},
	{"default policy", under("default_policy: ask")},
	{"risk", under("max_risk_level: extreme")},
	{"timeout too short", under("approval_timeout: 5")},
	{"timeout of nothing", under("approval_timeout: 0")},
	{"rate of nothing", under("rate_limits:", "  shell: 0")},
	{"several at once", "app:\n  nam: x\ntools:\n  modules:\n    shell:\n      config: {time: 3}\n  capabilities:\n    default_policy: maybe\n    deny:\n    - {module: shell, actions: [bash, zsh], why: no}\n"},
	{"more than can be told", "app:\n" + strings.Repeat("  x: 1\n", 30)},
	{"a very long line", "app: {description: \"" + strings.Repeat("long ", 100) + "\", naame: x}\n"},
	{"letters of other scripts", "app: {description: \"日本語\", naame: x}\n"},
}

func TestMistakes(t *testing.T) {
	const golden = "testdata/mistakes.txtar"
	archive, err := txtar.ParseFile(golden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := make(map[string]string)
	if archive != nil {
		for _, f := range archive.Files {
			want[f.Name] = string(f.Data)
		}
	}
	fresh := &txtar.Archive{Comment: []byte("The message for each mistake in mistakes_test.go. Rewrite with go test -update.\n\n")}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			a, err := app.Parse("callgate.yaml", []byte(m.text), known)
			var e *tool.Error
			if !errors.As(err, &e) || e.Kind != tool.Invalid || e.Op == "" || a != nil {
				t.Fatalf("got %+v, %#v", a, err)
			}
			checkMessage(t, "callgate.yaml", err)
			got := err.Error() + "\n"
			fresh.Files = append(fresh.Files, txtar.File{Name: m.name, Data: []byte(got)})
			if diff := cmp.Diff(want[m.name], got); diff != "" && !*update {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if len(want) != len(mistakes) && !*update {
		t.Errorf("%d golden messages for %d mistakes", len(want), len(mistakes))
	}
	if *update {
		if err := os.WriteFile(golden, txtar.Format(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// checkMessage checks what holds for every message, whatever the file.
func checkMessage(t *testing.T, file string, err error) {
	t.Helper()
	text := err.Error()
	if !strings.HasPrefix(text, file+":") {
		t.Errorf("the message does not start with the file's name: %.80q", text)
	}
	if !utf8.ValidString(text) {
		t.Errorf("the message is not UTF-8: %q", text)
	}
	if len(text) > 20_000 {
		t.Errorf("the message has %d bytes", len(text))
	}
	if i := strings.IndexFunc(text, func(c rune) bool { return c < ' ' && c != '\n' || c == 0x7f }); i >= 0 {
		t.Errorf("the message holds a control character: %q", text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(app.Template("demo"))
	for _, m := range mistakes {
		if len(m.text) < 4096 {
			f.Add([]byte(m.text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := app.Parse("dir/callgate.yaml", data, known)
		switch {
		case err != nil:
			if a != nil || tool.KindOf(err) != tool.Invalid {
				t.Fatalf("got %+v, %v", a, err)
			}
			checkMessage(t, "dir/callgate.yaml", err)
		case a.Rules == nil || a.ID == "" || a.Name == "":
			t.Fatalf("an app that lacks something: %+v", a)
		}
	})
}
