// Package budget counts what models cost, and refuses a request for which nothing is left.
//
// # Law
//
// A request is charged its estimate, durably, before it is sent, and what it took when that is known:
// requests that run at once do not all fit under one limit, and what a killed kernel was asking for
// stays charged. No estimate makes an account richer: numbers that nobody can mean are the most. One
// that was not sent, or that the provider did not answer, is charged nothing; of one of which nobody
// knows what it took, the estimate stays. An answer that broke off and was begun again is charged too.
// What is charged for a request is charged in all its accounts or in none.
//
// A day is the local day. An account begins each anew, and none that is before the last one it
// counted: a clock that goes back gives nothing back. A request goes ahead if its estimate fits into
// what is left of every limit; else it is refused with what was spent, what is left and when the
// account begins anew, and nothing is charged. A model whose price nobody knows is refused where
// dollars are limited, unless the budget says that its tokens alone count.
package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"callgate/internal/document"
	"callgate/llm"
	"callgate/tool"
)

// Limit is what may be spent in a day. Zero is no limit.
type Limit struct {
	Cost   int64 // millionths of a US dollar
	Tokens int   // read and written
}

// And returns the stricter of two limits.
func (l Limit) And(o Limit) Limit { return Limit{least(l.Cost, o.Cost), least(l.Tokens, o.Tokens)} }

func least[N int | int64](a, b N) N {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Budget is what an account may spend in a day.
type Budget struct {
	Total     Limit
	Providers map[string]Limit // of one provider each, by its name
	Unpriced  bool             // models without a known price are asked, and their tokens count
}

// IsZero reports whether nothing is limited.
func (b Budget) IsZero() bool { return b.Total == (Limit{}) && len(b.Providers) == 0 }

// Account is who spends.
type Account struct {
	Name  string // by which it is kept
	Label string // for people: "this app"
	Budget
}

// Spent is what was spent.
type Spent struct {
	Cost   int64 `json:"cost,omitempty"`
	Tokens int   `json:"tokens,omitempty"`
}

func (s Spent) add(o Spent) Spent { return Spent{sum(s.Cost, o.Cost), sum(s.Tokens, o.Tokens)} }

// sum adds b to what was spent. What does not fit stays above every limit.
func sum[N int | int64](a, b N) N {
	if a > 0 && b > 0 && a+b < 0 {
		return max(a, b)
	}
	return max(0, a+b)
}

// No request takes as much, and no limit has room for it.
const (
	mostCost   = 1 << 50
	mostTokens = 1 << 30
)

// estimated is what is charged for an estimate. One with numbers that nobody can mean takes the most.
func estimated(u llm.Usage) Spent {
	s := Spent{Cost: min(u.Cost, mostCost), Tokens: min(u.Input, mostTokens/2) + min(u.Output, mostTokens/2)}
	if u.Cost < 0 {
		s.Cost = mostCost
	}
	if u.Input < 0 || u.Output < 0 || u.Input > mostTokens/2 || u.Output > mostTokens/2 {
		s.Tokens = mostTokens
	}
	return s
}

// measured is what a request took. A provider that says that it took less than nothing does not know it.
func measured(u llm.Usage, estimate Spent) Spent {
	s := estimated(u)
	if u.Cost < 0 {
		s.Cost = estimate.Cost
	}
	if u.Input < 0 || u.Output < 0 {
		s.Tokens = estimate.Tokens
	}
	return s
}

// day is what an account has spent on a day.
type day struct {
	Day       string           `json:"day"` // 2006-01-02
	Providers map[string]Spent `json:"providers"`
}

func (d day) total() (sum Spent) {
	for _, s := range d.Providers {
		sum = sum.add(s)
	}
	return sum
}

// end is when the next day begins.
func (d day) end(zone *time.Location) time.Time {
	begin, _ := time.Parse(time.DateOnly, d.Day)
	return time.Date(begin.Year(), begin.Month(), begin.Day()+1, 0, 0, 0, 0, zone)
}

const collection = "budget"

// Ledger keeps what accounts have spent. The zero value keeps it as long as it lives; it is safe for
// concurrent use.
type Ledger struct {
	Documents document.Store   // nil: in memory
	Now       func() time.Time // in the local zone; nil: time.Now

	mu   sync.Mutex // one charge at a time, so that they do not contend for documents
	kept map[string]day
}

func (l *Ledger) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}

// read returns what an account has spent today.
func (l *Ledger) read(ctx context.Context, account, today string) (d day, version int64, err error) {
	fresh := day{Day: today, Providers: map[string]Spent{}}
	if l.Documents == nil {
		d = l.kept[account]
	} else {
		kept, err := l.Documents.Get(ctx, collection, account)
		switch {
		case tool.KindOf(err) == tool.NotFound:
			return fresh, 0, nil
		case err != nil:
			return d, 0, err
		}
		if err := json.Unmarshal(kept.Data, &d); err != nil {
			return d, 0, fmt.Errorf("what %s has spent cannot be read: %w", account, err)
		}
		version = kept.Version
	}
	if d.Day < today || d.Providers == nil {
		return fresh, version, nil
	}
	return d, version, nil
}

// write adds to what accounts have spent at a provider today, in all of them or in none. more says what
// is added to each.
func (l *Ledger) write(
	ctx context.Context, accounts []Account, today, provider string, more func(Account, day) (Spent, error),
) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil {
		l.kept = map[string]day{}
	}
	made := map[string]day{}
	prepare := func() ([]document.Change, error) {
		var changes []document.Change
		for _, a := range accounts {
			d, version, err := l.read(ctx, a.Name, today)
			var s Spent
			if err == nil {
				s, err = more(a, d)
			}
			if err != nil {
				return nil, err
			}
			next := day{Day: d.Day, Providers: map[string]Spent{}}
			for name, spent := range d.Providers {
				next.Providers[name] = spent
			}
			next.Providers[provider] = d.Providers[provider].add(s)
			made[a.Name] = next
			data, err := json.Marshal(next)
			if err != nil {
				return nil, err
			}
			changes = append(changes, document.Change{Collection: collection, Key: a.Name, If: version, Data: data})
		}
		return changes, nil
	}
	if l.Documents != nil {
		_, err := document.Update(ctx, l.Documents, prepare)
		return err
	}
	if _, err := prepare(); err != nil {
		return err
	}
	for name, d := range made {
		l.kept[name] = d
	}
	return nil
}

// Charge charges a request its estimate. correct puts what its attempts took in the place of that.
func (l *Ledger) Charge(ctx context.Context, accounts []Account, r Request) (correct func(...llm.Usage), err error) {
	now := l.now()
	today := now.Format(time.DateOnly)
	estimate := estimated(r.Estimate)
	days := map[string]string{} // on which it is charged, by account
	err = l.write(ctx, accounts, today, r.Provider, func(a Account, d day) (Spent, error) {
		days[a.Name] = d.Day
		return estimate, r.check(a, d, estimate, now)
	})
	if err != nil {
		return nil, err
	}
	return func(took ...llm.Usage) {
		today := l.now().Format(time.DateOnly)
		more := Spent{Cost: -estimate.Cost, Tokens: -estimate.Tokens}
		for _, u := range took {
			s := measured(u, estimate)
			more.Cost, more.Tokens = more.Cost+s.Cost, more.Tokens+s.Tokens
		}
		if more == (Spent{}) {
			return
		}
		// What cannot be corrected stays charged as it was estimated.
		_ = l.write(context.WithoutCancel(ctx), accounts, today, r.Provider, func(a Account, d day) (Spent, error) {
			if d.Day != days[a.Name] {
				return Spent{}, nil // that day is over
			}
			return more, nil
		})
	}, nil
}

// Request is a request that is to be charged.
type Request struct {
	Provider, Model string
	Estimate        llm.Usage // Priced: its cost is known
}

// check returns why a request may not be sent.
func (r Request) check(a Account, d day, estimate Spent, now time.Time) error {
	limits := []struct {
		of    string
		limit Limit
		spent Spent
	}{{"", a.Total, d.total()}, {" for " + r.Provider, a.Providers[r.Provider], d.Providers[r.Provider]}}
	for _, l := range limits {
		if l.limit.Cost > 0 && !r.Estimate.Priced && !a.Unpriced {
			return &Refusal{Model: r.Provider + "/" + r.Model, Account: a.Label, Unpriced: true}
		}
		over := l.limit.Cost > 0 && estimate.Cost > l.limit.Cost-l.spent.Cost
		if over || l.limit.Tokens > 0 && estimate.Tokens > l.limit.Tokens-l.spent.Tokens {
			return &Refusal{
				Model: r.Provider + "/" + r.Model, Account: a.Label + l.of, Limit: l.limit, Spent: l.spent, Needs: estimate,
				Until: d.end(now.Location()),
			}
		}
	}
	return nil
}

// Refusal is why a request was not sent.
type Refusal struct {
	Model    string
	Account  string // whose budget it is
	Unpriced bool   // the price of the model is not known, and that is all
	Limit    Limit
	Spent    Spent
	Needs    Spent     // the estimate of the request
	Until    time.Time // when the account begins anew
}

// Error says what was spent, what is left and when the account begins anew.
func (r *Refusal) Error() string {
	if r.Unpriced {
		return fmt.Sprintf("the budget of %s is in dollars, and nobody knows the price of %s", r.Account, r.Model)
	}
	text := "the budget of " + r.Account + " for today is used up:"
	if r.Limit.Cost > 0 {
		text += fmt.Sprintf(" %s of %s are spent, %s are left and the request may take %s;", dollars(r.Spent.Cost),
			dollars(r.Limit.Cost), dollars(max(0, r.Limit.Cost-r.Spent.Cost)), dollars(r.Needs.Cost))
	}
	if r.Limit.Tokens > 0 {
		text += fmt.Sprintf(" %d of %d tokens are spent, %d are left and the request may take %d;", r.Spent.Tokens,
			r.Limit.Tokens, max(0, r.Limit.Tokens-r.Spent.Tokens), r.Needs.Tokens)
	}
	return text + " it begins anew at " + r.Until.Format("2006-01-02 15:04")
}

// dollars writes an amount, to the cent where it has no smaller part.
func dollars(millionths int64) string {
	if millionths%10_000 == 0 {
		return fmt.Sprintf("$%.2f", float64(millionths)/1e6)
	}
	return fmt.Sprintf("$%.6f", float64(millionths)/1e6)
}

// asError makes a model's error of why a request was not charged.
func asError(ctx context.Context, provider string, err error) *llm.Error {
	var refusal *Refusal
	kind := llm.Unavailable
	switch {
	case errors.As(err, &refusal), tool.KindOf(err) == tool.Limited:
		kind = llm.OverBudget
	case ctx.Err() != nil:
		kind = llm.Cancelled
	}
	return &llm.Error{Kind: kind, Provider: provider, Message: err.Error(), Err: err}
}
