package hook

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"callgate/internal/condition"
	"callgate/internal/resulttext"
	"callgate/tool"
)

// Facts are what is known when something happens.
type Facts struct {
	Event   Event
	Session string
	Agent   string
	Hook    string // the hook that looks

	Tool     *ToolFacts // of a call; nil: it is about none
	Counts              // of the conversation
	Calls    int        // since the user's last words
	Prompt   string     // what the user said
	Answer   string     // what the model said at last
	Error    ErrorFacts
	Task     TaskFacts
	Approval ApprovalFacts
	Source   string // why a session began or ended, or a conversation is made shorter

	values map[string]any
}

// Counts are those of a conversation.
type Counts struct {
	Turn     int     // the user's messages
	Messages int     // that the model is shown
	Tokens   int     // of them, as far as that can be told
	Pressure float64 // the part of the model's window that they fill
}

// ToolFacts are what is known of a call.
type ToolFacts struct {
	Call   string
	Name   string   // dotted
	FQN    string   // with its version
	Names  []string // by which it may be meant
	Claude string   // its name in Claude Code's form
	Args   json.RawMessage
	Params map[string]any // the same
	Result any            // the data, or else the text; nil: it has not ended
	Text   string
	Failed bool
	Error  string

	aliases map[string]string // parameters as Claude Code calls them, with ours
}

// ErrorFacts are what went wrong.
type ErrorFacts struct {
	Type    string // the kind of a call's error, or the reason of a turn's end
	Message string
}

// TaskFacts are what is known of a task.
type TaskFacts struct{ ID, Kind, Label, State, Summary string }

// ApprovalFacts are what is known of a request for approval.
type ApprovalFacts struct{ ID, Reason, State, By string }

// CallFacts are what is known of a call before it runs.
func CallFacts(call tool.Call, t *tool.Tool) *ToolFacts {
	f := &ToolFacts{
		Call: call.ID, Name: t.ID.Dotted(), FQN: t.ID.String(), Names: Names(t), Claude: ClaudeTool(t),
		aliases: claudeParams(t),
	}
	f.SetParams(call.Args)
	return f
}

// SetParams takes arguments.
func (t *ToolFacts) SetParams(args json.RawMessage) {
	t.Args, t.Params = args, map[string]any{}
	_ = json.Unmarshal(args, &t.Params) // they met the schema
}

// SetResult takes the result of the call, as its caller is told it.
func (t *ToolFacts) SetResult(r *tool.Result) {
	var text strings.Builder
	for _, c := range resulttext.Body(r, nil) {
		text.WriteString(c.Text + "\n")
	}
	t.Text, t.Result = strings.TrimSpace(text.String()), nil
	if len(r.Data) > 0 {
		_ = json.Unmarshal(r.Data, &t.Result)
	}
	if t.Result == nil && json.Unmarshal([]byte(t.Text), &t.Result) != nil {
		t.Result = t.Text
	}
	t.Failed, t.Error = r.Status != tool.Success && r.Status != tool.Waiting, ""
	if r.Error != nil {
		t.Error = r.Error.Error()
	}
}

// path is the file that a call is about.
func (t *ToolFacts) path() any {
	for _, name := range []string{"path", "file_path", "file", "filename"} {
		if p, ok := t.Params[name]; ok {
			return p
		}
	}
	return nil
}

// Content is the text that an event is about.
func (f *Facts) Content() string {
	switch {
	case f.Tool == nil:
		return strings.TrimSpace(f.Prompt + "\n" + f.Answer + "\n" + f.Task.Summary + "\n" + f.Error.Message)
	case f.Tool.Result != nil || f.Tool.Text != "":
		return f.Tool.Text
	}
	params, err := json.Marshal(f.Tool.Params)
	if err != nil {
		return ""
	}
	return string(params)
}

// Reset forgets the values that were made of the facts: they have changed.
func (f *Facts) Reset() { f.values = nil }

// Values are the facts as expressions and templates speak of them: see Env.
func (f *Facts) Values() map[string]any {
	if f.values != nil {
		return f.values
	}
	f.values = map[string]any{
		"event": string(f.Event), "agent": f.Agent, "hook": map[string]any{"id": f.Hook},
		"session": map[string]any{"id": f.Session},
		"turn":    f.Turn, "tools": f.Calls, "messages": f.Messages, "tokens": f.Tokens, "pressure": f.Pressure,
		"prompt": f.Prompt, "answer": f.Answer, "source": f.Source,
		"error": map[string]any{"type": f.Error.Type, "message": f.Error.Message},
		"task": map[string]any{
			"id": f.Task.ID, "kind": f.Task.Kind, "label": f.Task.Label, "state": f.Task.State, "summary": f.Task.Summary,
		},
		"approval": map[string]any{
			"id": f.Approval.ID, "reason": f.Approval.Reason, "state": f.Approval.State, "by": f.Approval.By,
		},
	}
	if t := f.Tool; t != nil {
		f.values["tool"] = map[string]any{
			"name": t.Name, "fqn": t.FQN, "params": t.Params, "result": t.Result, "error": t.Error, "failed": t.Failed,
			"path": t.path(), "call": t.Call, "text": t.Text,
		}
	}
	return f.values
}

// Env is what conditions and templates of an event may speak of; of no event, what those of
// any may.
func Env(e Event) condition.Env {
	text, number := condition.Type{Kind: condition.Text}, condition.Type{Kind: condition.Number}
	object := func(fields ...string) condition.Type {
		t := condition.Type{Kind: condition.Map, Closed: true, Fields: map[string]condition.Type{}}
		for _, name := range fields {
			t.Fields[name] = text
		}
		return t
	}
	env := condition.Env{Safe: true, Roots: map[string]condition.Type{
		"event": text, "agent": text, "hook": object("id"), "session": object("id"),
		"turn": number, "tools": number, "messages": number, "tokens": number, "pressure": number,
	}}
	add := func(name string, t condition.Type) { env.Roots[name] = t }
	called := object("name", "fqn", "call")
	called.Fields["params"], called.Fields["path"] = condition.Type{}, condition.Type{}
	switch e {
	case ToolStart, ApprovalRequest, ApprovalAnswered:
		add("tool", called)
	case ToolEnd, Failure, "":
		called.Fields["result"], called.Fields["error"], called.Fields["text"] = condition.Type{}, text, text
		called.Fields["failed"] = condition.Type{Kind: condition.Bool}
		add("tool", called)
	}
	about := func(name string, t condition.Type, events ...Event) {
		if e == "" || slices.Contains(events, e) {
			add(name, t)
		}
	}
	about("prompt", text, TurnStart)
	about("answer", text, TurnEnd)
	about("source", text, TurnEnd, SessionStart, SessionEnd, PreCompact)
	about("error", object("type", "message"), TurnEnd, ToolEnd, Failure)
	about("task", object("id", "kind", "label", "state", "summary"), TaskStart, TaskEnd)
	about("approval", object("id", "reason", "state", "by"), ApprovalRequest, ApprovalAnswered)
	return env
}

// Roots lists every name that a template of a hook may begin with.
func Roots() []string { return slices.Sorted(maps.Keys(Env("").Roots)) }
