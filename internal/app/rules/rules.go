// Package rules reads what an app file lets models do with the modules:
// tools.capabilities.
package rules

import (
	"fmt"
	"strings"
	"time"

	"callgate/internal/app/node"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

// Names takes the modules and actions that the rules name.
type Names interface {
	// Mention notes that a module, and perhaps an action of it, is named at a
	// path. It permits something or not.
	Mention(r *node.Reader, path, module, action string, permits bool)
	// IsModule reports whether a module exists.
	IsModule(name string) bool
}

// The levels of the file that are read here.
const (
	Level     = "tools.capabilities"
	levelRule = "tools.capabilities.<list>"
)

// Read reads the block.
func Read(r *node.Reader, e node.Entry, names Names) *policy.Capabilities {
	b := &block{Reader: r, names: names}
	c := &b.rules
	b.Mapping(Level, e, map[string]node.Read{
		"default_policy":          b.TextInto((*string)(&c.DefaultPolicy)),
		"max_risk_level":          b.TextInto((*string)(&c.MaxRisk)),
		"max_data_classification": b.TextInto((*string)(&c.MaxData)),
		"grant":                   b.list(&c.Grant, true),
		"approve":                 b.list(&c.Approve, true),
		"deny":                    b.list(&c.Deny, false),
		"hidden_modules":          b.hiddenModules,
		"hidden_actions":          b.hiddenActions,
		"rate_limits":             b.rateLimits,
		"approval_timeout":        b.approvalTimeout,
	})
	return c
}

type block struct {
	*node.Reader
	names Names
	rules policy.Capabilities
}

// list reads a grant, approve or deny list. A rule that permits something means
// little for a module that is off.
func (b *block) list(to *[]policy.Entry, permits bool) node.Read {
	return func(e node.Entry) {
		if e.IsNull() {
			return // every rule below it is commented out
		}
		for _, in := range b.Items(e, "a list of rules", ruleForm) {
			rule := b.rule(in)
			b.names.Mention(b.Reader, in.Below("module"), rule.Module, "", permits)
			actions := node.Entry{Path: in.Below("actions")}
			for i, action := range rule.Actions {
				b.names.Mention(b.Reader, actions.Item(i), rule.Module, action, permits)
			}
			*to = append(*to, rule)
		}
	}
}

const ruleForm = "write each rule as {module: filesystem, actions: [read]}"

func (b *block) rule(e node.Entry) (rule policy.Entry) {
	if !e.IsMapping() {
		remedy := ruleForm
		if s, ok := e.Plain(); ok {
			if module, action, err := tool.ParseDotted(s); err == nil {
				remedy = fmt.Sprintf("write {module: %s, actions: [%s]}",
					tool.TruncateTo(module, 60), tool.TruncateTo(action, 60))
			}
		}
		b.TypeError(e, "a rule", remedy)
		return rule
	}
	named := false
	b.Mapping(levelRule, e, map[string]node.Read{
		"module": func(in node.Entry) {
			named = true
			b.TextInto(&rule.Module)(in)
		},
		"actions":  b.Texts(&rule.Actions, "name the actions, such as [read], or leave the key out for all of them"),
		"reason":   b.WithoutEnv().TextInto(&rule.Reason),
		"match":    func(in node.Entry) { rule.Match = b.match(in) },
		"examples": func(in node.Entry) { rule.Examples = b.examples(in) },
	})
	if !named {
		b.Fail(e.At, `add module: and its name, or module: "*" for every module`, "%s names no module", e.Name())
	}
	return rule
}

func (b *block) hiddenModules(e node.Entry) {
	b.Texts(&b.rules.HiddenModules, "name the modules, such as [filesystem], or leave the key out")(e)
	for i, name := range b.rules.HiddenModules {
		b.names.Mention(b.Reader, e.Item(i), name, "", false)
	}
}

func (b *block) hiddenActions(e node.Entry) {
	b.Texts(&b.rules.HiddenActions, "name the actions, such as [filesystem.write], or leave the key out")(e)
	for i, name := range b.rules.HiddenActions {
		if module, action, err := tool.ParseDotted(name); err == nil {
			b.names.Mention(b.Reader, e.Item(i), module, action, false)
		}
	}
}

const rateForm = "write how many calls a minute may hold, such as filesystem.write: 30"

func (b *block) rateLimits(e node.Entry) {
	b.rules.RateLimits = make(map[string]int)
	for _, in := range b.Entries(e, rateForm) {
		n, ok := b.Integer(in, rateForm)
		if !ok {
			continue
		}
		b.rules.RateLimits[in.Key] = n
		b.SetPosition(in.Path, in.KeyAt)
		if b.names.IsModule(in.Key) {
			continue // also when its name has a dot
		}
		if module, action, err := tool.ParseDotted(in.Key); err == nil {
			b.names.Mention(b.Reader, in.Path, module, action, false)
		} else {
			b.names.Mention(b.Reader, in.Path, strings.TrimSuffix(in.Key, ".*"), "", false)
		}
	}
}

func (b *block) approvalTimeout(e node.Entry) {
	remedy := fmt.Sprintf("write a number of seconds from %d to %d",
		policy.MinTimeout/time.Second, policy.MaxTimeout/time.Second)
	n, ok := b.Integer(e, remedy)
	if ok && n == 0 { // which policy reads as not given
		b.Fail(e.At, remedy, "%s is 0", e.Name())
	}
	b.rules.ApprovalTimeout = time.Duration(n) * time.Second
}
