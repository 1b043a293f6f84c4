package policy

import (
	"time"

	"callgate/tool"
)

// Capabilities is the block tools.capabilities of an app file, as written.
// Zero fields take their defaults; [Compile] judges the rest.
type Capabilities struct {
	DefaultPolicy DefaultPolicy // "": Ask
	MaxRisk       tool.Risk     // "": high
	Grant         []Entry
	Approve       []Entry
	Deny          []Entry
	HiddenModules []string
	HiddenActions []string // module.action; either side may be "*"
	// RateLimits is calls per [Window]. A key is "*", a module, or
	// module.action, whose sides may also be "*"; a key such as choir.fs means
	// the module of that name and the tool fs of choir alike.
	RateLimits      map[string]int
	ApprovalTimeout time.Duration // 0: DefaultTimeout
}

// Entry is one line of a grant, approve or deny list.
type Entry struct {
	Module  string
	Actions []string // empty: all
	Reason  string   // shown to whoever is refused or asked
}

// Constraint narrows what models see of a module.
type Constraint struct {
	Allowed []string // nil: all
	Blocked []string
}

// DefaultPolicy is what happens to a call that no rule names.
type DefaultPolicy string

// The default policies.
const (
	Auto  DefaultPolicy = "auto"
	Ask   DefaultPolicy = "approve"
	Block DefaultPolicy = "block"
)

// How long a human may take to answer.
const (
	DefaultTimeout = 300 * time.Second
	MinTimeout     = 30 * time.Second
	MaxTimeout     = 3600 * time.Second
)

// Rules is a compiled policy. It is immutable, so any number of calls may read
// it at once; nil and the zero value are the rules of an app without
// capabilities.
type Rules struct {
	block    bool // whether there was a capabilities block at all
	fallback DefaultPolicy
	ceiling  int // the highest risk level that default policy applies to
	timeout  time.Duration
	modules  map[string]*module
	every    module // what is said of module "*"
}

// ApprovalTimeout is how long a human may take to answer under these rules.
func (r *Rules) ApprovalTimeout() time.Duration {
	if r == nil || r.timeout == 0 {
		return DefaultTimeout
	}
	return r.timeout
}

// module is all that is said of one module.
type module struct {
	all     rule
	actions map[string]*rule
	allowed map[string]bool // nil: all
	outside *ruleSource     // what hides the actions that are not allowed
}

// rule is what is said of one module and action, either of which may be "*".
type rule struct {
	said  [kinds]*ruleSource
	limit int // calls per window; 0: none
}

// The kinds of things that may be said.
const (
	denied = iota
	approved
	granted
	hiddenRule
	kinds
)

// ruleSource is the line of the app file that said something.
type ruleSource struct{ reason, rule string }

// matches is the cells that speak of one tool, narrowest first; some are nil.
type matches struct {
	cells [4]*rule
	own   *module // what is said of the tool's own module
}

// lookup finds the cells for a tool.
func (r *Rules) lookup(id tool.ID) matches {
	var m matches
	if own := r.modules[id.Namespace]; own != nil {
		m.own = own
		m.cells[0], m.cells[1] = own.actions[id.Name], &own.all
	}
	m.cells[2], m.cells[3] = r.every.actions[id.Name], &r.every.all
	return m
}

// first returns the narrowest line of a kind, or nil.
func (m *matches) first(kind int) *ruleSource {
	for _, c := range m.cells {
		if c != nil && c.said[kind] != nil {
			return c.said[kind]
		}
	}
	return nil
}

// hidden returns what hides an action from models, or nil.
func (m *matches) hidden(action string) *ruleSource {
	if m.own != nil && m.own.allowed != nil && !m.own.allowed[action] {
		return m.own.outside
	}
	return m.first(hiddenRule)
}
