package hook_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/condition"
	"callgate/internal/hook"
	"callgate/tool"
)

// named makes a tool with a name, and perhaps a short one.
func named(t *testing.T, id, short string) *tool.Tool {
	t.Helper()
	parsed, err := tool.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return &tool.Tool{ID: parsed, Spec: tool.Spec{Short: short}}
}

// facts are those of a call of filesystem.write that ended.
func facts(t *testing.T) *hook.Facts {
	t.Helper()
	call := tool.Call{ID: "c1", Args: json.RawMessage(`{"path":"a.go","lines":["x","y"]}`)}
	f := &hook.Facts{
		Event: hook.ToolEnd, Session: "s1", Tool: hook.CallFacts(call, named(t, "filesystem:write@1.0.0", "Write")),
		Counts: hook.Counts{Turn: 10, Messages: 40, Tokens: 900, Pressure: 0.5}, Calls: 3,
		Error: hook.ErrorFacts{Type: "timeout", Message: "too slow"},
	}
	f.Tool.SetResult(&tool.Result{Status: tool.Failure, Data: json.RawMessage(`{"files":[{"path":"a"},{"path":"b"}],"ok":false}`),
		Error: tool.Errorf("x", tool.Timeout, "too slow")})
	return f
}

func globs(t *testing.T, patterns ...string) *hook.Matcher {
	t.Helper()
	m, err := hook.CompileGlobs(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConditions(t *testing.T) {
	t.Parallel()
	expr := func(text string) *condition.Condition {
		c, err := condition.Compile(text, hook.Env(hook.ToolEnd))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	yes, no := hook.Condition{}, hook.Condition{Type: hook.Never}
	for name, c := range map[string]struct {
		condition hook.Condition
		want      bool
	}{
		"nothing":            {hook.Condition{}, true},
		"always":             {hook.Condition{Type: hook.Always}, true},
		"never":              {no, false},
		"all of none":        {hook.Condition{Type: hook.AllOf}, true},
		"any of none":        {hook.Condition{Type: hook.AnyOf}, false},
		"all of two":         {hook.Condition{Type: hook.AllOf, Inner: []hook.Condition{yes, no}}, false},
		"any of two":         {hook.Condition{Type: hook.AnyOf, Inner: []hook.Condition{no, yes}}, true},
		"not":                {hook.Condition{Type: hook.Not, Inner: []hook.Condition{no}}, true},
		"its name":           {hook.Condition{Type: hook.ToolName, Match: globs(t, "filesystem.write")}, true},
		"a glob":             {hook.Condition{Type: hook.ToolName, Match: globs(t, "file*.*")}, true},
		"several":            {hook.Condition{Type: hook.ToolName, Match: globs(t, "Bash|Write")}, true},
		"a list":             {hook.Condition{Type: hook.ToolName, Match: globs(t, "Bash", "Edit")}, false},
		"its wire name":      {hook.Condition{Type: hook.ToolName, Match: globs(t, "filesystem__write")}, true},
		"with its version":   {hook.Condition{Type: hook.ToolName, Match: globs(t, "filesystem:write@1.0.0")}, true},
		"another":            {hook.Condition{Type: hook.ToolName, Match: globs(t, "filesystem.read")}, false},
		"failed":             {hook.Condition{Type: hook.ToolFailed}, true},
		"content":            {hook.Condition{Type: hook.ContentContains, Keyword: "TOO slow"}, true},
		"other content":      {hook.Condition{Type: hook.ContentContains, Keyword: "rm -rf"}, false},
		"error":              {hook.Condition{Type: hook.ErrorType, Match: globs(t, "time*")}, true},
		"another error":      {hook.Condition{Type: hook.ErrorType, Match: globs(t, "denied")}, false},
		"turn":               {hook.Condition{Type: hook.TurnCount, Least: 10}, true},
		"later turn":         {hook.Condition{Type: hook.TurnCount, Least: 11}, false},
		"every fifth turn":   {hook.Condition{Type: hook.TurnCount, Every: 5}, true},
		"every fourth turn":  {hook.Condition{Type: hook.TurnCount, Every: 4}, false},
		"calls":              {hook.Condition{Type: hook.ToolCalls, Least: 3}, true},
		"more calls":         {hook.Condition{Type: hook.ToolCalls, Least: 4}, false},
		"messages":           {hook.Condition{Type: hook.MessageCount, Least: 50}, false},
		"pressure":           {hook.Condition{Type: hook.ContextPressure, Least: 0.5}, true},
		"expression":         {hook.Condition{Type: hook.Expression, Expr: expr("turn > 5 and tool.failed")}, true},
		"about the result":   {hook.Condition{Type: hook.Expression, Expr: expr("tool.result.files[*].path contains b")}, true},
		"about the argument": {hook.Condition{Type: hook.Expression, Expr: expr(`tool.params.path endswith ".rs"`)}, false},
		"about the error":    {hook.Condition{Type: hook.Expression, Expr: expr("error.type == timeout")}, true},
	} {
		if got, err := c.condition.Holds(facts(t)); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	undecided := hook.Condition{Type: hook.Not, Inner: []hook.Condition{{Type: hook.Expression, Expr: expr("tool.params.path > 5")}}}
	if holds, err := undecided.Holds(facts(t)); err == nil || holds {
		t.Errorf("what cannot be decided: %v, %v", holds, err)
	}
	empty := &hook.Facts{Event: hook.TurnEnd}
	for _, c := range []hook.Condition{{Type: hook.ToolName, Match: globs(t, "*")}, {Type: hook.ToolFailed}} {
		if holds, err := c.Holds(empty); holds || err != nil {
			t.Errorf("%s without a call: %v, %v", c.Type, holds, err)
		}
	}
}

// The names of other agents mean our tools, and who guards edits guards patches.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ id, short, matcher, given string }{
		{"shell:bash@1.0.0", "Bash", "Bash", "Bash"},
		{"filesystem:edit@1.0.0", "Edit", "MultiEdit|Write", "Edit"},
		{"filesystem:apply_patch@1.0.0", "ApplyPatch", "Edit|Write", "Edit"},
		{"filesystem:list@1.0.0", "Ls", "LS", "LS"},
		{"mcp_memory:create@1.0.0", "", "mcp__memory__.*", "mcp__memory__create"},
		{"memory:remember@1.0.0", "", `memory\.remember`, "memory.remember"},
	} {
		tool := named(t, c.id, c.short)
		m, err := hook.CompileClaude(c.matcher)
		if err != nil || !m.Any(hook.Names(tool)) || hook.ClaudeTool(tool) != c.given {
			t.Errorf("%s: %v %v, given as %s", c.id, err, hook.Names(tool), hook.ClaudeTool(tool))
		}
	}
	if m, err := hook.CompileClaude("Edit"); err != nil || m.Any(hook.Names(named(t, "filesystem:notebook_edit@1.0.0", "NotebookEdit"))) {
		t.Errorf("a matcher is for the whole name: %v", err)
	}
	if m, err := hook.CompileClaude("*"); err != nil || m != nil {
		t.Errorf("a star is all: %v, %v", m, err)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{{tool.name}}": "filesystem.write", "{{tool.fqn}}": "filesystem:write@1.0.0", "{{tool.params.path}}": "a.go",
		"{{tool.path}}": "a.go", "{{tool.params.lines.-1}}": "y", "{{tool.params.lines.0}}": "x",
		"{{tool.result.files.-2.path}}": "a", "{{tool.error}}": "too slow", "<{{tool.result.none.deeper}}>": "<>",
		"<{{tool.params.path.x.-3}}>": "<>", "{{tool.params.lines}}": `["x","y"]`, "{{turn}}: {{tools}}": "10: 3",
		"{{session.id}} {{hook.id}}": "s1 ", "plain": "plain",
	} {
		c, err := condition.CompileText(text, hook.Env(hook.ToolEnd))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := hook.Message(c, facts(t)); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("{{tool.params.lines.-1}} {{ turn }}")
	f.Add("echo '{{tool.path}}' \"{{tool.name}}\" {{tool.result.a.b[0]}} \\' {{")
	f.Fuzz(func(t *testing.T, text string) {
		in := &hook.Facts{Event: hook.ToolEnd, Tool: &hook.ToolFacts{Params: map[string]any{"path": "$(touch /tmp/x)`x`'\""}}}
		if c, err := condition.CompileText(text, hook.Env(hook.ToolEnd)); err == nil {
			_, _ = hook.Message(c, in)
		}
		c, err := hook.CompileCommand(text, hook.Env(hook.ToolEnd))
		if err != nil {
			return
		}
		if strings.Contains(c.Line, "{{") && !strings.Contains(text, "{{{{") && strings.Contains(c.Line, "touch /tmp/x") {
			t.Errorf("a value is in the line: %q", c.Line)
		}
		if env, err := c.Environ(in.Values()); err == nil && len(env) != len(c.Values) {
			t.Errorf("%d variables for %d places", len(env), len(c.Values))
		}
	})
}

// A value never becomes a part of a command: the line holds a variable in its place.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"gofmt -l {{tool.path}}":        `gofmt -l "${CALLGATE_HOOK_1}"`,
		`echo "at {{tool.path}}"`:       `echo "at ${CALLGATE_HOOK_1}"`,
		`echo 'at {{tool.path}}'`:       `echo 'at '"${CALLGATE_HOOK_1}"''`,
		`echo \' {{tool.path}}`:         `echo \' "${CALLGATE_HOOK_1}"`,
		"a {{tool.name}} {{tool.path}}": `a "${CALLGATE_HOOK_1}" "${CALLGATE_HOOK_2}"`,
	} {
		c, err := hook.CompileCommand(text, hook.Env(hook.ToolEnd))
		if err != nil || c.Line != want {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
	c, err := hook.CompileCommand("x {{tool.params.path}}", hook.Env(hook.ToolEnd))
	if err != nil {
		t.Fatal(err)
	}
	in := &hook.Facts{Tool: &hook.ToolFacts{Params: map[string]any{"path": "a\x00; rm -rf /" + strings.Repeat("x", hook.MaxValue)}}}
	env, err := c.Environ(in.Values())
	if err != nil || len(env) != 1 || !strings.HasPrefix(env[0], "CALLGATE_HOOK_1=a; rm -rf /xxx") || len(env[0]) > hook.MaxValue+20 {
		t.Errorf("%.80q, %v", env, err)
	}
}

func TestTransforms(t *testing.T) {
	t.Parallel()
	object := func(text string) *condition.Template {
		c, err := condition.CompileTemplate(json.RawMessage(text), hook.Env(hook.ToolEnd))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a := hook.Action{Set: object(`{"timeout":60,"path":"safe/{{tool.params.path}}"}`), Remove: []string{"force", "none"}}
	args, changed, err := a.TransformParams(json.RawMessage(`{"path":"a.go","force":true,"timeout":60}`), facts(t))
	if err != nil || string(args) != `{"path":"safe/a.go","timeout":60}` || strings.Join(changed, " ") != "path force" {
		t.Errorf("%s %v %v", args, changed, err)
	}
	if args, changed, err := a.TransformParams(json.RawMessage(`{"path":"safe/a.go","timeout":60}`), facts(t)); err != nil || changed != nil ||
		string(args) != `{"path":"safe/a.go","timeout":60}` {
		t.Errorf("nothing to change: %s %v %v", args, changed, err)
	}
	r := &tool.Result{Status: tool.Success, Content: []tool.Content{tool.Text("äöü and more")}, Data: json.RawMessage(`{"long":"data"}`)}
	mark := hook.Action{Cut: 5, Append: object(`"run the tests"`), Note: object(`"{{tool.name}} was cut"`)}
	did, err := mark.TransformResult(r, facts(t))
	if err != nil || len(r.Content) != 2 || r.Content[0].Text != "äö […]" || r.Content[1].Text != "run the tests" || r.Data != nil ||
		len(r.Warnings) != 1 || !strings.Contains(did, "left out") {
		t.Errorf("%+v %q %v", r, did, err)
	}
	same := &tool.Result{Status: tool.Success, Content: []tool.Content{tool.Text("short")}}
	if did, err := (&hook.Action{Cut: 100}).TransformResult(same, facts(t)); did != "" || err != nil || same.Content[0].Text != "short" {
		t.Errorf("%+v %q %v", same, did, err)
	}
}

// A hook waits for its cooldown, fires as often as it may, and goes on counting after a
// restart.
func TestCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counter := &hook.Counter{}
		slow, twice := &hook.Hook{ID: "slow", Cooldown: time.Minute}, &hook.Hook{ID: "twice", MaxFires: 2}
		take := func(h *hook.Hook, want bool) {
			t.Helper()
			if got := counter.Take(h, time.Now()); got != want {
				t.Errorf("%s fires: %v", h.ID, got)
			}
		}
		take(slow, true)
		take(slow, false)
		<-time.After(59 * time.Second)
		take(slow, false)
		<-time.After(time.Second)
		take(slow, true)
		take(twice, true)
		data, err := json.Marshal(counter)
		if err != nil {
			t.Fatal(err)
		}
		counter = &hook.Counter{}
		if err := json.Unmarshal(data, counter); err != nil {
			t.Fatal(err)
		}
		take(slow, false)
		take(twice, true)
		take(twice, false)
		take(&hook.Hook{ID: "twice", Agent: "other", MaxFires: 1}, true)
		if !counter.Take(slow, time.Now().Add(-time.Hour)) {
			t.Error("a clock that was set back stops a hook")
		}
	})
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		event hook.Event
		code  int
		out   string
		err   string
		want  hook.Decision
		fails string
	}{
		{"nothing", hook.ToolStart, 0, "", "", hook.Decision{}, ""},
		{"text", hook.ToolStart, 0, "looks fine", "", hook.Decision{}, ""},
		{"text of a turn", hook.TurnStart, 0, "it is Monday\n", "", hook.Decision{Context: "it is Monday"}, ""},
		{"exit 2", hook.ToolStart, 2, "ignored", "no pushing\n", hook.Decision{Block: true, Reason: "no pushing"}, ""},
		{"exit 2 without a word", hook.ToolStart, 2, "", "", hook.Decision{Block: true, Reason: "it says no more"}, ""},
		{"exit 1", hook.ToolStart, 1, "", "broken", hook.Decision{}, "code 1: broken"},
		{"block", hook.ToolStart, 0, `{"decision":"block","reason":"not now"}`, "", hook.Decision{Block: true, Reason: "not now"}, ""},
		{"approve widens nothing", hook.ToolStart, 0, `{"decision":"approve","reason":"fine"}`, "", hook.Decision{Reason: "fine"}, ""},
		{"allow widens nothing", hook.ToolStart, 0, `{"hookSpecificOutput":{"permissionDecision":"allow"}}`, "", hook.Decision{}, ""},
		{"deny", hook.ToolStart, 0, `{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"secret"}}`, "",
			hook.Decision{Block: true, Reason: "secret"}, ""},
		{"ask", hook.ToolStart, 0, `{"hookSpecificOutput":{"permissionDecision":"ask"}}`, "", hook.Decision{Ask: true}, ""},
		{"context", hook.ToolEnd, 0, `{"hookSpecificOutput":{"additionalContext":"lint: 3"},"systemMessage":"hi"}`, "",
			hook.Decision{Context: "lint: 3", Notice: "hi"}, ""},
		{"other input", hook.ToolStart, 0, `{"hookSpecificOutput":{"updatedInput":{"a":1}}}`, "", hook.Decision{Input: json.RawMessage(`{"a":1}`)}, ""},
		{"no other input", hook.ToolStart, 0, `{"hookSpecificOutput":{"updatedInput":null}}`, "", hook.Decision{}, ""},
		{"stop", hook.ToolStart, 0, `{"continue":false,"stopReason":"enough"}`, "", hook.Decision{Block: true, Reason: "enough"}, ""},
		{"an unknown word", hook.ToolStart, 0, `{"decision":"maybe"}`, "", hook.Decision{}, "decided"},
		{"an unknown permission", hook.ToolStart, 0, `{"hookSpecificOutput":{"permissionDecision":"sure"}}`, "", hook.Decision{}, "decided"},
		{"half an object", hook.ToolStart, 0, `{"decision":`, "", hook.Decision{}, "no JSON"},
	} {
		got, err := hook.ParseDecision(c.event, c.code, []byte(c.out), []byte(c.err))
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %+v, %v", c.name, got, err)
			}
			continue
		}
		if err != nil || got.Block != c.want.Block || got.Ask != c.want.Ask || got.Reason != c.want.Reason ||
			got.Context != c.want.Context || string(got.Input) != string(c.want.Input) || got.Notice != c.want.Notice {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

func FuzzDecision(f *testing.F) {
	f.Add(`{"hookSpecificOutput":{"permissionDecision":"allow"}}`, 0)
	f.Add(`{"decision":"block"}`, 0)
	f.Fuzz(func(t *testing.T, out string, code int) {
		d, err := hook.ParseDecision(hook.ToolStart, code, []byte(out), nil)
		if code != hook.ExitOK && code != hook.ExitBlock && err == nil {
			t.Errorf("exit code %d: %+v", code, d)
		}
	})
}

// A command of Claude Code's form finds what it expects.
func TestClaudeInput(t *testing.T) {
	t.Parallel()
	edit := named(t, "filesystem:edit@1.0.0", "Edit")
	edit.Runtime.ParamAliases = []tool.ParamAlias{{Name: "file_path", Param: "path"}, {Name: "old_string", Param: "old"}}
	f := &hook.Facts{Event: hook.ToolStart, Session: "s1",
		Tool: hook.CallFacts(tool.Call{ID: "c1", Args: json.RawMessage(`{"path":"src/a.go","old":"x"}`)}, edit)}
	data, err := hook.ClaudeInput(f, "/work", false)
	if err != nil {
		t.Fatal(err)
	}
	var in map[string]any
	if err := json.Unmarshal(data, &in); err != nil {
		t.Fatal(err)
	}
	args := in["tool_input"].(map[string]any)
	if in["hook_event_name"] != "PreToolUse" || in["tool_name"] != "Edit" || in["session_id"] != "s1" || in["cwd"] != "/work" ||
		in["transcript_path"] != "" || args["file_path"] != "/work/src/a.go" || args["path"] != "src/a.go" || args["old_string"] != "x" {
		t.Errorf("%s", data)
	}
}

func TestHookLaws(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hook                 hook.Hook
		guards, closed, only bool
	}{
		{hook.Hook{On: hook.ToolStart, Action: hook.Action{Type: hook.ActionBlock}}, true, true, true},
		{hook.Hook{On: hook.ToolStart, Action: hook.Action{Type: hook.ActionCommand}}, true, true, false},
		{hook.Hook{On: hook.ToolStart, Action: hook.Action{Type: hook.ActionCommand}, OnError: hook.Continue}, true, false, false},
		{hook.Hook{On: hook.TurnEnd, Action: hook.Action{Type: hook.ActionCommand}}, true, false, false},
		{hook.Hook{On: hook.ToolEnd, Action: hook.Action{Type: hook.ActionCommand}}, false, false, false},
		{hook.Hook{On: hook.ToolStart, Action: hook.Action{Type: hook.ActionShell}}, false, false, false},
		{hook.Hook{On: hook.ToolStart, Action: hook.Action{Type: hook.ActionShell}, OnError: hook.Block}, true, true, false},
		{hook.Hook{On: hook.TurnStart, Action: hook.Action{Type: hook.ActionLog}}, false, false, true},
	} {
		h := c.hook
		if h.Guards() != c.guards || h.FailsClosed() != c.closed || h.OnlyNarrows() != c.only {
			t.Errorf("%s: guards %v, fails closed %v, only narrows %v", h.String(), h.Guards(), h.FailsClosed(), h.OnlyNarrows())
		}
	}
	for _, e := range hook.Events() {
		if got, ok := hook.ParseEvent(string(e)); !ok || got != e {
			t.Errorf("%s is read as %s", e, got)
		}
	}
	for alias, want := range map[string]hook.Event{"pre_tool_use": hook.ToolStart, "post_tool_use": hook.ToolEnd, "user_prompt": hook.TurnStart} {
		if got, ok := hook.ParseEvent(alias); !ok || got != want {
			t.Errorf("%s is read as %s", alias, got)
		}
	}
}
