package conversation

import (
	"context"
	"sync"

	"callgate/internal/agent"
	"callgate/internal/app"
	steps "callgate/internal/app/pipeline"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/pipeline"
	"callgate/internal/kernel/modelset"
	"callgate/tool"
)

// isPipeline reports whether the steps of the app answer, in the place of a model.
func isPipeline(c *Conversation) bool { return c.agent.ID == steps.Agent }

// kept are the results of the steps of this process. Those of an earlier one are on record;
// a call that only read may not be, and is made again.
type kept struct {
	mu   sync.Mutex
	byID map[string]*tool.Result
}

func (k *kept) keep(calls []history.Call, results []*tool.Result) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, c := range calls {
		k.byID[c.ID] = results[i]
	}
}

func (k *kept) get(id string) *tool.Result {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byID[id]
}

// stepsModel is the model of a conversation that runs steps.
func stepsModel(store history.Store, c *Conversation, a *app.App) *agent.ModelConfig {
	c.described, c.kept = nil, &kept{byID: map[string]*tool.Result{}}
	c.model = modelset.Info{Provider: steps.Mode, Model: steps.Mode, NativeTools: true, Offline: true, Window: 1 << 24}
	c.useWindow(nil)
	return &agent.ModelConfig{Model: pipeline.Model{
		Contract: a.Runtime.Contract,
		Made:     func(ctx context.Context) (pipeline.Made, error) { return madeSteps(ctx, store, c) },
	}}
}

// madeSteps is what the turn that runs was given, and the calls that it has made. One that
// is not on record touched nothing, and is made again.
func madeSteps(ctx context.Context, store history.Store, c *Conversation) (made pipeline.Made, err error) {
	events, err := store.Read(ctx, c.ID(), 0)
	if err != nil {
		return made, err
	}
	for _, e := range events {
		switch {
		case e.Type == history.User && e.Message != nil:
			made = pipeline.Made{Input: e.Message.Text()}
		case e.Type == history.CallMade:
			result := c.kept.get(e.Call.ID)
			if result == nil {
				if result, err = c.session.Made(ctx, e.Call.ID); err != nil {
					return made, err
				}
			}
			made.Calls = append(made.Calls, pipeline.Call{ID: e.Call.Model, Result: result})
		}
	}
	return made, nil
}
