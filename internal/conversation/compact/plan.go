package compact

import (
	"slices"

	"callgate/llm"
	"callgate/tool"
)

// draft is a plan that is being made.
type draft struct {
	Policy
	budget
	in     Input
	first  int                      // the place of the first message after the earlier summary
	fixed  int                      // tokens of the system prompt and the tools
	sum    int                      // tokens that the summary may have
	before int                      // tokens in all, before anything was done
	units  []group                  // in order: what stays or goes together
	short  map[partIndex]shortening // results that are shown in part
	cut    int                      // units before this one are left out, unless they must stay
}

// group is what stays or goes together: an answer of the model and the results
// of its calls, or one message of anybody else.
type group struct {
	from, to int // places
	cost     int // tokens, as it is shown now
	stays    bool
	pinned   bool // the caller says that it does
}

// partIndex is a part of a message.
type partIndex struct{ message, part int }

type shortening struct {
	text  string
	saved int
}

// Plan decides what is to be done: nil when nothing is. An error says why the
// conversation cannot be made to fit.
func (p Policy) Plan(in Input) (*Plan, error) {
	d := p.withDefaults().draft(in)
	if !d.due() {
		return nil, nil
	}
	if d.Manual && in.Cause == Overflow {
		return nil, tool.Errorf("compact.Plan", tool.Invalid,
			"the provider finds the conversation too long, and the app wants it to be shortened by hand only").
			WithHint("callgate sessions compact ID, or set context.auto_compact: true")
	}
	d.shorten(max((d.goal-d.fixed)/4, 4*minResult), true)
	if in.Cause == Requested || d.total() > d.goal {
		d.drop()
	}
	for most := d.limit; d.total() > d.limit && most > minResult; {
		most = max(most*3/4, minResult)
		d.shorten(most, false)
	}
	switch {
	case d.total() > d.all && d.before > d.all:
		return nil, d.tooLargeError()
	case d.total() > d.all || !d.worthwhile():
		return nil, nil
	}
	return d.plan(), nil
}

// draft measures what a model would be shown.
func (p Policy) draft(in Input) *draft {
	d := &draft{Policy: p, in: in, fixed: p.Tokens(in.System) + in.Tools, short: map[partIndex]shortening{}}
	if len(in.Messages) > 0 && in.Messages[0].Kind == Summary {
		d.first = 1
	}
	words, answer := -1, -1
	for i, m := range in.Messages[d.first:] {
		i += d.first
		cost := p.message(m.Message)
		if n := len(d.units); n > 0 && m.Role == llm.Tool {
			u := &d.units[n-1]
			u.to, u.cost, u.pinned = i+1, u.cost+cost, u.pinned || m.Pinned
			continue
		}
		if m.Kind == UserText {
			words = len(d.units)
		}
		if m.Role == llm.Assistant {
			answer = len(d.units)
		}
		d.units = append(d.units, group{from: i, to: i + 1, cost: cost, pinned: m.Pinned})
	}
	for i := range d.units {
		u := &d.units[i]
		kind := in.Messages[u.from].Kind
		news := i > answer && (kind == Note || kind == Retold)
		unread := i == answer && u.to-u.from > 1 // results, and no answer after them
		u.stays = u.pinned || news || unread || i == words || i == len(d.units)-1 || d.open(*u)
	}
	d.before = d.total()
	d.budget = p.budget(in.Cause, d.before, d.fixed)
	d.sum = max(min(p.SummaryMaxTokens, (d.goal-d.fixed)/4), minSummary)
	return d
}

// open reports whether a call in a unit has no result.
func (d *draft) open(u group) bool {
	calls, results := 0, 0
	for _, m := range d.in.Messages[u.from:u.to] {
		for _, p := range m.Parts {
			if p.Call != nil {
				calls++
			}
			if p.Result != nil {
				results++
			}
		}
	}
	return calls > results
}

// total counts everything that the model would be shown.
func (d *draft) total() int {
	n := d.fixed
	switch {
	case d.dropping():
		n += d.summary() + perMessage
	case d.first > 0:
		n += d.earlier()
	}
	for i, u := range d.units {
		if i >= d.cut || u.stays {
			n += u.cost
		}
	}
	return n
}

// earlier counts the summary of an earlier compaction.
func (d *draft) earlier() int {
	if d.first == 0 {
		return 0
	}
	return d.message(d.in.Messages[0].Message)
}

// summary is how many tokens the summary may have: no more than what it stands
// for.
func (d *draft) summary() int { return min(d.sum, max(d.droppedTokens()+d.earlier(), minSummary)) }

// droppedTokens counts what is left out.
func (d *draft) droppedTokens() int {
	n := 0
	for _, u := range d.units[:d.cut] {
		if !u.stays {
			n += u.cost
		}
	}
	return n
}

// dropping reports whether anything is left out.
func (d *draft) dropping() bool {
	for _, u := range d.units[:d.cut] {
		if !u.stays {
			return true
		}
	}
	return false
}

// due reports whether there is a reason to do anything.
func (d *draft) due() bool {
	switch d.in.Cause {
	case Requested, Overflow:
		return true
	}
	if d.Manual || d.Window <= 0 || d.before <= d.trigger {
		return false
	}
	said := 0
	for _, u := range d.units {
		said += u.cost
	}
	return d.before > d.all || len(d.in.Messages) >= floorMessages && said >= floorTokens
}

// drop leaves out the oldest units, unless their summary would be no shorter.
// What was summarized is not lost, so a summary is made of all but the recent
// messages; where there will be none, as much stays as there is room for.
func (d *draft) drop() {
	all := d.Strategy != Summarize && d.in.Cause != Requested
	d.cut = len(d.units)
	kept, sum := 0, d.total()
	for i := len(d.units) - 1; i >= 0; i-- {
		u := d.units[i]
		if !u.stays {
			if !all && kept >= d.KeepRecent || sum+u.cost > d.goal {
				break
			}
			sum += u.cost
		}
		kept += u.to - u.from
		d.cut = i
	}
	if d.droppedTokens()+d.earlier() <= d.summary() && d.in.Cause != Requested {
		d.cut = 0
	}
}

// shorten shows results in part that have more than so many tokens; with read,
// only those that the model has answered.
func (d *draft) shorten(tokens int, read bool) {
	for i := range d.units {
		u := &d.units[i]
		if read && u.stays {
			continue
		}
		for m := u.from; m < u.to; m++ {
			for n, p := range d.in.Messages[m].Parts {
				if p.Result == nil || slices.Contains(d.in.Messages[m].Whole, p.Result.ID) {
					continue
				}
				at := partIndex{m, n}
				before := d.short[at].saved
				if d.result(p.Result)-before <= tokens {
					continue
				}
				text := d.shortened(p.Result, tokens-perMessage)
				saved := d.result(p.Result) - d.Tokens(text) - perMessage
				u.cost -= saved - before
				d.short[at] = shortening{text, saved}
			}
		}
	}
}

// worthwhile reports whether the plan gains enough.
func (d *draft) worthwhile() bool {
	gain := d.before - d.total()
	switch {
	case d.in.Cause == Requested:
		return d.dropping() || gain > 0
	case d.before > d.all:
		return true
	}
	return gain*10 >= d.all
}

// plan writes the draft down.
func (d *draft) plan() *Plan {
	plan := &Plan{Before: d.before, After: d.total(), budget: d.summary()}
	if d.first > 0 {
		plan.earlier = parseSummary(d.in.Messages[0].Text())
	}
	from := 0
	if d.dropping() {
		from = d.units[d.cut].from // the last one stays
	}
	plan.Kept = len(d.in.Messages) - from
	for i, u := range d.units {
		if from > 0 && i < d.cut && !u.stays {
			plan.dropped = append(plan.dropped, d.in.Messages[u.from:u.to]...)
			continue
		}
		for m := u.from; m < u.to; m++ {
			if m < from {
				plan.Pinned = append(plan.Pinned, m)
			}
			for n, p := range d.in.Messages[m].Parts {
				if s, ok := d.short[partIndex{m, n}]; ok {
					plan.Shortened = append(plan.Shortened, Shortened{Message: m, Call: p.Result.ID, Text: s.text})
				}
			}
		}
	}
	plan.Dropped = len(plan.dropped)
	return plan
}
