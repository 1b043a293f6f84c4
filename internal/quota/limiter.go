package quota

import (
	"context"
	"errors"
	"time"

	"callgate/internal/user"
	"callgate/tool"
)

// Limiter holds users to their limits. Counters nil: nobody is counted.
type Limiter struct {
	Rules    func() (Rules, error)
	Teams    func(ctx context.Context, user string) ([]string, error)
	Counters Counters
}

// charges are those of a user, by the name in a principal, for amounts of some kinds. always says that what is not
// limited is counted too, in the user's own account.
func (l *Limiter) charges(
	ctx context.Context, inPrincipal string, amounts map[Kind]int64, always bool,
) (all []Charge, r Rules, err error) {
	name := user.Name(inPrincipal)
	if l == nil || l.Counters == nil || name == "" {
		return nil, r, nil
	}
	var accounts []Account
	if r, accounts, err = l.accounts(ctx, name); err != nil {
		return nil, r, err
	}
	for i, a := range accounts {
		for kind, amount := range amounts {
			if most, limited := a.Limits[kind]; limited || always && i == 0 {
				all = append(all, Charge{a.Name, a.Label, kind, amount, most})
			}
		}
	}
	Sort(all)
	return all, r, nil
}

func (l *Limiter) accounts(ctx context.Context, name string) (Rules, []Account, error) {
	r, err := l.Rules()
	if err != nil {
		return r, nil, tool.Errorf("quota", tool.Unavailable, "the limits of users cannot be read: %w", err).
			WithHint("the kernel's own user mends the block users of their app file; callgate app where says where it is")
	}
	var teams []string
	if len(r.Teams) > 0 {
		if teams, err = l.Teams(ctx, name); err != nil {
			return r, nil, err
		}
	}
	return r, r.Accounts(name, teams), nil
}

// Count counts a call of a user.
func (l *Limiter) Count(ctx context.Context, t *tool.Tool, by tool.Principal) error {
	if t.Runtime.Control {
		return nil
	}
	charges, _, err := l.charges(ctx, by.User, map[Kind]int64{CallsPerMinute: 1, CallsPerDay: 1}, false)
	if err != nil || len(charges) == 0 {
		return err
	}
	_, err = l.Counters.Add(ctx, charges)
	return asTool("gate.rateLimit", err)
}

// Begin holds the place of a call of a user while it runs.
func (l *Limiter) Begin(ctx context.Context, t *tool.Tool, by tool.Principal) (done func(), err error) {
	if t.Runtime.Control {
		return func() {}, nil
	}
	return l.enter(ctx, "gate.runHandler", by, CallsAtOnce)
}

// OpenSession holds the place of a session of a user while it is open.
func (l *Limiter) OpenSession(ctx context.Context, by tool.Principal) (done func(), err error) {
	return l.enter(ctx, "session.Open", by, SessionsAtOnce)
}

func (l *Limiter) enter(ctx context.Context, op string, by tool.Principal, kind Kind) (done func(), err error) {
	charges, _, err := l.charges(ctx, by.User, map[Kind]int64{kind: 1}, false)
	if err != nil || len(charges) == 0 {
		return func() {}, err
	}
	done, err = l.Counters.Enter(ctx, charges)
	return done, asTool(op, err)
}

func asTool(op string, err error) error {
	var full *Full
	if errors.As(err, &full) {
		return full.AsTool(op)
	}
	return err
}

// Spending is what a request to a model may take, or took.
type Spending struct {
	Cost   int64 // millionths of a dollar
	Tokens int64
	Priced bool // the cost is known
}

func (s Spending) amounts() map[Kind]int64 {
	return map[Kind]int64{USDPerDay: s.Cost, USDPerMonth: s.Cost, TokensPerDay: s.Tokens, TokensPerMonth: s.Tokens}
}

// Spend counts what a request to a model may take, before it is sent. correct puts what it took in the place of that.
func (l *Limiter) Spend(
	ctx context.Context, inPrincipal, model string, may Spending,
) (correct func(took Spending), err error) {
	const op = "quota.Spend"
	charges, rules, err := l.charges(ctx, inPrincipal, may.amounts(), true)
	if err != nil || len(charges) == 0 {
		return func(Spending) {}, err
	}
	for _, c := range charges {
		if c.Kind.IsMoney() && c.Most > 0 && !may.Priced && !rules.CountTokens {
			return nil, tool.Errorf(op, tool.Limited, "%s has the limit %s, and nobody knows the price of %s",
				c.Label, c.Kind, model).
				WithHint("use a model with a known price; with users: {limits: {unpriced: count_tokens}} its tokens count")
		}
	}
	at, err := l.Counters.Add(ctx, charges)
	if err != nil {
		return nil, asTool(op, err)
	}
	return func(took Spending) {
		amounts := took.amounts()
		var more []Charge
		for _, c := range charges {
			if c.Amount = amounts[c.Kind] - c.Amount; c.Amount != 0 {
				more = append(more, c)
			}
		}
		if len(more) > 0 { // what cannot be corrected stays counted as it was estimated
			_ = l.Counters.Correct(context.WithoutCancel(ctx), at, more)
		}
	}, nil
}

// Usage is what a user, or a team of theirs, has used of a limit.
type Usage struct {
	Of    string // "user" or "team"
	Name  string
	Kind  Kind
	Used  int64
	Most  int64     // 0: it is not limited
	Until time.Time // when it begins anew; zero: it is what runs at once
}

// Usage lists what a user has used, by their own name, and their teams as far as they have limits.
func (l *Limiter) Usage(ctx context.Context, name string) ([]Usage, error) {
	if l == nil || l.Counters == nil {
		return nil, nil
	}
	_, accounts, err := l.accounts(ctx, name)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(accounts))
	for i, a := range accounts {
		names[i] = a.Name
	}
	found, err := l.Counters.Read(ctx, names)
	if err != nil {
		return nil, err
	}
	used := map[place]Used{}
	for _, u := range found {
		used[place{u.Account, u.Kind}] = u
	}
	var all []Usage
	for _, a := range accounts {
		for _, k := range Kinds() {
			is, most := used[place{a.Name, k}], a.Limits[k]
			if is.Amount != 0 || most != 0 {
				all = append(all, Usage{a.Name[:4], a.Name[5:], k, is.Amount, most, is.Until})
			}
		}
	}
	return all, nil
}
