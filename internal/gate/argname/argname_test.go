package argname_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/argname"
	"callgate/internal/gate/schema"
	"callgate/internal/module"
	"callgate/internal/module/filesystem"
	"callgate/internal/module/shell"
	"callgate/internal/registry"
	"callgate/tool"
)

// call is a call as another agent makes it, and what it must become here.
type call struct {
	from, name, args string
	tool, want       string // want: the arguments, without those that have their default
}

var calls = []call{
	{"Claude Code", "Read", `{"file_path":"a.go","offset":10,"limit":5}`,
		"filesystem.read", `{"path":"a.go","offset":10,"limit":5}`},
	{"Claude Code", "Write", `{"file_path":"a.go","content":"x"}`, "filesystem.write", `{"path":"a.go","content":"x"}`},
	{"Claude Code", "Edit", `{"file_path":"a","old_string":"x","new_string":"y","replace_all":false}`,
		"filesystem.edit", `{"path":"a","old":"x","new":"y","all":false}`},
	{"Claude Code", "MultiEdit", `{"file_path":"a","edits":[{"old_string":"x","new_string":"y"},` +
		`{"old_string":"p","new_string":"q","replace_all":true}]}`,
		"filesystem.edit", `{"path":"a","edits":[{"old":"x","new":"y"},{"old":"p","new":"q","all":true}]}`},
	{"Claude Code", "Bash", `{"command":"ls","timeout":120000,"description":"look","run_in_background":false}`,
		"shell.bash", `{"command":"ls","timeout":120,"description":"look","run_in_background":false}`},
	{"Claude Code", "Grep", `{"pattern":"x","path":"src","output_mode":"files_with_matches","-i":true,"-n":true,` +
		`"head_limit":20,"type":"ts","multiline":false}`,
		"filesystem.grep", `{"pattern":"x","path":"src","mode":"files","ignore_case":true,"limit":20,` +
			`"glob":"*.{ts,tsx,mts,cts}"}`},
	{"Claude Code", "Grep", `{"pattern":"x","output_mode":"content","-A":3,"-B":3,"-C":5,"glob":"*.go","type":"go"}`,
		"filesystem.grep", `{"pattern":"x","mode":"content","context":3,"glob":"*.go"}`},
	{"Claude Code", "Glob", `{"pattern":"**/*.go","path":"src"}`, "filesystem.glob", `{"pattern":"**/*.go","path":"src"}`},
	{"Claude Code", "LS", `{"path":"src","ignore":[]}`, "filesystem.list", `{"path":"src"}`},
	{"Codex", "shell", `{"command":["bash","-lc","go test ./... | tail"],"workdir":"src","timeout_ms":10000}`,
		"shell.bash", `{"command":"go test ./... | tail","cwd":"src","timeout":10}`},
	{"Codex", "shell", `{"command":["rg","a b","it's"],"justification":"look","with_escalated_permissions":false}`,
		"shell.bash", `{"command":"rg 'a b' 'it'\\''s'","description":"look"}`},
	{"Codex", "container.exec", `{"cmd":["ls"]}`, "shell.bash", `{"command":"ls"}`},
	{"Codex", "exec_command", `{"cmd":"ls -la","workdir":".","yield_time_ms":1000,"max_output_tokens":2000}`,
		"shell.bash", `{"command":"ls -la","cwd":"."}`},
	{"Codex", "read_file", `{"file_path":"a.go","offset":1,"limit":20,"mode":"slice"}`,
		"filesystem.read", `{"path":"a.go","offset":1,"limit":20}`},
	{"Codex", "list_dir", `{"dir_path":"src","depth":2,"limit":25}`,
		"filesystem.list", `{"path":"src","depth":2,"limit":25}`},
	{"Codex", "grep_files", `{"pattern":"x","include":"*.go","path":"src","limit":10}`,
		"filesystem.grep", `{"pattern":"x","glob":"*.go","path":"src","limit":10}`},
	{"Codex", "view_image", `{"path":"a.png"}`, "filesystem.read", `{"path":"a.png"}`},
	{"Gemini", "read_file", `{"absolute_path":"a.go"}`, "filesystem.read", `{"path":"a.go"}`},
	{"Gemini", "write_file", `{"file_path":"a.go","content":"x"}`, "filesystem.write", `{"path":"a.go","content":"x"}`},
	{"Gemini", "replace", `{"file_path":"a","old_string":"x","new_string":"y","expected_replacements":2,` +
		`"instruction":"rename"}`, "filesystem.edit", `{"path":"a","old":"x","new":"y","count":2}`},
	{"Gemini", "search_file_content", `{"pattern":"x","path":"src","include":"*.{ts,tsx}"}`,
		"filesystem.grep", `{"pattern":"x","path":"src","glob":"*.{ts,tsx}"}`},
	{"Gemini", "glob", `{"pattern":"*.go","path":"src","case_sensitive":false}`,
		"filesystem.glob", `{"pattern":"*.go","path":"src"}`},
	{"Gemini", "list_directory", `{"dir_path":"src","ignore":[]}`, "filesystem.list", `{"path":"src"}`},
	{"Gemini", "run_shell_command", `{"command":"ls","description":"look","dir_path":"src","is_background":true}`,
		"shell.bash", `{"command":"ls","description":"look","cwd":"src","run_in_background":true}`},
	{"opencode", "read", `{"filePath":"a.go","offset":1}`, "filesystem.read", `{"path":"a.go","offset":1}`},
	{"opencode", "edit", `{"filePath":"a","oldString":"x","newString":"y","replaceAll":true}`,
		"filesystem.edit", `{"path":"a","old":"x","new":"y","all":true}`},
	{"opencode", "bash", `{"command":"ls","timeout":60000,"workdir":"src","description":"look"}`,
		"shell.bash", `{"command":"ls","timeout":60,"cwd":"src","description":"look"}`},
	{"opencode", "list", `{"path":"src"}`, "filesystem.list", `{"path":"src"}`},
	{"Cursor", "run_terminal_cmd", `{"command":"ls","is_background":false,"explanation":"look"}`,
		"shell.bash", `{"command":"ls","description":"look","run_in_background":false}`},
	{"Cursor", "read_file", `{"target_file":"a.go","should_read_entire_file":true,"explanation":"look"}`,
		"filesystem.read", `{"path":"a.go"}`},
	{"Cursor", "grep_search", `{"query":"x","case_sensitive":true,"include_pattern":"*.go","explanation":"look"}`,
		"filesystem.grep", `{"pattern":"x","ignore_case":false,"glob":"*.go"}`},
	{"Cursor", "list_dir", `{"relative_workspace_path":"src"}`, "filesystem.list", `{"path":"src"}`},
	{"Cursor", "delete_file", `{"target_file":"a.go","explanation":"gone"}`, "filesystem.delete", `{"path":"a.go"}`},
	{"Cursor", "search_replace", `{"file_path":"a","old_string":"x","new_string":"y"}`,
		"filesystem.edit", `{"path":"a","old":"x","new":"y"}`},
	{"editor", "str_replace_editor", `{"command":"view","path":"a.go"}`, "filesystem.read", `{"path":"a.go"}`},
	{"editor", "str_replace_editor", `{"command":"create","path":"a","file_text":"x"}`,
		"filesystem.write", `{"path":"a","content":"x"}`},
	{"editor", "str_replace_based_edit_tool", `{"command":"str_replace","path":"a","old_str":"x","new_str":"y"}`,
		"filesystem.edit", `{"path":"a","op":"replace","old":"x","new":"y"}`},
	{"editor", "str_replace_based_edit_tool", `{"command":"insert","path":"a","insert_line":3,"new_str":"y"}`,
		"filesystem.edit", `{"path":"a","op":"insert","line":4,"new":"y"}`},
	{"MCP", "move_file", `{"source":"a","destination":"b"}`, "filesystem.move", `{"from":"a","to":"b"}`},
}

// tools are those of the modules, and one of the kernel's own that has the action of one
// of them.
func tools() []*tool.Tool {
	own := module.Definition{
		Name: "read", Doc: "Reads the rest of a result.", Handler: filesystem.Tools(filesystem.Config{})[0].Handler,
		Input:   `{"type":"object","properties":{"ref":{"type":"string"}},"required":["ref"],"additionalProperties":false}`,
		Runtime: tool.Runtime{Control: true, SideEffect: tool.Read},
	}
	return append(append(filesystem.Tools(filesystem.Config{}), shell.Tools(shell.Config{})...), own.Tool("artifact"))
}

// The bare name of a module's tool is not taken by the kernel's own of the same action.
func TestBareNamesAreTheModules(t *testing.T) {
	t.Parallel()
	v := view(t)
	for name, want := range map[string]string{
		"read": "filesystem.read", "READ": "filesystem.read", "artifact.read": "artifact.read", "artifact__read": "artifact.read",
	} {
		found, err := v.Resolve(name, nil)
		if err != nil || found.ID.Dotted() != want {
			t.Errorf("%s is %v, %v", name, found, err)
		}
	}
}

func view(t testing.TB) *registry.View {
	t.Helper()
	var r registry.Registry
	if err := r.Add("", registry.Static{Source: "test", List: tools()}); err != nil {
		t.Fatal(err)
	}
	snapshot, err := r.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snapshot.View("")
}

// Calls that models make as other agents' tools want them reach the right tool, with
// arguments that fit.
func TestCallsAsElsewhere(t *testing.T) {
	t.Parallel()
	v := view(t)
	for _, c := range calls {
		found, err := v.Resolve(c.name, nil)
		if tool.KindOf(err) == tool.Ambiguous {
			found, err = argname.Choose(t.Context(), v.Candidates(c.name, nil), schema.Compile, json.RawMessage(c.args), err)
		}
		if err != nil {
			t.Errorf("%s's %s %s: %v", c.from, c.name, c.args, err)
			continue
		}
		s, err := schema.Compile(found.Spec.Input)
		if err != nil {
			t.Fatal(err)
		}
		want, err := s.Check(json.RawMessage(c.want), schema.Strict)
		if err != nil {
			t.Fatalf("%s: %v", c.want, err)
		}
		got, err := argname.Check(t.Context(), s, found, json.RawMessage(c.args), schema.Strict)
		if err != nil || found.ID.Dotted() != c.tool || !sameJSON(got.Args, want.Args) {
			t.Errorf("%s's %s %s is %s %s, %v; want %s %s",
				c.from, c.name, c.args, found.ID.Dotted(), got.Args, err, c.tool, want.Args)
		}
	}
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y map[string]any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	one, _ := json.Marshal(x)
	two, _ := json.Marshal(y)
	return string(one) == string(two)
}

// What cannot be read safely is refused, with an error about the arguments as the
// tool names them.
func TestArgumentsThatDoNotFit(t *testing.T) {
	t.Parallel()
	v := view(t)
	for _, c := range []struct{ name, args, says, never string }{
		{"Read", `{"file_path":"a","path":"b"}`, "file_path", ""},         // which of them?
		{"Edit", `{"file_path":"a","old_string":1}`, "old", "old_string"}, // about our own names
		{"Bash", `{"command":"ls","run_in_background":"later"}`, "run_in_background", ""},
		{"Bash", `{"command":"ls","with_escalated_permissions":true}`, "with_escalated_permissions", ""},
		{"Bash", `{"command":[]}`, "command", ""},
		{"Bash", `{"command":"ls","timeout_ms":-5}`, "timeout_ms", ""},
		{"Bash", `{"cmd":"ls","command":"rm -r x"}`, "cmd", ""},
		{"Grep", `{"pattern":"x","multiline":true}`, "multiline", ""},
	} {
		found, err := v.Resolve(c.name, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := schema.Compile(found.Spec.Input)
		if err != nil {
			t.Fatal(err)
		}
		got, err := argname.Check(t.Context(), s, found, json.RawMessage(c.args), schema.Strict)
		if err == nil || !strings.Contains(err.Error(), c.says) || c.never != "" && strings.Contains(err.Error(), c.never) {
			t.Errorf("%s %s: %s, %v", c.name, c.args, got.Args, err)
		}
	}
}

// Arguments that fit stay as they are, byte for byte, whatever else their names mean.
func TestArgumentsThatFitStay(t *testing.T) {
	t.Parallel()
	for _, c := range tools() {
		s, err := schema.Compile(c.Spec.Input)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range c.Spec.Examples {
			plain, err := s.Check(e.Args, schema.Strict)
			if err != nil {
				t.Fatal(err)
			}
			got, err := argname.Check(t.Context(), s, c, e.Args, schema.Strict)
			if err != nil || string(got.Args) != string(plain.Args) || len(got.Coercions) > 0 {
				t.Errorf("%s %s became %s, %v, %v", c.ID.Dotted(), e.Args, got.Args, got.Coercions, err)
			}
		}
	}
}

// A parameter of any tool may be written in another case, and with other separators.
func TestSpellingsOfParameters(t *testing.T) {
	t.Parallel()
	any := &tool.Tool{Spec: tool.Spec{Input: json.RawMessage(`{"type":"object","required":["issue_number"],
		"properties":{"issue_number":{"type":"integer"},"labels":{"type":"array","items":{"type":"object",
		"properties":{"display_name":{"type":"string"}},"required":["display_name"]}}}}`)}}
	s, err := schema.Compile(any.Spec.Input)
	if err != nil {
		t.Fatal(err)
	}
	got, err := argname.Check(t.Context(), s, any, json.RawMessage(`{"issueNumber":3,"labels":[{"displayName":"a"}]}`), schema.Lenient)
	if err != nil || !sameJSON(got.Args, json.RawMessage(`{"issue_number":3,"labels":[{"display_name":"a"}]}`)) {
		t.Errorf("%s, %v", got.Args, err)
	}
	if len(got.Coercions) != 2 {
		t.Errorf("said: %v", got.Coercions)
	}
}

func FuzzCheck(f *testing.F) {
	for _, c := range calls {
		f.Add(c.args)
	}
	all := tools()
	f.Fuzz(func(t *testing.T, args string) {
		for _, c := range all {
			s, err := schema.Compile(c.Spec.Input)
			if err != nil {
				t.Fatal(err)
			}
			got, err := argname.Check(t.Context(), s, c, json.RawMessage(args), schema.Strict)
			if err != nil {
				continue
			}
			if _, err := s.Check(got.Args, schema.Exact); err != nil { // what comes out fits as it is
				t.Errorf("%s became %s: %v", args, got.Args, err)
			}
		}
	})
}

// Arguments with very many names that nobody knows cost what their size does, and not what
// it does times the names that are known; and the work ends when the caller goes away.
func TestManyUnknownNames(t *testing.T) {
	var b, schemaText strings.Builder
	b.WriteString(`{"a":"x"`)
	for i := range 200_000 {
		fmt.Fprintf(&b, `,"unknown_Name-%d":1`, i)
	}
	b.WriteString("}")
	schemaText.WriteString(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer"}`)
	var aliases []tool.ParamAlias
	for i := range 300 {
		fmt.Fprintf(&schemaText, `,"field_%d":{"type":"string"}`, i)
		aliases = append(aliases, tool.ParamAlias{Name: fmt.Sprintf("other_%d", i), Param: fmt.Sprintf("field_%d", i)})
	}
	schemaText.WriteString("}}")
	any := &tool.Tool{Spec: tool.Spec{Input: json.RawMessage(schemaText.String())}, Runtime: tool.Runtime{ParamAliases: aliases}}
	s, err := schema.Compile(any.Spec.Input)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = argname.Check(t.Context(), s, any, json.RawMessage(b.String()), schema.Strict)
	took := time.Since(began)
	var e *tool.Error
	if !errors.As(err, &e) || len(e.Fields) != 10 || !strings.Contains(e.Message, "more") {
		t.Fatalf("%d fields: %.300v", len(e.Fields), err)
	}
	if took > 20*time.Second { // on a busy machine; it was hours
		t.Errorf("it took %v", took)
	}
	t.Logf("%d bytes in %v", b.Len(), took)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := argname.Check(ended, s, any, json.RawMessage(b.String()), schema.Strict); tool.KindOf(err) != tool.Cancelled {
		t.Errorf("the caller has gone: %.300v", err)
	}
}
