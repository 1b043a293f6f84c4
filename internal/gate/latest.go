package gate

import (
	"slices"

	"callgate/internal/gate/policy"
	"callgate/internal/gate/rulefiles"
	"callgate/tool"
)

// Latest tells what the app files of a caller say now. A caller has the rules that it
// was made with, and of each call the stricter decision counts: theirs, or that of the
// files as they are when the call is made. So a change that takes something away counts
// at the next call, and one that gives more waits until the caller is made anew.
type Latest interface {
	// Look compares the files with what was read of them, and reads those that changed.
	Look()
	// Newest returns what the last look found; nil: the files say what the caller has.
	Newest() *Newest
}

// Newest is what changed app files say. It never changes.
type Newest struct {
	// Problem says why the files as they are do not count: they cannot be read, or
	// have a mistake. Rules are then those of the last files that could be used.
	Problem string
	Rules   *Rules  // of them Policy, Off, Only and Profile count; nil: only the caller's own count
	Modules Modules // the narrower of the caller's and of what the files say
	Limits  *policy.Rules
	Relaxed bool
	Hooks   Hooks // the caller's, with what guards calls now; nil: the caller's
	// RuleFiles hold rules beside those that held them before.
	RuleFiles []string
	// Tell reports true once for each session: the next answer says what Problem says.
	Tell func() bool
}

const (
	changedRule   = "changed since: "
	changedReason = " (an app file was changed after this session began; what it takes away counts at once)"
)

// newest is what the caller's files say now; nil: what the caller has.
func (c *Caller) newest() *Newest {
	switch {
	case c.pinned:
		return c.now
	case c.rules.Latest == nil:
		return nil
	}
	return c.rules.Latest.Newest()
}

// Look looks whether the caller's files, and those of whom it works for, have changed.
func (c *Caller) Look() {
	if c.rules.Latest != nil {
		c.rules.Latest.Look()
	}
	policy.Look(c.rules.Within)
}

// atCall is the caller of one call: the files are looked at, and what they say now
// counts for the whole call.
func (c *Caller) atCall() *Caller {
	c.Look()
	if c.rules.Latest == nil {
		return c
	}
	now := c.rules.Latest.Newest()
	if now == nil && !c.pinned {
		return c
	}
	pinned := *c
	pinned.now, pinned.pinned = now, true
	return &pinned
}

// narrowed returns the newest rules, where there are some to ask beside the caller's own.
func (c *Caller) narrowed() *Newest {
	if n := c.newest(); n != nil && n.Rules != nil {
		return n
	}
	return nil
}

// mods is what the app files say of modules.
func (c *Caller) mods() *Modules {
	if n := c.narrowed(); n != nil {
		return &n.Modules
	}
	return &c.modules
}

// stricter returns the stricter of a decision and of what the newest rules say.
func (c *Caller) stricter(d policy.Decision, ask func(*Rules) policy.Decision) policy.Decision {
	n := c.narrowed()
	if n == nil {
		return d
	}
	now := ask(n.Rules)
	now.Rule, now.Reason = changedRule+now.Rule, now.Reason+changedReason
	return policy.Stricter(d, now)
}

// judgesArguments reports whether the decision about a call of a tool depends on its arguments.
func (c *Caller) judgesArguments(t *tool.Tool) bool {
	n := c.narrowed()
	return c.rules.Policy.JudgesArguments(t, nil) || n != nil && n.Rules.Policy.JudgesArguments(t, nil)
}

// RuleOf returns what the rules of the app files say of a tool, whatever else the caller
// is not given.
func (c *Caller) RuleOf(t *tool.Tool, p tool.Principal) policy.Decision {
	return c.stricter(policy.Decide(c.rules.Policy, t, p), func(r *Rules) policy.Decision {
		return policy.Decide(r.Policy, t, p)
	})
}

// RateRules are the rules whose rate limits count.
func (c *Caller) RateRules() *policy.Rules {
	if n := c.narrowed(); n != nil {
		return n.Limits
	}
	return c.rules.Policy
}

func (c *Caller) ruleFiles() rulefiles.Set {
	set := c.place.rules()
	if n := c.narrowed(); n != nil {
		set.Files = slices.Concat(set.Files, n.RuleFiles)
	}
	return set
}

// relaxed reports whether processes run where the sandbox cannot be complete.
func (c *Caller) relaxed() bool {
	n := c.narrowed()
	return c.place.Relaxed && (n == nil || n.Relaxed)
}

// problem is what the call's answer says of app files that cannot be used.
func (c *Caller) problem() []string {
	n := c.newest()
	if n == nil || n.Problem == "" || n.Tell == nil || !n.Tell() {
		return nil
	}
	return []string{n.Problem}
}
