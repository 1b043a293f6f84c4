package manifest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"callgate/internal/gate/schema"
	"callgate/internal/source/executable/manifest"
	"callgate/tool"
)

var update = flag.Bool("update", false, "rewrite the golden messages")

func check(raw json.RawMessage) error {
	_, err := schema.Compile(raw)
	return err
}

// bareView is a model's view by itself.
const bareView = `{
  "name": "choir.fs.write",
  "description": "Write content to a file in the workspace.",
  "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
}`

// seed is the seed's two views, word for word, in one manifest.
func seed(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/git_commit.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSeedManifest(t *testing.T) {
	t.Parallel()
	m, problems := manifest.Parse("git_commit.json", seed(t), check)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := &manifest.Manifest{
		File: "git_commit.json",
		ID:   tool.ID{Namespace: "choir.fs", Name: "write", Version: tool.Version{Major: 1}},
		Spec: tool.Spec{
			Name:        "choir.fs.write",
			Description: "Write content to a file in the workspace.",
			Input: json.RawMessage(
				`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"mode":{"type":"string","enum":["overwrite","append"]}},"required":["path","content"]}`,
			),
		},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "workspace", Mode: tool.X}},
			Timeout: 15 * time.Second, Secrets: []string{"git_identity"}, SideEffect: tool.Write,
		},
		Exec:      "/choir/tools/global/git_commit",
		MaxOutput: 1 << 20,
	}
	if diff := cmp.Diff(want, m, cmpopts.IgnoreUnexported(manifest.Manifest{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestManifestHasAllItsKeys(t *testing.T) {
	t.Parallel()
	m, problems := manifest.Parse("x.json", []byte(`{
		"llm": {
			"name": "notes.find", "short_name": "FindNote", "description": "Finds a note.\nLooks everywhere.",
			"input_schema": {"type": "object", "properties": {"path": {"type": "string"}, "tags": {"type": "array"}}},
			"output_schema": {"type": "object"},
			"examples": [{"note": "by path", "args": {"path": "a"}}, {"args": {}}],
			"aliases": ["find a note", "chercher une note"], "tags": ["notes"]
		},
		"runtime": {
			"exec_path": "bin/find", "args": ["--json"], "timeout_ms": 1500,
			"locks": [{"resource": "file:{path}", "mode": "S"}, {"resource": "tag:{tags}", "mode": "IS"}, {"resource": "browser_tab", "mode": "S"}],
			"network": true, "secret_resources": ["NOTES_KEY"], "side_effect": "read", "idempotent": true, "version": "2.1",
			"risk": "low", "exposure": "core", "prompt_mask": true, "ask_first": true, "env": ["LANG"], "max_output": 4096
		}
	}`), check)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := &manifest.Manifest{
		File: "x.json",
		ID:   tool.ID{Namespace: "notes", Name: "find", Version: tool.Version{Major: 2, Minor: 1}},
		Spec: tool.Spec{
			Name: "notes.find", Short: "FindNote", Description: "Finds a note.\nLooks everywhere.",
			Input:    json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"tags":{"type":"array"}}}`),
			Output:   json.RawMessage(`{"type":"object"}`),
			Examples: []tool.Example{{Note: "by path", Args: json.RawMessage(`{"path":"a"}`)}, {Args: json.RawMessage(`{}`)}},
			Aliases:  []string{"find a note", "chercher une note"}, Tags: []string{"notes"},
		},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{
				{Resource: "file:{path}", Mode: tool.S},
				{Resource: "tag:{tags}", Mode: tool.IS},
				{Resource: "browser_tab", Mode: tool.S},
			},
			Risk: tool.Low, SideEffect: tool.Read, Idempotent: true, AskFirst: true, Timeout: 1500 * time.Millisecond,
			Network: true, Secrets: []string{"NOTES_KEY"}, Exposure: tool.Core, PromptMask: true,
		},
		Exec: "bin/find", Args: []string{"--json"}, Env: []string{"LANG"}, MaxOutput: 4096,
	}
	if diff := cmp.Diff(want, m, cmpopts.IgnoreUnexported(manifest.Manifest{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestManifestNeedsNoRuntimeView(t *testing.T) {
	t.Parallel()
	m, problems := manifest.Parse("x.json", []byte(`{"llm": {"name": "a.b", "description": "x", "parameters": {"type": "object"}}}`), check)
	if len(problems) > 0 || m.Runtime.Timeout != time.Minute || m.Runtime.Network || m.ID.String() != "a:b@1.0.0" {
		t.Fatalf("%+v %v", m, problems)
	}
}

// llm is a manifest whose view of the model has some keys more.
func llm(keys string) string {
	return "{\n  \"llm\": {\n    \"name\": \"git.commit\",\n    \"description\": \"Commits.\",\n    \"parameters\": {\"type\": \"object\", \"properties\": {\"path\": {}, \"message\": {}}},\n    " + keys + "\n  }\n}\n"
}

// run is a manifest with such a view of the kernel.
func run(keys string) string {
	return "{\n  \"llm\": {\"name\": \"git.commit\", \"description\": \"Commits.\", \"parameters\": {\"type\": \"object\", \"properties\": {\"path\": {}, \"message\": {}}}},\n  \"runtime\": {\n    " + keys + "\n  }\n}\n"
}

var mistakes = []struct{ name, text string }{
	// The text as a whole.
	{"empty", ""},
	{"white space", " \n\t"},
	{"too large", `{"llm": "` + strings.Repeat("x", 1<<20) + `"}`},
	{"byte order mark", "\xef\xbb\xbf{}"},
	{"not UTF-8", "{\"llm\": \"caf\xe9\"}"},
	{"too deep", strings.Repeat("[", 100) + strings.Repeat("]", 100)},
	{"a list", "[]"},
	{"null", "null"},
	{"the model's view alone", bareView},

	// JSON.
	{"cut off", "{\n  \"llm\": {"},
	{"comma at the end", "{\n  \"llm\": {},\n}"},
	{"comma missing", "{\n  \"llm\": {}\n  \"runtime\": {}\n}"},
	{"comment", "{\n  // the tool\n  \"llm\": {}\n}"},
	{"single quotes", "{'llm': {}}"},
	{"open quote", "{\"llm: {}}\n"},
	{"line in a text", "{\"llm\": {\"description\": \"a\nb\"}}"},
	{"two values", "{}\n{}"},
	{"key twice", llm(`"tags": [], "tags": ["x"]`)},
	{"key twice in a schema", `{"llm": {"name": "a.b", "description": "x", "parameters": {"type": "object", "type": "array"}}}`},

	// Keys.
	{"unknown key", llm(`"descripton": "x"`)},
	{"key cut short", run(`"timeout": 5`)},
	{"dashes", run(`"side-effect": "write"`)},
	{"capitals", run(`"Network": true`)},
	{"key from nowhere", run(`"quux": 1`)},
	{"key of the other view", llm(`"timeout_ms": 5`)},
	{"key of the other view at the top", `{"llm": {"name": "a.b", "description": "x", "parameters": {}}, "version": "1.0"}`},
	{"unknown block", `{"lmm": {}}`},
	{"nothing", `{}`},
	{"empty view", `{"llm": {}}`},
	{"two schemas", llm(`"input_schema": {"type": "object"}`)},
	{"several at once", run(`"network": "yes", "timeout_ms": "5", "risk": "hgh", "sekrets": []`)},

	// Values of the model's view.
	{"name without a dot", `{"llm": {"name": "commit", "description": "x", "parameters": {}}}`},
	{"name with capitals", `{"llm": {"name": "git.Commit", "description": "x", "parameters": {}}}`},
	{"name as a number", `{"llm": {"name": 5, "description": "x", "parameters": {}}}`},
	{"empty description", `{"llm": {"name": "a.b", "description": " ", "parameters": {}}}`},
	{"control character", `{"llm": {"name": "a.b", "description": "\u001b[31m", "parameters": {}}}`},
	{"schema as text", `{"llm": {"name": "a.b", "description": "x", "input_schema": "..."}}`},
	{"schema of a list", `{"llm": {"name": "a.b", "description": "x", "parameters": {"type": "array"}}}`},
	{
		"schema that is none",
		`{"llm": {"name": "a.b", "description": "x", "parameters": {"type": "object", "properties": {"n": {"type": "integr"}}}}}`,
	},
	{"output schema that is none", llm(`"output_schema": {"type": 5}`)},
	{"short name", llm(`"short_name": "Git Commit"`)},
	{"aliases as text", llm(`"aliases": "commit"`)},
	{"tag as a number", llm(`"tags": ["git", 5]`)},
	{"example without arguments", llm(`"examples": [{"path": "a"}]`)},
	{"example as text", llm(`"examples": ["commit it"]`)},

	// Values of the kernel's view.
	{"version as a number", run(`"version": 1.0`)},
	{"version", run(`"version": "one"`)},
	{"no time", run(`"timeout_ms": 0`)},
	{"too much time", run(`"timeout_ms": 99999999999999999999`)},
	{"half a millisecond", run(`"timeout_ms": 0.5`)},
	{"network as text", run(`"network": "no"`)},
	{"side effect", run(`"side_effect": "writes"`)},
	{"side effect, nothing close", run(`"side_effect": "destructive"`)},
	{"risk", run(`"risk": "extreme"`)},
	{"exposure", run(`"exposure": "all"`)},
	{"max_output", run(`"max_output": 1000000000`)},
	{"empty exec_path", run(`"exec_path": ""`)},
	{"argument as a number", run(`"args": ["-n", 5]`)},
	{"secret that is no variable", run(`"secret_resources": ["git identity"]`)},
	{"secret of the kernel", run(`"secret_resources": ["CALLGATE_CALL"]`)},
	{"variable that is none", run(`"env": ["A=B"]`)},
	{"variable and secret", run(`"secret_resources": ["TOKEN"], "env": ["LANG", "TOKEN"]`)},

	// Locks.
	{"lock as text", run(`"locks": ["workspace:X"]`)},
	{"lock without a mode", run(`"locks": [{"resource": "workspace"}]`)},
	{"lock mode", run(`"locks": [{"resource": "workspace", "mode": "x"}]`)},
	{"lock mode from nowhere", run(`"locks": [{"resource": "workspace", "mode": "exclusive"}]`)},
	{"lock of an unknown parameter", run(`"locks": [{"resource": "file:{pth}", "mode": "X"}]`)},
	{"lock of an unknown parameter, nothing close", run(`"locks": [{"resource": "file:{destination}", "mode": "X"}]`)},
	{
		"lock of a parameter where there are none",
		`{"llm": {"name": "a.b", "description": "x", "parameters": {"type": "object"}}, "runtime": {"locks": [{"resource": "file:{path}", "mode": "X"}]}}`,
	},
	{"lock in angle brackets", run(`"locks": [{"resource": "file:<path>", "mode": "X"}]`)},
	{"lock with its mode inside", run(`"locks": [{"resource": "file:{path}:S", "mode": "S"}]`)},
	{"lock with an open brace", run(`"locks": [{"resource": "file:{path", "mode": "X"}]`)},
	{"lock with a stray brace", run(`"locks": [{"resource": "file:path}", "mode": "X"}]`)},
	{"lock with an empty brace", run(`"locks": [{"resource": "file:{}", "mode": "X"}]`)},
	{"lock without a kind", run(`"locks": [{"resource": "{path}", "mode": "X"}]`)},
	{"lock of no file", run(`"locks": [{"resource": "file:", "mode": "X"}]`)},
	{"lock that writes for a tool that reads", run(`"locks": [{"resource": "file:{path}", "mode": "X"}], "side_effect": "read"`)},
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	const golden = "testdata/mistakes.txtar"
	archive, err := txtar.ParseFile(golden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want, fresh := map[string]string{}, &txtar.Archive{}
	if archive != nil {
		for _, f := range archive.Files {
			want[f.Name] = string(f.Data)
		}
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			got, problems := manifest.Parse("tools/x.json", []byte(m.text), check)
			if got != nil || len(problems) == 0 {
				t.Fatalf("taken for a manifest: %+v", got)
			}
			var told strings.Builder
			for _, p := range problems {
				checkProblem(t, p)
				fmt.Fprintln(&told, p)
			}
			fresh.Files = append(fresh.Files, txtar.File{Name: m.name, Data: []byte(told.String())})
			if diff := cmp.Diff(want[m.name], told.String()); diff != "" && !*update {
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

// checkProblem checks what holds for every problem, whatever the file.
func checkProblem(t *testing.T, p manifest.Problem) {
	t.Helper()
	text := p.String()
	if p.File != "tools/x.json" || p.What == "" || p.Hint == "" {
		t.Errorf("a problem that lacks something: %#v", p)
	}
	if (p.Line == 0) != (p.Column == 0) || p.Line < 0 || p.Column < 0 {
		t.Errorf("half a place: %#v", p)
	}
	if !utf8.ValidString(text) || len(text) > 2000 {
		t.Errorf("not fit to be shown (%d bytes): %.200q", len(text), text)
	}
	if i := strings.IndexFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }); i >= 0 {
		t.Errorf("the problem holds a control character: %q", text)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(seed(f))
	for _, m := range mistakes {
		if len(m.text) < 4096 {
			f.Add([]byte(m.text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, problems := manifest.Parse("tools/x.json", data, nil)
		for _, p := range problems {
			checkProblem(t, p)
		}
		if (m == nil) != (len(problems) > 0) {
			t.Fatalf("both, or neither: %+v %v", m, problems)
		}
		if m == nil {
			return
		}
		if !json.Valid(data) || !utf8.Valid(data) {
			t.Fatalf("taken, and not JSON: %q", data)
		}
		published := tool.Tool{ID: m.ID, Spec: m.Spec, Runtime: m.Runtime, Handler: tool.HandlerFunc(nil)}
		if err := published.Validate(); err != nil {
			t.Fatalf("taken, and not fit to publish: %v", err)
		}
		if m.Runtime.Timeout <= 0 || m.MaxOutput <= 0 || m.Runtime.Control || m.Runtime.Internal {
			t.Fatalf("taken, and unbounded: %+v", m)
		}
	})
}
