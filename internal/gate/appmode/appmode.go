// Package appmode is the mode of its app in which a session works: which of the tools
// that it has stay as long as the mode lasts.
//
// # Law
//
//   - A mode takes away and never gives: what it leaves is judged by the rules as
//     without it. The kernel's own tools stay in every mode, and what they call is
//     judged by itself; so are the kernel's own calls.
//   - It is another thing than the permission mode (internal/gate/permission), which
//     says what a call that is there does without asking.
//   - Only a human changes it to one that leaves more: internal/kernel/permissions. It
//     changes between turns, and never within one.
package appmode

import (
	"slices"
	"sync/atomic"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

// Mode is what a mode leaves of a session's tools.
type Mode struct {
	Name string              // "": the app has none
	Only map[string][]string // actions by module, none for all of a module's; nil: all tools
}

// Current is the mode that a session is in. Nil is none, as is the zero value.
type Current struct{ mode atomic.Pointer[Mode] }

// Set changes the mode.
func (c *Current) Set(m Mode) { c.mode.Store(&m) }

// Get returns the mode.
func (c *Current) Get() Mode {
	if c == nil || c.mode.Load() == nil {
		return Mode{}
	}
	return *c.mode.Load()
}

// Takes returns the decision about a tool that the mode takes away; false: it leaves it.
func (c *Current) Takes(t *tool.Tool, p tool.Principal) (policy.Decision, bool) {
	m := c.Get()
	if t.Runtime.Control || p.Daemon || Gives(m.Only, t.ID.Namespace, t.ID.Name) {
		return policy.Decision{}, false
	}
	return policy.Decision{
		Verdict: policy.Hide, Rule: "runtime.modes." + m.Name,
		Reason: "the mode " + m.Name + " does not give " + t.ID.Dotted(),
	}, true
}

// Gives reports whether a limit leaves an action of a module. Nil is no limit.
func Gives(only map[string][]string, module, action string) bool {
	actions, listed := only[module]
	return only == nil || listed && (len(actions) == 0 || slices.Contains(actions, action))
}

// Within reports whether one limit leaves nothing that another does not.
func Within(only, other map[string][]string) bool {
	if other == nil {
		return true
	}
	if only == nil {
		return false
	}
	for module, actions := range only {
		others, listed := other[module]
		switch {
		case !listed:
			return false
		case len(others) == 0:
		case len(actions) == 0:
			return false
		case slices.ContainsFunc(actions, func(a string) bool { return !slices.Contains(others, a) }):
			return false
		}
	}
	return true
}

// Intersect returns what two limits leave together. Nil is no limit.
func Intersect(a, b map[string][]string) map[string][]string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := map[string][]string{}
	for module, actions := range a {
		others, listed := b[module]
		switch {
		case !listed:
		case len(actions) == 0:
			both[module] = others
		case len(others) == 0:
			both[module] = actions
		default:
			missing := func(action string) bool { return !slices.Contains(others, action) }
			if common := slices.DeleteFunc(slices.Clone(actions), missing); len(common) > 0 {
				both[module] = common
			}
		}
	}
	return both
}
