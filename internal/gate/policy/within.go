package policy

import (
	"callgate/internal/gate/match"
	"callgate/tool"
)

// Narrower decides about the calls of somebody who works for somebody else. It is asked
// with every call, and only narrows: see [Stricter].
type Narrower interface {
	Decide(t *tool.Tool) Decision
	DecideCall(t *tool.Tool, call *match.Call) Decision
	// AsDaemon decides about the kernel's own calls for that somebody.
	AsDaemon() Narrower
}

// AsDaemon returns what a Narrower is for the kernel's own calls; nil stays nil.
func AsDaemon(n Narrower) Narrower {
	if n == nil {
		return nil
	}
	return n.AsDaemon()
}

// Look has a Narrower look whether what it decides by has changed, where that can change.
func Look(n Narrower) {
	if l, ok := n.(interface{ Look() }); ok {
		l.Look()
	}
}

// Rated is a Narrower whose rate limits hold too. take counts a call against rules.
type Rated interface {
	TakeRate(t *tool.Tool, take func(*Rules, *tool.Tool, tool.Principal) error) error
}

// Within returns the stricter of a decision and of what a Narrower says of the same tool,
// or of one call of it; a nil Narrower says nothing.
func Within(n Narrower, d Decision, t *tool.Tool, call *match.Call) Decision {
	switch {
	case n == nil:
		return d
	case call == nil:
		return Stricter(d, n.Decide(t))
	}
	return Stricter(d, n.DecideCall(t, call))
}

// Stricter returns the stricter of two decisions, the first where they are alike: hide,
// deny, approve, allow. An unknown verdict is a deny. Of two that ask, the one by a rule is
// stricter than the one by default, because less turns it into allow, and a deny rule that
// may hold is the strictest; of two that allow, the default is stricter than a rule.
func Stricter(a, b Decision) Decision {
	if b.strictness() > a.strictness() {
		return b
	}
	return a
}

func (d Decision) strictness() int {
	switch {
	case d.Verdict == Allow && !d.RunsByDefault():
		return 0
	case d.Verdict == Allow:
		return 1
	case d.Verdict == Approve && d.IsDefault():
		return 2
	case d.IsDenyInDoubt():
		return 4
	case d.Verdict == Approve:
		return 3
	case d.Verdict == Hide:
		return 6
	}
	return 5
}
