package surface

import (
	"fmt"
	"slices"
)

// explain writes the reason and what would change it. passed is what the set
// of the calculated mode would have cost, where it was not worth it.
func (p *Plan) explain(cfg *Config, calculated Mode, passed int) {
	total := counted(len(p.PerTool), "tool", "tools")
	budget := fmt.Sprintf("the budget of %d (20 %% of %d)", p.Budget, p.Window)
	switch {
	case p.Forced:
		p.Reason = fmt.Sprintf("%s is forced; the calculation would say %s.", p.Mode, calculated)
		return
	case passed > 0:
		p.Reason = fmt.Sprintf("The %s cost %d tokens themselves, and the %s set would cost %d: so direct, though %s is less.",
			total, p.ToolTokens, calculated, passed, budget)
	case p.Mode == Direct:
		p.Reason = fmt.Sprintf("The %s with their schemas cost %d tokens, within %s.", total, p.ToolTokens, budget)
	case p.Mode == CompactDirect:
		p.Reason = fmt.Sprintf("The %s with their schemas cost %d tokens, more than %s; by name and one line they count %d.",
			total, p.ToolTokens, budget, p.CompactTokens)
	default:
		p.Reason = fmt.Sprintf("The %s with their schemas cost %d tokens, more than %s, and even by name and one line they count %d.",
			total, p.ToolTokens, budget, p.CompactTokens)
	}
	if cfg.Force != "" {
		p.Reason += fmt.Sprintf(" (%q is no mode and forces nothing.)", cfg.Force)
	}
	if passed > 0 {
		p.WouldChange = []string{fmt.Sprintf("%s with ≥ %d tokens of tools (now %d)", calculated, passed, p.ToolTokens)}
		return
	}
	p.WouldChange = p.changes(calculated)
}

// changes lists what would lead to another mode than the calculated one.
func (p *Plan) changes(calculated Mode) []string {
	total := len(p.PerTool)
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	lesser := func(tokens int) Mode { return Decide(tokens*budgetShare-1, p.ToolTokens, total) }
	switch calculated {
	case Direct:
		if total == 0 {
			return nil
		}
		say("%s with > %d tokens of tools (now %d)", Decide(p.Window, p.Budget+1, total), p.Budget, p.ToolTokens)
		say("%s with a window of < %d", lesser(p.ToolTokens), p.ToolTokens*budgetShare)
	case CompactDirect:
		say("direct with ≤ %d tokens of tools (now %d)", p.Budget, p.ToolTokens)
		say("direct with a window of ≥ %d", p.ToolTokens*budgetShare)
		say("direct with %s fewer, the largest", counted(p.surplus(), "tool", "tools"))
		say("discovery with a window of < %d", p.CompactTokens*budgetShare)
		say("discovery with %s more", counted(p.Budget/compactTokens-total+1, "tool", "tools"))
	case Discovery:
		fits := p.Budget / compactTokens
		if p.CompactTokens < p.ToolTokens {
			say("compact_direct with a window of ≥ %d", p.CompactTokens*budgetShare)
			say("compact_direct with %s fewer (≤ %d)", counted(total-fits, "tool", "tools"), fits)
		}
		say("direct with ≤ %d tokens of tools (now %d)", p.Budget, p.ToolTokens)
		say("direct with a window of ≥ %d", p.ToolTokens*budgetShare)
		say("direct with %s fewer, the largest", counted(p.surplus(), "tool", "tools"))
	}
	return out
}

// surplus is how many of the largest tools would have to go for the rest to be
// within the budget.
func (p *Plan) surplus() int {
	sizes := make([]int, len(p.PerTool))
	for i, c := range p.PerTool {
		sizes[i] = c.Tokens
	}
	slices.Sort(sizes)
	left, gone := p.ToolTokens, 0
	for left > p.Budget && gone < len(sizes) {
		gone++
		left -= sizes[len(sizes)-gone]
	}
	return gone
}
