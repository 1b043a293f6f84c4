package app

import "cmp"

// Context is how a conversation is kept within the window of its model. A field
// that is zero is not said.
type Context struct {
	OutputReserved   int    // tokens of the window that are for the answer
	Strategy         string // truncate or summarize
	KeepRecent       int    // messages
	Trigger          float64
	SummaryMaxTokens int
	Auto             *bool // false: only when somebody says so
	SummaryBrain     *Brain
}

// Over is c where it says something, and base where it does not.
func (c Context) Over(base Context) Context {
	return Context{
		OutputReserved:   cmp.Or(c.OutputReserved, base.OutputReserved),
		Strategy:         cmp.Or(c.Strategy, base.Strategy),
		KeepRecent:       cmp.Or(c.KeepRecent, base.KeepRecent),
		Trigger:          cmp.Or(c.Trigger, base.Trigger),
		SummaryMaxTokens: cmp.Or(c.SummaryMaxTokens, base.SummaryMaxTokens),
		Auto:             cmp.Or(c.Auto, base.Auto),
		SummaryBrain:     cmp.Or(c.SummaryBrain, base.SummaryBrain),
	}
}
