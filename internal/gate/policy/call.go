package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/gate/match"
	"callgate/tool"
)

// Examples show which calls a rule with a match is about. They are checked when
// the rules are compiled. Each is the arguments of a call, or the text of its
// command.
type Examples struct {
	Match, NotMatch []any
}

// matchedRule is a rule about calls with some arguments.
type matchedRule struct {
	kind    int
	pattern *match.Pattern
	source  *ruleSource
}

// judgedCall is a call that is being decided.
type judgedCall struct {
	*match.Call
	// strict says that nobody can be asked, so that what may be denied is.
	strict bool
}

const (
	ruleMatch     = "tools.capabilities.match"
	reasonSome    = "rules in tools.capabilities permit %s with some arguments"
	reasonNoFit   = " (no rule with a match fits its arguments)"
	reasonInDoubt = "it cannot be told whether this holds for the call, so a human must approve it: "
)

// Decide decides whether p may call t under r, with arguments that are not known
// yet. Nil rules are those of an app without capabilities.
func Decide(r *Rules, t *tool.Tool, p tool.Principal) Decision {
	d := decide(r, t, p)
	if d.Verdict == Deny && r.permitsSome(t.ID) && !r.deniesAll(t.ID) {
		return Decision{Approve, fmt.Sprintf(reasonSome, t.ID.Dotted()), ruleMatch}
	}
	return d
}

// HasMatch reports whether a rule that names the tool is about some arguments
// only, so that a call of it is decided by DecideCall.
func (r *Rules) HasMatch(id tool.ID) bool {
	return r.anyMatched(id, func(matchedRule) bool { return true })
}

// JudgesArguments reports whether the decision about a call of a tool depends on its
// arguments, by a rule with a match or by the defaults.
func (r *Rules) JudgesArguments(t *tool.Tool, call *match.Call) bool {
	return judgesArguments(t, call) || r.HasMatch(t.ID)
}

// DecideCall decides whether p may make one call of t under r.
func DecideCall(r *Rules, t *tool.Tool, p tool.Principal, call *match.Call) Decision {
	if !r.JudgesArguments(t, call) {
		return decide(r, t, p)
	}
	judged := &judgedCall{call, p.Daemon}
	var resolved Rules
	if r != nil {
		resolved = *r
	}
	resolved.call = judged
	if resolved.user != nil {
		own := *resolved.user
		own.call, resolved.user = judged, &own
	}
	d := decide(&resolved, t, p)
	if d.Verdict != Allow && strings.HasSuffix(d.Rule, ruleFallback) && r.permitsSome(t.ID) {
		d.Reason += reasonNoFit
	}
	return d
}

// IsDenyInDoubt reports whether a human is asked because it cannot be told whether
// a deny rule holds for the call.
func (d Decision) IsDenyInDoubt() bool {
	return d.Verdict == Approve && strings.Contains(d.Rule, "tools.capabilities.deny[")
}

// OrStricter returns what a rule says of a part of a call, if that is stricter than what
// was decided of the whole. What merely no rule names is no part's to decide, but for a
// secret that would be given another name.
func (d Decision) OrStricter(part Decision) Decision {
	rank := func(v Verdict) int {
		switch v {
		case Allow:
			return 0
		case Approve:
			return 1
		default:
			return 2
		}
	}
	byRule := strings.Contains(part.Rule, "tools.capabilities.deny[") ||
		strings.Contains(part.Rule, "tools.capabilities.approve[")
	if d.RunsByDefault() && part.isBy(ruleSecret) {
		return part
	}
	if byRule && (rank(part.Verdict) > rank(d.Verdict) || part.IsDenyInDoubt() && d.Verdict == Approve) {
		return part
	}
	return d
}

// anyMatched reports whether a rule about some arguments, of either file, names the
// tool and holds.
func (r *Rules) anyMatched(id tool.ID, holds func(matchedRule) bool) bool {
	if r == nil {
		return false
	}
	m := r.lookup(id)
	for _, c := range m.rules {
		if c != nil && slices.ContainsFunc(c.matched, holds) {
			return true
		}
	}
	return r.user.anyMatched(id, holds)
}

// permitsSome reports whether a rule permits the tool with some arguments.
func (r *Rules) permitsSome(id tool.ID) bool {
	return r.anyMatched(id, func(rule matchedRule) bool { return rule.kind != denied })
}

// deniesAll reports whether a rule of either file denies the tool with any arguments.
func (r *Rules) deniesAll(id tool.ID) bool {
	if r == nil {
		return false
	}
	m := r.lookup(id)
	return m.first(denied) != nil || r.user.deniesAll(id)
}

// judge finds the rules about some arguments that hold for a call. Pending are the
// grants that nobody accepted.
func (m *matches) judge(call *judgedCall, pending map[place]bool, id tool.ID) {
	var accepted, all grantSet
	for i, at := range placesOf(id) {
		c := m.rules[i]
		if c == nil {
			continue
		}
		for _, rule := range c.matched {
			if rule.kind != granted {
				m.forbid(rule, call)
				continue
			}
			all.add(rule)
			if at.match = rule.pattern.String(); !pending[at] {
				accepted.add(rule)
			}
		}
	}
	if m.fitting[granted] = accepted.fits(call); m.fitting[granted] == nil && len(pending) > 0 {
		m.fitting[granted] = all.fits(call)
		m.unaccepted = m.fitting[granted] != nil
	}
}

// grantSet are grants with a match, which together may let a call run: each part of
// a command by another one.
type grantSet struct {
	patterns match.Set
	sources  []*ruleSource
}

func (s *grantSet) add(rule matchedRule) {
	s.patterns.Add(rule.pattern)
	s.sources = append(s.sources, rule.source)
}

// fits returns the source of the first grant by which a call may run, or nil.
func (s *grantSet) fits(call *judgedCall) *ruleSource {
	if s.patterns.Len() == 0 {
		return nil
	}
	if numbers, ok := s.patterns.Fits(call.Call); ok {
		return s.sources[numbers[0]]
	}
	return nil
}

// forbid notes a deny or an approve rule that holds for a call, or may hold.
func (m *matches) forbid(rule matchedRule, call *judgedCall) {
	answer := rule.pattern.Touches(call.Call)
	if answer == match.No {
		return
	}
	kind, source := rule.kind, rule.source
	if answer == match.Unsure && kind == denied && !call.strict {
		kind, source = approved, &ruleSource{reasonInDoubt + source.reason, source.rule}
		m.doubted = source
	}
	if m.fitting[kind] == nil {
		m.fitting[kind] = source
	}
}

// addMatched adds a rule about some arguments.
func (b *builder) addMatched(module, action string, rule matchedRule) {
	r := b.ruleFor(module, action)
	r.matched = append(r.matched, rule)
}

// withMatch says in a reason which arguments a rule is about.
func withMatch(p *match.Pattern) string {
	if p == nil {
		return ""
	}
	return " with " + tool.TruncateTo(p.String(), 120)
}

const matchForm = `parameters and what they must be, such as {path: "src/**"} or {command: git log *}`

// pattern compiles the match of an entry and checks its examples. It returns nil
// for an entry without one.
func (b *builder) pattern(path string, kind int, e Entry) *match.Pattern {
	if e.Match == nil {
		if len(e.Examples.Match)+len(e.Examples.NotMatch) > 0 {
			b.fail(path+".examples", "without match", "match beside it; without one a rule is about every call")
		}
		return nil
	}
	path += ".match"
	if len(e.Match) == 0 {
		b.fail(path, "empty", matchForm)
		return nil
	}
	p, err := match.Compile(e.Match)
	var mistake *match.Error
	switch {
	case errors.As(err, &mistake):
		b.fail(path+"."+mistake.Path, mistake.Got, mistake.Want)
		return nil
	case err != nil:
		b.fail(path, err.Error(), matchForm)
		return nil
	}
	path = strings.TrimSuffix(path, "match") + "examples"
	b.examples(path+".match", kind, e, p, e.Examples.Match, true)
	b.examples(path+".not_match", kind, e, p, e.Examples.NotMatch, false)
	return p
}

// examples checks that each example fits, or does not.
func (b *builder) examples(path string, kind int, e Entry, p *match.Pattern, list []any, want bool) {
	for i, example := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		call := &match.Call{Module: e.Module, Workspace: "/", Disk: &match.Disk{Imagined: true}}
		switch example := example.(type) {
		case string:
			call.Args = map[string]any{"command": example}
		case map[string]any:
			call.Args = example
		default:
			b.fail(at, fmt.Sprint(example), `the arguments of a call, such as {path: src/a.go}, or the text of its command`)
			continue
		}
		got := p.Fits(call)
		if kind != granted {
			got = p.Touches(call) != match.No
		}
		if got == want {
			continue
		}
		if want {
			b.fail(at, "an example that does not fit", fmt.Sprintf("one that fits %s, or mend match: %s", p, p.Why(call)))
		} else {
			b.fail(at, "an example that fits", fmt.Sprintf("one that does not fit %s, or mend match", p))
		}
	}
}
