package gate

import (
	"os"
	"path/filepath"

	"callgate/internal/gate/appmode"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/mask"
	"callgate/internal/gate/match"
	"callgate/internal/gate/policy"
	"callgate/internal/gate/rulefiles"
	"callgate/tool"
)

// Caller is on whose behalf calls are made: who, where, under which rules, and
// with which modules. NewCaller makes it whole; it never changes afterwards.
type Caller struct {
	id       Identity
	place    Place
	rules    Rules
	modules  Modules
	observer Observer
	again    bool // it makes a call in doubt again: what that calls itself waits for none

	rehooked bool // see WithHooks

	pinned bool    // now is what counts, whatever the files say meanwhile: see atCall
	now    *Newest // may be nil
}

// Identity is who calls.
type Identity struct {
	Principal tool.Principal
	Requester approval.Requester // the process that asks, and whether its human may answer there
	NoWait    bool               // no call waits for a human, but those of a script: see CallRequest
}

// Place is where calls happen.
type Place struct {
	Workspace string   // canonical absolute folder
	Root      *os.Root // the same folder
	AppFile   string
	Scope     string // whose tools override the global ones: see registry.Scope
	// HiddenFiles and HiddenPaths are the kernel's own folders and the user's
	// private ones where they lie in the workspace: no tool reaches them.
	HiddenFiles []os.FileInfo
	HiddenPaths []string
	Kernel      []PinnedFolder // the kernel's own among them
	Relaxed     bool           // see tool.Grant
	// RuleFiles are the files and folders that hold the rules of agents: the app
	// file, what it includes, its skills and its tools. A call that changes one
	// needs a human, whatever is granted.
	RuleFiles []string
	Readable  []string // what processes may read beside the workspace
}

func (at *Place) rules() rulefiles.Set {
	return rulefiles.Set{Workspace: at.Workspace, Files: at.RuleFiles}
}

// PinnedFolder is a folder that must stay where it is.
type PinnedFolder = rulefiles.PinnedFolder

// Rules decide which tools exist for a caller, and which need a human.
type Rules struct {
	Policy *policy.Rules   // nil: the app has no capabilities block
	Off    map[string]bool // modules that the app leaves out, or the caller's client is not given
	// Only limits an agent, or a client with a profile, to some of its app's tools:
	// actions by module, none for all of a module's. Nil: no limit.
	Only    map[string][]string
	Profile string                 // the profile that Only comes from; empty: an agent's modules
	AppMode *appmode.Current       // takes more away, and changes; nil: nothing
	Hooks   Hooks                  // what is done around calls; nil: nothing
	Narrow  func(*tool.Tool) error // why a tool may not be called now; nil: no tool is narrowed
	Within  policy.Narrower        // whom the caller works for: the stricter decision counts; nil: nobody
	Latest  Latest                 // what the app files say now; nil: what they said
}

// Modules is what the app file says of each module.
type Modules struct {
	// Settings are as the module reads them. An error in their place is the answer to every call of that module.
	Settings    map[string]any
	Of          func(*tool.Tool) any  // the settings of a tool that has its own, whatever its module is; nil: none has
	Credentials map[string]string     // the secret that the app names for the module
	Middleware  map[string]Middleware // what the app wants done around its calls
	// Withheld returns an error for a tool that would do what no human has accepted.
	// It is the answer to the tool's calls. Nil: there is no such tool.
	Withheld func(*tool.Tool) error
	// Mask takes out of every result what the app's mask_secrets finds. Nil: nothing.
	Mask func(text string) string
}

// Observer is called as calls go on. Its functions must not wait; nil ones are skipped.
type Observer struct {
	Succeeded func(*tool.Tool)       // a call went well
	Asked     func(approval.Request) // a human is asked, or what was asked is answered
	// Detached keeps what a call needs that goes on in the background, until release.
	Detached func() (release func())
}

// NewCaller makes a caller. It refuses half a one.
func NewCaller(id Identity, at Place, rules Rules, modules Modules, observer Observer) (*Caller, error) {
	switch {
	case id.Principal.Session == "":
		return nil, tool.Errorf("gate.NewCaller", tool.Internal, "a caller needs a session")
	case !filepath.IsAbs(at.Workspace) || at.Root == nil:
		return nil, tool.Errorf("gate.NewCaller", tool.Internal, "a caller needs an open workspace")
	}
	return &Caller{id: id, place: at, rules: rules, modules: modules, observer: observer}, nil
}

// AsDaemon returns the same caller as the kernel itself, which makes setup
// steps and scheduled calls: nothing is hidden from it, nothing waits for a
// human, and what is denied stays denied. Its calls do not count as the user's.
func (c *Caller) AsDaemon() *Caller {
	daemon := *c
	daemon.id.Principal.Daemon = true
	daemon.observer.Succeeded, daemon.rules.Narrow = nil, nil
	daemon.rules.Within = policy.AsDaemon(c.rules.Within)
	return &daemon
}

// Principal returns who calls.
func (c *Caller) Principal() tool.Principal { return c.id.Principal }

// Requester returns the process on whose behalf calls are made.
func (c *Caller) Requester() approval.Requester { return c.id.Requester }

// Place returns where calls happen.
func (c *Caller) Place() Place { return c.place }

// Sees reports whether a tool exists for the caller: what is denied or hidden
// does not.
func (c *Caller) Sees(t *tool.Tool) bool {
	v := c.Decide(t).Verdict
	return v == policy.Allow || v == policy.Approve
}

// Mask takes out of a text what the app's mask_secrets finds.
func (c *Caller) Mask(text string) string {
	by := c.mods().Mask
	if by == nil {
		return text
	}
	return mask.Text(text, by)
}

// denies reports whether a tool is refused with a reason, and not hidden.
func (c *Caller) denies(t *tool.Tool) bool { return c.Decide(t).Verdict == policy.Deny }

// Decide returns what the rules say of a tool, or of whom the caller works for, if that is stricter.
func (c *Caller) Decide(t *tool.Tool) policy.Decision {
	own := c.stricter(c.decide(&c.rules, t), func(r *Rules) policy.Decision { return c.decide(r, t) })
	return policy.Within(c.rules.Within, own, t, nil)
}

func (c *Caller) decide(r *Rules, t *tool.Tool) policy.Decision {
	module := t.ID.Namespace
	if r.Off[module] {
		return policy.Decision{
			Verdict: policy.Hide, Rule: "tools.modules", Reason: "the module " + module + " is off here",
		}
	}
	if !t.Runtime.Control && !c.id.Principal.Daemon && !appmode.Gives(r.Only, module, t.ID.Name) {
		return r.notGiven(t)
	}
	if d, taken := r.AppMode.Takes(t, c.id.Principal); taken {
		return d
	}
	return policy.Decide(r.Policy, t, c.id.Principal)
}

// notGiven is the decision about a tool that Only leaves out.
func (r *Rules) notGiven(t *tool.Tool) policy.Decision {
	rule, who := "agents.modules", "this agent"
	if r.Profile != "" {
		rule, who = "profiles."+r.Profile, "the profile "+r.Profile
	}
	return policy.Decision{
		Verdict: policy.Hide, Rule: rule, Reason: "the app file does not give " + t.ID.Dotted() + " to " + who,
	}
}

// Gives reports whether the caller is given something of a module, as far as Only limits it.
func (c *Caller) Gives(module string) bool {
	if n := c.narrowed(); n != nil && !gives(n.Rules, module) {
		return false
	}
	return gives(&c.rules, module)
}

func gives(r *Rules, module string) bool {
	_, listed := r.Only[module]
	return r.Only == nil || listed
}

// Withheld returns why a tool cannot be used now: its module's settings are of no use,
// nobody has accepted what it would be given, or the session is narrowed to others.
func (c *Caller) Withheld(t *tool.Tool) error {
	m := c.mods()
	err, _ := m.Settings[t.ID.Namespace].(error)
	if err == nil && m.Withheld != nil {
		err = m.Withheld(t)
	}
	if err == nil && c.rules.Narrow != nil {
		err = c.rules.Narrow(t)
	}
	return err
}

// DecideCall returns what the rules say of one call of a tool that they do not hide.
func (c *Caller) DecideCall(t *tool.Tool, call *match.Call) policy.Decision {
	ask := func(r *Rules) policy.Decision { return policy.DecideCall(r.Policy, t, c.id.Principal, call) }
	return policy.Within(c.rules.Within, c.stricter(ask(&c.rules), ask), t, call)
}

// TakeRate counts a call against the rate limits of the caller, and of whom it works for.
func (c *Caller) TakeRate(t *tool.Tool, take func(*policy.Rules, *tool.Tool, tool.Principal) error) error {
	if n, ok := c.rules.Within.(policy.Rated); ok {
		if err := n.TakeRate(t, take); err != nil {
			return err
		}
	}
	return take(c.RateRules(), t, c.id.Principal)
}
