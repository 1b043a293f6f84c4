package policy

import (
	"fmt"
	"maps"
	"slices"

	"callgate/tool"
)

type kindName struct {
	kind int
	name string
}

// kindNames are the kinds of rules in the words of the app file, the strongest first.
var kindNames = []kindName{{hiddenRule, "hide"}, {denied, "deny"}, {approved, "approve"}, {granted, "grant"}}

// named calls do with each module and action that the rules name, in order.
func (r *Rules) named(do func(module, action string, c *rule)) {
	every := func(name string, m *module) {
		do(name, wild, &m.all)
		for _, action := range slices.Sorted(maps.Keys(m.actions)) {
			do(name, action, m.actions[action])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.modules)) {
		every(name, r.modules[name])
	}
	every(wild, &r.every)
}

// Lines says for people what one file's rules are, one on each line.
func (r *Rules) Lines() []string {
	if r == nil {
		return nil
	}
	var lines []string
	for _, k := range kindNames {
		r.named(func(module, action string, c *rule) {
			if c.sources[k.kind] != nil {
				lines = append(lines, k.name+" "+module+"."+action)
			}
			for _, m := range c.matched {
				if m.kind == k.kind {
					lines = append(lines, k.name+" "+module+"."+action+withMatch(m.pattern))
				}
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(r.modules)) {
		if allowed := r.modules[name].allowed; allowed != nil {
			lines = append(lines, fmt.Sprintf("hide all of %s but %v", name, slices.Sorted(maps.Keys(allowed))))
		}
	}
	r.named(func(module, action string, c *rule) {
		if c.limit != 0 {
			lines = append(lines, fmt.Sprintf("at most %d calls a minute of %s.%s", c.limit, module, action))
		}
	})
	if r.block && r.ceiling < tool.High.Level() {
		lines = append(lines, "max_risk_level "+string(riskName(r.ceiling)))
	}
	if r.data != "" {
		lines = append(lines, "max_data_classification "+string(r.data))
	}
	if r.block && !r.implied {
		lines = append(lines, "default_policy "+string(r.fallback))
	}
	return lines
}

// Differences says for people where the rules of the two files differ, and which wins.
func (r *Rules) Differences() []string {
	if r == nil || r.user == nil {
		return nil
	}
	var lines []string
	seen := map[string]bool{}
	compare := func(module, action string, _ *rule) {
		id := tool.ID{Namespace: module, Name: action}
		own, theirs := r.lookup(id).strongest(), r.user.lookup(id).strongest()
		name := module + "." + action
		if own < 0 || theirs < 0 || own == theirs || seen[name] {
			return
		}
		seen[name] = true
		winner, loser, file, other := own, theirs, r.file, r.user.file
		if theirs < own {
			winner, loser, file, other = theirs, own, r.user.file, r.file
		}
		lines = append(lines, fmt.Sprintf("%s: %s of %s wins over %s of %s",
			name, kindNames[winner].name, file, kindNames[loser].name, other))
	}
	r.named(compare)
	r.user.named(compare)
	if r.block && r.user.block && !r.user.implied && r.fallback != r.user.fallback {
		set := strictest([]ruleSet{{Rules: r.user, isUser: true}, {Rules: r}})
		lines = append(lines, fmt.Sprintf("default_policy: %s of %s, the stricter", set.fallback, set.file))
	}
	if r.block && r.user.block && r.ceiling != r.user.ceiling {
		lowest := r
		if r.user.ceiling < r.ceiling {
			lowest = r.user
		}
		lines = append(lines, fmt.Sprintf("max_risk_level: %s of %s, the lower", riskName(lowest.ceiling), lowest.file))
	}
	return lines
}

// strongest returns the place in kindNames of the strongest rule, or -1.
func (m matches) strongest() int {
	return slices.IndexFunc(kindNames, func(k kindName) bool { return m.first(k.kind) != nil })
}
