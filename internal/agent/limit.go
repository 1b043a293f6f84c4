package agent

import (
	"fmt"

	"callgate/internal/conversation/history"
	"callgate/llm"
)

// Limit bounds what requests to models may cost. Zero fields bound nothing.
type Limit struct {
	Cost   int64 // millionths of a US dollar, of requests whose price is known
	Tokens int   // read and written
}

// Exceeds says how usage is at or above the limit; "": it is not.
func (l Limit) Exceeds(u llm.Usage) string {
	dollars := func(cost int64) string { return fmt.Sprintf("$%.4g", float64(cost)/1e6) }
	switch {
	case l.Cost > 0 && u.Cost >= l.Cost:
		return fmt.Sprintf("cost %s, and may cost %s", dollars(u.Cost), dollars(l.Cost))
	case l.Tokens > 0 && u.Input+u.Output >= l.Tokens:
		return fmt.Sprintf("took %d tokens, and may take %d", u.Input+u.Output, l.Tokens)
	}
	return ""
}

// costEnd returns the end of a turn that may ask no more; nil: it may.
func (t *turn) costEnd() *history.End {
	now := t.cfg.Log.Info().Usage
	since := func(then llm.Usage) llm.Usage {
		return llm.Usage{
			Input: now.Input - then.Input, Output: now.Output - then.Output, Cost: now.Cost - then.Cost,
		}
	}
	if why := t.cfg.TurnLimit.Exceeds(since(t.before)); why != "" {
		return &history.End{Reason: history.Cost, Error: "this turn " + why + "; the app's runtime.max_cost bounds it"}
	}
	if why := t.cfg.OpenLimit.Exceeds(since(t.cfg.Opened)); why != "" {
		return &history.End{Reason: history.Cost, Error: "this conversation " + why + " since it was opened"}
	}
	return nil
}

// noticeUnpriced tells the user, once in a turn, that a limit of cost cannot be held.
func (t *turn) noticeUnpriced(answer *llm.Response) {
	u := answer.Usage
	limited := t.cfg.TurnLimit.Cost > 0 && t.cfg.TurnLimit.Tokens == 0 ||
		t.cfg.OpenLimit.Cost > 0 && t.cfg.OpenLimit.Tokens == 0
	if !limited || t.unpriced || u.Priced || u.Input+u.Output == 0 || t.observer.Notice == nil {
		return
	}
	t.unpriced = true
	t.observer.Notice("the price of this model is not known, so a limit of cost does not bound it; " +
		"a limit of tokens does (runtime.max_cost_tokens)")
}
