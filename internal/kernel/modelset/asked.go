package modelset

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"callgate/internal/observe"
	"callgate/internal/observe/metric"
	"callgate/internal/provider"
	"callgate/llm"
)

// Asked counts what one model was asked since the kernel started: by agents and by tools.
type Asked struct {
	Provider, Model string
	Outcomes        map[string]uint64 // requests by how they ended: ok, or the kind of the error
	Usage           llm.Usage         // as far as answers told it
	Unpriced        uint64            // answers whose cost is not known
	Took            metric.Histogram
	Today           Day
}

// Day counts what a model was asked on a day, which is the local one.
type Day struct {
	Requests uint64
	Usage    llm.Usage
	Unpriced uint64

	date string // 2006-01-02
}

// on returns the counts of a date: nothing, where they are of another.
func (d Day) on(now time.Time) Day {
	if date := now.Format(time.DateOnly); d.date != date {
		return Day{date: date}
	}
	return d
}

func (d Day) plus(usage llm.Usage, unpriced bool) Day {
	d.Requests++
	d.Usage = d.Usage.Add(usage)
	if unpriced {
		d.Unpriced++
	}
	return d
}

// maxAsked bounds the models that count under their own names: who asks may name any. The others are together.
const maxAsked = 64

// asked is the counts of all models.
type asked struct {
	mu      sync.Mutex
	byModel map[[2]string]*Asked
}

// Asked returns the counts, ordered by provider and model.
func (o *Opener) Asked() []Asked {
	o.asked.mu.Lock()
	defer o.asked.mu.Unlock()
	now := time.Now()
	list := make([]Asked, 0, len(o.asked.byModel))
	for _, a := range o.asked.byModel {
		one := *a
		one.Outcomes, one.Today = maps.Clone(a.Outcomes), a.Today.on(now)
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Asked) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	})
	return list
}

func (a *asked) add(at provider.Info, usage llm.Usage, err error, took time.Duration) {
	outcome := cmp.Or(failureOf(err), "ok")
	a.mu.Lock()
	defer a.mu.Unlock()
	key := [2]string{at.Provider, at.Model}
	if a.byModel[key] == nil && len(a.byModel) >= maxAsked {
		key = [2]string{"other", "other"}
	}
	one := a.byModel[key]
	if one == nil {
		one = &Asked{Provider: key[0], Model: key[1], Outcomes: map[string]uint64{}}
		if a.byModel == nil {
			a.byModel = map[[2]string]*Asked{}
		}
		a.byModel[key] = one
	}
	one.Outcomes[outcome]++
	one.Took.Add(took)
	unpriced := err == nil && !usage.Priced
	if unpriced {
		one.Unpriced++
	}
	one.Usage = one.Usage.Add(usage)
	one.Today = one.Today.on(time.Now()).plus(usage, unpriced)
}

// countedModel is a model whose requests are counted.
type countedModel struct {
	llm.Model
	at    provider.Info
	asked *asked
}

// Generate sends a request, and counts it.
func (m *countedModel) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	began := time.Now()
	ctx, span := observe.Start(ctx, observe.Client, "chat "+m.at.Model)
	res, err := m.Model.Generate(ctx, req, watch)
	usage := usageOf(res, err)
	m.asked.add(m.at, usage, err, time.Since(began))
	if span != nil {
		m.describe(span, req, res, usage)
		failure := failureOf(err)
		span.Set("error.type", failure)
		span.Finish(failure)
	}
	return res, err
}

// describe says of a span what OpenTelemetry's conventions for generative AI name, without any content.
func (m *countedModel) describe(s *observe.Span, req llm.Request, res *llm.Response, usage llm.Usage) {
	s.Set("gen_ai.operation.name", "chat")
	s.Set("gen_ai.provider.name", m.at.Provider)
	s.Set("gen_ai.request.model", cmp.Or(req.Model, m.at.Model))
	s.SetInt("gen_ai.usage.input_tokens", int64(usage.Input))
	s.SetInt("gen_ai.usage.output_tokens", int64(usage.Output))
	s.SetInt("gen_ai.usage.cache_read.input_tokens", int64(usage.CachedInput))
	if req.MaxTokens > 0 {
		s.SetInt("gen_ai.request.max_tokens", int64(req.MaxTokens))
	}
	if usage.Priced {
		s.SetInt("callgate.usage.cost_microdollars", usage.Cost)
	}
	if res != nil {
		s.Set("gen_ai.response.model", res.Model)
		s.Set("gen_ai.response.finish_reasons", string(res.Stop))
	}
}

// failureOf is the kind of the error of a request; "": it went well.
func failureOf(err error) string {
	if err == nil {
		return ""
	}
	if failure := new(llm.Error); errors.As(err, &failure) && failure.Kind != "" {
		return string(failure.Kind)
	}
	return "failed"
}

// usageOf is what a request took, as far as its answer told.
func usageOf(res *llm.Response, err error) llm.Usage {
	var failure *llm.Error
	switch {
	case res != nil:
		return res.Usage
	case errors.As(err, &failure) && failure.Partial != nil:
		return failure.Partial.Usage
	}
	return llm.Usage{}
}
