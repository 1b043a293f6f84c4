package modelset

import (
	"context"

	"callgate/internal/app"
	"callgate/internal/provider"
	"callgate/internal/provider/budget"
	"callgate/internal/quota"
	"callgate/internal/user"
	"callgate/llm"
)

// charged has the requests of a model be charged to the accounts of the app for which it is opened.
func (o *Opener) charged(u Use, m llm.Model, at provider.Info) llm.Model {
	accounts := accountsOf(u.App)
	charge := o.chargeUser(u.User, at)
	if len(accounts) == 0 && charge == nil {
		return m
	}
	return &budget.Model{
		Charge: charge,
		Model:  m, Ledger: o.ledger(), Accounts: accounts, Provider: at.Provider, Name: at.Model,
		Estimate: func(req llm.Request) llm.Usage {
			usage := at.Estimate(req)
			if !at.Entry.Claimed { // a project does not say what the user's dollars count
				usage.Cost, usage.Priced = at.Entry.Cost(usage)
			}
			return usage
		},
	}
}

// chargeUser returns what charges requests to the user who asks; nil: it is the kernel's own.
func (o *Opener) chargeUser(
	by string, at provider.Info,
) func(context.Context, budget.Spent, bool) (func(budget.Spent), error) {
	if user.Of(by) == "" || o.Users == nil {
		return nil
	}
	return func(ctx context.Context, may budget.Spent, priced bool) (func(budget.Spent), error) {
		spending := quota.Spending{Cost: may.Cost, Tokens: int64(may.Tokens), Priced: priced}
		correct, err := o.Users.Spend(ctx, by, at.Provider+"/"+at.Model, spending)
		return func(took budget.Spent) { correct(quota.Spending{Cost: took.Cost, Tokens: int64(took.Tokens)}) }, err
	}
}

// ledger is that of all models.
func (o *Opener) ledger() *budget.Ledger {
	o.openLedger.Do(func() { o.spent.Documents, o.spent.Now = o.Documents, o.Now })
	return &o.spent
}

// accountsOf are the accounts of an app: its own, and the user's, which is that of all apps.
func accountsOf(a *app.App) (all []budget.Account) {
	add := func(name, label string, of *app.App) {
		if of == nil || of.Budget.IsZero() {
			return
		}
		b := of.Budget
		b.Providers = make(map[string]budget.Limit, len(of.Budget.Providers))
		for name, limit := range of.Budget.Providers {
			name = provider.CanonicalName(name)
			b.Providers[name] = b.Providers[name].And(limit) // two names of one
		}
		all = append(all, budget.Account{Name: name, Label: label, Budget: b})
	}
	switch {
	case a == nil:
	case a.Parts == nil:
		add("app/"+app.Digest(a.Path), "this app", a)
	default:
		add("user", "all apps", a.Parts.User)
		if p := a.Parts.Project; p != nil {
			add("app/"+app.Digest(p.Path), "this app", p)
		}
	}
	return all
}
