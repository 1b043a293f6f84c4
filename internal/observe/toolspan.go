package observe

import (
	"context"

	"callgate/tool"
)

// ToolCall begins the span of a call, as OpenTelemetry's conventions for generative AI name it. The function that
// it returns ends it; t is nil where the name meant no tool.
func ToolCall(ctx context.Context, call tool.Call) (context.Context, func(t *tool.Tool, r *tool.Result)) {
	ctx, s := Start(ctx, Internal, "execute_tool")
	if s == nil {
		return ctx, func(*tool.Tool, *tool.Result) {}
	}
	return ctx, toolCall(s, &tool.Call{ID: call.ID, Parent: call.Parent, Principal: call.Principal})
}

// toolCall ends the span of a call. It stands by itself so that a call that is not recorded allocates nothing.
func toolCall(s *Span, call *tool.Call) func(t *tool.Tool, r *tool.Result) {
	return func(t *tool.Tool, r *tool.Result) {
		s.Set("gen_ai.operation.name", "execute_tool")
		s.Set("gen_ai.tool.call.id", call.ID)
		s.Set("gen_ai.tool.type", "function")
		s.Set("callgate.session.id", call.Principal.Session)
		s.Set("gen_ai.agent.name", call.Principal.Agent)
		s.Set("callgate.parent_call.id", call.Parent)
		if t != nil { // else it is a name that somebody made up
			s.Name += " " + t.ID.Dotted()
			s.Set("gen_ai.tool.name", t.ID.Dotted())
			s.Set("callgate.module", t.ID.Namespace)
			s.Set("callgate.risk", string(t.Runtime.Risk))
		}
		failure := ""
		if r != nil {
			s.Set("callgate.outcome", string(r.Status))
			s.SetInt("callgate.result.bytes", int64(len(r.Data)+len(r.Summary)))
			if r.Error != nil {
				failure = string(r.Error.Kind)
			}
		}
		s.Set("error.type", failure)
		s.Finish(failure)
	}
}
