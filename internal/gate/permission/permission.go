// Package permission is what a session may do without asking, beside what the rules
// say: its permission mode, and the calls that a human allowed for as long as it lasts.
//
// # Law
//
//   - A mode and an allowed call turn approve into allow, and nothing else: what is
//     denied stays denied, and what is hidden stays hidden. Neither covers a call that
//     changes the rules of agents, one that a deny rule may be about, a tool that asks
//     first by itself, or a call of the kernel's own.
//   - Ask is as the rules say. AcceptEdits allows the changes of files that the module
//     filesystem makes inside the workspace, but for deleting, for what the rules deny to
//     write or to edit, for what other programs run by themselves (runsUnasked), and for
//     another name of a file that is named like a secret; and
//     commands that only read there, no other. Plan refuses what changes anything, also
//     what the rules allow.
//   - Where nobody would answer (Unattended), what needs a human is refused at once,
//     unless nobody waits for it either: then it waits until somebody comes. The
//     request is on record all the same, with its answer.
//   - They are for one session and end with it. The core lane of an agent has those of
//     the conversation that it works for; if it outlives that, Plan still counts for it.
//   - An agent that works for another has at most that one's mode, and none of the calls
//     that were allowed there.
//   - What is allowed for a script is for the calls of that script, and ends with it.
//   - Who may loosen them is the authority's to say: internal/kernel/permissions.
//   - A call that runs by one says so in the journal, with who set it.
//   - A change counts for the next call, and for the requests that wait: those that it
//     decides are answered by it.
package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/gate/lasting"
	"callgate/internal/gate/match"
	"callgate/internal/module/filesystem/patchfile"
	"callgate/tool"
)

// Mode is what a session does about calls that change something.
type Mode string

// The modes. The zero value is Ask.
const (
	Ask         Mode = "ask"          // as the rules say
	AcceptEdits Mode = "accept-edits" // changes of files inside the workspace are not asked about
	Plan        Mode = "plan"         // nothing that changes anything runs
)

// Modes are all modes, the strictest first.
func Modes() []Mode { return []Mode{Plan, Ask, AcceptEdits} }

// ParseMode reads the name of a mode; empty is Ask.
func ParseMode(name string) (Mode, error) {
	if name == "" {
		return Ask, nil
	}
	if m := Mode(name); slices.Contains(Modes(), m) {
		return m, nil
	}
	return "", tool.Errorf("permission.ParseMode", tool.Invalid, "there is no permission mode %q", tool.Truncate(name)).
		WithHint("the modes are ask, accept-edits and plan")
}

// PlanError refuses a call in plan mode.
func PlanError(name string) *tool.Error {
	why, hint, _ := strings.Cut(toldPlan, "; ")
	return tool.Errorf("gate.applyPermissions", tool.Denied, "%s was not run: %s", name, why).WithHint("%s", hint)
}

// State is the permissions of a session.
type State struct {
	Mode  Mode
	Allow []Entry
	By    string // who set the mode
	Human bool   // the mode was set with a human's authority
	// Unattended says that nobody answers what the session asks.
	Unattended bool
}

// Loosens reports whether a session may do more by the next state than by this one.
// Plan that nobody with a human's authority set may be left for what the rules say.
func (s State) Loosens(next State) bool {
	rank := func(m Mode) int { return slices.Index(Modes(), m) }
	from, to := rank(s.mode()), rank(next.mode())
	if s.mode() == Plan && !s.Human {
		from = rank(Ask)
	}
	return to > from || slices.ContainsFunc(next.Allow, func(e Entry) bool {
		return !slices.ContainsFunc(s.Allow, e.same)
	})
}

func (s State) mode() Mode {
	if s.Mode == "" {
		return Ask
	}
	return s.Mode
}

// Entry is calls of one tool that a human allowed for a session.
type Entry struct {
	Tool    string // dotted
	Text    string // what of it, as a human reads it
	By      string // who allowed it
	pattern *match.Pattern
}

func (e Entry) String() string { return e.Tool + ": " + e.Text }

func (e Entry) same(o Entry) bool {
	return e.Tool == o.Tool && e.pattern.String() == o.pattern.String()
}

// Call is a call that is decided about. It is for one goroutine.
type Call struct {
	Tool   *tool.Tool
	Claims []tool.Claim
	// Match is the call as patterns see it; nil: none can be compared with it.
	Match *lasting.Call
	// MayAllow says that the rules ask a human, and that a yes may be given for more
	// than this one call.
	MayAllow bool
	// Script is the script that makes the call; empty: none does.
	Script string
	// Deferred says that nobody waits for its result, so that it can wait for a human.
	Deferred bool
	// Denies says that a rule denies an action of the tool's module on a canonical path,
	// or may; nil: none does.
	Denies func(action, path string) bool
	Reads  bool // it is a command that only reads inside the workspace
	Secret bool // it reads a file that is named like a secret, or gives it another name
}

// Verdict is what permissions say of a call.
type Verdict int

// The verdicts.
const (
	Nothing Verdict = iota // the rules decide
	Allow                  // it runs without asking
	Refuse                 // it does not run
)

// Decision is a verdict with its reason, for the journal and the human.
type Decision struct {
	Verdict Verdict
	Rule    string
	Reason  string
	Told    string // what the asker of a refused call is told
}

// permissions is a state, ready to decide. It never changes.
type permissions struct {
	State
	sets map[string]*entrySet // by the tool's dotted name
}

type entrySet struct {
	set     match.Set
	entries []Entry
}

func newPermissions(s State) *permissions {
	p := &permissions{State: s, sets: map[string]*entrySet{}}
	for _, e := range s.Allow {
		set := p.sets[e.Tool]
		if set == nil {
			set = &entrySet{}
			p.sets[e.Tool] = set
		}
		set.set.Add(e.pattern)
		set.entries = append(set.entries, e)
	}
	return p
}

func (p *permissions) decide(c *Call) Decision {
	switch {
	case p == nil:
		return Decision{}
	case p.Mode == Plan:
		if c.Tool.Runtime.Control || !c.Tool.Runtime.SideEffect.Durable() {
			return Decision{}
		}
		const rule = "permission mode plan"
		return Decision{Refuse, rule, rule + setBy(p.By) + ": nothing that changes anything runs", toldPlan}
	case !c.MayAllow:
		return Decision{}
	case p.Mode == AcceptEdits && isEdit(c):
		const rule = "permission mode accept-edits"
		return Decision{Verdict: Allow, Rule: rule, Reason: rule + setBy(p.By) + ": a change of a file inside the workspace"}
	case p.Mode == AcceptEdits && c.Reads:
		const rule = "permission mode accept-edits"
		return Decision{Verdict: Allow, Rule: rule, Reason: rule + setBy(p.By) + ": a command that only reads inside the workspace"}
	}
	return p.decideByEntries(c)
}

// decideWaiting decides about a call that waits for a human.
func (p *permissions) decideWaiting(c *Call) Decision {
	d := p.decide(c)
	if p != nil && p.Unattended && !c.Deferred && d.Verdict == Nothing {
		return Decision{Refuse, "unattended", "nobody is there to answer", toldUnattended}
	}
	return d
}

const (
	toldPlan = "the user has this conversation in plan mode, in which nothing that changes anything runs; " +
		"look around with tools that only read, then tell the user your plan: what you would change, where, " +
		"and how it would be checked; the user leaves plan mode to let it happen"
	toldUnattended = "it needs a human's yes, and nobody is there to give it; do what can be done without it, " +
		"and say at the end what was left and why"
)

func setBy(who string) string {
	if who == "" {
		return ""
	}
	return ", set by " + who
}

func (p *permissions) decideByEntries(c *Call) Decision {
	set := p.sets[c.Tool.ID.Dotted()]
	if set == nil || c.Match == nil {
		return Decision{}
	}
	numbers, ok := set.set.Fits(c.Match.Call)
	if !ok {
		return Decision{}
	}
	var texts []string
	for _, n := range numbers {
		text := set.entries[n].String()
		if by := set.entries[n].By; by != "" {
			text += " (" + by + ")"
		}
		texts = append(texts, text)
	}
	const rule = "allowed for this session"
	return Decision{Verdict: Allow, Rule: rule, Reason: rule + ": " + strings.Join(texts, "; ")}
}

// isEdit reports whether a call changes files inside the workspace and nothing else,
// by a tool of the kernel's own module for files. Deleting is no edit.
func isEdit(c *Call) bool {
	id, r := c.Tool.ID, c.Tool.Runtime
	if id.Namespace != "filesystem" || c.Secret || c.Match == nil || c.Match.AppFile != "" ||
		r.SideEffect != tool.Write || r.Risk.Level() > tool.Medium.Level() {
		return false
	}
	if patch, ok := c.Match.Args["patch"].(string); ok && patchfile.Deletes(patch) {
		return false
	}
	writes := 0
	for _, claim := range c.Claims {
		path, isFile := strings.CutPrefix(claim.Resource, "file:")
		if !isFile || !isBelow(filepath.FromSlash(path), c.Match.Workspace) {
			return false
		}
		if !claim.Mode.Writes() {
			continue
		}
		if runsUnasked(c.Match.Workspace, path) || c.denied(path, "write", "edit") {
			return false
		}
		writes++
	}
	return writes > 0
}

// denied reports whether a rule denies one of the actions on a path. Who may not write a
// file there puts none there by moving it either, unless a human says so.
func (c *Call) denied(path string, actions ...string) bool {
	return c.Denies != nil && slices.ContainsFunc(actions, func(a string) bool { return c.Denies(a, path) })
}

func isBelow(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}
