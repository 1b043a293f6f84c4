package policy

import (
	"fmt"

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
	ruleCeiling  = "tools.capabilities.max_risk_level"
	ruleFallback = "tools.capabilities.default_policy"
)

// The reasons that go with them.
const (
	reasonAskFirst   = "%s asks a human before each call, whatever the app file grants; wait for the answer"
	reasonNoBlock    = "%s %s and the app file has no tools.capabilities, so a human must approve this call first"
	reasonAboveLevel = "%s is of %s risk, above max_risk_level %s in tools.capabilities; " + reasonPermit
	reasonUnnamed    = "default_policy approve in tools.capabilities: no rule names %s, " +
		"so a human must approve this call first"
	reasonBlocked = "default_policy block in tools.capabilities: no rule names %s; " + reasonPermit
	reasonPermit  = "name it under grant or approve there to permit it"
)

// decide decides by the rules that name the tool, and by those about arguments
// that hold for the call being decided.
func decide(r *Rules, t *tool.Tool, p tool.Principal) Decision {
	var none Rules
	if r == nil {
		r = &none
	}
	found := r.lookup(t.ID)
	if p.Daemon {
		return r.decideForDaemon(t, &found)
	}
	if t.Runtime.Internal {
		return Decision{Hide, "it is for the daemon alone", ruleInternal}
	}
	if s := found.hidden(t.ID.Name); s != nil {
		return Decision{Hide, s.reason, s.rule}
	}
	if s := found.first(denied); s != nil {
		return Decision{Deny, s.reason, s.rule}
	}
	if s := found.first(approved); s != nil {
		return Decision{Approve, s.reason, s.rule}
	}
	d := r.decideByDefault(t, &found)
	if d.Verdict == Allow && t.Runtime.AskFirst {
		return Decision{Approve, fmt.Sprintf(reasonAskFirst, t.ID.Dotted()), ruleAskFirst}
	}
	return d
}

// decideForDaemon decides the kernel's own calls.
func (r *Rules) decideForDaemon(t *tool.Tool, found *matches) Decision {
	if s := found.first(denied); s != nil {
		return Decision{Deny, s.reason, s.rule}
	}
	named := found.first(approved) != nil || found.first(granted) != nil
	if r.block && r.fallback == Block && !t.Runtime.Control && !named {
		return Decision{Deny, fmt.Sprintf(reasonBlocked, t.ID.Dotted()), ruleFallback}
	}
	return Decision{Allow, "no deny rule names this call of the kernel's own", ruleDaemon}
}

// decideByDefault decides a tool that no deny or approve rule names: by a grant,
// then as one of the kernel's own tools, then by the ceiling and the default
// policy.
func (r *Rules) decideByDefault(t *tool.Tool, found *matches) Decision {
	s := found.first(granted)
	if s != nil && r.accepted(t.ID, found) {
		return Decision{Allow, s.reason, s.rule}
	}
	if s == nil {
		s = found.unaccepted
	}
	d := r.decideUnnamed(t)
	if s != nil && d.Verdict != Allow {
		return decideAtFloor(t, Decision{Allow, s.reason, s.rule})
	}
	return d
}

// decideUnnamed decides a tool that no rule names.
func (r *Rules) decideUnnamed(t *tool.Tool) Decision {
	if t.Runtime.Control {
		return Decision{Allow, "one of the kernel's own tools", ruleControl}
	}
	if !r.block {
		return decideWithoutRules(t)
	}
	if level := t.Runtime.Risk.Level(); level > r.ceiling {
		reason := fmt.Sprintf(reasonAboveLevel, t.ID.Dotted(), riskName(level), riskName(r.ceiling))
		return Decision{Deny, reason, ruleCeiling}
	}
	switch r.fallback {
	case Auto:
		d := Decision{Allow, "default_policy auto in tools.capabilities", ruleFallback}
		if r.pending[auto] {
			return decideAtFloor(t, d)
		}
		return d
	case Ask:
		return Decision{Approve, fmt.Sprintf(reasonUnnamed, t.ID.Dotted()), ruleFallback}
	default:
		return Decision{Deny, fmt.Sprintf(reasonBlocked, t.ID.Dotted()), ruleFallback}
	}
}

// decideWithoutRules decides for an app without a capabilities block.
func decideWithoutRules(t *tool.Tool) Decision {
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
