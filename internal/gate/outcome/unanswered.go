package outcome

import (
	"callgate/internal/gate/binding"
	"callgate/tool"
)

// Unanswered makes a handler's error in doubt what its asker is told: that nothing was
// changed, where the tool only reads, and else what to look at. A control tool repeats
// what the call that it made was told.
func Unanswered(of *tool.Runtime, claims []tool.Claim, e *tool.Error) *tool.Error {
	if e.Kind != tool.InDoubt || of.Control {
		return e
	}
	out := *e
	if !of.SideEffect.Durable() {
		out.Kind, out.Hint = tool.Unavailable, "it only reads, so nothing was changed; try again"
		return &out
	}
	if out.Hint == "" {
		out.Hint = "it may or may not have happened: look before you repeat it"
	}
	if changed := binding.Changed(claims); changed != "" {
		out.Hint += "; look at " + changed
	}
	return &out
}
