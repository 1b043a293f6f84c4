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
	// Estimate returns what a request may take, with its cost where the price is known.
	Estimate func(llm.Request) llm.Usage
}

// Generate sends a request if the budget has room for it.
func (m *Model) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	estimate := m.Estimate(req)
	r := Request{Provider: m.Provider, Model: m.Name, Estimate: estimate}
	correct, err := m.Ledger.Charge(ctx, m.Accounts, r)
	if err != nil {
		return nil, asError(ctx, m.Provider, err)
	}
	res, err := m.Model.Generate(ctx, req, watch)
	correct(took(res, err, estimate))
	return res, err
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
	case failure.Status >= 400 || errors.As(failure.Err, new(*queue.Refusal)):
		return llm.Usage{} // it was not answered
	}
	return estimate
}
