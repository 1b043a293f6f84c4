package budget

import (
	"context"
	"errors"

	"callgate/internal/provider/queue"
	"callgate/llm"
)

// Model is a model whose requests are charged.
type Model struct {
	llm.Model
	Ledger   *Ledger
	Accounts []Account
	Provider string
	Name     string
	// Charge charges a request to whoever asks beside the accounts, in the same way; nil: to nobody.
	Charge func(ctx context.Context, may Spent, priced bool) (correct func(took Spent), err error)
	// Estimate returns what a request may take, with its cost where the price is known.
	Estimate func(llm.Request) llm.Usage
}

// Generate sends a request if the budget has room for it.
func (m *Model) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	estimate := m.Estimate(req)
	r := Request{Provider: m.Provider, Model: m.Name, Estimate: estimate}
	correct, err := m.charge(ctx, r)
	if err != nil {
		return nil, asError(ctx, m.Provider, err)
	}
	lost := lostAttempts{watch: watch}
	lost.unknown = func() llm.Usage {
		read := req
		read.MaxTokens = 1
		return m.Estimate(read)
	}
	res, err := m.Model.Generate(ctx, req, lost.see)
	correct(append(lost.took, took(res, err, estimate))...)
	return res, err
}

// charge charges a request everywhere, or nowhere.
func (m *Model) charge(ctx context.Context, r Request) (correct func(...llm.Usage), err error) {
	inLedger := func(...llm.Usage) {}
	if len(m.Accounts) > 0 {
		if inLedger, err = m.Ledger.Charge(ctx, m.Accounts, r); err != nil {
			return nil, err
		}
	}
	if m.Charge == nil {
		return inLedger, nil
	}
	estimate := estimated(r.Estimate)
	also, err := m.Charge(ctx, estimate, r.Estimate.Priced)
	if err != nil {
		inLedger()
		return nil, err
	}
	return func(took ...llm.Usage) {
		inLedger(took...)
		var all Spent
		for _, u := range took {
			all = all.add(measured(u, estimate))
		}
		also(all)
	}, nil
}

// lostAttempts is what answers took that broke off and were begun again.
type lostAttempts struct {
	watch   func(llm.Delta)
	unknown func() llm.Usage // what is read at least, where an answer did not say
	said    llm.Usage        // by the answer that comes now
	took    []llm.Usage
}

func (l *lostAttempts) see(d llm.Delta) {
	if d.Usage != nil {
		l.said = *d.Usage
	}
	if r := d.Retry; d.Kind == llm.DeltaRetry && r != nil {
		switch {
		case l.said != (llm.Usage{}):
			l.took = append(l.took, l.said)
		case r.Replaces || r.Kind == llm.BrokenStream || r.Kind == llm.Timeout:
			l.took = append(l.took, l.unknown())
		}
		l.said = llm.Usage{}
	}
	if l.watch != nil {
		l.watch(d)
	}
}

// took is what a request took, as far as somebody knows.
func took(res *llm.Response, err error, estimate llm.Usage) llm.Usage {
	var failure *llm.Error
	switch errors.As(err, &failure); {
	case res != nil && res.Usage != (llm.Usage{}):
		return res.Usage
	case failure == nil:
		return estimate
	case failure.Partial != nil && failure.Partial.Usage != (llm.Usage{}):
		return failure.Partial.Usage
	case failure.Status >= 400, errors.As(failure.Err, new(*queue.Refusal)), errors.As(failure.Err, new(*queue.NotSent)):
		return llm.Usage{} // it was not answered
	}
	return estimate
}
