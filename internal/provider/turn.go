package provider

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net"

	"callgate/internal/provider/apiclient"
	"callgate/internal/provider/queue"
	"callgate/llm"
)

// Turns says how the requests of a model wait for their turn. The zero value waits for a slot only.
type Turns struct {
	Key      []queue.Limits // of all requests with the model's key to its address, each of them
	Model    []queue.Limits // of those to the model alone
	Bounds   queue.Bounds   // whose Patience is the retry's
	Priority llm.Priority   // of requests that say none; "": interactive
}

// turn has the requests of a model wait.
type turn struct {
	queue    *queue.Queue
	meters   []*queue.Meter
	tokens   bool // a meter counts them
	bounds   queue.Bounds
	priority llm.Priority
}

func (r *resolved) queueKey() queueKey {
	return queueKey{r.Provider, r.BaseURL, sha256.Sum256([]byte(r.key))}
}

// turn returns the queue and the meters of a model's requests.
func (p *Pool) turn(r *resolved, cfg Config, shared *sharedClient) turn {
	t := turn{meters: []*queue.Meter{shared.meter}, bounds: cfg.Turns.Bounds, priority: cfg.Turns.Priority}
	t.bounds.Patience = cmp.Or(max(0, cfg.Retry.Patience), defaultPatience)
	key := r.queueKey()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queues == nil {
		p.queues, p.meters = map[queueKey]*queue.Queue{}, map[meterKey]*queue.Meter{}
	}
	if t.queue = p.queues[key]; t.queue == nil {
		t.queue = &queue.Queue{}
		p.queues[key] = t.queue
	}
	add := func(model string, all []queue.Limits) {
		for _, limits := range all {
			k := meterKey{key, model, limits}
			if limits == (queue.Limits{}) {
				continue
			}
			if p.meters[k] == nil {
				p.meters[k] = queue.NewMeter(limits)
			}
			t.meters, t.tokens = append(t.meters, p.meters[k]), t.tokens || limits.TPM > 0
		}
	}
	add("", cfg.Turns.Key)
	add(r.Model, cfg.Turns.Model)
	return t
}

// wait returns when a request may be sent.
func (t turn) wait(ctx context.Context, req llm.Request) (*queue.Ticket, error) {
	r := queue.Request{Level: levelOf(cmp.Or(req.Priority, t.priority)), Meters: t.meters, Bounds: t.bounds}
	if t.tokens {
		r.Tokens = EstimateTokens(req)
	}
	return t.queue.Wait(ctx, r)
}

// levelOf is a priority as the queue has it. One that nobody knows is as any.
func levelOf(p llm.Priority) queue.Level {
	switch p {
	case llm.PriorityRetry:
		return queue.Retry
	case llm.PriorityBackground:
		return queue.Background
	case llm.PriorityLow:
		return queue.Low
	}
	return queue.Interactive
}

// moreUrgent is the priority of a request that is sent again: one step up, for it has waited its turn once.
func moreUrgent(p llm.Priority) llm.Priority {
	switch p {
	case llm.PriorityLow:
		return llm.PriorityBackground
	case llm.PriorityBackground:
		return llm.PriorityInteractive
	}
	return llm.PriorityRetry
}

// endOf is what the end of a request says about its provider, and what it took.
func endOf(caller context.Context, res *llm.Response, err error) queue.End {
	end := queue.End{Verdict: queue.Works, Tokens: -1}
	if res != nil && res.Usage != (llm.Usage{}) {
		end.Tokens = res.Usage.Input + res.Usage.Output
	}
	cause := causeOf(err)
	if err == nil || cause == nil {
		return end
	}
	var failure *llm.Error
	switch {
	case errors.As(err, &failure) && failure.Partial != nil && failure.Partial.Usage != (llm.Usage{}):
		end.Tokens = failure.Partial.Usage.Input + failure.Partial.Usage.Output
	case cause.Status >= 400:
		end.Tokens = 0 // it was not answered
	}
	switch cause.Kind {
	case llm.RateLimited:
		end.Pause = cause.RetryAfter
	case llm.Overloaded:
		end.Pause, end.Verdict = cause.RetryAfter, queue.Fails
	case llm.Unavailable, llm.BrokenStream, llm.Timeout:
		end.Verdict = queue.Fails
	case llm.Cancelled:
		end.Verdict = queue.Nothing
	}
	if caller.Err() != nil {
		end.Verdict = queue.Nothing // the caller had no more time; the provider may be well
	}
	return end
}

// notSent is the error of a request whose turn did not come.
func notSent(ctx context.Context, provider string, err error) *llm.Error {
	var refusal *queue.Refusal
	if !errors.As(err, &refusal) {
		return contextError(ctx, provider, "while waiting for other requests to the model to end")
	}
	kind := llm.RateLimited
	if refusal.Reason == queue.CoolingDown {
		kind = llm.Unavailable
	}
	return &llm.Error{Kind: kind, Provider: provider, Message: refusal.Error(), RetryAfter: refusal.Wait, Err: refusal}
}

// isRefusal reports whether a request was not sent because the queue refused it.
func isRefusal(e *llm.Error) bool {
	var refusal *queue.Refusal
	return errors.As(e.Err, &refusal)
}

// neverLeft reports whether a request failed before anything of it was sent: there was no connection.
func neverLeft(err error) bool {
	var op *net.OpError
	return errors.Is(err, apiclient.ErrConnect) || errors.As(err, new(*net.DNSError)) ||
		errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, &op) && op.Op == "dial"
}
