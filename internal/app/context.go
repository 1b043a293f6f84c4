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

// context reads how a conversation is kept within its window, and the window.
func (d *decoder) context(level string, e entry, window *int) Context {
	var c Context
	var trigger *float64
	d.mapping(level, e, map[string]reader{
		"max_tokens":          d.number(window, 1000, 100_000_000, "write the size of the model's context in tokens, such as 128000"),
		"output_reserved":     d.number(&c.OutputReserved, 1, 10_000_000, "write how many tokens are kept free for the answer, such as 4096"),
		"strategy":            d.choice(&c.Strategy, "truncate", "summarize"),
		"keep_recent":         d.number(&c.KeepRecent, 1, 10_000, "write how many of the last messages stay as they are, such as 10"),
		"compression_trigger": d.decimal(&trigger, 0.1, 1),
		"summary_max_tokens":  d.number(&c.SummaryMaxTokens, 100, 100_000, "write how many tokens a summary may have, such as 1024"),
		"auto_compact": func(in entry) {
			c.Auto = new(bool)
			d.boolean(c.Auto, "write false to have conversations shortened by hand only")(in)
		},
		"summary_brain": func(in entry) { c.SummaryBrain = d.fallbackBrain(in) },
	})
	if trigger != nil {
		c.Trigger = *trigger
	}
	if *window > 0 && c.OutputReserved >= *window {
		d.fail(d.places[e.path+".output_reserved"], "reserve less, such as a quarter of it", "%s reserves %d of %d tokens for the answer, and leaves none to read", e.name(), c.OutputReserved, *window)
	}
	switch {
	case c.SummaryBrain == nil:
	case c.SummaryBrain.Provider == Offline:
		d.fail(d.places[e.path+".summary_brain"], "name a language model", "%s names the offline brain for summaries, which cannot write", e.name())
	case c.Strategy == "truncate":
		d.fail(d.places[e.path+".summary_brain"], "write strategy: summarize, or delete summary_brain", "%s names a brain for summaries, and wants none", e.name())
	case c.Strategy == "":
		c.Strategy = "summarize"
	}
	return c
}

// fallbackBrain reads a brain that is asked in the place of another: how the
// conversation is kept within the window is that one's to say.
func (d *decoder) fallbackBrain(e entry) *Brain {
	b := d.brain(e)
	if b.Context != (Context{}) {
		d.fail(d.places[e.path+".context"], "keep only max_tokens here, and move the rest to the brain that it stands in for", "%s cannot say how conversations are shortened", e.name())
	}
	return b
}
