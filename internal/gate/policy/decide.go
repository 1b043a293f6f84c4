package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/gate/match"
	"callgate/tool"
)

// Verdict is the outcome of a decision. The zero value permits nothing; code
// that acts on a verdict treats an unknown one as Deny.
type Verdict string

// The verdicts.
const (
	Allow   Verdict = "allow"
	Approve Verdict = "approve" // a human must approve first
	Deny    Verdict = "deny"    // refused, with the reason
	Hide    Verdict = "hide"    // for this caller the tool does not exist
)

// Decision is a verdict with its reason. The caller sees Reason, except under
// Hide: then it is for the journal only, and the caller learns only that there
// is no such tool. Rule is the path in the app file that decided, or the name of
// one of the kernel's own rules.
type Decision struct {
	Verdict Verdict
	Reason  string
	Rule    string
}

// The names of the rules that do not come from a list of the app file.
const (
	ruleDaemon   = "kernel.daemon"
	ruleControl  = "kernel.control"
	ruleInternal = "tool.internal"
	ruleAskFirst = "tool.ask_first"
	ruleNoBlock  = "kernel.no_capabilities"

	ruleServersRead = "kernel.servers_read"
	ruleCeiling     = "tools.capabilities.max_risk_level"
	ruleData        = "tools.capabilities.max_data_classification"
	ruleFallback    = "tools.capabilities.default_policy"
)

// The reasons that go with them.
const (
	reasonAskFirst   = "%s asks a human before each call, whatever the app file grants; wait for the answer"
	reasonNoBlock    = "%s %s and the app file has no tools.capabilities, so a human must approve this call first"
	reasonAboveLevel = "%s is of %s risk, above max_risk_level %s in tools.capabilities; " + reasonPermit
	reasonAboveClass = "%s gives %s data, above max_data_classification %s in tools.capabilities, which no grant passes"
	reasonUnnamed    = "default_policy approve in tools.capabilities: no rule names %s, " +
		"so a human must approve this call first"
	reasonBlocked = "default_policy block in tools.capabilities: no rule names %s; " + reasonPermit
	reasonPermit  = "name it under grant or approve there to permit it"
)

// defaultRules are the kernel's own rules for calls that no rule names.
var defaultRules = []string{ruleNoBlock, ruleEgress, ruleSecret, ruleNarrow}

// IsDefault reports whether no rule that names the tool decided, nor a bound on what tools give.
func (d Decision) IsDefault() bool {
	return d.isBy(ruleFallback) || slices.ContainsFunc(defaultRules, d.isBy)
}

// isBy reports whether a rule decided; whose rules those are may stand before its name.
func (d Decision) isBy(rule string) bool { return strings.HasSuffix(d.Rule, rule) }

// RunsByDefault reports whether a call runs only because an app without rules lets it.
func (d Decision) RunsByDefault() bool { return d.Verdict == Allow && d.isBy(ruleNoBlock) }

// decide decides by the rules of each file that name the tool, and by those about
// arguments that hold for the call being decided.
func decide(r *Rules, t *tool.Tool, p tool.Principal) Decision {
	var buffer [2]ruleSet // avoids an allocation
	sets := r.sets(buffer[:0], t.ID)
	if p.Daemon {
		return decideForDaemon(sets, t)
	}
	if t.Runtime.Internal {
		return Decision{Hide, "it is for the daemon alone", ruleInternal}
	}
	for i := range sets {
		if s := sets[i].found.hidden(t.ID.Name); s != nil {
			return sets[i].decision(Hide, s)
		}
	}
	if d, above := decideByClass(sets, t); above {
		return d
	}
	for _, kind := range []int{denied, approved} {
		if set, s := firstOf(sets, kind); s != nil {
			return set.decision(verdicts[kind], s)
		}
	}
	d := decideByDefault(sets, t)
	if d.Verdict == Allow && t.Runtime.AskFirst {
		return Decision{Approve, fmt.Sprintf(reasonAskFirst, t.ID.Dotted()), ruleAskFirst}
	}
	return d
}

// decideByClass denies a tool whose results may hold data of a higher class than models
// may be given. What the kernel calls by itself, a model may be told of.
func decideByClass(sets []ruleSet, t *tool.Tool) (d Decision, above bool) {
	for i := range sets {
		set := &sets[i]
		if set.data != "" && t.Runtime.Data.Level() > set.data.Level() && !t.Runtime.Control {
			class := cmp.Or(t.Runtime.Data, tool.DataInternal)
			reason := fmt.Sprintf(reasonAboveClass, t.ID.Dotted(), class, set.data)
			return set.decision(Deny, &ruleSource{reason, ruleData}), true
		}
	}
	return d, false
}

// decideForDaemon decides the kernel's own calls.
func decideForDaemon(sets []ruleSet, t *tool.Tool) Decision {
	if d, above := decideByClass(sets, t); above {
		return d
	}
	if set, s := firstOf(sets, denied); s != nil {
		return set.decision(Deny, s)
	}
	_, a := firstOf(sets, approved)
	_, g := firstOf(sets, granted)
	set := strictest(sets)
	if set != nil && set.fallback == Block && !t.Runtime.Control && a == nil && g == nil {
		return set.decision(Deny, &ruleSource{fmt.Sprintf(reasonBlocked, t.ID.Dotted()), ruleFallback})
	}
	return Decision{Allow, "no deny rule names this call of the kernel's own", ruleDaemon}
}

// decideByDefault decides a tool that no deny or approve rule names: by a grant,
// then as one of the kernel's own tools, then by the ceiling and the default
// policy.
func decideByDefault(sets []ruleSet, t *tool.Tool) Decision {
	var pending *Decision // by a grant that nobody accepted
	for i := range sets {
		set := &sets[i]
		s := set.found.first(granted)
		if s == nil {
			continue
		}
		d := set.decision(Allow, s)
		if set.accepted(t.ID, &set.found) {
			return d
		}
		pending = &d
	}
	d := decideUnnamed(sets, t)
	if pending != nil && d.Verdict != Allow {
		return decideAtFloor(sets, t, *pending)
	}
	return d
}

// decideUnnamed decides a tool that no rule names.
func decideUnnamed(sets []ruleSet, t *tool.Tool) Decision {
	if t.Runtime.Control {
		return Decision{Allow, "one of the kernel's own tools", ruleControl}
	}
	level := t.Runtime.Risk.Level()
	for i := range sets {
		if set := &sets[i]; set.block && level > set.ceiling {
			reason := fmt.Sprintf(reasonAboveLevel, t.ID.Dotted(), riskName(level), riskName(set.ceiling))
			return set.decision(Deny, &ruleSource{reason, ruleCeiling})
		}
	}
	set, call := strictest(sets), decidedCall(sets)
	if set == nil {
		return narrowed(decideWithoutRules(t, call), sets, t)
	}
	switch set.fallback {
	case Auto:
		d := set.decision(Allow, &ruleSource{"default_policy auto in tools.capabilities", ruleFallback})
		if set.pending[auto] {
			return decideAtFloor(sets, t, d)
		}
		return d
	case Ask:
		asked, asks := asksAbout(t, call)
		if isServersRead(t) && !asks {
			d := Decision{Allow, "a low-risk read of a server that a human accepted", ruleServersRead}
			return narrowed(d, sets, t)
		}
		if !asks || call == nil {
			asked.Reason = fmt.Sprintf(reasonUnnamed, t.ID.Dotted())
		}
		return set.decision(Approve, &ruleSource{asked.Reason, ruleFallback})
	default:
		return set.decision(Deny, &ruleSource{fmt.Sprintf(reasonBlocked, t.ID.Dotted()), ruleFallback})
	}
}

// isServersRead reports whether a tool is a low-risk read of an MCP server. A human
// accepted that server, and its definition of the tool.
func isServersRead(t *tool.Tool) bool {
	return strings.HasPrefix(t.ID.Namespace, "mcp_") && t.Runtime.Risk == tool.Low && t.Runtime.SideEffect == tool.Read
}

// decidedCall returns the call that is being decided, or nil.
func decidedCall(sets []ruleSet) *match.Call {
	for i := range sets {
		if c := sets[i].call; c != nil {
			return c.Call
		}
	}
	return nil
}

// narrowed has a human asked about a call that would run by default, though a person
// granted its tool with other arguments only.
func narrowed(d Decision, sets []ruleSet, t *tool.Tool) Decision {
	if d.Verdict != Allow || !narrows(sets, t) {
		return d
	}
	return Decision{Approve, fmt.Sprintf(reasonNarrow, t.ID.Dotted()), ruleNarrow}
}

// decideWithoutRules decides for an app without a capabilities block. call is nil while
// the arguments are not known.
func decideWithoutRules(t *tool.Tool, call *match.Call) Decision {
	if d, asks := asksAbout(t, call); asks {
		return d
	}
	switch t.Runtime.Risk.Level() {
	case 1:
		return Decision{Allow, "low risk", ruleNoBlock}
	case 2:
		switch t.Runtime.SideEffect {
		case tool.None, tool.Read, tool.Write, "":
			return Decision{Allow, "medium risk inside the workspace", ruleNoBlock}
		}
		return Decision{Approve, fmt.Sprintf(reasonNoBlock, t.ID.Dotted(), "reaches past the workspace"), ruleNoBlock}
	default:
		return Decision{Approve, fmt.Sprintf(reasonNoBlock, t.ID.Dotted(), "is of high risk"), ruleNoBlock}
	}
}

// riskName returns a risk level in the words of the app file.
func riskName(level int) tool.Risk {
	switch level {
	case 1:
		return tool.Low
	case 2:
		return tool.Medium
	default:
		return tool.High
	}
}
