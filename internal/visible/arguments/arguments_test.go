package arguments_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/visible/arguments"
)

func TestLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, args, want string }{
		{"a command as it is typed", `{"description":"test","command":"go test ./... 2\u003e\u00261 \u003c in"}`,
			"command: go test ./... 2>&1 < in\ndescription: test"},
		{"a here-document", `{"command":"cat \u003e a.txt \u003c\u003c'EOF'\nhello\n\tyou\nEOF\n"}`,
			"command:\n  cat > a.txt <<'EOF'\n  hello\n  \tyou\n  EOF"},
		{"other values", `{"n":3,"all":true,"none":null,"list":["a","b\u003e"],"o":{"k":1}}`,
			`n: 3` + "\nall: true\nnone: null\n" + `list: ["a","b>"]` + "\n" + `o: {"k":1}`},
		{"a text that looks like something else", `{"a":"true","b":"","c":" x","d":"x\n","e":"\n"}`,
			`a: "true"` + "\nb: \"\"\nc: \" x\"\nd: \"x\\n\"\ne: \"\\n\""},
		{"control characters", `{"command":"ls\u001b[2K\rrm","x":"a\u202eb"}`, "command: ls⟨U+001B⟩[2K⟨U+000D⟩rm\nx: a⟨U+202E⟩b"},
		{"a value is no other argument", `{"command":"ls\ndescription: harmless"}`, "command:\n  ls\n  description: harmless"},
		{"a name is no line", `{"a\nb":"x"}`, "a⟨U+000A⟩b: x"},
		{"no object", `[1]`, "[1]"},
		{"none", `{}`, ""},
	} {
		if got := strings.Join(arguments.Lines(json.RawMessage(c.args)), "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	long := `{"x":"` + strings.Repeat(`a\n`, 50) + `"}`
	if lines, more := arguments.Bounded(json.RawMessage(long), 10); len(lines) != 10 || more != 41 {
		t.Errorf("%d lines, and %d more", len(lines), more)
	}
	if got := arguments.OneLine(json.RawMessage(`{"n":1,"command":"a \u003e b\nc"}`), 60); got != "a > b ⏎ c, n: 1" {
		t.Errorf("in one line: %q", got)
	}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"path":"src/a.go"}`:                               "src/a.go",
		`{"limit":6,"path":"src/a.go","offset":9}`:          "src/a.go, limit: 6, offset: 9",
		`{"path":"src","pattern":"a\\(b"}`:                  `a\(b, path: src`,
		`{"goal":"tests pass"}`:                             "tests pass",
		`{"description":"x","command":"a \u003e b\n\tc\n"}`: "a > b ⏎  c, description: x",
		`{"a":1,"b":2}`:                                     "a: 1, b: 2",
		`{}`:                                                "",
		`[1]`:                                               "[1]",
		`{"form":[{"name":"port","type":"integer","label":"The port"}],"question":"Where?"}`: "Where?, form: […]",
		`{"form":[{"name":"port"}],"question":"Where?"}`:                                     `Where?, form: [{"name":"port"}]`,
	} {
		if got := arguments.Brief(json.RawMessage(args), 80); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// Whatever the arguments are, what is written has no character that acts on a terminal,
// and a line without a margin begins with a name.
func FuzzLines(f *testing.F) {
	f.Add(`{"command":"ls\nrm","b":["x\u001b"],"c":{"d":"e"}}`)
	f.Fuzz(func(t *testing.T, args string) {
		for _, line := range arguments.Lines(json.RawMessage(args)) {
			if strings.ContainsAny(line, "\x1b\r\n\x00\u202e\u200b") {
				t.Errorf("%q is written as %q", args, line)
			}
		}
		for _, line := range []string{
			arguments.OneLine(json.RawMessage(args), 80), arguments.Brief(json.RawMessage(args), 80),
		} {
			if strings.ContainsAny(line, "\x1b\r\n\x00\u202e") {
				t.Errorf("%q is written as %q", args, line)
			}
		}
	})
}
