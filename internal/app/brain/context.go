package brain

import "cmp"

// Context says how a conversation is kept within the window of its model. A
// field that is zero is not set.
type Context struct {
	OutputReserved   int    // tokens of the window kept for the answer
	Strategy         string // truncate or summarize
	KeepRecent       int    // messages
	Trigger          float64
	SummaryMaxTokens int
	Auto             *bool // false: only on request
	SummaryModel     *Model
	RememberFacts    *bool // true: a summary's facts are also put into the memory
}

// Over returns c with the fields that it does not set taken from base.
func (c Context) Over(base Context) Context {
	return Context{
		OutputReserved:   cmp.Or(c.OutputReserved, base.OutputReserved),
		Strategy:         cmp.Or(c.Strategy, base.Strategy),
		KeepRecent:       cmp.Or(c.KeepRecent, base.KeepRecent),
		Trigger:          cmp.Or(c.Trigger, base.Trigger),
		SummaryMaxTokens: cmp.Or(c.SummaryMaxTokens, base.SummaryMaxTokens),
		Auto:             cmp.Or(c.Auto, base.Auto),
		SummaryModel:     cmp.Or(c.SummaryModel, base.SummaryModel),
		RememberFacts:    cmp.Or(c.RememberFacts, base.RememberFacts),
	}
}
