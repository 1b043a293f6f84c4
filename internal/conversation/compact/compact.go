// Package compact makes a conversation fit the window of its model: it decides
// which messages the model no longer sees, and what it sees instead.
//
// It changes nothing by itself. What it decides is written into the
// conversation's log as one more event; the log keeps everything.
//
// # Laws
//
//   - A call and its result stay together, or go together.
//   - Never left out: the system prompt, which is not among the messages; the
//     newest words of the user, to the letter; the last exchange and the notes
//     after it, which the model has not answered yet; a call that has no result;
//     and what the caller pins, as a call that waits for a human or a job that
//     is under way.
//   - Results that are very large are shown in part before anything is left out,
//     their beginning and their end; those that the model has not read yet, only
//     when there is no other way.
//   - What is left out stands in one summary, before everything else. A later
//     compaction extends it: the earlier summary comes first. Whoever writes it, it
//     ends with a record of what was done, from the calls themselves: the files that
//     were changed and read, the commands and how they ended.
//   - A compaction begins when a share of the room is used (the trigger), and
//     ends well below that, so that the next is far. One that would gain little
//     is not made, unless there is no room at all.
//   - What cannot fit is declined, with what is too large and what to do.
package compact

import (
	"context"
	"math"
	"time"

	"callgate/llm"
)

// Strategy says how the messages that are left out are summed up.
type Strategy string

// The strategies.
const (
	Truncate  Strategy = "truncate"  // what was asked and concluded is listed, a line each
	Summarize Strategy = "summarize" // a model writes what mattered
)

// Policy says when and how far a conversation is compacted. The zero value of
// a field is its default; without a window a conversation is compacted when
// somebody says so, or the provider finds it too long.
type Policy struct {
	Window           int      // tokens that the model reads and writes; 0: not known
	OutputReserved   int      // of these, for its answer; 0: 4,096, or half the window where that is less
	Strategy         Strategy // "": Summarize where there is somebody who can, otherwise Truncate
	KeepRecent       int      // how many of the last messages stay as they are, where they fit; 0: 10
	Trigger          float64  // the share of the room at which it begins; 0: 0.75
	SummaryMaxTokens int      // 0: a 32nd of the window, from 1,024 to 8,192; never more than a part of the room
	Manual           bool     // only when somebody says so
	// SummaryTimeout is how long a summary is waited for; 0: 2 minutes.
	SummaryTimeout time.Duration
	// Tokens counts those of a text. nil: a quarter of its bytes.
	Tokens func(string) int
}

// The floor: less than this is left alone as long as it fits.
const (
	floorMessages = 4
	floorTokens   = 2000
)

// Cause is why a compaction is considered.
type Cause int

// The causes.
const (
	NearLimit Cause = iota // a request is about to be made
	Overflow               // the provider found the conversation too long
	Requested              // somebody says so
)

// Kind says what a message is, beyond who speaks.
type Kind int

// The kinds.
const (
	Plain    Kind = iota // the model's words, or results
	UserText             // the user's
	Note                 // the kernel's
	Summary              // of an earlier compaction: always the first message
	Retold               // a note of the kernel's that is told again when it is left out
)

// Message is a message that a model is shown.
type Message struct {
	llm.Message
	Kind   Kind
	Pinned bool     // never left out
	Whole  []string // the model's IDs of calls whose results are never shortened
}

// Input is what a model would be shown.
type Input struct {
	System   string
	Tools    int // tokens of the tools that are offered beside it
	Messages []Message
	Cause    Cause
}

// Plan is what is to be done. Places count the messages of the input from 0.
type Plan struct {
	Kept      int   // how many of the last messages stay
	Pinned    []int // places of earlier ones that stay too
	Shortened []Shortened
	Dropped   int // how many are left out
	Before    int // tokens in all
	After     int // and then, with the longest summary that there may be

	earlier summary   // of an earlier compaction
	dropped []Message // without the earlier summary
	budget  int       // tokens of the summary at most
}

// Shortened is a result that is shown in part from now on.
type Shortened struct {
	Message int    // its place
	Call    string // the model's ID of the call
	Text    string
}

// Summarizer writes what a stretch of a conversation held. A tool that
// summarizes, or extracts facts, can stand here as well as a model.
type Summarizer interface {
	Summarize(ctx context.Context, s SummaryRequest) (SummaryResult, error)
}

// SummaryRequest is what is to be summarized.
type SummaryRequest struct {
	Earlier   string // what the summary says so far; it is to be extended
	Messages  []llm.Message
	MaxTokens int // of the summary
}

// SummaryResult is a summary, and what it took.
type SummaryResult struct {
	Text  string
	Usage llm.Usage
	Model string
}

// Compaction is a plan, with the words that stand for what is left out.
type Compaction struct {
	Plan
	Summary string // "" when nothing is left out
	Usage   llm.Usage
	Model   string // "": no model was asked
	Warning string // why the summary is less than was wanted
}

func (p Policy) withDefaults() Policy {
	if p.Tokens == nil {
		p.Tokens = estimateTokens
	}
	if p.OutputReserved <= 0 {
		p.OutputReserved = min(4096, p.Window/2)
	}
	if p.KeepRecent <= 0 {
		p.KeepRecent = 10
	}
	if p.Trigger <= 0 || p.Trigger > 1 {
		p.Trigger = 0.75
	}
	if p.SummaryMaxTokens <= 0 {
		p.SummaryMaxTokens = min(max(p.Window/32, 1024), 8192)
	}
	if p.SummaryTimeout <= 0 {
		p.SummaryTimeout = 2 * time.Minute
	}
	return p
}

// budget is how many tokens there are for everything that a model is sent.
type budget struct {
	all     int // it must not be more
	limit   int // what the model has not read yet is shortened until it is no more
	trigger int // it begins above this
	goal    int // it ends at this, if it can
}

// budget computes the budget for one cause, from the tokens used now and those
// that are fixed: the system prompt and the tools. Where these alone take half
// of the trigger, the shares are of what they leave. A provider that found the
// conversation too long knows better than the count.
func (p Policy) budget(cause Cause, now, fixed int) budget {
	const plenty = math.MaxInt / 4
	r := budget{plenty, plenty, plenty, plenty}
	if p.Window > 0 {
		r.all = max(p.Window-p.OutputReserved, 1)
		r.limit = r.all - r.all/10
		r.trigger = int(float64(r.all) * p.Trigger)
		r.goal = r.trigger * 2 / 3
		if 2*fixed > r.trigger {
			r.trigger = fixed + int(float64(max(r.all-fixed, 0))*p.Trigger)
			r.goal = fixed + (r.trigger-fixed)*2/3
		}
	}
	if cause == Overflow {
		r.all, r.goal = min(r.all, now-1), min(r.goal, now/2)
		r.trigger = min(r.trigger, now*3/4)
		r.limit = min(r.limit, r.trigger)
	}
	return r
}

// Compact plans, and has the summary written. It returns nil when there is
// nothing to do. by may be nil; when the summarizer
// fails or takes too long, the requests are listed instead, and the warning says so.
func (p Policy) Compact(ctx context.Context, in Input, by Summarizer) (*Compaction, error) {
	if p.Strategy == "" && by != nil {
		p.Strategy = Summarize
	}
	plan, err := p.Plan(in)
	if plan == nil || err != nil {
		return nil, err
	}
	p = p.withDefaults()
	c := &Compaction{Plan: *plan}
	if plan.Dropped == 0 {
		return c, nil
	}
	next := summary{dropped: plan.earlier.dropped + len(plan.dropped)}
	if p.Strategy == Summarize {
		made, err := p.summarize(ctx, plan, by)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			c.Warning = "no summary could be written, and so what was said is listed instead: " + err.Error()
			c.Usage = made.Usage // it was paid for
		default:
			next.text, c.Usage, c.Model = made.Text, made.Usage, made.Model
		}
	}
	earlier, deeds := splitRecord(plan.earlier.text)
	if next.text == "" {
		next.text = join(earlier, listWords(plan.dropped))
	}
	deeds = leaveOut(addDeeds(deeds, deedsOf(plan.dropped)...), func(d []deed) bool {
		return p.Tokens(writeRecord(d)) > plan.budget/2 // the words need room too
	})
	next.text = join(next.text, writeRecord(deeds))
	c.Summary = next.within(plan.budget, p.Tokens)
	c.After += p.Tokens(c.Summary) - plan.budget
	return c, nil
}
