package hook

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/condition"
)

// ConditionType is what decides whether a hook fires.
type ConditionType string

// The conditions. The zero value is Always.
const (
	Always          ConditionType = "always"
	Never           ConditionType = "never"
	AllOf           ConditionType = "all_of"
	AnyOf           ConditionType = "any_of"
	Not             ConditionType = "not"
	ToolName        ConditionType = "tool_name"
	ToolFailed      ConditionType = "tool_failed"
	ContentContains ConditionType = "content_contains"
	ErrorType       ConditionType = "error_type"
	TurnCount       ConditionType = "turn_count"
	ToolCalls       ConditionType = "tool_calls"
	MessageCount    ConditionType = "message_count"
	ContextPressure ConditionType = "context_pressure"
	Expression      ConditionType = "expression"
	SourceIs        ConditionType = "source" // of Claude Code's matchers, where an event is about no tool
)

// ConditionTypes lists the conditions.
func ConditionTypes() []string {
	return []string{
		string(Always), string(Never), string(AllOf), string(AnyOf), string(Not), string(ToolName), string(ToolFailed),
		string(ContentContains), string(ErrorType), string(TurnCount), string(ToolCalls), string(MessageCount),
		string(ContextPressure), string(Expression),
	}
}

// Condition says when a hook fires. Which fields count depends on its type.
type Condition struct {
	Type    ConditionType
	Inner   []Condition          // of all_of and any_of, and the one of not
	Match   *Matcher             // of tool_name and error_type
	Keyword string               // of content_contains
	Least   float64              // of the counts, and of context_pressure
	Every   int                  // of turn_count: every so many turns; 0: from Least on
	Expr    *condition.Condition // of expression
}

// Holds decides the condition. What cannot be decided is an error.
func (c *Condition) Holds(f *Facts) (bool, error) {
	switch c.Type {
	case "", Always:
		return true, nil
	case Never:
		return false, nil
	case AllOf, AnyOf:
		for i := range c.Inner {
			holds, err := c.Inner[i].Holds(f)
			if err != nil || holds == (c.Type == AnyOf) {
				return holds, err
			}
		}
		return c.Type == AllOf, nil
	case Not:
		holds, err := c.Inner[0].Holds(f)
		return !holds && err == nil, err
	case ToolName:
		return f.Tool != nil && c.Match.Any(f.Tool.Names), nil
	case ToolFailed:
		return f.Tool != nil && f.Tool.Failed, nil
	case ContentContains:
		return strings.Contains(strings.ToLower(f.Content()), strings.ToLower(c.Keyword)), nil
	case SourceIs:
		return c.Match.Any([]string{f.Source}), nil
	case ErrorType:
		return f.Error.Type != "" && c.Match.Any([]string{f.Error.Type}), nil
	case TurnCount:
		return float64(f.Turn) >= c.Least && (c.Every == 0 || f.Turn > 0 && f.Turn%c.Every == 0), nil
	case ToolCalls:
		return float64(f.Calls) >= c.Least, nil
	case MessageCount:
		return float64(f.Messages) >= c.Least, nil
	case ContextPressure:
		return f.Pressure >= c.Least, nil
	case Expression:
		return c.Expr.Eval(f.Values())
	}
	return false, fmt.Errorf("there is no condition %s", c.Type)
}

// asksCounts reports whether the condition asks about the whole conversation, which takes
// work to count.
func (c *Condition) asksCounts() bool {
	switch c.Type {
	case TurnCount, MessageCount, ContextPressure:
		return true
	case Expression:
		return slices.ContainsFunc(counted, c.Expr.Uses)
	}
	return slices.ContainsFunc(c.Inner, func(inner Condition) bool { return inner.asksCounts() })
}

// counted are the roots that are counts of the conversation.
var counted = []string{"turn", "messages", "tokens", "pressure"}

// AsksCounts reports whether the hook asks about the whole conversation.
func (h *Hook) AsksCounts() bool {
	return h.Condition.asksCounts() || slices.ContainsFunc(counted, func(root string) bool {
		return strings.Contains(h.Action.Written, "{{") && strings.Contains(h.Action.Written, root)
	})
}

// String says in words when the condition holds; empty: always.
func (c *Condition) String() string {
	switch c.Type {
	case "", Always:
		return ""
	case AllOf, AnyOf, Not:
		var inner []string
		for i := range c.Inner {
			inner = append(inner, c.Inner[i].String())
		}
		return string(c.Type) + " (" + strings.Join(inner, "; ") + ")"
	case ToolName, ErrorType, SourceIs:
		return string(c.Type) + " " + c.Match.String()
	case ContentContains:
		return string(c.Type) + " " + fmt.Sprintf("%q", c.Keyword)
	case TurnCount, ToolCalls, MessageCount, ContextPressure:
		text := fmt.Sprintf("%s %g", c.Type, c.Least)
		if c.Every > 0 {
			text += fmt.Sprintf(" every %d", c.Every)
		}
		return text
	case Expression:
		return c.Expr.String()
	}
	return string(c.Type)
}

// Matcher finds names.
type Matcher struct {
	source string
	globs  []string
	regexp *regexp.Regexp // Claude Code's; nil: globs
}

// CompileGlobs reads patterns with * and ?, each of which may hold several with | between
// them.
func CompileGlobs(patterns ...string) (*Matcher, error) {
	m := &Matcher{source: strings.Join(patterns, "|")}
	for _, p := range strings.Split(m.source, "|") {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		if _, err := path.Match(p, "x"); err != nil {
			return nil, fmt.Errorf("%q is no pattern: %w", p, err)
		}
		m.globs = append(m.globs, p)
	}
	if len(m.globs) == 0 {
		return nil, fmt.Errorf("%q names nothing", m.source)
	}
	return m, nil
}

// CompileClaude reads a matcher of Claude Code's: a regular expression for the whole name.
// Empty and * match all.
func CompileClaude(text string) (*Matcher, error) {
	if text == "" || text == "*" {
		return nil, nil
	}
	re, err := regexp.Compile(`^(?:` + text + `)$`)
	if err != nil {
		return nil, fmt.Errorf("%q is no regular expression: %w", text, err)
	}
	return &Matcher{source: text, regexp: re}, nil
}

// String returns the matcher as it was written.
func (m *Matcher) String() string { return m.source }

// Any reports whether one of some names is meant.
func (m *Matcher) Any(names []string) bool {
	for _, name := range names {
		if m.regexp != nil && m.regexp.MatchString(name) {
			return true
		}
		for _, glob := range m.globs {
			if ok, _ := path.Match(glob, name); ok {
				return true
			}
		}
	}
	return false
}
