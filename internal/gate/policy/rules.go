package policy

import (
	"strings"

	"time"

	"callgate/tool"
)

// Capabilities is the block tools.capabilities of an app file, as written.
// Zero fields take their defaults; [Compile] checks the others.
type Capabilities struct {
	DefaultPolicy DefaultPolicy  // "": Ask
	MaxRisk       tool.Risk      // "": high
	MaxData       tool.DataClass // "": restricted
	Grant         []Entry
	Approve       []Entry
	Deny          []Entry
	HiddenModules []string
	HiddenActions []string // module.action; either side may be "*"
	// RateLimits limits the calls per [Window]. A key is "*", a module, or
	// module.action, whose sides may also be "*". A key such as choir.fs means
	// both the module of that name and the tool fs of the module choir.
	RateLimits      map[string]int
	ApprovalTimeout time.Duration // 0: DefaultTimeout
}

// Entry is one line of a grant, approve or deny list.
type Entry struct {
	Module  string
	Actions []string // empty: all
	Reason  string   // shown to the refused caller, or to the human who approves
	// Match limits the rule to calls with some arguments, in the form that
	// [match.Compile] reads. Nil: all calls.
	Match    map[string]any
	Examples Examples
}

// Constraint limits the actions of a module that models see.
type Constraint struct {
	Allowed []string // nil: all
	Blocked []string
}

// DefaultPolicy decides calls that no rule names.
type DefaultPolicy string

// The default policies.
const (
	Auto  DefaultPolicy = "auto"
	Ask   DefaultPolicy = "approve"
	Block DefaultPolicy = "block"
)

// Limits of the time a human has to answer an approval.
const (
	DefaultTimeout = 300 * time.Second
	MinTimeout     = 30 * time.Second
	MaxTimeout     = 3600 * time.Second
)

// Rules is a compiled policy. It is immutable, so any number of calls may read
// it at once. Nil and the zero value are the rules of an app without
// capabilities.
type Rules struct {
	block    bool // whether the app file has a capabilities block
	fallback DefaultPolicy
	implied  bool           // the block does not say default_policy
	ceiling  int            // the highest risk level that the default policy applies to
	data     tool.DataClass // the highest class of data that a model may be given; "": any
	timeout  time.Duration
	modules  map[string]*module
	every    module         // the rules of module "*"
	call     *judgedCall    // set while one call is decided: see DecideCall
	pending  map[place]bool // the grants that nobody accepted: see Floor
	file     string         // named in reasons; "": it need not be, there is one file only
	user     *Rules         // the user's own, which hold as well: see Over
	also     *Rules         // whose rate limits hold as well: see WithLimits
}

// ApprovalTimeout returns the time a human has to answer under these rules.
func (r *Rules) ApprovalTimeout() time.Duration {
	switch {
	case r == nil:
		return DefaultTimeout
	case r.timeout != 0:
		return r.timeout
	}
	return r.user.ApprovalTimeout()
}

// module holds the rules of one module.
type module struct {
	all     rule
	actions map[string]*rule
	allowed map[string]bool // nil: all
	outside *ruleSource     // the source that hides the actions that are not allowed
}

// rule holds the rules of one module and action, either of which may be "*".
type rule struct {
	sources [kinds]*ruleSource // nil: no rule of that kind
	limit   int                // calls per window; 0: none
	matched []matchedRule      // the rules that are about some arguments only
}

// The kinds of rules.
const (
	denied = iota
	approved
	granted
	hiddenRule
	kinds
)

// ruleSource is the line of the app file that a rule comes from.
type ruleSource struct{ reason, rule string }

// matches holds the rules that name one tool, narrowest first; some are nil.
type matches struct {
	rules [4]*rule
	own   *module // the rules of the tool's own module
	// fitting are the rules about some arguments that hold for the call; none while
	// no call is decided. unaccepted says that the grant among them was not accepted.
	fitting    [kinds]*ruleSource
	unaccepted bool
	doubted    *ruleSource // a deny rule of which it cannot be told whether it holds
}

// moduleKey is a module's name as rules are kept by it. An app file writes the server my-notes as the module
// mcp_my_notes or mcp_my-notes; a rule that missed one of them would deny nothing.
func moduleKey(module string) string { return strings.ReplaceAll(module, "-", "_") }

// lookup returns the rules that name a tool.
func (r *Rules) lookup(id tool.ID) matches {
	var m matches
	if own := r.modules[moduleKey(id.Namespace)]; own != nil {
		m.own = own
		m.rules[0], m.rules[1] = own.actions[id.Name], &own.all
	}
	m.rules[2], m.rules[3] = r.every.actions[id.Name], &r.every.all
	if r.call != nil {
		m.judge(r.call, r.pending, id)
	}
	return m
}

// first returns the source of the narrowest rule of a kind, or nil.
func (m *matches) first(kind int) *ruleSource {
	for _, c := range m.rules {
		if c != nil && c.sources[kind] != nil {
			return c.sources[kind]
		}
	}
	return m.fitting[kind]
}

// hidden returns the source that hides an action from models, or nil.
func (m *matches) hidden(action string) *ruleSource {
	if m.own != nil && m.own.allowed != nil && !m.own.allowed[action] {
		return m.own.outside
	}
	return m.first(hiddenRule)
}

// Grants reports whether a rule grants a module by its name, or something of it.
func (r *Rules) Grants(name string) bool {
	if r == nil {
		return false
	}
	if m := r.modules[moduleKey(name)]; m != nil {
		if m.all.grants() {
			return true
		}
		for _, one := range m.actions {
			if one.grants() {
				return true
			}
		}
	}
	return r.user.Grants(name)
}

func (c *rule) grants() bool {
	for _, m := range c.matched {
		if m.kind == granted {
			return true
		}
	}
	return c.sources[granted] != nil
}
