package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"callgate/tool"
)

const (
	wild      = "*"
	maxReason = 300
	// maxRate bounds the memory that one limit costs a limiter.
	maxRate = 10_000
)

// Compile compiles a capabilities block and the constraints of modules into
// rules. A nil block means that the app file has none. All mistakes come back as
// one Invalid error whose Fields hold the path of each below tools, in the order
// of the struct.
func Compile(c *Capabilities, constraints map[string]Constraint) (*Rules, error) {
	b := builder{rules: &Rules{modules: make(map[string]*module)}}
	if c != nil {
		b.capabilities(c)
	}
	for _, name := range slices.Sorted(maps.Keys(constraints)) {
		b.constraint(name, constraints[name])
	}
	if len(b.wrong) > 0 {
		first := b.wrong[0]
		return nil, &tool.Error{
			Op: "policy.Compile", Kind: tool.Invalid, Fields: b.wrong,
			Message: fmt.Sprintf("tools.%s is %s", first.Path, first.Got),
			Hint:    "write " + first.Want,
		}
	}
	return b.rules, nil
}

// builder collects rules, and the mistakes in them.
type builder struct {
	rules *Rules
	wrong []tool.FieldError
}

func (b *builder) fail(path, got, want string) {
	b.wrong = append(b.wrong, tool.FieldError{Path: path, Got: got, Want: want})
}

func (b *builder) capabilities(c *Capabilities) {
	r := b.rules
	r.block, r.fallback, r.ceiling, r.timeout = true, c.DefaultPolicy, tool.High.Level(), c.ApprovalTimeout
	switch c.DefaultPolicy {
	case "":
		r.fallback, r.implied = Ask, true
	case Auto, Ask, Block:
	default:
		b.fail("capabilities.default_policy", quote(string(c.DefaultPolicy)), "auto, approve or block")
	}
	switch c.MaxRisk {
	case "":
	case tool.Low, tool.Medium, tool.High:
		r.ceiling = c.MaxRisk.Level()
	default:
		b.fail("capabilities.max_risk_level", quote(string(c.MaxRisk)), "low, medium or high")
	}
	switch c.MaxData {
	case "", tool.DataPublic, tool.DataInternal, tool.DataSensitive, tool.DataRestricted:
		r.data = c.MaxData
	default:
		b.fail("capabilities.max_data_classification", quote(string(c.MaxData)), "public, internal, sensitive or restricted")
	}
	b.entries("grant", granted, c.Grant)
	b.entries("approve", approved, c.Approve)
	b.entries("deny", denied, c.Deny)
	b.hidden(c)
	for _, key := range slices.Sorted(maps.Keys(c.RateLimits)) {
		b.rateLimit(key, c.RateLimits[key])
	}
	if c.ApprovalTimeout != 0 && (c.ApprovalTimeout < MinTimeout || c.ApprovalTimeout > MaxTimeout) {
		b.fail("capabilities.approval_timeout", fmt.Sprintf("%d", c.ApprovalTimeout/time.Second),
			fmt.Sprintf("a number of seconds from %d to %d", MinTimeout/time.Second, MaxTimeout/time.Second))
	}
}

// defaultReasons follow a rule without a reason of its own.
var defaultReasons = [kinds]string{
	denied:   "nobody may make this call, so find another way",
	approved: "a human must approve this call first",
}

func (b *builder) entries(list string, kind int, entries []Entry) {
	for i, e := range entries {
		path := fmt.Sprintf("capabilities.%s[%d]", list, i)
		ok := b.module(path+".module", e.Module, true)
		if len(e.Reason) > maxReason || strings.ContainsFunc(e.Reason, unicode.IsControl) {
			b.fail(path+".reason", quote(e.Reason), fmt.Sprintf("one line of at most %d bytes", maxReason))
		}
		pattern := b.pattern(path, kind, e)
		if pattern != nil && e.Module == wild && kind != granted {
			pattern = pattern.AcrossFiles()
		}
		actions := e.Actions
		if len(actions) == 0 {
			actions = []string{wild}
		}
		for j, action := range actions {
			if !b.action(fmt.Sprintf("%s.actions[%d]", path, j), action, true) || !ok {
				continue
			}
			reason := fmt.Sprintf("%s rule for %s.%s%s in tools.capabilities", list, e.Module, action, withMatch(pattern))
			if why := strings.TrimSpace(e.Reason); why != "" {
				reason += ": " + why
			} else if defaultReasons[kind] != "" {
				reason += ": " + defaultReasons[kind]
			}
			source := &ruleSource{reason, "tools." + path}
			if pattern == nil {
				b.addRule(e.Module, action, kind, source)
			} else {
				b.addMatched(e.Module, action, matchedRule{kind: kind, pattern: pattern, source: source})
			}
		}
	}
}

func (b *builder) hidden(c *Capabilities) {
	for i, name := range c.HiddenModules {
		path := fmt.Sprintf("capabilities.hidden_modules[%d]", i)
		if b.module(path, name, true) {
			reason := "hidden_modules in tools.capabilities hides " + name
			b.addRule(name, wild, hiddenRule, &ruleSource{reason, "tools." + path})
		}
	}
	for i, dotted := range c.HiddenActions {
		path := fmt.Sprintf("capabilities.hidden_actions[%d]", i)
		module, action, ok := cutDotted(dotted)
		if !ok {
			b.fail(path, quote(dotted), "module.action, such as shell.bash or *."+orElse(dotted, "bash"))
			continue
		}
		if b.module(path, module, true) && b.action(path, action, true) {
			reason := "hidden_actions in tools.capabilities hides " + dotted
			b.addRule(module, action, hiddenRule, &ruleSource{reason, "tools." + path})
		}
	}
}

func (b *builder) constraint(name string, c Constraint) {
	path := "modules." + name
	if !b.module(path, name, false) {
		return
	}
	path += ".constraints"
	if c.Allowed != nil {
		if len(c.Allowed) == 0 {
			b.fail(path+".allowed_actions", "empty", "the actions that models may use, or leave the key out to allow all")
		}
		m := b.moduleFor(name)
		m.allowed = make(map[string]bool, len(c.Allowed))
		m.outside = &ruleSource{"allowed_actions of " + name + " leave it out", "tools." + path + ".allowed_actions"}
		for i, action := range c.Allowed {
			if b.action(fmt.Sprintf("%s.allowed_actions[%d]", path, i), action, false) {
				m.allowed[action] = true
			}
		}
	}
	for i, action := range c.Blocked {
		if b.action(fmt.Sprintf("%s.blocked_actions[%d]", path, i), action, false) {
			source := &ruleSource{"blocked_actions of " + name + " name it", "tools." + path + ".blocked_actions"}
			b.addRule(name, action, hiddenRule, source)
		}
	}
}

func (b *builder) rateLimit(key string, calls int) {
	path := "capabilities.rate_limits." + key
	if calls < 1 || calls > maxRate {
		want := fmt.Sprintf("how many calls a minute may hold, from 1 to %d; to permit none, use deny", maxRate)
		b.fail(path, fmt.Sprintf("%d", calls), want)
		return
	}
	module, action, dotted := cutDotted(key)
	if !dotted {
		if b.module(path, key, true) {
			b.ruleFor(key, wild).lower(calls)
		}
		return
	}
	if !b.module(path, module, true) || !b.action(path, action, true) {
		return
	}
	b.ruleFor(module, action).lower(calls)
	if module != wild && action != wild {
		b.ruleFor(key, wild).lower(calls)
	}
}

// lower sets a limit, and keeps the stricter one if two keys mean the same.
func (r *rule) lower(calls int) {
	if r.limit == 0 || calls < r.limit {
		r.limit = calls
	}
}

// addRule adds a rule for a module and action; the first of a kind stays.
func (b *builder) addRule(module, action string, kind int, s *ruleSource) {
	if r := b.ruleFor(module, action); r.sources[kind] == nil {
		r.sources[kind] = s
	}
}

func (b *builder) ruleFor(module, action string) *rule {
	m := b.moduleFor(module)
	if action == wild {
		return &m.all
	}
	if m.actions == nil {
		m.actions = make(map[string]*rule)
	}
	if m.actions[action] == nil {
		m.actions[action] = new(rule)
	}
	return m.actions[action]
}

func (b *builder) moduleFor(name string) *module {
	if name == wild {
		return &b.rules.every
	}
	name = moduleKey(name)
	if b.rules.modules[name] == nil {
		b.rules.modules[name] = new(module)
	}
	return b.rules.modules[name]
}

// module checks the form of a module's name.
func (b *builder) module(path, name string, wildcard bool) bool {
	if wildcard && name == wild {
		return true
	}
	if _, err := tool.NewID(name, "any", "0"); err != nil {
		b.fail(path, quote(name), `the name of a module, such as filesystem`+orWildcard(wildcard))
		return false
	}
	return true
}

// action checks the form of an action's name.
func (b *builder) action(path, name string, wildcard bool) bool {
	if wildcard && name == wild {
		return true
	}
	if _, err := tool.NewID("any", name, "0"); err != nil {
		b.fail(path, quote(name), `the name of an action without its module, such as read`+orWildcard(wildcard))
		return false
	}
	return true
}

func orWildcard(wildcard bool) string {
	if wildcard {
		return `, or "*" for all`
	}
	return ""
}

// cutDotted splits module.action at its last dot.
func cutDotted(s string) (module, action string, ok bool) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// orElse returns name if a hint can show it, and other if not.
func orElse(name, other string) string {
	if _, err := tool.NewID("any", name, "0"); err != nil {
		return other
	}
	return name
}

// quote quotes and shortens untrusted input for an error.
func quote(s string) string { return fmt.Sprintf("%q", tool.TruncateTo(s, 60)) }
