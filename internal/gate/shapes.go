package gate

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"callgate/internal/gate/autorun"
	"callgate/internal/gate/match"
	"callgate/internal/gate/policy"
)

// The kernel's own rules about what calls look like.
const (
	ruleAutorun = "kernel.autorun"
	ruleReading = "kernel.reading_commands"
)

// protectShapes has a human asked about a file that programs load or run by themselves, which
// a call would change only because no rule speaks of it. Who opens an editor or runs make
// would run it before anybody looked.
func protectShapes(_ context.Context, c *callState) error {
	if !c.decision.RunsByDefault() {
		return nil
	}
	for _, claim := range c.claims {
		path, isFile := strings.CutPrefix(claim.Resource, "file:")
		if !isFile || !claim.Mode.Writes() {
			continue
		}
		rel, err := filepath.Rel(c.caller.place.Workspace, filepath.FromSlash(path))
		if err != nil || rel == "." {
			continue
		}
		if why := autorun.Reason(filepath.ToSlash(rel)); why != "" {
			reason := fmt.Sprintf("%s changes %s, which is %s, so a human must approve this call first",
				c.tool.ID.Dotted(), filepath.ToSlash(rel), why)
			c.decision = policy.Decision{Verdict: policy.Approve, Rule: ruleAutorun, Reason: reason}
			return nil
		}
	}
	return nil
}

// applyReading lets a command of the shell run that only reads inside the workspace, where no
// rule says that a human is asked about commands.
func applyReading(_ context.Context, c *callState) error {
	if c.request == nil && !c.call.Principal.Daemon && c.mayLast() && c.asksByDefault() && c.onlyReads() {
		c.decision = policy.Decision{
			Verdict: policy.Allow, Rule: ruleReading, Reason: "a command that only reads inside the workspace",
		}
		c.byArguments = true
	}
	return nil
}

// onlyReads reports whether the call is a command of the shell that only reads inside the
// workspace, and nothing that the tool filesystem.read would have to ask about.
func (c *callState) onlyReads() bool {
	if c.tool.ID.Namespace != "shell" || c.tool.ID.Name != "bash" {
		return false
	}
	call, err := c.matchCall()
	if err != nil {
		return false
	}
	read, ok := call.Reads()
	return ok && c.mayRead(read)
}

// asksByDefault reports whether a human is asked only because no rule names the tool, neither
// of the caller nor of whom it works for.
func (c *callState) asksByDefault() bool {
	if !c.decision.IsDefault() {
		return false
	}
	within := c.caller.rules.Within
	if within == nil {
		return true
	}
	d := within.Decide(c.tool)
	return d.Verdict == policy.Allow || d.IsDefault()
}

// mayRead reports whether the tool for reading files may read all of these without asking.
func (c *callState) mayRead(read *match.Call) bool {
	t, ok := c.view.Latest("filesystem.read")
	if !ok {
		return true
	}
	for _, path := range read.Paths["path"] {
		on := match.Of(t.ID, read.Workspace, map[string]string{"path": path})
		on.Folders[path], on.Entries = read.Folders[path], read.Entries
		d := c.caller.DecideCall(t, on)
		if d.Verdict != policy.Allow && d.Verdict != policy.Approve || d.IsDenyInDoubt() ||
			strings.Contains(d.Rule, "tools.capabilities.approve[") {
			return false
		}
	}
	return true
}
