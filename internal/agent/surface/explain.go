package surface

import (
	"fmt"
	"slices"

	"callgate/internal/amount"
)

// explain sets the reason and what would change the mode. rejected is the cost of
// the calculated mode, if direct costs less.
func (p *Plan) explain(cfg *Config, calculated Mode, rejected int) {
	total := amount.Of(len(p.PerTool), "tool")
	budget := fmt.Sprintf("the budget of %d (20 %% of %d)", p.Budget, p.Window)
	switch {
	case p.Forced:
		p.Reason = fmt.Sprintf("%s is forced; the calculation would say %s.", p.Mode, calculated)
		return
	case rejected > 0:
		p.Reason = fmt.Sprintf("The %s cost %d tokens themselves, and the %s set would cost %d: "+
			"so direct, though %s is less.", total, p.ToolTokens, calculated, rejected, budget)
	case p.Mode == Direct:
		p.Reason = fmt.Sprintf("The %s with their schemas cost %d tokens, within %s.", total, p.ToolTokens, budget)
	case p.Mode == CompactDirect:
		p.Reason = fmt.Sprintf("The %s with their schemas cost %d tokens, more than %s; "+
			"by name and one line they count %d.", total, p.ToolTokens, budget, p.CompactTokens)
	default:
		p.Reason = fmt.Sprintf("The %s with their schemas cost %d tokens, more than %s, "+
			"and even by name and one line they count %d.", total, p.ToolTokens, budget, p.CompactTokens)
	}
	if cfg.Force != "" {
		p.Reason += fmt.Sprintf(" (%q is no mode and forces nothing.)", cfg.Force)
	}
	if rejected > 0 {
		change := fmt.Sprintf("%s with ≥ %d tokens of tools (now %d)", calculated, rejected, p.ToolTokens)
		p.WouldChange = []string{change}
		return
	}
	p.WouldChange = p.changes(calculated)
}

// changes lists the changes that lead to another mode than the calculated one.
func (p *Plan) changes(calculated Mode) []string {
	total := len(p.PerTool)
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	lesser := func(tokens int) Mode { return Decide(tokens*budgetShare-1, p.ToolTokens, total) }
	switch calculated {
	case Direct:
		if total == 0 {
			return nil
		}
		add("%s with > %d tokens of tools (now %d)", Decide(p.Window, p.Budget+1, total), p.Budget, p.ToolTokens)
		add("%s with a window of < %d", lesser(p.ToolTokens), p.ToolTokens*budgetShare)
	case CompactDirect:
		add("direct with ≤ %d tokens of tools (now %d)", p.Budget, p.ToolTokens)
		add("direct with a window of ≥ %d", p.ToolTokens*budgetShare)
		add("direct with %s fewer, the largest", amount.Of(p.surplus(), "tool"))
		add("discovery with a window of < %d", p.CompactTokens*budgetShare)
		add("discovery with %s more", amount.Of(p.Budget/compactTokens-total+1, "tool"))
	case Discovery:
		fits := p.Budget / compactTokens
		if p.CompactTokens < p.ToolTokens {
			add("compact_direct with a window of ≥ %d", p.CompactTokens*budgetShare)
			add("compact_direct with %s fewer (≤ %d)", amount.Of(total-fits, "tool"), fits)
		}
		add("direct with ≤ %d tokens of tools (now %d)", p.Budget, p.ToolTokens)
		add("direct with a window of ≥ %d", p.ToolTokens*budgetShare)
		add("direct with %s fewer, the largest", amount.Of(p.surplus(), "tool"))
	}
	return out
}

// surplus returns how many of the largest tools must go for the rest to fit the
// budget.
func (p *Plan) surplus() int {
	sizes := make([]int, len(p.PerTool))
	for i, c := range p.PerTool {
		sizes[i] = c.Tokens
	}
	slices.Sort(sizes)
	left, removed := p.ToolTokens, 0
	for left > p.Budget && removed < len(sizes) {
		removed++
		left -= sizes[len(sizes)-removed]
	}
	return removed
}
