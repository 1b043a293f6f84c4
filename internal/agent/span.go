package agent

import (
	"context"

	"callgate/internal/conversation/history"
	"callgate/internal/observe"
)

// span begins the span of a turn, as OpenTelemetry's conventions for generative AI name it. The function that it
// returns ends it; nil: the history could not be written.
func (t *turn) span(ctx context.Context) (context.Context, func(*history.End)) {
	info := t.cfg.Log.Info()
	ctx, s := observe.Start(ctx, observe.Internal, "invoke_agent "+info.Agent)
	return ctx, func(end *history.End) {
		if s == nil {
			return
		}
		s.Set("gen_ai.operation.name", "invoke_agent")
		s.Set("gen_ai.agent.name", info.Agent)
		s.Set("gen_ai.conversation.id", info.ID)
		s.Set("callgate.app", info.App)
		failure := ""
		switch {
		case end == nil:
			failure = "unavailable"
		case end.Reason != history.Done:
			failure = string(end.Reason)
		}
		if end != nil {
			s.Set("callgate.turn.end", string(end.Reason))
		}
		s.Set("error.type", failure)
		s.Finish(failure)
	}
}
