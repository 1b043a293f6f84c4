package hook

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"

	"callgate/tool"
)

// claudeInput is what a command of Claude Code's form reads.
type claudeInput struct {
	SessionID      string         `json:"session_id"`
	TranscriptPath string         `json:"transcript_path"` // always empty: there is no such file
	Cwd            string         `json:"cwd"`
	HookEventName  string         `json:"hook_event_name"`
	ToolName       string         `json:"tool_name,omitempty"`
	ToolInput      map[string]any `json:"tool_input,omitempty"`
	ToolResponse   any            `json:"tool_response,omitempty"`
	ToolUseID      string         `json:"tool_use_id,omitempty"`
	Prompt         string         `json:"prompt,omitempty"`
	Message        string         `json:"message,omitempty"`
	Source         string         `json:"source,omitempty"`
	Trigger        string         `json:"trigger,omitempty"`
	Reason         string         `json:"reason,omitempty"`
	StopHookActive *bool          `json:"stop_hook_active,omitempty"`
}

// ClaudeInput is what a command of Claude Code's form reads from stdin about an event.
// stopped says that a hook has kept the turn from ending before.
func ClaudeInput(f *Facts, cwd string, stopped bool) ([]byte, error) {
	in := claudeInput{SessionID: f.Session, Cwd: cwd, HookEventName: f.Event.ClaudeName()}
	if t := f.Tool; t != nil {
		in.ToolName, in.ToolUseID, in.ToolInput = t.Claude, t.Call, t.claudeParams(cwd)
		in.ToolResponse = t.response()
	}
	switch f.Event {
	case TurnStart:
		in.Prompt = f.Prompt
	case TurnEnd, TaskEnd:
		in.StopHookActive = &stopped
		in.Message = f.Answer + f.Task.Summary
	case ApprovalRequest:
		in.Message = f.Approval.Reason
	case PreCompact:
		in.Trigger = f.Source
	case SessionStart:
		in.Source = f.Source
	case SessionEnd:
		in.Reason = f.Source
	}
	data, err := json.Marshal(in)
	return append(data, '\n'), err
}

// response is the result of a call: its data, and beside them the text that the model reads.
func (t *ToolFacts) response() any {
	data, ok := t.Result.(map[string]any)
	if !ok {
		return t.Result
	}
	data = maps.Clone(data)
	if _, taken := data["text"]; !taken {
		data["text"] = t.Text
	}
	return data
}

// claudeParams are the arguments of a call, with what Claude Code calls them beside.
func (t *ToolFacts) claudeParams(cwd string) map[string]any {
	params := maps.Clone(t.Params)
	if params == nil {
		params = map[string]any{}
	}
	for name, ours := range t.aliases {
		value, there := t.Params[ours]
		if _, taken := params[name]; taken || !there {
			continue
		}
		if path, ok := value.(string); ok && strings.HasSuffix(name, "_path") && !filepath.IsAbs(path) {
			value = filepath.Join(cwd, path)
		}
		params[name] = value
	}
	return params
}

// Decision is what a command says of what it was asked about. It never permits anything:
// a command that says allow says nothing.
type Decision struct {
	Block   bool
	Ask     bool // a human must approve the call
	Reason  string
	Context string          // that the model is told
	Input   json.RawMessage // in the place of the arguments; nil: they stay
	Notice  string          // that the user is told
}

// claudeOutput is what a command of Claude Code's form prints.
type claudeOutput struct {
	Continue      *bool  `json:"continue"`
	StopReason    string `json:"stopReason"`
	SystemMessage string `json:"systemMessage"`
	Decision      string `json:"decision"`
	Reason        string `json:"reason"`
	Specific      struct {
		PermissionDecision string          `json:"permissionDecision"`
		PermissionReason   string          `json:"permissionDecisionReason"`
		AdditionalContext  string          `json:"additionalContext"`
		UpdatedInput       json.RawMessage `json:"updatedInput"`
	} `json:"hookSpecificOutput"`
}

// The exit codes of a command of Claude Code's form.
const (
	ExitOK    = 0
	ExitBlock = 2
)

// ParseDecision reads the end of a command: its exit code and what it printed. An exit
// code that is neither ExitOK nor ExitBlock is an error, which blocks nothing by itself.
func ParseDecision(e Event, code int, stdout, stderr []byte) (Decision, error) {
	said := strings.TrimSpace(string(stderr))
	switch code {
	case ExitBlock:
		if said == "" {
			said = "it says no more"
		}
		return Decision{Block: true, Reason: said}, nil
	case ExitOK:
		return parseOutput(e, stdout)
	}
	if said == "" {
		said = strings.TrimSpace(string(stdout))
	}
	return Decision{}, tool.Errorf("hook.command", tool.Failed, "it exited with code %d: %s", code, tool.Truncate(said))
}

// parseOutput reads what a command printed that exited with ExitOK: an object, or text,
// which the model is told where a turn or a session begins.
func parseOutput(e Event, stdout []byte) (Decision, error) {
	text := bytes.TrimSpace(stdout)
	if len(text) == 0 {
		return Decision{}, nil
	}
	if text[0] != '{' {
		if e == TurnStart || e == SessionStart {
			return Decision{Context: string(text)}, nil
		}
		return Decision{}, nil
	}
	var out claudeOutput
	if err := json.Unmarshal(text, &out); err != nil {
		return Decision{}, tool.Errorf("hook.command", tool.Failed, "it printed what is no JSON: %w", err)
	}
	d := Decision{Reason: out.Reason, Context: out.Specific.AdditionalContext, Notice: out.SystemMessage}
	switch out.Decision {
	case "", "approve", "allow":
	case "block", "deny":
		d.Block = true
	default:
		return Decision{}, tool.Errorf("hook.command", tool.Failed, "it decided %q", tool.Truncate(out.Decision)).
			WithHint("decision is block, or is left out")
	}
	if why := out.Specific.PermissionReason; why != "" {
		d.Reason = why
	}
	switch out.Specific.PermissionDecision {
	case "", "allow":
	case "deny":
		d.Block = true
	case "ask", "defer":
		d.Ask = true
	default:
		return Decision{}, tool.Errorf("hook.command", tool.Failed, "it decided %q",
			tool.Truncate(out.Specific.PermissionDecision)).WithHint("permissionDecision is allow, deny or ask")
	}
	if out.Continue != nil && !*out.Continue && e != TurnEnd {
		d.Block = true
		if d.Reason == "" {
			d.Reason = out.StopReason
		}
	}
	if in := out.Specific.UpdatedInput; e == ToolStart && len(in) > 0 && string(in) != "null" {
		d.Input = out.Specific.UpdatedInput
	}
	return d, nil
}
