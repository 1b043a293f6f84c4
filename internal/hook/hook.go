// Package hook is the vocabulary of hooks: what can happen, when a hook fires, what it
// does, and how often. It runs nothing; internal/kernel/hooks does.
//
// # Laws
//
//   - A hook narrows or adds. No action lets anything run that the rules do not.
//   - Conditions and templates are read and checked before they are used. A path of a
//     template that leads nowhere is empty; a condition that cannot be decided is an
//     error, never false.
//   - A hook that guards (it can refuse what it is asked about) refuses when it fails,
//     unless its on_error says otherwise; any other goes on.
//   - Hooks of one event run in the order of their priorities, and in that of the file
//     where those are equal.
package hook

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Event is something that happens.
type Event string

// The events. A session is a conversation here.
const (
	TurnStart        Event = "turn_start"
	TurnEnd          Event = "turn_end"
	ToolStart        Event = "tool_start"
	ToolEnd          Event = "tool_end"
	SessionStart     Event = "session_start"
	SessionEnd       Event = "session_end"
	PreCompact       Event = "pre_compact"
	ApprovalRequest  Event = "approval_request"
	ApprovalAnswered Event = "approval_answered"
	TaskStart        Event = "task_start"
	TaskEnd          Event = "task_end"
	Failure          Event = "error"
)

// Events lists the events, in the order in which they are explained.
func Events() []Event {
	return []Event{
		TurnStart, TurnEnd, ToolStart, ToolEnd, SessionStart, SessionEnd, PreCompact,
		ApprovalRequest, ApprovalAnswered, TaskStart, TaskEnd, Failure,
	}
}

// ParseEvent finds the event that a name means: its own, or what other agents call it.
func ParseEvent(name string) (Event, bool) {
	switch name {
	case "pre_tool_use", "before_tool":
		return ToolStart, true
	case "post_tool_use", "after_tool":
		return ToolEnd, true
	case "user_prompt":
		return TurnStart, true
	case "stop":
		return TurnEnd, true
	case "agent_spawn":
		return TaskStart, true
	case "agent_complete":
		return TaskEnd, true
	}
	e := Event(name)
	return e, slices.Contains(Events(), e)
}

// claudeEvents are the events as Claude Code names them.
var claudeEvents = []struct {
	name  string
	event Event
}{
	{"PreToolUse", ToolStart}, {"PostToolUse", ToolEnd}, {"UserPromptSubmit", TurnStart}, {"Stop", TurnEnd},
	{"SubagentStop", TaskEnd}, {"Notification", ApprovalRequest}, {"PreCompact", PreCompact},
	{"SessionStart", SessionStart}, {"SessionEnd", SessionEnd},
}

// ParseClaudeEvent finds the event that a name of Claude Code's means.
func ParseClaudeEvent(name string) (Event, bool) {
	for _, one := range claudeEvents {
		if one.name == name {
			return one.event, true
		}
	}
	return "", false
}

// ClaudeEvents lists the names of Claude Code's that are known.
func ClaudeEvents() []string {
	var names []string
	for _, one := range claudeEvents {
		names = append(names, one.name)
	}
	return names
}

// ClaudeName is what Claude Code calls an event; its own name where it has none there.
func (e Event) ClaudeName() string {
	for _, one := range claudeEvents {
		if one.event == e {
			return one.name
		}
	}
	return string(e)
}

// IsTool reports whether an event is about a call.
func (e Event) IsTool() bool { return e == ToolStart || e == ToolEnd }

// CanRefuse reports whether what an event is about can still be refused.
func (e Event) CanRefuse() bool { return e == ToolStart || e == TurnStart || e == TurnEnd }

// Hook is one hook of an app. It does not change.
type Hook struct {
	ID        string // within the file that it stands in
	On        Event
	Condition Condition
	Action    Action
	Cooldown  time.Duration // between two firings; 0: none
	MaxFires  int           // in one conversation; 0: any
	Priority  int           // low first
	Disabled  bool
	OnError   OnError
	Timeout   time.Duration // of what it runs
	Agent     string        // the one whose hook it is; empty: every agent's, and every client's
	File      string        // where it is written, if that is not the app file
	Scripts   []Script      // the files that its command names
	FromUser  bool          // it is in the user's own file, and needs no consent
}

// DefaultPriority and DefaultTimeout are those of a hook that names none.
const (
	DefaultPriority = 100
	DefaultTimeout  = 60 * time.Second
)

// OnError is what becomes of an event whose hook failed.
type OnError string

// What may become of it. The zero value is what fits the hook: see FailsClosed.
const (
	Block    OnError = "block"    // it is refused
	Continue OnError = "continue" // it goes on
)

// Script is a file that a command runs, or the folder of one, as it was when the app file
// was read.
type Script struct {
	Path   string
	Digest string // of its content: SHA-256, in hex; empty: there was no such file
	Folder bool
}

// Key names the hook among all that are in force.
func (h *Hook) Key() string {
	key := h.ID
	if h.Agent != "" {
		key = h.Agent + "/" + key
	}
	if h.FromUser {
		key = "user:" + key
	}
	return key
}

// GuardsCalls reports whether the hook looks at calls before they are made. Its command
// starts in a folder of its own, and the folders of its scripts are part of what was accepted.
func (h *Hook) GuardsCalls() bool { return h.On == ToolStart }

// Guards reports whether the hook may refuse what it is asked about.
func (h *Hook) Guards() bool {
	if !h.On.CanRefuse() {
		return false
	}
	return h.Action.Type == ActionBlock || h.Action.Type == ActionCommand || h.OnError == Block
}

// FailsClosed reports whether what the hook was asked about is refused when the hook
// fails.
func (h *Hook) FailsClosed() bool {
	switch {
	case !h.On.CanRefuse() || h.OnError == Continue:
		return false
	case h.OnError == Block:
		return true
	}
	return h.On != TurnEnd && h.Guards() // a turn that cannot end would be no narrower
}

// OnlyNarrows reports whether the hook can do nothing but refuse, or write to the log: it
// needs nobody's consent.
func (h *Hook) OnlyNarrows() bool {
	return h.Action.Type == ActionBlock && h.On != TurnEnd || h.Action.Type == ActionLog
}

// Sort orders hooks as they run.
func Sort(hooks []*Hook) {
	slices.SortStableFunc(hooks, func(a, b *Hook) int { return cmp.Compare(a.Priority, b.Priority) })
}

// String says in one line what the hook does, and when.
func (h *Hook) String() string {
	var b strings.Builder
	b.WriteString("on " + string(h.On))
	if h.Agent != "" {
		b.WriteString(" of the agent " + h.Agent)
	}
	if when := h.Condition.String(); when != "" {
		b.WriteString(" when " + when)
	}
	b.WriteString(": " + h.Action.String())
	return b.String()
}
